// Package audience is the API's routes of who is written to: contacts, segments, topics,
// properties, imports, suppressions. web mounts them on web/rest; nothing else imports it.
//
// Failure policy: that of web/rest.
package audience
