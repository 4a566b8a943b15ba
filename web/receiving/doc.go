// Package receiving implements the API's routes of received email, and the signed URLs of messages and attachments.
// Only web imports it.
//
// Failure policy: that of web/rest. What strangers wrote is never shown as a page of this server: downloads are
// attachments, in a sandbox.
package receiving
