package plan

import "time"

// A daily quota counts from one UTC midnight to the next.

const secondsADay = 24 * 60 * 60

// UnixDay returns the number of a UTC day since 1970.
func UnixDay(t time.Time) int64 { return t.Unix() / secondsADay }

// DayStart returns the UTC midnight at the start of the day.
func DayStart(t time.Time) time.Time { return DaysLater(t, 0) }

// DayEnd returns the UTC midnight at the end of the day.
func DayEnd(t time.Time) time.Time { return DaysLater(t, 1) }

// DaysLater returns the UTC midnight at the start of the n-th day after the day of t.
func DaysLater(t time.Time, n int64) time.Time {
	return time.Unix((UnixDay(t)+n)*secondsADay, 0).UTC()
}
