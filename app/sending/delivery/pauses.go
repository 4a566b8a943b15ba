package delivery

import (
	"context"
	"time"

	"mailer/app"
	"mailer/app/kit/clock"
	"mailer/db"
)

// Pause is an operator's pause of a relay.
type Pause struct {
	Since time.Time
	Until time.Time // zero: until it is resumed
}

// Active reports whether the pause has not ended at a time.
func (p Pause) Active(now time.Time) bool { return p.Until.IsZero() || now.Before(p.Until) }

// Text describes the pause.
func (p Pause) Text() string {
	if p.Until.IsZero() {
		return "paused by the operator until it is resumed"
	}
	return "paused by the operator until " + app.FormatTime(p.Until)
}

// activePause is the pause of a relay and the id of the trouble that shows it in timelines.
type activePause struct {
	Pause
	trouble string
}

// paused reports whether the operator paused the relay.
func (l *relayState) paused() bool {
	p := l.pause.Load()
	return p != nil && p.Active(clock.Now())
}

// pausedUntil is when a pause ends automatically; zero: there is none, or it has no end.
func (l *relayState) pausedUntil() time.Time {
	if p := l.pause.Load(); p != nil {
		return p.Until
	}
	return time.Time{}
}

// SetPauses pauses the relays that are named, by region, and resumes all others. Committed
// transactions finish.
func (o *RelayQueues) SetPauses(pauses map[string]Pause) {
	for _, l := range o.now().endpoints {
		p, paused := pauses[l.name]
		old := l.pause.Load()
		switch {
		case paused && (old == nil || old.Pause != p):
			o.pauseRelay(l, old, p)
		case !paused && old != nil:
			o.resumeRelay(l, old)
		}
	}
}

func (o *RelayQueues) pauseRelay(l *endpoint, old *activePause, p Pause) {
	next := &activePause{Pause: p, trouble: app.NewID()}
	if old != nil {
		next.trouble = old.trouble
	}
	l.pause.Store(next)
	o.s.WakeQueues() // dispatch schedules the end of the pause
	until := "it is resumed"
	if !p.Until.IsZero() {
		until = app.FormatTime(p.Until)
	}
	o.s.Log.Info("relay is paused: nothing leaves through it", "relay", l.name, "until", until)
	if !o.running || !o.s.leader.Load() { // becomeLeader stores it, or the leading server does
		return
	}
	if err := o.s.DB.WriteCritical(context.Background(), func(tx *db.Tx) error { return l.recordPause(tx, next) }); err != nil {
		o.s.LogUnlessUnavailable("note a relay's pause", err, "relay", l.name)
	}
}

// recordPause stores a pause for the timelines of waiting emails.
func (l *relayState) recordPause(tx *db.Tx, p *activePause) error {
	return tx.OpenTrouble(app.RelayTrouble{ID: p.trouble, Relay: l.name, StartedAt: p.Since,
		Detail: app.EventDetail{Relay: l.name, Message: "The relay is " + p.Text()}})
}

func (o *RelayQueues) resumeRelay(l *endpoint, old *activePause) {
	l.pause.Store(nil)
	o.s.WakeQueues()
	o.s.Log.Info("relay is resumed", "relay", l.name, "after", clock.Since(old.Since).Round(time.Second).String())
	if err := o.s.DB.WriteCritical(context.Background(), func(tx *db.Tx) error { return tx.CloseTrouble(old.trouble) }); err != nil {
		o.s.LogUnlessUnavailable("note the end of a relay's pause", err, "relay", l.name)
	}
}
