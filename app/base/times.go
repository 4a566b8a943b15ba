package base

import "time"

// ClockSetting is the setting with the latest wall clock time that a server saw, in Unix
// milliseconds.
const ClockSetting = "clock"

// Later returns the later of two times.
func Later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// Earlier returns the earlier of two times. A zero time is ignored.
func Earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
