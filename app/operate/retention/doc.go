// Package retention deletes finished mail that is older than its retention, returns the space to
// the disk, and reports disk usage.
//
// Failure policy: deletion runs in small transactions while no client waits; a failed one only
// causes a delay. Partly deleted mail reads as deleted. Data behind promises is never deleted:
// opt-outs, suppressions, open doubts, counters.
package retention
