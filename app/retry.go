package app

import "time"

// GiveUpAfter is how long an email is tried before it fails.
const GiveUpAfter = 48 * time.Hour

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

// RelayPause is how long a relay rests after its n-th trouble in a row: 1 s,
// doubled each time, at most 1 minute, times 0.8 to 1.2 by jitter in [0,1).
func RelayPause(n int, jitter float64) time.Duration {
	d := min(time.Second<<min(max(n, 1)-1, 6), time.Minute)
	return time.Duration(float64(d) * (0.8 + 0.4*jitter))
}
