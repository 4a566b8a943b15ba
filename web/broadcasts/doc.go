// Package broadcasts is the API's routes of broadcasts, what became of their recipients,
// and templates. web mounts them on web/rest; nothing else imports it.
//
// Failure policy: that of web/rest.
package broadcasts
