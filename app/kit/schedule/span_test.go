package schedule

import (
	"testing"
	"time"
)

func TestParseSpan(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"0": 0, "10m": 10 * time.Minute, "2h": 2 * time.Hour, "3d": 72 * time.Hour, "1h30m": 90 * time.Minute, "90s": 90 * time.Second,
		"1y": 365 * 24 * time.Hour, "2d12h": 60 * time.Hour, "48h0m0s": 48 * time.Hour,
	} {
		got, err := ParseSpan(text)
		if err != nil || got != want {
			t.Errorf("%q is %v (%v), want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "m", "10", "1.5h", "-1h", "+1h", "10 m", "1m2h", "1h1h", "9999999999y", "1w", "00000000001m", "1M", "99y360d48h1d"} {
		if got, err := ParseSpan(text); err == nil {
			t.Errorf("%q was taken as %v", text, got)
		}
	}
}
