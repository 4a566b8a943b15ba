package delivery

import (
	"strings"
	"time"

	"mailer/app"
	"mailer/db"
)

// Access for the tests in package delivery_test.

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
	Classifier     = refusalClassifier
	CircuitBreaker = circuitBreaker
	Permit         = permit
	SenderKey      = sender
	Ruling         = ruling
	Usage          = usage
)

// RefusalSignature is the signature by which emails of one sender are compared.
func RefusalSignature(stage app.Stage, r app.Reply) string { return refusalOf(stage, r).signature }

// NewSender returns a sender.
func NewSender(team, domain string) sender { return sender{team, domain} }

func (b *refusalClassifier) Accepted(s sender) { b.accepted(s) }

func (b *refusalClassifier) Unaffected(s sender) bool { return b.unaffected(s) }

// Refused records a refusal whose text begins with the code.
func (b *refusalClassifier) Refused(s sender, emailID, words string, alone bool) ruling {
	class, _, _ := strings.Cut(words, " ")
	return b.refused(s, emailID, refusal{signature: words, class: class}, alone)
}

// Sizes returns how many emails and senders are remembered.
func (b *refusalClassifier) Sizes() (firstRefusals, failing int) {
	return len(b.firstRefusals) + len(b.olderRefusals), len(b.failing)
}

// Age makes the cached forecasts older.
func (c *forecaster) Age(by time.Duration) {
	now := c.cache.Now
	c.cache.Now = func() time.Time { return now().Add(by) }
}

func (b *circuitBreaker) Allow(unaffected bool) (permit, bool) { return b.allow(unaffected) }

func (b *circuitBreaker) Success(p permit) bool { return b.success(p) }

func (b *circuitBreaker) IsClosed() bool { return b.stateLocked() == breakerClosed }

func (b *circuitBreaker) IsOpen() bool { return b.open }

func (b *circuitBreaker) Trip(p permit, refusing bool, delay func(failures int) time.Duration) (failures int, until time.Time, fresh bool) {
	return b.trip(p, trouble{refused: refusing, delay: delay})
}

func (b *circuitBreaker) Release(p permit) { b.release(p) }

func (l *relayQueue) Busy() int { return len(l.claims.emailsOf(sender{})) }

func (l *relayQueue) Claimed() map[string]sender { return l.claims.emails }

func (l *relayQueue) CommitSlots() commitSlots { return l.commitSlots }

func (l *relayQueue) Breaker() *circuitBreaker { return &l.breaker.circuitBreaker }

// OpenSenders is the number of open breakers of senders.
func (l *relayQueue) OpenSenders() int64 { return l.senderBreakers.n.Load() }

func (l *relayQueue) Limits() *limits { return l.limits }

func (l *relayQueue) Mail() *dispatcher { return l.mail.dispatcher }

func (l *relayQueue) Forecaster() *forecaster { return l.forecaster }

// RecordCommitted records a result of a committed email.
func (l *relayQueue) RecordCommitted(id string, fn func(*db.Tx) error) {
	l.record(&job{unit: app.Unit{EmailID: id}, state: stateCommitted}, fn)
}

func (l *relayQueue) Wake() { l.wake() }

// Clear drops all counts.
func (l *limits) Clear() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.minutes, l.total = [dayMinutes]usage{}, usage{}
}

func (l *limits) Meter() *meter { return &l.meter }

func (l *limits) MoveToNow(minute int64, now time.Time, bulk bool) int64 {
	return l.moveToNow(minute, now, bulk)
}

func (l *limits) Reserve(now time.Time, bulk bool) (minute int64, free time.Time, ok bool) {
	return l.reserve(now, "team", bulk)
}

func (l *limits) Total() *usage { return &l.total }

func (n *dispatcher) MaxJobs() int { return n.jobs.Capacity }

func (m *meter) Busy(running bool) { m.busy(running) }

func (s *Service) Queues() []*relayQueue { return s.RelayQueues.all() }

func (u *usage) Sent() int64 { return u.sent }
