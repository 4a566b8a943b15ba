// Package figures is how much mail became what, over time: read from counters, never
// from mail, but for the few emails that a caller names.
//
// Failure policy: a figure is counted in the transaction that decides it. What would
// make too long an answer is refused.
package stats
