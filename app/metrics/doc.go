// Package metrics counts what the server does, for those who watch it. It knows nothing
// of ours, so that every part may count.
//
// Failure policy: counting never fails and never waits.
package metrics
