package base

import "time"

// ClockSetting is the name of the latest wall clock that a server saw, in Unix
// milliseconds.
const ClockSetting = "clock"

// Later returns the later of two times.
func Later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// Earlier returns the earlier of two times; a zero one is none.
func Earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
