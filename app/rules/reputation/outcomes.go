package reputation

import "time"

// OutcomeKey says whose outcomes are counted together.
type OutcomeKey struct {
	TeamID string
	Region string // of the relay
	Domain string // of the sender
}

// Outcome counts what became of recipients. Test recipients count nowhere.
type Outcome struct {
	// Sent are those that a relay took or refused by name.
	Sent int64
	// HardBounced are those whose address proved to be of no use: by Suppresses, at
	// the relay or reported later. Each recipient of an email counts once.
	HardBounced int64
	Complained  int64 // each recipient of an email once
	// Scored are those of Sent whose email has a score; Points is the sum of their
	// scores, in hundredths.
	Scored, Points int64
}

// Add adds other counts.
func (o *Outcome) Add(other Outcome) {
	o.Sent += other.Sent
	o.HardBounced += other.HardBounced
	o.Complained += other.Complained
	o.Scored += other.Scored
	o.Points += other.Points
}

// OutcomeRetention is for how long outcomes are counted: longer than any window.
const OutcomeRetention = 32 * 24 * time.Hour

// OutcomeHour is the hour, in UTC and counted from 1970, in which what happens at t
// counts.
func OutcomeHour(t time.Time) int64 { return t.Unix() / 3600 }

// OutcomesOver is the first hour of a window of whole hours that ends with the one
// of now.
func OutcomesOver(window time.Duration, now time.Time) int64 {
	return OutcomeHour(now) - int64(window/time.Hour) + 1
}

// OutcomesSinceYesterday is the first hour of the UTC day before that of now.
func OutcomesSinceYesterday(now time.Time) int64 {
	return (now.Unix()/86400 - 1) * 24
}
