// Package retention deletes finished mail that is older than what is kept, gives the room
// back to the disk, and says how much of it everything takes.
//
// Failure policy: it works in small transactions while nothing else waits; one that fails
// costs a delay and nothing else. What is half deleted reads as deleted. What promises
// need is never deleted: opt-outs, suppressions, open doubts, counters.
package retention
