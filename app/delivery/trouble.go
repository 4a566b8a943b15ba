package delivery

import (
	"context"
	"fmt"
	"time"

	"mailer/app"
	"mailer/app/service"
	"mailer/db"
)

// noteTrouble keeps the relay's trouble for the timelines of all emails that
// wait for it.
func (l *lane) noteTrouble(failures int, until time.Time, res app.Result) {
	l.mu.Lock()
	if l.trouble == nil {
		l.trouble = &app.RelayTrouble{ID: app.NewID(), Relay: l.name, StartedAt: time.Now()}
	}
	l.trouble.Failures = failures
	l.trouble.Detail = l.ledger.detail(app.Unit{}, res.Stage, res.Reply, until)
	l.trouble.Detail.Message += "; no attempt is counted"
	trouble := *l.trouble
	l.mu.Unlock()
	l.s.Log.Warn("relay can't be used", "relay", l.name, "stage", res.Stage, "code", res.Reply.Code, "reply", res.Reply.Text, "next try", until)
	err := l.s.DB.WriteVital(context.Background(), func(tx *db.Tx) error { return tx.OpenTrouble(trouble) })
	if err != nil {
		l.s.Log.Error("note a relay's trouble", "relay", l.name, "err", err)
	}
}

func (l *lane) closeTroubles() error {
	return l.s.DB.WriteVital(context.Background(), func(tx *db.Tx) error { return tx.CloseTroubles(l.name) })
}

// dailyUsed rests the lane until the daily limit has a place again.
func (l *lane) dailyUsed(p pass, j *job, free time.Time) {
	_, until, fresh := l.gate.trouble(p, func(int) time.Duration { return time.Until(free) })
	if fresh {
		l.noteTrouble(1, until, app.Result{Stage: app.StageConnect, Reply: app.Reply{
			Text: fmt.Sprintf("its limit of %d messages in 24 hours is used up", l.relay.Daily)}})
	}
	l.record(j, func(tx *db.Tx) error {
		return service.IgnoreGone(tx.RequeueUnit(j.unit, j.unit.Attempts-1, until))
	})
}
