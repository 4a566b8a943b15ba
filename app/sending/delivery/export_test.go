package delivery

import (
	"strings"
	"time"

	"mailer/app"
	"mailer/db"
)

// What the tests of this package from outside reach into it for.

const (
	BreakerTrips     = breakerTrips
	LooseTrips       = looseTrips
	DayMinutes       = dayMinutes
	MaxFirstRefusals = maxFirstRefusals
	ForecastTTL      = forecastTTL
	ReturnPathTTL    = returnPathTTL
	RulingFail       = rulingFail
	RulingRelay      = rulingRelay
	RulingSender     = rulingSender
	RulingWait       = rulingWait
)

type (
	Classifier     = breaker
	CircuitBreaker = gate
	Permit         = pass
	SenderKey      = sender
	Ruling         = ruling
	Usage          = usage
)

// RefusalSignature is what emails of one sender are compared by.
func RefusalSignature(stage app.Stage, r app.Reply) string { return refusalOf(stage, r).signature }

// NewSender is a sender.
func NewSender(team, domain string) sender { return sender{team, domain} }

func (b *breaker) Accepted(s sender) { b.accepted(s) }

func (b *breaker) Unaffected(s sender) bool { return b.innocent(s) }

// Refused has an email refused in words whose first one is the code.
func (b *breaker) Refused(s sender, emailID, words string, alone bool) ruling {
	class, _, _ := strings.Cut(words, " ")
	return b.refused(s, emailID, refusal{signature: words, class: class}, alone)
}

// Sizes is how many emails and senders are remembered.
func (b *breaker) Sizes() (suspects, accused int) {
	return len(b.suspects) + len(b.older), len(b.accused)
}

// Age makes what was foretold older.
func (c *forecaster) Age(by time.Duration) {
	now := c.kept.Now
	c.kept.Now = func() time.Time { return now().Add(by) }
}

func (g *gate) Allow(innocent bool) (pass, bool) { return g.enter(innocent) }

func (g *gate) Success(p pass) bool { return g.healthy(p) }

func (g *gate) IsClosed() bool { return g.opening() == open }

func (g *gate) IsOpen() bool { return g.shut }

func (g *gate) Trip(p pass, refusing bool, delay func(failures int) time.Duration) (failures int, until time.Time, fresh bool) {
	return g.close(p, trouble{refusing: refusing, delay: delay})
}

func (g *gate) Release(p pass) { g.unclear(p) }

func (l *lane) Busy() int { return len(l.claims.of(sender{})) }

func (l *lane) Claimed() map[string]sender { return l.claims.emails }

func (l *lane) CommitSlots() dots { return l.dots }

func (l *lane) Breaker() *gate { return &l.gate.gate }

// OpenSenders is how many senders rest.
func (l *lane) OpenSenders() int64 { return l.rests.n.Load() }

func (l *lane) Limits() *limits { return l.limits }

func (l *lane) Mail() *line { return l.mail.line }

func (l *lane) Forecaster() *forecaster { return l.forecaster }

// RecordCommitted records a result of an email whose dot left.
func (l *lane) RecordCommitted(id string, fn func(*db.Tx) error) {
	l.record(&job{unit: app.Unit{EmailID: id}, state: stateCommitted}, fn)
}

func (l *lane) Wake() { l.wake() }

// Clear forgets what was counted.
func (l *limits) Clear() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.minutes, l.total = [dayMinutes]usage{}, usage{}
}

func (l *limits) Meter() *meter { return &l.meter }

func (l *limits) MoveToNow(minute int64, now time.Time, bulk bool) int64 {
	return l.renew(minute, now, bulk)
}

func (l *limits) Reserve(now time.Time, bulk bool) (minute int64, free time.Time, ok bool) {
	return l.reserve(now, "team", bulk)
}

func (l *limits) Total() *usage { return &l.total }

func (n *line) MaxJobs() int { return n.jobs.Capacity }

func (m *meter) Busy(running bool) { m.busy(running) }

func (s *Service) Queues() []*lane { return s.Outlets.all() }

func (u *usage) Sent() int64 { return u.sent }
