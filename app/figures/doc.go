// Package figures is how much mail became what, over time: read from counters, never
// from mail.
//
// Failure policy: a figure is counted in the transaction that decides it.
package figures
