// Package metrics counts what the server does and shows it to those who watch it, as
// Prometheus reads it. It knows nothing of ours, so that every part may count.
//
// Failure policy: counting never fails and never waits. What can't be looked at is
// missing in the answer, and logged.
package metrics
