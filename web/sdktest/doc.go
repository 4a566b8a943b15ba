// Package sdktest tests the built binary from outside: Resend's official clients
// call it, a real Postfix or a programmable relay receives its mail, and an
// independent DKIM verifier checks the result. It holds no code of the service.
//
// Failure policy: if the machine lacks something (Postfix, python3-dkim, Node with
// its packages, root), a test skips visibly, or fails if CI=true. Everything stays
// on loopback and in temporary directories; processes are ended by id.
//
// The fault suite keeps a ledger of what clients were answered and what the relay
// received; judge lists mail that was lost, doubled, altered, stuck, phantom or
// miscounted. Tests named Control cause such a fault on purpose and fail unless the
// judge reports it. A server's clock is moved by writing into its vDSO page (Linux
// on amd64). Without root and loop devices no power is cut, in CI neither.
//
// Clients reach the binary through a tap that changes nothing and compares each
// answer, and each accepted request, with the binary's openapi.json. testdata has
// three lists: operations.tsv (operations of Resend's API, served or not), routes.tsv
// (all routes) and methods.tsv (methods, commands and tools of the clients, exercised
// or not). A full run fails if a list claims more than was called.
//
// Suites of Resend's clients run in both modes of --compat. others has older and
// third-party clients with their own lock file; testdata/recorded has requests of
// clients that no registry offers, with the expected result in each mode.
//
// Without flags the short form runs. Each test begins with a call of part, which
// names its parts; a test outside of the short form needs a flag:
//
//   - -full runs all parts but perf, and fails if a listed operation or method was
//     not called
//   - -part NAMES runs some parts in their long form; -parts lists the parts
//   - -perf runs only the tests that judge time, CPU or memory, one at a time: the
//     machine should have no other work
//
// To run it, in this folder: `npm ci --ignore-scripts && (cd others && npm ci
// --ignore-scripts) && go test -count=1 ./...` (-count=1 since go does not see changes
// of the program). MAILER_BIN names a binary to test, for instance one built with
// -race. More faults, with -full: -kills N kills the server N times under load,
// -cuts N cuts the power N times, -every-call kills it at each call on its files,
// -queued N queues N emails, -restarts N ends it N times in every way. Imports:
// -import-kills N kills each N times, -import-people N imports N people, -import-rows N
// imports N rows while clients send. With -perf: -soak D runs for that long.
package sdktest
