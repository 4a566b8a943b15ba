// Package routing is the operator's way to the relays: it adds, removes, tests and pauses
// them while a server runs, and says how each is.
//
// Failure policy: a relay that can't be read, sealed or reached is an error in words that
// never repeat its password; mail waits meanwhile.
package relays
