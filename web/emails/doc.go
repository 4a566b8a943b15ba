// Package emails is the API's routes of emails: sends, batches, lists, schedules,
// attachments. web mounts them on web/rest; nothing else imports it.
//
// Failure policy: that of web/rest.
package emails
