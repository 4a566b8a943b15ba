package delivery

import (
	"time"

	"mailer/app"
	"mailer/db"
)

// Access for the tests in package delivery_test.

const (
	DayMinutes    = dayMinutes
	ForecastTTL   = forecastTTL
	ReturnPathTTL = returnPathTTL
)

type (
	CircuitBreaker = breaker
	Permit         = permit
	Usage          = usage
)

// Age makes the cached forecasts older.
func (c *forecaster) Age(by time.Duration) {
	now := c.cache.Now
	c.cache.Now = func() time.Time { return now().Add(by) }
}

func (b *breaker) Allow(unaffected bool) (permit, bool) { return b.allow(unaffected) }

func (b *breaker) Success(p permit) bool { return b.success(p) }

func (b *breaker) IsClosed() bool { return b.statusLocked().state == breakerClosed }

func (b *breaker) IsOpen() bool { return b.open }

func (b *breaker) Trip(p permit, refusing bool, delay func(failures int) time.Duration) (failures int, until time.Time, fresh bool) {
	return b.trip(p, trouble{refused: refusing, delay: delay})
}

func (b *breaker) Release(p permit) { b.release(p) }

func (l *relayQueue) Busy() int { return len(l.claims.emailsOf(sender{})) }

func (l *relayQueue) Claimed() map[string]sender { return l.claims.emails }

func (l *relayQueue) CommitSlots() commitSlots { return l.commitSlots }

func (l *relayQueue) Breaker() *breaker { return l.breaker }

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
