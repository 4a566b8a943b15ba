package sdktest

import (
	"testing"
)

// compat is a value of --compat.
type compat string

const (
	strict     compat = "strict"
	likeResend compat = "resend"
)

// flags returns the flags of a server in this mode; none for the default.
func (c compat) flags() []string {
	if c == "" {
		return nil
	}
	return []string{"--compat", string(c)}
}

// inBothModes runs a suite of one of Resend's clients in both modes in parallel, each with its own
// servers.
func inBothModes(t *testing.T, suite func(t *testing.T, mode compat)) {
	t.Parallel()
	for _, mode := range []compat{strict, likeResend} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			suite(t, mode)
		})
	}
}

// TestHarnessCompatMode proves that the two runs of a suite are not
// one run twice.
func TestHarnessCompatMode(t *testing.T) {
	part(t, "harness")
	inBothModes(t, func(t *testing.T, mode compat) {
		w := newFixture(t, &fixtureOptions{direct: true, compat: mode})
		var health struct{ Compat compat }
		(client{w.in.url, w.key}).get(t, "/healthz", &health)
		if health.Compat != mode {
			t.Errorf("started with --compat %s, /healthz says %s", mode, health.Compat)
		}
	})
}
