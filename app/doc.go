// Package app is the vocabulary of Mailer: the types that every layer speaks of,
// the checks of what callers send, and the rules that most layers need (addresses,
// header allowlist, retry table, rank of events). Everything of this module may
// import it but the few rules that it stands on itself (htmltext, schedule, seal,
// pacing, window), of which it imports the first three.
//
// It does no I/O but for random ids and keys, which it asks the system for, and it
// keeps no state but in one type that says so: Load counts who waits.
//
// Failure policy: a check that fails returns an *Error whose Code a client can
// branch on and whose Message names the field; nothing here panics on foreign
// input.
package app
