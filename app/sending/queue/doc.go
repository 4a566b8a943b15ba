// Package queue is the operator's queue: what waits and why, and the acts on it, by
// filter, for one team or all of them. The same use cases serve commands, which work
// beside a running server through the database alone, and the routes of one team's keys.
//
// Failure policy: an act is done in small Writes, each whole; one that fails ends the
// act, and what was done stays done and is in the audit log with its counts.
package queue
