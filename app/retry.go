package app

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// DefaultMaxWait is how long mail is tried by default before it fails.
const DefaultMaxWait = 48 * time.Hour

// Reasons in the failure event of an email. ReasonExpired: it waited for too long. ReasonRenderLimit:
// the content of a broadcast passes a bound of Liquid with the values of the recipient.
const (
	ReasonExpired     = "expired"
	ReasonRenderLimit = "render_limit"
)

// Span is a period in which the clock of waiting mail was stopped. To is zero while it lasts.
type Span struct{ From, To time.Time }

// ClockStart returns when the unit's clock started or will start.
func (u *Unit) ClockStart() time.Time {
	if u.Since.IsZero() {
		return u.NextAt
	}
	return u.Since
}

// Waited returns how long the unit's clock has run at a time: since the unit was first due,
// without the periods in which the clock was stopped for all mail of its team at its relay (stops)
// or for this unit.
func (u *Unit) Waited(at time.Time, stops []Span) time.Duration {
	began := u.ClockStart()
	waited := max(0, at.Sub(began))
	for _, s := range mergeSpans(append(slices.Clone(u.ClockStops), stops...), at) {
		if began.After(s.From) {
			s.From = began
		}
		waited -= max(0, s.To.Sub(s.From))
	}
	return waited
}

// WaitedSince returns the latest start for which a clock has run for d at a time.
func WaitedSince(at time.Time, d time.Duration, stops []Span) time.Time {
	spans := mergeSpans(stops, at)
	for _, s := range slices.Backward(spans) {
		ran := at.Sub(s.To)
		if ran >= d {
			break
		}
		at, d = s.From, d-ran
	}
	return at.Add(-d)
}

// mergeSpans sorts and merges spans up to a time, so that no period counts twice.
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

// FormatSpan formats a duration in whole seconds: 48h, 10m, 1h30m.
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

// MaxRetryDelay is the longest RetryDelay.
var MaxRetryDelay = RetryDelay(len(retryTable), 1)

// RetryDelay returns the delay after attempt number attempt (from 1) was deferred: the value of
// the table, whose last value repeats, times 0.8 to 1.2. jitter is a random number in [0,1).
func RetryDelay(attempt int, jitter float64) time.Duration {
	i := min(max(attempt, 1), len(retryTable)) - 1
	return time.Duration(float64(retryTable[i]) * (0.8 + 0.4*jitter))
}

// CrashDelay returns the delay after an attempt that was started and never ended because the
// process died: 1 s, 4 s, 16 s …, at most the retry delay. A message that kills the process
// can't hammer the relay.
func CrashDelay(attempt int) time.Duration {
	attempt = max(attempt, 1)
	table := RetryDelay(attempt, 0.5)
	if attempt > 8 {
		return table
	}
	return min(time.Second<<(2*(attempt-1)), table)
}

// BreakerDelay returns how long the circuit breaker of a relay stays open after its n-th
// consecutive failure: 1 s, doubled each time, at most 1 minute, times 0.8 to 1.2. jitter is a
// random number in [0,1).
func BreakerDelay(n int, jitter float64) time.Duration {
	d := min(time.Second<<min(max(n, 1)-1, 6), time.Minute)
	return time.Duration(float64(d) * (0.8 + 0.4*jitter))
}
