package engine

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"mailer/app"
	"mailer/app/relays"
	"mailer/db"
)

// people adds contacts p0@example.net and so on.
func (w *world) people(n int) {
	w.t.Helper()
	for from := 0; from < n; from += app.MaxContactBatch {
		var items []ContactItem
		for i := from; i < min(n, from+app.MaxContactBatch); i++ {
			items = append(items, ContactItem{Input: &app.ContactInput{Email: person(i)}})
		}
		_, err := w.e.PutContacts(w.t.Context(), w.key, items, app.ConflictError, false)
		must(w.t, err)
	}
}

func person(i int) string { return fmt.Sprintf("p%d@example.net", i) }

// draft adds a broadcast to everybody.
func (w *world) draft() *app.Broadcast {
	w.t.Helper()
	from, err := app.ParseAddress("Ann <ann@" + testDomain + ">")
	must(w.t, err)
	text := "Hello {{{FIRST_NAME|there}}}"
	b := &app.Broadcast{ID: app.NewID(), TeamID: w.key.TeamID, Name: "News", From: from, Subject: "News", CreatedAt: time.Now(),
		BroadcastContent: app.BroadcastContent{HTML: "<p>Hello {{{FIRST_NAME|there}}}</p>", Text: &text}}
	must(w.t, w.db.Write(w.t.Context(), func(tx *db.Tx) error { return tx.InsertBroadcast(b) }))
	return b
}

// queue queues a draft, and waits until its audience is frozen.
func (w *world) queue(b *app.Broadcast) {
	w.t.Helper()
	must(w.t, w.e.freezing(w.t.Context(), b.ID, func() (bool, error) { return true, w.queueNow(b) }))
}

func (w *world) queueNow(b *app.Broadcast) error {
	return w.db.Write(w.t.Context(), func(tx *db.Tx) error {
		bound, err := tx.NewestContact(b.TeamID)
		if err != nil {
			return err
		}
		b.Status, b.Relay, b.Mails, b.Bound, b.QueuedAt = app.QueuedBroadcast, app.DefaultRegion, app.NewMails(), bound, tx.Now
		b.Frozen = &app.BroadcastFrozen{Pages: "https://mail.example.com"}
		tx.AfterCommit(w.e.wakeBroadcaster)
		return tx.SendBroadcast(b)
	})
}

func (w *world) broadcast(id string) app.Broadcast {
	w.t.Helper()
	var b app.Broadcast
	w.read(func(r *db.Reader) (err error) {
		b, err = r.BroadcastHead(w.key.TeamID, id)
		return err
	})
	return b
}

// received counts what a relay took, by address.
func received(relays ...*fakeRelay) map[string]int {
	got := map[string]int{}
	for _, relay := range relays {
		relay.mu.Lock()
		for _, address := range relay.took {
			got[address]++
		}
		relay.mu.Unlock()
	}
	return got
}

func wantEachOnce(t *testing.T, got map[string]int, n int) {
	t.Helper()
	for i := range n {
		if got[person(i)] != 1 {
			t.Errorf("%s got %d messages, want 1", person(i), got[person(i)])
		}
	}
	if len(got) != n {
		t.Errorf("%d addresses got mail, want %d", len(got), n)
	}
}

func TestBroadcastReachesEachContactOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		relay := newRelay(nil)
		w := serving(t, relay)
		w.people(2500)
		b := w.draft()
		w.queue(b)
		time.Sleep(time.Minute)
		synctest.Wait()
		wantEachOnce(t, received(relay), 2500)
		got := w.broadcast(b.ID)
		if got.Status != app.SentBroadcast || got.Counts.Sent != 2500 || got.Audience != 2500 || got.Open != 0 || got.SentAt.IsZero() {
			t.Errorf("the broadcast ended as %+v", got)
		}
	})
}

