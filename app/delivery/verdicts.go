package delivery

import (
	"context"
	"fmt"
	"time"

	"mailer/app"
	"mailer/app/mail"
	"mailer/app/service"
	"mailer/db"
)

// simulated says what a test recipient stands for: the state that it ends in
// and the words of its event.
var simulated = map[app.Verdict]struct {
	state app.LastEvent
	words string
}{
	app.SimulatedSuccess: {app.Delivered, "Test recipient: delivered, without leaving this server"},
	app.SimulatedBounce:  {app.Bounced, "Test recipient: bounced, without leaving this server"},
	app.SimulatedSpam:    {app.Complained, "Test recipient: reported as spam, without leaving this server"},
	app.SimulatedDelay:   {app.DeliveryDelayed, "Test recipient: delayed, without leaving this server"},
	app.SimulatedBlock:   {app.Suppressed, "Test recipient: suppressed, without leaving this server"},
}

// detail words a relay's answer.
func (l *lane) detail(u app.Unit, stage app.Stage, r app.Reply, next time.Time) app.EventDetail {
	d := app.EventDetail{ReplyCode: r.Code, EnhancedCode: r.Enhanced, Reply: r.Text, Stage: stage, Relay: l.name, Attempt: u.Attempts}
	d.Message = d.Words(l.label())
	if !next.IsZero() {
		d.NextAttemptAt = app.FormatTime(next)
		d.Message += "; next try at " + d.NextAttemptAt
	}
	return d
}

// label names the relay in words for the sender of an email.
func (l *lane) label() string {
	if l.s.Settings.Capture {
		return l.name
	}
	return l.relay.String()
}

// settleRecipient records the verdict on one recipient.
func (l *lane) settleRecipient(tx *db.Tx, j *job, v app.RecipientResult, next time.Time) error {
	u := j.unit
	if sim, ok := simulated[v.Verdict]; ok {
		d := l.detail(u, "", v.Reply, time.Time{})
		d.Message = sim.words
		return l.finish(tx, u, v.Address, sim.state, d)
	}
	switch v.Verdict {
	case app.Accepted:
		d := l.detail(u, v.Stage, v.Reply, time.Time{})
		if u.BroadcastID != "" {
			d.Message = "" // put in words when it is read: a million of them take room
		}
		if err := l.countResult(tx, j, v, app.Sent); err != nil {
			return err
		}
		return l.finished(tx, u, v.Address, app.Sent, d)
	case app.Refused:
		if err := l.s.audience.SuppressRefused(tx, u, v); err != nil {
			return err
		}
		if err := l.countResult(tx, j, v, app.Bounced); err != nil {
			return err
		}
		return l.finished(tx, u, v.Address, app.Bounced, l.detail(u, v.Stage, v.Reply, time.Time{}))
	}
	return tx.InsertEvent(mail.NewEvent(tx, u, app.EventDeferred, v.Address, l.detail(u, v.Stage, v.Reply, next)))
}

// noteTrouble keeps the relay's trouble for the timelines of all emails that
// wait for it.
func (l *lane) noteTrouble(failures int, until time.Time, res app.Result) {
	l.mu.Lock()
	if l.trouble == nil {
		l.trouble = &app.RelayTrouble{ID: app.NewID(), Relay: l.name, StartedAt: time.Now()}
	}
	l.trouble.Failures = failures
	l.trouble.Detail = l.detail(app.Unit{}, res.Stage, res.Reply, until)
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
