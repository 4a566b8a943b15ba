// Package stats answers queries for mail statistics over time. It reads counters, and events only
// for the few emails that a query names.
//
// Failure policy: an event is counted in the transaction that records it. Queries with too long
// answers are refused.
package stats