func TestBroadcastHasOneMessageAPersonInSpiteOfCrashes(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const n = 400
		got := map[string]int{}
		var mu sync.Mutex
		// A relay of one process: what comes after that process died, it never saw.
		slow := func(dead *atomic.Bool) *fakeRelay {
			return newRelay(always(func(ctx context.Context, m *app.Outgoing, hold func() error) app.Result {
				time.Sleep(20 * time.Millisecond)
				if dead.Load() || hold() != nil || dead.Load() {
					return app.Result{Kind: app.ResultTrouble, Stage: app.StageConnect}
				}
				mu.Lock()
				got[m.Recipients[0]]++
				mu.Unlock()
				time.Sleep(20 * time.Millisecond)
				return accept(ctx, m, func() error { return nil })
			}))
		}
		dead := new(atomic.Bool)
		w := serving(t, slow(dead))
		w.people(n)
		b := w.draft()
		w.queue(b)
		for i := range 12 {
			time.Sleep(time.Duration(303+7*i) * time.Millisecond)
			next := new(atomic.Bool)
			dead.Store(true)
			after := w.crash(slow(next))
			stopNow(w.e)
			w, dead = after, next
			w.start()
		}
		time.Sleep(20 * time.Minute)
		synctest.Wait()
		doubted := map[string]int{}
		for _, d := range w.doubts() {
			for _, address := range d.Recipients {
				doubted[address]++
			}
		}
		doubles := 0
		for i := range n {
			if got[person(i)] == 0 {
				t.Errorf("%s got nothing", person(i))
			}
			if extra := got[person(i)] - 1; extra > doubted[person(i)] {
				t.Errorf("%s got %d messages, with %d doubts", person(i), extra+1, doubted[person(i)])
			} else if extra > 0 {
				doubles++
			}
		}
		end := w.broadcast(b.ID)
		if end.Status != app.SentBroadcast || end.Counts.Sent != n || end.Open != 0 {
			t.Errorf("the broadcast ended as %+v", end)
		}
		if len(doubted) == 0 {
			t.Error("no crash came between a dot and its result: this test shows nothing")
		}
		t.Logf("%d doubts, %d doubles", len(doubted), doubles)
	})
}

func TestCanceledBroadcastSendsNothingMore(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const n = 500
		release := make(chan struct{})
		relay := newRelayOf(relays.Relay{Region: app.DefaultRegion, Connections: 4, Rate: 50}, func(*app.Outgoing, int) answer {
			return func(ctx context.Context, m *app.Outgoing, hold func() error) app.Result {
				if err := hold(); err != nil {
					return app.Result{Kind: app.ResultWithdrawn, Stage: app.StageDot}
				}
				select {
				case <-release: // replies to dots come late once somebody cancels
				default:
				}
				return accept(ctx, m, func() error { return nil })
			}
		})
		w := serving(t, relay)
		w.people(n)
		b := w.draft()
		w.queue(b)
		time.Sleep(3010 * time.Millisecond)
		got, remaining, err := w.e.CancelBroadcast(t.Context(), w.key, b.ID)
		must(t, err)
		left := len(received(relay))
		synctest.Wait()
		if got.Status != app.CanceledBroadcast || remaining < 300 {
			t.Errorf("canceled: %s, %d remaining", got.Status, remaining)
		}
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		close(release)
		if late := len(received(relay)) - left; late > 4 {
			t.Errorf("%d messages left after the answer", late)
		}
		end := w.broadcast(b.ID)
		if end.Counts.Sent+remaining != n || end.Open != 0 || end.Status != app.CanceledBroadcast {
			t.Errorf("%d sent and %d remaining of %d; %+v", end.Counts.Sent, remaining, n, end)
		}
		_, _, err = w.e.CancelBroadcast(t.Context(), w.key, b.ID)
		wantCode(t, err, app.CodeInvalidParameter)
	})
}

func TestBroadcastObeysOptOutsInMidSend(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const n = 100
		relay := newRelayOf(relays.Relay{Region: app.DefaultRegion, Connections: 2, Rate: 1}, nil)
		w := serving(t, relay)
		w.people(n)
		b := w.draft()
		w.queue(b)
		time.Sleep(10 * time.Second)
		_, err := w.e.AddSuppression(t.Context(), w.key, app.SuppressionInput{Email: "P50@example.net"})
		must(t, err)
		out := true
		_, err = w.e.UpdateContact(t.Context(), w.key, person(60), app.ContactPatch{Unsubscribed: &out})
		must(t, err)
		_, err = w.e.DeleteContact(t.Context(), w.key, person(70), false)
		must(t, err)
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		got := received(relay)
		if got[person(50)] != 0 || got[person(60)] != 0 {
			t.Error("mail left to somebody who opted out")
		}
		if got[person(70)] != 1 {
			t.Error("a contact that was deleted after the send is no longer of the frozen audience")
		}
		if len(got) != n-2 {
			t.Errorf("%d got mail, want %d", len(got), n-2)
		}
		end := w.broadcast(b.ID)
		if end.Status != app.SentBroadcast || end.Counts.Sent != n-2 || end.Counts.Suppressed != 2 {
			t.Errorf("the broadcast ended as %+v", end)
		}
	})
}

