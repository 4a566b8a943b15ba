// Package plan defines the plans of cloud mode: limits, periods, quotas and backlogs. It does no
// I/O and keeps no state. Callers pass the time.
//
// Failure policy: invalid input of the operator is refused with an *app.Error. A stored plan with
// an unknown name has the limits of the free plan.
package plan

import (
	"cmp"
	"time"

	"mailer/app"
)

// Name is the name of a plan.
type Name string

// The plans. The default is Free.
const (
	Free    Name = "free"
	Starter Name = "starter"
	Pro     Name = "pro"
	Scale   Name = "scale"
)

// Terms are the limits of a plan; 0: no limit.
type Terms struct {
	PerDay      int64 // recipients in a UTC day; 0: a monthly plan
	PerMonth    int64 // included recipients in a period; 0: a daily plan
	OverageUSD  float64
	Domains     int
	Contacts    int
	Attachments int64 // decoded bytes in one email
	Images      int64 // bytes of all images
	OpenRuns    int64 // of automations; 0: app.MaxOpenRuns
}

// MaxOpenRuns returns how many runs of automations a team can have open.
func (t Terms) MaxOpenRuns() int64 { return cmp.Or(t.OpenRuns, app.MaxOpenRuns) }

// Terms returns the limits of a plan; ok is false for an unknown name.
func (n Name) Terms() (Terms, bool) {
	switch n {
	case Free:
		return Terms{PerDay: 100, Domains: 3, Contacts: 1000, Attachments: 1 << 20, Images: 100 << 20, OpenRuns: app.MaxFreeOpenRuns}, true
	case Starter:
		return Terms{PerDay: 1500, Domains: 10, Attachments: 1 << 20, Images: 250 << 20}, true
	case Pro:
		return Terms{PerMonth: 100_000, OverageUSD: 0.30, Attachments: 5 << 20, Images: 500 << 20}, true
	case Scale:
		return Terms{PerMonth: 500_000, OverageUSD: 0.20, Attachments: 10 << 20, Images: 1 << 30}, true
	}
	return Terms{}, false
}

// Plan is the plan of a team.
type Plan struct {
	Name Name
	// Volume is the included volume of a period; 0: that of the plan.
	Volume  int64
	Overage bool // a monthly plan may exceed the included volume up to overageStop
	// Since is the midnight of the day on which the team got a monthly plan. Its periods begin on
	// that day of the month.
	Since time.Time
}

// Input is a team's plan as the operator sets it.
type Input struct {
	Name     Name
	Included int64 // 0: that of the plan
	Overage  bool
}

// Validate checks the fields: a known plan; other fields only for monthly plans.
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

// Next returns the plan after the change in. A running monthly period continues, so that its usage
// is kept.
func (p Plan) Next(in Input, now time.Time) Plan {
	next := Plan{Name: in.Name, Volume: in.Included, Overage: in.Overage, Since: DayStart(now)}
	if !p.Daily() && !next.Daily() {
		next.Since = p.Since
	}
	return next
}

// Terms returns the limits of the plan, those of Free for an unknown name.
func (p *Plan) Terms() Terms {
	terms, ok := p.Name.Terms()
	if !ok {
		terms, _ = Free.Terms()
	}
	return terms
}

// Daily reports whether the plan has a daily quota.
func (p *Plan) Daily() bool { return p.Terms().PerDay > 0 }

// Included returns the included volume of a period.
func (p *Plan) Included() int64 {
	if p.Volume > 0 {
		return p.Volume
	}
	return p.Terms().PerMonth
}

// overageStop is the factor of the included volume at which sending with overage stops.
const overageStop = 5

// PeriodMax returns the maximum number of recipients in a period.
func (p *Plan) PeriodMax() int64 {
	if p.Overage {
		return overageStop * p.Included()
	}
	return p.Included()
}

// Period returns the period of a monthly plan that contains a time: from midnight on the day of
// the month on which the plan began, or the last day of a shorter month.
func (p *Plan) Period(now time.Time) (start, end time.Time) {
	since, now := p.Since.UTC(), now.UTC()
	n := max(0, 12*(now.Year()-since.Year())+int(now.Month())-int(since.Month()))
	if n > 0 && monthsAfter(since, n).After(now) {
		n--
	}
	return monthsAfter(since, n), monthsAfter(since, n+1)
}

// monthsAfter returns the same day n months later, or the last day of a shorter month.
func monthsAfter(t time.Time, n int) time.Time {
	first := time.Date(t.Year(), t.Month()+time.Month(n), 1, 0, 0, 0, 0, time.UTC)
	last := first.AddDate(0, 1, -1).Day()
	return first.AddDate(0, 0, min(t.Day(), last)-1)
}
