package world

import (
	"time"

	"mailer/app"
	"mailer/app/pacing"
	"mailer/db"
)

// SentBroadcast stores a broadcast that was sent to so many contacts: queued, or
// scheduled where at is to come.
func (w *World) SentBroadcast(relay string, audience int64, at time.Time) *app.Broadcast {
	w.T.Helper()
	now := time.Now()
	b := &app.Broadcast{ID: app.NewID(), TeamID: w.Key.TeamID, From: app.Address{Local: "ann", Domain: TestDomain}, CreatedAt: now,
		Status: app.QueuedBroadcast, Relay: relay, Audience: audience, QueuedAt: at, Mails: app.NewMails()}
	if at.After(now) {
		b.Status, b.ScheduledAt, b.QueuedAt = app.ScheduledBroadcast, at, time.Time{}
	}
	Must(w.T, w.DB.Write(w.T.Context(), func(tx *db.Tx) error {
		if err := tx.InsertBroadcast(b); err != nil {
			return err
		}
		return tx.SendBroadcast(b)
	}))
	return b
}

// Begin moves a broadcast on by n emails, of which some wait, put off until since
// is not zero, and some are dotted.
func (w *World) Begin(b *app.Broadcast, n, waiting, dotted int, putOff time.Duration) {
	w.T.Helper()
	Must(w.T, w.DB.Write(w.T.Context(), func(tx *db.Tx) error {
		if err := tx.BeginRecipients(b, n, waiting+dotted); err != nil {
			return err
		}
		for i := range waiting + dotted {
			u := app.Unit{EmailID: app.MailID(b.Mails, int64(i+1)), TeamID: b.TeamID, BroadcastID: b.ID, Relay: b.Relay, NextAt: tx.Now.Add(putOff), Size: 1}
			if putOff > 0 {
				u.Since = tx.Now
			}
			if err := tx.InsertUnit(u); err != nil {
				return err
			}
			if i < waiting {
				continue
			}
			if err := tx.MarkDotted(u, ""); err != nil {
				return err
			}
		}
		return tx.AddUsage(b.Relay, tx.Now, int64(n-waiting), int64(n-waiting))
	}))
}

func (w *World) Plan(b *app.Broadcast) (plan pacing.Plan) {
	w.T.Helper()
	Must(w.T, w.DB.Read(w.T.Context(), func(r *db.Reader) (err error) {
		plan, err = w.Server.Delivery.PlanBroadcast(r, b)
		return err
	}))
	return plan
}

func (w *World) Finishes(rows ...*app.Broadcast) map[string]time.Duration {
	w.T.Helper()
	var list []app.Broadcast
	for _, b := range rows {
		list = append(list, *b)
	}
	times, err := w.Server.Broadcasts.FinishTimes(w.T.Context(), list)
	Must(w.T, err)
	out := map[string]time.Duration{}
	for id, at := range times {
		out[id] = time.Until(at)
	}
	return out
}
