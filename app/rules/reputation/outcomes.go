package reputation

import "time"

// Outcome counts recipients by outcome, without test recipients.
type Outcome struct {
	// Sent are recipients that a relay accepted or refused by name.
	Sent int64
	// HardBounced are recipients whose address is invalid according to Suppresses, at the relay or
	// by a later report. Each recipient of an email counts once.
	HardBounced int64
	Complained  int64 // each recipient of an email once
	// Scored are those of Sent whose email has a score. Points is the sum of their scores in
	// hundredths.
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

// OutcomeHour returns the Unix hour of a time, in UTC.
func OutcomeHour(t time.Time) int64 { return t.Unix() / 3600 }

// OutcomesOver returns the first hour of a window of whole hours that ends with the current one.
func OutcomesOver(window time.Duration, now time.Time) int64 {
	return OutcomeHour(now) - int64(window/time.Hour) + 1
}

// OutcomesSinceYesterday returns the first hour of the previous UTC day.
func OutcomesSinceYesterday(now time.Time) int64 {
	return (now.Unix()/86400 - 1) * 24
}
