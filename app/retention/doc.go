// Package retention deletes finished mail that is older than what is kept, and says how
// much room everything takes.
//
// Failure policy: it works in small transactions while nothing else waits; one that fails
// costs a delay and nothing else. What promises need is never deleted.
package retention
