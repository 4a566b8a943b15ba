// Package relays adds, removes, tests and pauses SMTP relays while a server runs, and reports their
// states.
//
// Failure policy: a relay that can't be read, decrypted or reached is an error whose text never
// contains its password. Mail waits meanwhile.
package relays
