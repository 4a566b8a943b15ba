package app

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// DefaultMaxWait is how long mail is tried before it fails, where nobody said otherwise.
const DefaultMaxWait = 48 * time.Hour

// ReasonExpired is the reason in the event of an email that waited too long.
const ReasonExpired = "expired"

// Bounds of what a send may say of how long it is worth something.
const (
	MinExpiresIn = time.Minute
	MaxExpiresIn = 30 * 24 * time.Hour
)

// Span is a time during which the clock of waiting mail stood. To is zero while it does.
type Span struct{ From, To time.Time }

// ClockStart is when the clock of a unit began that is or was due.
func (u *Unit) ClockStart() time.Time {
	if u.Since.IsZero() {
		return u.NextAt
	}
	return u.Since
}

// Waited is how long the clock of a unit has run at a time: since it was first due, but
// for when it stood: for all mail of its team at its relay, and for itself.
func (u *Unit) Waited(at time.Time, stood []Span) time.Duration {
	began := u.ClockStart()
	waited := max(0, at.Sub(began))
	for _, s := range mergeSpans(append(slices.Clone(u.ClockStops), stood...), at) {
		if began.After(s.From) {
			s.From = began
		}
		waited -= max(0, s.To.Sub(s.From))
	}
	return waited
}

// WaitedSince is the latest time from which on a clock has run for d at a time.
func WaitedSince(at time.Time, d time.Duration, stood []Span) time.Time {
	spans := mergeSpans(stood, at)
	for _, s := range slices.Backward(spans) {
		ran := at.Sub(s.To)
		if ran >= d {
			break
		}
		at, d = s.From, d-ran
	}
	return at.Add(-d)
}

// mergeSpans merges spans up to a time, in their order, so that none counts twice.
func mergeSpans(spans []Span, at time.Time) []Span {
	spans = slices.Clone(spans)
	slices.SortStableFunc(spans, func(a, b Span) int { return cmp.Compare(a.From.UnixNano(), b.From.UnixNano()) })
	var out []Span
	for _, s := range spans {
		if s.To.IsZero() || s.To.After(at) {
			s.To = at
		}
		if len(out) > 0 && s.From.Before(out[len(out)-1].To) {
			s.From = out[len(out)-1].To
		}
		if s.To.After(s.From) {
			out = append(out, s)
		}
	}
	return out
}

// FormatSpan words how long something took, in whole seconds: 48h, 10m, 1h30m.
func FormatSpan(d time.Duration) string {
	words := d.Round(time.Second).String()
	if strings.HasSuffix(words, "m0s") {
		words = strings.TrimSuffix(words, "0s")
	}
	if strings.HasSuffix(words, "h0m") {
		words = strings.TrimSuffix(words, "0m")
	}
	return words
}

var retryTable = []time.Duration{
	1 * time.Minute, 5 * time.Minute, 15 * time.Minute, 30 * time.Minute,
	1 * time.Hour, 2 * time.Hour, 4 * time.Hour, 8 * time.Hour,
}

// RetryDelay is how long to wait after the given attempt (1 is the first) was
// deferred: the table, its last value repeated, times 0.8 to 1.2 by jitter, a
// number in [0,1).
func RetryDelay(attempt int, jitter float64) time.Duration {
	i := min(max(attempt, 1), len(retryTable)) - 1
	return time.Duration(float64(retryTable[i]) * (0.8 + 0.4*jitter))
}

// CrashDelay is how long an attempt that was begun and never ended (the
// process died) waits: 1 s, 4 s, 16 s …, never longer than the retry table, so
// that a message that kills the process can't hammer the relay.
func CrashDelay(attempt int) time.Duration {
	attempt = max(attempt, 1)
	table := RetryDelay(attempt, 0.5)
	if attempt > 8 {
		return table
	}
	return min(time.Second<<(2*(attempt-1)), table)
}

// BreakerDelay is how long a relay rests after its n-th trouble in a row: 1 s,
// doubled each time, at most 1 minute, times 0.8 to 1.2 by jitter in [0,1).
func BreakerDelay(n int, jitter float64) time.Duration {
	d := min(time.Second<<min(max(n, 1)-1, 6), time.Minute)
	return time.Duration(float64(d) * (0.8 + 0.4*jitter))
}