func TestPoisonContactsDoNoHarmToTheRest(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const n = 120
		relay := newRelay(func(m *app.Outgoing, try int) answer {
			switch m.Recipients[0] {
			case person(7):
				return byName(map[string]int{m.Recipients[0]: 550})
			case person(8):
				return trouble(app.StageData, "connection lost")
			case person(9):
				if try < 3 {
					return byName(map[string]int{m.Recipients[0]: 451})
				}
			case person(10):
				return says(app.StageData, 554, "5.7.1 not like this")
			}
			return accept
		})
		w := serving(t, relay)
		w.people(n)
		b := w.draft()
		w.queue(b)
		time.Sleep(72 * time.Hour)
		synctest.Wait()
		got := received(relay)
		for i := range n {
			want := 1
			if i == 7 || i == 8 || i == 10 {
				want = 0
			}
			if got[person(i)] != want {
				t.Errorf("%s got %d messages, want %d", person(i), got[person(i)], want)
			}
		}
		end := w.broadcast(b.ID)
		if end.Status != app.SentBroadcast || end.Counts.Sent != n-3 || end.Counts.Bounced != 1 || end.Counts.Failed != 2 || end.Open != 0 {
			t.Errorf("the broadcast ended as %+v", end)
		}
	})
}

func TestEmailsGoBeforeBroadcasts(t *testing.T) {
	bubble(t, func(t *testing.T) {
		relay := newRelayOf(relays.Relay{Region: app.DefaultRegion, Connections: 4, Rate: 2}, nil)
		w := serving(t, relay)
		w.people(200)
		w.queue(w.draft())
		time.Sleep(10*time.Second + 100*time.Millisecond)
		for range 5 {
			id := w.send("ann@example.org")
			begun := time.Now()
			for len(relay.seen(id)) == 0 && time.Since(begun) < time.Minute {
				time.Sleep(10 * time.Millisecond)
			}
			if d := time.Since(begun); d > time.Second { // one message's time to wait for, and its own
				t.Errorf("an email waited %s behind a broadcast of 2 a second", d)
			}
			time.Sleep(3 * time.Second)
		}
	})
}

func TestBroadcastsShareARelayFairly(t *testing.T) {
	bubble(t, func(t *testing.T) {
		relay := newRelayOf(relays.Relay{Region: app.DefaultRegion, Connections: 4, Rate: 10}, nil)
		w := serving(t, relay)
		w.people(2000)
		first, second := w.draft(), w.draft()
		w.queue(first)
		time.Sleep(10 * time.Second)
		w.queue(second)
		before := w.broadcast(first.ID).Counts.Sent
		time.Sleep(40 * time.Second)
		a, b := w.broadcast(first.ID).Counts.Sent-before, w.broadcast(second.ID).Counts.Sent
		if a < 150 || b < 150 || a+b < 380 {
			t.Errorf("in 40 s at 10 a second one broadcast sent %d and the other %d", a, b)
		}
	})
}

func TestBroadcastKeepsToItsShareOfADay(t *testing.T) {
	bubble(t, func(t *testing.T) {
		relay := newRelayOf(relays.Relay{Region: app.DefaultRegion, Connections: 4, Daily: 100}, nil)
		w := serving(t, relay)
		w.people(150)
		b := w.draft()
		w.queue(b)
		time.Sleep(time.Hour)
		if n := w.broadcast(b.ID).Counts.Sent; n != 70 {
			t.Errorf("%d sent in the first hour, want 70", n)
		}
		for range 30 {
			w.send("ann@example.org")
		}
		time.Sleep(time.Minute)
		if n := len(relay.seen("")); n != 100 {
			t.Errorf("%d messages in all, want 100", n)
		}
		time.Sleep(24 * time.Hour)
		if n := w.broadcast(b.ID).Counts.Sent; n != 140 {
			t.Errorf("%d sent after a day, want 140", n)
		}
		time.Sleep(24 * time.Hour)
		if end := w.broadcast(b.ID); end.Status != app.SentBroadcast || end.Counts.Sent != 150 {
			t.Errorf("the broadcast ended as %+v", end)
		}
	})
}
