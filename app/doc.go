// Package app defines the domain types of Mailer, the validation of input, and rules that most
// layers need: addresses, allowed headers, retry delays, the rank of events. Every package of the
// module may import it. It imports only a few packages of app/kit and app/rules.
//
// The package does no I/O except reading random bytes for ids and keys. Its only state is the last
// id (NewID) and Load.
//
// Failure policy: a failed check returns an *Error whose Code clients can branch on and whose
// Message names the field. Nothing panics on foreign input.
package app
