package delivery

import (
	"context"
	"time"

	"mailer/app"
	"mailer/app/reputation"
	"mailer/db"
)

// What the tests of this package from outside reach into it for.

func (x *Service) Guards() *guards { return &x.guards }

func (x *Service) Lanes() []*lane { return x.lanes }

type Breaker = breaker

func (x *breaker) Accepted() { x.accepted() }

func (x *breaker) Burst() map[string]bool { return x.burst }

func (x *breaker) Refused(a0 string, a1 string) ruling { return x.refused(a0, a1) }

func (x *breaker) Suspects() map[string]string { return x.suspects }

const BreakerTrips = breakerTrips

const DayMinutes = dayMinutes

func (x *gate) Enter(a0 context.Context) (pass, bool) { return x.enter(a0) }

func (x *gate) Healthy(a0 pass) bool { return x.healthy(a0) }

func (x *gate) Room(a0 int) int { return x.room(a0) }

func (x *gate) Shut() bool { return x.shut }

func (x *gate) Trouble(a0 pass, a1 func(failures int) time.Duration) (failures int, until time.Time, fresh bool) {
	return x.trouble(a0, a1)
}

func (x *gate) Unclear(a0 pass) { x.unclear(a0) }

func (x *guards) Team(a0 string) reputation.Guardrail { return x.team(a0) }

func (x *lane) Busy() int { return x.claims.busy() }

func (x *lane) Claimed() map[string]bool { return x.claims.emails }

func (x *lane) Dots() dots { return x.dots }

func (x *lane) Gate() *gate { return x.gate }

func (x *lane) Limits() *limits { return x.limits }

func (x *lane) Mail() *line { return x.mail.line }

func (x *lane) Plans() *forecaster { return x.forecaster }

// RecordLeft records a result of an email whose dot left.
func (x *lane) RecordLeft(id string, fn func(*db.Tx) error) {
	x.record(&job{unit: app.Unit{EmailID: id}, state: stateLeft}, fn)
}

func (x *lane) Wake() { x.wake() }

func (x *limits) Meter() *meter { return &x.meter }

func (x *limits) Renew(a0 int64, a1 time.Time, a2 bool) int64 { return x.renew(a0, a1, a2) }

func (x *limits) Reserve(a0 time.Time, a1 bool) (minute int64, free time.Time, ok bool) {
	return x.reserve(a0, a1)
}

func (x *limits) Total() *usage { return &x.total }

func (x *line) Jobs() chan *job { return x.jobs }

const MaxSuspects = maxSuspects

func (x *meter) Busy(a0 bool) { x.busy(a0) }

var NewGate = newGate

type Pass = pass

// Age makes what was foretold older.
func (x *forecaster) Age(by time.Duration) {
	now := x.kept.Now
	x.kept.Now = func() time.Time { return now().Add(by) }
}

const PlanFresh = planFresh

var RefusalSignature = refusalSignature

const ReturnPathTTL = returnPathTTL

type Ruling = ruling

const RulingFail = rulingFail

const RulingOpen = rulingOpen

const RulingWait = rulingWait

type Usage = usage

func (x *usage) Sent() int64 { return x.sent }

// Clear forgets what was counted.
func (x *limits) Clear() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.minutes, x.total = [dayMinutes]usage{}, usage{}
}
