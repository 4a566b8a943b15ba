package testserver

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"mailer/app"
	"mailer/app/rules/pacing"
	"mailer/app/sending/mail"
	"mailer/app/tenants/audience"
	"mailer/db"
)

// AddSubscribers adds contacts p0@example.net and so on.
func (w *Server) AddSubscribers(n int) {
	w.T.Helper()
	for from := 0; from < n; from += app.MaxContactBatch {
		var items []audience.ContactItem
		for i := from; i < min(n, from+app.MaxContactBatch); i++ {
			items = append(items, audience.ContactItem{Input: &app.ContactInput{Email: SubscriberAddress(i)}})
		}
		_, err := w.Services.Audience.PutContacts(w.T.Context(), w.Key, items, app.ConflictError, false)
		Must(w.T, err)
	}
}

// SubscriberAddress returns the address of the i-th subscriber.
func SubscriberAddress(i int) string { return fmt.Sprintf("p%d@example.net", i) }

// AddDraft adds a broadcast to all contacts.
func (w *Server) AddDraft() *app.Broadcast {
	w.T.Helper()
	from, err := app.ParseAddress("Ann <ann@" + TestDomain + ">")
	Must(w.T, err)
	text := "Hello {{{FIRST_NAME|there}}}"
	b := &app.Broadcast{ID: app.NewID(), TeamID: w.Key.TeamID, Name: "News", From: from, Subject: "News", CreatedAt: time.Now(),
		BroadcastContent: app.BroadcastContent{HTML: "<p>Hello {{{FIRST_NAME|there}}}</p>", Text: &text}}
	Must(w.T, w.DB.Write(w.T.Context(), func(tx *db.Tx) error { return tx.InsertBroadcast(b) }))
	return b
}

// Queue queues a draft and waits for the snapshot of its audience.
func (w *Server) Queue(b *app.Broadcast) {
	w.T.Helper()
	Must(w.T, w.Services.Broadcasts.AwaitSnapshot(w.T.Context(), b.ID, func() (bool, error) { return true, w.queueNow(b) }))
}

func (w *Server) queueNow(b *app.Broadcast) error {
	return w.DB.Write(w.T.Context(), func(tx *db.Tx) error {
		bound, err := tx.NewestContact(b.TeamID)
		if err != nil {
			return err
		}
		b.Status, b.Relay, b.EmailIDPrefix, b.MaxContactID, b.QueuedAt = app.QueuedBroadcast, app.DefaultRegion, app.NewEmailIDPrefix(), bound, tx.Now
		b.Snapshot = &app.BroadcastSnapshot{Pages: "https://mail.example.com"}
		tx.AfterCommit(w.Services.Broadcasts.WakeBroadcaster)
		return tx.SendBroadcast(b)
	})
}

// Broadcast reads a broadcast, which must exist.
func (w *Server) Broadcast(id string) app.Broadcast {
	w.T.Helper()
	var b app.Broadcast
	w.Read(func(r *db.Reader) (err error) {
		b, err = r.BroadcastHead(w.Key.TeamID, id)
		return err
	})
	return b
}

// Received counts the messages that relays accepted, by address.
func Received(relays ...*FakeRelay) map[string]int {
	got := map[string]int{}
	for _, relay := range relays {
		relay.Mu.Lock()
		for _, address := range relay.Accepted {
			got[address]++
		}
		relay.Mu.Unlock()
	}
	return got
}

// WantEachOnce checks that got counts one message for each of n subscribers.
func WantEachOnce(t *testing.T, got map[string]int, n int) {
	t.Helper()
	for i := range n {
		if got[SubscriberAddress(i)] != 1 {
			t.Errorf("%s got %d messages, want 1", SubscriberAddress(i), got[SubscriberAddress(i)])
		}
	}
	if len(got) != n {
		t.Errorf("%d addresses got mail, want %d", len(got), n)
	}
}

// SendNewsletter adds a draft with the given HTML, sends it and returns it.
func (w *Server) SendNewsletter(html string, change func(*app.Broadcast)) *app.Broadcast {
	w.T.Helper()
	from, err := app.ParseAddress("Ann <ann@" + TestDomain + ">")
	Must(w.T, err)
	b := &app.Broadcast{ID: app.NewID(), TeamID: w.Key.TeamID, Name: "News", From: from, Subject: "News for {{{FIRST_NAME|you}}}", CreatedAt: time.Now(),
		BroadcastContent: app.BroadcastContent{HTML: html}}
	if change != nil {
		change(b)
	}
	Must(w.T, w.DB.Write(w.T.Context(), func(tx *db.Tx) error { return tx.InsertBroadcast(b) }))
	_, err = w.Services.Broadcasts.SendBroadcast(w.T.Context(), w.Key, b.ID, "", mail.SendOptions{})
	Must(w.T, err)
	head := w.Broadcast(b.ID)
	return &head
}

