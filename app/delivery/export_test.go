package delivery

import (
	"context"
	"time"

	"mailer/app"
	"mailer/app/reputation"
	"mailer/db"
)

// What the tests of this package from outside reach into it for.

const (
	BreakerTrips  = breakerTrips
	DayMinutes    = dayMinutes
	MaxSuspects   = maxSuspects
	PlanFresh     = planFresh
	ReturnPathTTL = returnPathTTL
	RulingFail    = rulingFail
	RulingOpen    = rulingOpen
	RulingWait    = rulingWait
)

type (
	Breaker = breaker
	Pass    = pass
	Ruling  = ruling
	Usage   = usage
)

var (
	NewGate          = newGate
	RefusalSignature = refusalSignature
)

func (b *breaker) Accepted() { b.accepted() }

func (b *breaker) Burst() map[string]bool { return b.burst }

func (b *breaker) Refused(emailID, signature string) ruling { return b.refused(emailID, signature) }

func (b *breaker) Suspects() map[string]string { return b.suspects }

// Age makes what was foretold older.
func (c *forecaster) Age(by time.Duration) {
	now := c.kept.Now
	c.kept.Now = func() time.Time { return now().Add(by) }
}

func (g *gate) Enter(ctx context.Context) (pass, bool) { return g.enter(ctx) }

func (g *gate) Healthy(p pass) bool { return g.healthy(p) }

func (g *gate) Room(room int) int { return g.room(room) }

func (g *gate) Shut() bool { return g.shut }

func (g *gate) Trouble(p pass, delay func(failures int) time.Duration) (failures int, until time.Time, fresh bool) {
	return g.trouble(p, delay)
}

func (g *gate) Unclear(p pass) { g.unclear(p) }

func (g *guards) Team(id string) reputation.Guardrail { return g.team(id) }

func (l *lane) Busy() int { return l.claims.busy() }

func (l *lane) Claimed() map[string]bool { return l.claims.emails }

func (l *lane) Dots() dots { return l.dots }

func (l *lane) Gate() *gate { return l.gate }

func (l *lane) Limits() *limits { return l.limits }

func (l *lane) Mail() *line { return l.mail.line }

func (l *lane) Plans() *forecaster { return l.forecaster }

// RecordLeft records a result of an email whose dot left.
func (l *lane) RecordLeft(id string, fn func(*db.Tx) error) {
	l.record(&job{unit: app.Unit{EmailID: id}, state: stateLeft}, fn)
}

func (l *lane) Wake() { l.wake() }

// Clear forgets what was counted.
func (l *limits) Clear() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.minutes, l.total = [dayMinutes]usage{}, usage{}
}

func (l *limits) Meter() *meter { return &l.meter }

func (l *limits) Renew(minute int64, now time.Time, bulk bool) int64 {
	return l.renew(minute, now, bulk)
}

func (l *limits) Reserve(now time.Time, bulk bool) (minute int64, free time.Time, ok bool) {
	return l.reserve(now, bulk)
}

func (l *limits) Total() *usage { return &l.total }

func (n *line) Jobs() chan *job { return n.jobs }

func (m *meter) Busy(running bool) { m.busy(running) }

func (s *Service) Guards() *guards { return &s.guards }

func (s *Service) Lanes() []*lane { return s.lanes }

func (u *usage) Sent() int64 { return u.sent }
