package delivery

import (
	"context"
	"time"

	"mailer/app"
	"mailer/app/kit/clock"
	"mailer/db"
)

// Pause is the operator's word that nothing leaves through a relay.
type Pause struct {
	Since time.Time
	Until time.Time // zero: until it is resumed
}

// Active reports whether it holds at a time.
func (p Pause) Active(now time.Time) bool { return p.Until.IsZero() || now.Before(p.Until) }

// Text say it.
func (p Pause) Text() string {
	if p.Until.IsZero() {
		return "paused by the operator until it is resumed"
	}
	return "paused by the operator until " + app.FormatTime(p.Until)
}

// pause is one that a lane obeys, and the trouble by which timelines tell of it.
type pause struct {
	Pause
	trouble string
}

// halted reports whether nothing leaves by the operator's word.
func (l *standing) halted() bool {
	p := l.pause.Load()
	return p != nil && p.Active(clock.Now())
}

// pausedUntil is when a pause ends by itself; zero: there is none, or it does not.
func (l *standing) pausedUntil() time.Time {
	if p := l.pause.Load(); p != nil {
		return p.Until
	}
	return time.Time{}
}

// SetPauses has the relays rest that are named, by region, and all others resume. What
// is past its final dot goes on.
func (o *Outlets) SetPauses(pauses map[string]Pause) {
	for _, l := range o.all() {
		p, on := pauses[l.name]
		old := l.pause.Load()
		switch {
		case on && (old == nil || old.Pause != p):
			o.halt(l, old, p)
		case !on && old != nil:
			o.resume(l, old)
		}
	}
}

func (o *Outlets) halt(l *lane, old *pause, p Pause) {
	next := &pause{Pause: p, trouble: app.NewID()}
	if old != nil {
		next.trouble = old.trouble
	}
	l.pause.Store(next)
	l.wake() // it looks when the pause ends
	until := "it is resumed"
	if !p.Until.IsZero() {
		until = app.FormatTime(p.Until)
	}
	l.s.Log.Info("relay is paused: nothing leaves through it", "relay", l.name, "until", until)
	if !l.s.Outlets.running || !l.s.leads.Load() { // its start notes it, or the server that leads does
		return
	}
	if err := l.s.DB.WriteCritical(context.Background(), func(tx *db.Tx) error { return l.recordPause(tx, next) }); err != nil {
		l.s.LogUnlessUnavailable("note a relay's pause", err, "relay", l.name)
	}
}

// recordPause keeps a pause for the timelines of the emails that wait.
func (l *standing) recordPause(tx *db.Tx, p *pause) error {
	return tx.OpenTrouble(app.RelayTrouble{ID: p.trouble, Relay: l.name, StartedAt: p.Since,
		Detail: app.EventDetail{Relay: l.name, Message: "The relay is " + p.Text()}})
}

func (o *Outlets) resume(l *lane, old *pause) {
	l.pause.Store(nil)
	l.wake()
	l.s.Log.Info("relay is resumed", "relay", l.name, "after", clock.Since(old.Since).Round(time.Second).String())
	if err := l.s.DB.WriteCritical(context.Background(), func(tx *db.Tx) error { return tx.CloseTrouble(old.trouble) }); err != nil {
		l.s.LogUnlessUnavailable("note the end of a relay's pause", err, "relay", l.name)
	}
}
