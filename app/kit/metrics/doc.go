// Package metrics counts what the server does and serves the counters and the current state to
// Prometheus. It has no dependencies within the module.
//
// Failure policy: counting never fails or blocks. State that can't be read is left out of the
// answer, and logged.
package metrics
