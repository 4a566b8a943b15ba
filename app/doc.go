// Package app is the vocabulary of Mailer: the types that every layer speaks
// of, the checks of what callers send, and the pure rules (addresses, header
// allowlist, retry table, rank of events). It does no I/O, keeps no state and
// imports no other package of this module.
//
// Failure policy: a check that fails returns an *Error whose Code a client can
// branch on and whose Message names the field; nothing here panics on foreign
// input.
package app
