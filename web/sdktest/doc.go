// Package sdktest holds no code of the service: its tests run the built binary
// as its users do, with Resend's official clients in front of it, a real
// Postfix or a programmable relay behind it, and a DKIM verifier of another
// make at the end.
//
// Failure policy: what a test needs from the machine (Postfix, python3-dkim,
// Node with its packages, root) and does not find makes it skip visibly, or
// fail where CI=true. Everything stays on the loopback interface, in temporary
// directories, and is ended by its own process id.
//
// To run it: `npm ci --ignore-scripts` once, then `go test ./...`, in this
// folder. -short leaves out what waits a minute for the retry table; -kills N
// has the kill test kill N times; MAILER_BIN names a binary to test instead of
// building one, for instance one built with -race.
package sdktest
