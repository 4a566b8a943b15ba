// Package bench measures the built binary: durable accepts a second, and the
// whole way from an accept to a sink, each beside a limit of the same machine
// measured in the same run. It holds tests only; run it with
//
//	go test -run '^$' -bench . ./app/engine/bench
//
// Load and sink share the machine with the server, as they do on a small VPS.
package bench