// EmailIDTo returns the id of a broadcast's email to an address.
func (w *Server) EmailIDTo(b *app.Broadcast, address string) string {
	w.T.Helper()
	rows, _, err := w.Services.Broadcasts.ListBroadcastRecipients(w.T.Context(), w.Key, b.ID, app.RecipientQuery{Email: address}, app.Page{Limit: 2})
	Must(w.T, err)
	if len(rows) != 1 {
		w.T.Fatalf("%d recipients %s", len(rows), address)
	}
	return rows[0].ID
}

// Recipients returns the addresses in the list of a type.
func (w *Server) Recipients(b *app.Broadcast, kind string) string {
	w.T.Helper()
	rows, more, err := w.Services.Broadcasts.ListBroadcastRecipients(w.T.Context(), w.Key, b.ID, app.RecipientQuery{Type: kind}, app.Page{Limit: 100})
	Must(w.T, err)
	if more {
		w.T.Error("there are more than a page")
	}
	var out []string
	for _, row := range rows {
		out = append(out, row.Email)
	}
	return strings.Join(out, " ")
}

// StoreBroadcast stores a broadcast to a number of contacts: queued, or scheduled if at is in the
// future.
func (w *Server) StoreBroadcast(relay string, audience int64, at time.Time) *app.Broadcast {
	w.T.Helper()
	now := time.Now()
	b := &app.Broadcast{ID: app.NewID(), TeamID: w.Key.TeamID, From: app.Address{Local: "ann", Domain: TestDomain}, CreatedAt: now,
		Status: app.QueuedBroadcast, Relay: relay, Audience: audience, QueuedAt: at, EmailIDPrefix: app.NewEmailIDPrefix()}
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

// AdvanceBroadcast starts n recipients of a broadcast, of which some wait, deferred by putOff, and
// some are committed.
func (w *Server) AdvanceBroadcast(b *app.Broadcast, n, waiting, dotted int, putOff time.Duration) {
	w.T.Helper()
	Must(w.T, w.DB.Write(w.T.Context(), func(tx *db.Tx) error {
		if err := tx.BeginRecipients(b, n, waiting+dotted); err != nil {
			return err
		}
		for i := range waiting + dotted {
			u := app.Unit{EmailID: app.BroadcastEmailID(b.EmailIDPrefix, int64(i+1)), TeamID: b.TeamID, BroadcastID: b.ID, Relay: b.Relay, Domain: b.From.Domain, NextAt: tx.Now.Add(putOff), Size: 1}
			if putOff > 0 {
				u.Since = tx.Now
			}
			if err := tx.InsertUnit(u); err != nil {
				return err
			}
			if i < waiting {
				continue
			}
			if err := tx.BeginAttempt(u); err != nil {
				return err
			}
			u.Attempts++
			if err := tx.MarkCommitted(u, u.Relay, ""); err != nil {
				return err
			}
		}
		return tx.AddUsage(b.Relay, tx.Now, int64(n-waiting), int64(n-waiting))
	}))
}

// ForecastBroadcast returns the plan of a broadcast before it is sent.
func (w *Server) ForecastBroadcast(b *app.Broadcast) (plan pacing.Plan) {
	w.T.Helper()
	Must(w.T, w.DB.Read(w.T.Context(), func(r *db.Reader) (err error) {
		plan, err = w.Services.Delivery.PlanBroadcast(r, b)
		return err
	}))
	return plan
}

// FinishTimes returns how long broadcasts take from now, by id.
func (w *Server) FinishTimes(rows ...*app.Broadcast) map[string]time.Duration {
	w.T.Helper()
	var list []app.Broadcast
	for _, b := range rows {
		list = append(list, *b)
	}
	times, err := w.Services.Broadcasts.FinishTimes(w.T.Context(), list)
	Must(w.T, err)
	out := map[string]time.Duration{}
	for id, at := range times {
		out[id] = time.Until(at)
	}
	return out
}
