// Package emails implements the API's routes of emails: sends, batches, lists, schedules,
// attachments. Only web imports it.
//
// Failure policy: that of web/rest.
package emails
