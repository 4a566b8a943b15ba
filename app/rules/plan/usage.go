package plan

import (
	"time"

	"mailer/app"
)

const secondsADay = 24 * 60 * 60

// UnixDay numbers UTC days.
func UnixDay(t time.Time) int64 { return t.Unix() / secondsADay }

// DayStart is the UTC midnight that began the day of a time.
func DayStart(t time.Time) time.Time { return time.Unix(UnixDay(t)*secondsADay, 0).UTC() }

// DayEnd is the UTC midnight that ends the day of a time.
func DayEnd(t time.Time) time.Time { return time.Unix((UnixDay(t)+1)*secondsADay, 0).UTC() }

// Usage is what a team used of what it may. Quotas count distinct
// recipients of accepted emails, and those of broadcasts; mail that waits for its
// time counts on the day it leaves.
type Usage struct {
	Plan     *Plan // nil: a self-hosted server, which has none
	Team     app.Team
	Today    int64     // recipients that counted on this UTC day
	ResetsAt time.Time // when the next day begins
	// Period is what counted in the period of a monthly plan, from Starts to Ends.
	Period       int64
	Starts, Ends time.Time // zero: the plan is not monthly
	AppURL       string    // where this server is reached
}
