// Package queue lists the mail that waits, with the reason, and acts on it by filter, for one team
// or all: hold, release, retry, drop, move and requeue. Commands use it on the database beside a
// running server; the server uses it for the API.
//
// Failure policy: an action is done in small Writes, each atomic. If one fails the action ends, and
// what was done stays done and is in the audit log with its counts.
package queue
