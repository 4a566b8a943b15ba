package world

import (
	"fmt"
	"testing"
	"time"

	"mailer/app"
	"mailer/app/audience"
	"mailer/db"
)

// People adds contacts p0@example.net and so on.
func (w *World) People(n int) {
	w.T.Helper()
	for from := 0; from < n; from += app.MaxContactBatch {
		var items []audience.ContactItem
		for i := from; i < min(n, from+app.MaxContactBatch); i++ {
			items = append(items, audience.ContactItem{Input: &app.ContactInput{Email: Person(i)}})
		}
		_, err := w.Server.Audience.PutContacts(w.T.Context(), w.Key, items, app.ConflictError, false)
		Must(w.T, err)
	}
}

func Person(i int) string { return fmt.Sprintf("p%d@example.net", i) }

// Draft adds a broadcast to everybody.
func (w *World) Draft() *app.Broadcast {
	w.T.Helper()
	from, err := app.ParseAddress("Ann <ann@" + TestDomain + ">")
	Must(w.T, err)
	text := "Hello {{{FIRST_NAME|there}}}"
	b := &app.Broadcast{ID: app.NewID(), TeamID: w.Key.TeamID, Name: "News", From: from, Subject: "News", CreatedAt: time.Now(),
		BroadcastContent: app.BroadcastContent{HTML: "<p>Hello {{{FIRST_NAME|there}}}</p>", Text: &text}}
	Must(w.T, w.DB.Write(w.T.Context(), func(tx *db.Tx) error { return tx.InsertBroadcast(b) }))
	return b
}

// Queue queues a draft, and waits until its audience is frozen.
func (w *World) Queue(b *app.Broadcast) {
	w.T.Helper()
	Must(w.T, w.Server.Broadcasts.Freezing(w.T.Context(), b.ID, func() (bool, error) { return true, w.queueNow(b) }))
}

func (w *World) queueNow(b *app.Broadcast) error {
	return w.DB.Write(w.T.Context(), func(tx *db.Tx) error {
		bound, err := tx.NewestContact(b.TeamID)
		if err != nil {
			return err
		}
		b.Status, b.Relay, b.Mails, b.Bound, b.QueuedAt = app.QueuedBroadcast, app.DefaultRegion, app.NewMails(), bound, tx.Now
		b.Frozen = &app.BroadcastFrozen{Pages: "https://mail.example.com"}
		tx.AfterCommit(w.Server.Broadcasts.WakeBroadcaster)
		return tx.SendBroadcast(b)
	})
}

func (w *World) Broadcast(id string) app.Broadcast {
	w.T.Helper()
	var b app.Broadcast
	w.Read(func(r *db.Reader) (err error) {
		b, err = r.BroadcastHead(w.Key.TeamID, id)
		return err
	})
	return b
}

// Received counts what a relay took, by address.
func Received(relays ...*FakeRelay) map[string]int {
	got := map[string]int{}
	for _, relay := range relays {
		relay.Mu.Lock()
		for _, address := range relay.Took {
			got[address]++
		}
		relay.Mu.Unlock()
	}
	return got
}

func WantEachOnce(t *testing.T, got map[string]int, n int) {
	t.Helper()
	for i := range n {
		if got[Person(i)] != 1 {
			t.Errorf("%s got %d messages, want 1", Person(i), got[Person(i)])
		}
	}
	if len(got) != n {
		t.Errorf("%d addresses got mail, want %d", len(got), n)
	}
}
