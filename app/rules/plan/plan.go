// Package plan has the plans of cloud mode: what each allows, periods, quotas and
// backlogs. The store, the services and the doors may import it; it does no I/O,
// keeps no state, and is told the time.
//
// Failure policy: input of the operator is refused with an *app.Error; a stored plan
// of an unknown name has the terms of the free one.
package plan

import (
	"time"

	"mailer/app"
)

// Name names a plan of cloud mode.
type Name string

// The plans. A team that was given none is on Free.
const (
	Free    Name = "free"
	Starter Name = "starter"
	Pro     Name = "pro"
	Scale   Name = "scale"
)

// Terms are what a plan allows; 0 stands for no limit.
type Terms struct {
	PerDay      int64 // recipients a UTC day; 0: the plan is monthly
	PerMonth    int64 // recipients that a period includes; 0: the plan is daily
	OverageUSD  float64
	Domains     int
	Contacts    int
	Attachments int64 // bytes in one email, decoded
}

// Terms returns what a plan allows, and false for a name that is none.
func (n Name) Terms() (Terms, bool) {
	switch n {
	case Free:
		return Terms{PerDay: 100, Domains: 3, Contacts: 1000, Attachments: 1 << 20}, true
	case Starter:
		return Terms{PerDay: 1500, Domains: 10, Attachments: 1 << 20}, true
	case Pro:
		return Terms{PerMonth: 100_000, OverageUSD: 0.30, Attachments: 5 << 20}, true
	case Scale:
		return Terms{PerMonth: 500_000, OverageUSD: 0.20, Attachments: 10 << 20}, true
	}
	return Terms{}, false
}

// Plan is the plan of a team.
type Plan struct {
	Name Name
	// Volume is what a period includes in the place of the plan's own; 0: the
	// plan's own.
	Volume  int64
	Overage bool // a monthly plan goes on above what is included, up to overageStop
	// Since is the midnight that began the day on which the team got a monthly
	// plan; its periods begin on that day of the month.
	Since time.Time
}

// Input is what the operator says of a team's plan.
type Input struct {
	Name     Name
	Included int64 // 0: the plan's own
	Overage  bool
}

// Validate checks the fields: a plan of the list, the rest for monthly plans only.
func (in *Input) Validate() error {
	terms, ok := in.Name.Terms()
	switch {
	case !ok:
		return app.Invalid("plan", "must be free, starter, pro or scale")
	case in.Included < 0 || in.Included > 1e12:
		return app.Invalid("included", "must be a number of recipients, at least 1")
	case terms.PerDay > 0 && (in.Included > 0 || in.Overage):
		return app.Invalid("plan", "%s is daily; included volume and overage belong to pro and scale", in.Name)
	}
	return nil
}

// Next is the plan that follows p when the operator says in: a period that runs
// goes on, so that a change of terms takes back nothing that was used.
func (p Plan) Next(in Input, now time.Time) Plan {
	next := Plan{Name: in.Name, Volume: in.Included, Overage: in.Overage, Since: DayStart(now)}
	if !p.Daily() && !next.Daily() {
		next.Since = p.Since
	}
	return next
}

// Terms are those of the plan, free where its name is none.
func (p *Plan) Terms() Terms {
	terms, ok := p.Name.Terms()
	if !ok {
		terms, _ = Free.Terms()
	}
	return terms
}

// Daily reports whether the plan has a quota a day, and not a month.
func (p *Plan) Daily() bool { return p.Terms().PerDay > 0 }

// Included is what a period of a monthly plan includes.
func (p *Plan) Included() int64 {
	if p.Volume > 0 {
		return p.Volume
	}
	return p.Terms().PerMonth
}

// overageStop is how many times what is included a period goes with overage.
const overageStop = 5

// PeriodMax is how many recipients a period of a monthly plan may have.
func (p *Plan) PeriodMax() int64 {
	if p.Overage {
		return overageStop * p.Included()
	}
	return p.Included()
}

// Period returns the period of a monthly plan that a time is in: from the midnight
// of the day of the month on which the plan began, or of the month's last one where
// it has no such day.
func (p *Plan) Period(now time.Time) (start, end time.Time) {
	since, now := p.Since.UTC(), now.UTC()
	n := max(0, 12*(now.Year()-since.Year())+int(now.Month())-int(since.Month()))
	if n > 0 && monthsAfter(since, n).After(now) {
		n--
	}
	return monthsAfter(since, n), monthsAfter(since, n+1)
}

// monthsAfter is the same day n months later, or the last one of a month that is
// too short.
func monthsAfter(t time.Time, n int) time.Time {
	first := time.Date(t.Year(), t.Month()+time.Month(n), 1, 0, 0, 0, 0, time.UTC)
	last := first.AddDate(0, 1, -1).Day()
	return first.AddDate(0, 0, min(t.Day(), last)-1)
}
