package delivery

import (
	"strings"
	"time"

	"mailer/app"
	"mailer/db"
)

// What the tests of this package from outside reach into it for.

const (
	BreakerTrips  = breakerTrips
	LooseTrips    = looseTrips
	DayMinutes    = dayMinutes
	MaxSuspects   = maxSuspects
	PlanFresh     = planFresh
	ReturnPathTTL = returnPathTTL
	RulingFail    = rulingFail
	RulingRelay   = rulingRelay
	RulingRest    = rulingRest
	RulingWait    = rulingWait
)

type (
	Breaker = breaker
	Gate    = gate
	Pass    = pass
	Whose   = sender
	Ruling  = ruling
	Usage   = usage
)

// RefusalSignature is what emails of one sender are compared by.
func RefusalSignature(stage app.Stage, r app.Reply) string { return refusalOf(stage, r).signature }

// From is a sender.
func From(team, domain string) sender { return sender{team, domain} }

func (b *breaker) Accepted(s sender) { b.accepted(s) }

func (b *breaker) Innocent(s sender) bool { return b.innocent(s) }

// Refused has an email refused in words whose first one is the code.
func (b *breaker) Refused(s sender, emailID, words string, alone bool) ruling {
	class, _, _ := strings.Cut(words, " ")
	return b.refused(s, emailID, refusal{signature: words, class: class}, alone)
}

// Known is how many emails and senders are remembered.
func (b *breaker) Known() (suspects, accused int) {
	return len(b.suspects) + len(b.older), len(b.accused)
}

// Age makes what was foretold older.
func (c *forecaster) Age(by time.Duration) {
	now := c.kept.Now
	c.kept.Now = func() time.Time { return now().Add(by) }
}

func (g *gate) Enter(innocent bool) (pass, bool) { return g.enter(innocent) }

func (g *gate) Healthy(p pass) bool { return g.healthy(p) }

func (g *gate) Open() bool { return g.opening() == open }

func (g *gate) Shut() bool { return g.shut }

func (g *gate) Close(p pass, refusing bool, delay func(failures int) time.Duration) (failures int, until time.Time, fresh bool) {
	return g.close(p, trouble{refusing: refusing, delay: delay})
}

func (g *gate) Unclear(p pass) { g.unclear(p) }

func (l *lane) Busy() int { return len(l.claims.of(sender{})) }

func (l *lane) Claimed() map[string]sender { return l.claims.emails }

func (l *lane) Dots() dots { return l.dots }

func (l *lane) Gate() *gate { return &l.gate.gate }

// Resting is how many senders rest.
func (l *lane) Resting() int64 { return l.rests.n.Load() }

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
	return l.reserve(now, "team", bulk)
}

func (l *limits) Total() *usage { return &l.total }

func (n *line) Places() int { return n.jobs.Places }

func (m *meter) Busy(running bool) { m.busy(running) }

func (s *Service) Lanes() []*lane { return s.Outlets.all() }

func (u *usage) Sent() int64 { return u.sent }
