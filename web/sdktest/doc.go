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
// The fault suite keeps a ledger on both sides: what clients were answered, and
// what the relay got; judge lists what was lost, doubled, altered, stuck, phantom
// or miscounted between them. A server's clock is moved by writing into its own
// vDSO page, so that the binary is the one that is shipped and the machine's clock
// stays as it is; that takes Linux on amd64. The tests named Control do such a thing on purpose
// and fail unless the judge says so. Where nobody can mount a file system (no
// root, no loop devices) no power is cut, in CI neither.
//
// What goes between the clients and the binary passes a tap that changes nothing
// and holds each answer, and each request that was not refused, against the
// binary's own openapi.json. Three lists stand in testdata: operations.tsv says of
// each operation of Resend's API whether it is served; routes.tsv names every
// route of this service; methods.tsv says of each method, command and tool of the
// clients whether the suites exercise it. Tests hold them against what there is,
// and a whole run fails where one says more than was called.
//
// The suites of Resend's clients run against servers in both modes of --compat.
// others holds clients besides, older ones and other people's, with a lock file of
// their own. testdata/recorded has what clients send that no registry here has, and
// what is to come of it in each mode.
//
// Without flags the short form runs: one client of each language, Postfix with DKIM, the
// browser on the main flows, one kill, one power cut, one full disk, one program that
// submits by SMTP, two servers on PostgreSQL. Each test begins with part, which names the
// parts that it is in; a test that is not of the short form skips without a flag that asks
// for it:
//
//   - -full runs all parts but perf, and fails where an operation, or a method of a client,
//     that is listed was not called
//   - -part NAMES runs some, in their long form; -parts prints what there is
//   - -perf runs the tests that judge time, CPU or memory, and no others, one at a time: the
//     machine should have no other work. No other test judges those; their timeouts guard
//     against hanging
//
// To run it, in this folder: `npm ci --ignore-scripts && (cd others && npm ci
// --ignore-scripts) && go test -count=1 ./...`
// (-count=1 since go can't see that the program beside this module changed). MAILER_BIN
// names a binary to test instead of building one, for instance one built with -race. More
// of the faults, with -full: -kills N kills the server N times under load, -cuts N cuts
// the power N times, -every-call kills it at each call on its files, -queued N has N emails
// wait for the relay, -restarts N ends it N times in every way. Imports: -import-kills N
// kills each N times, -import-people N has N people in it, -import-rows N takes a file of N
// rows in beside clients that send. With -perf: -soak D works for that long.
package sdktest
