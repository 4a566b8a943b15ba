package app

import "time"

// UnixDay numbers UTC days.
func UnixDay(t time.Time) int64 { return t.Unix() / (24 * 60 * 60) }

// DayEnd is the UTC midnight that ends the day of a time.
func DayEnd(t time.Time) time.Time { return time.Unix((UnixDay(t)+1)*24*60*60, 0).UTC() }

// Usage is what a team used of what it may (api.md, Usage). Quotas count distinct
// recipients of accepted emails, and those of broadcasts; mail that waits for its
// time counts on the day it leaves.
type Usage struct {
	Cloud    bool
	Team     Team
	Today    int64     // recipients that counted on this UTC day
	ResetsAt time.Time // when the next day begins
	AppURL   string    // where this server is reached
}
