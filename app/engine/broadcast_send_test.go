package engine

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"mailer/app"
	"mailer/db"
)

// newsTo is a broadcast to a segment; empty: to everybody.
func newsTo(segment string) app.BroadcastInput {
	return app.BroadcastInput{From: "Ann <ann@" + testDomain + ">", Subject: "News", HTML: "<p>Hi</p>", SegmentID: segment}
}

func (w *world) sendNews(in app.BroadcastInput, scheduledAt string) BroadcastView {
	w.t.Helper()
	in.Send, in.ScheduledAt = true, scheduledAt
	v, err := w.e.CreateBroadcast(w.t.Context(), w.key, in, SendOptions{})
	must(w.t, err)
	return v
}

func TestASentBroadcastFreezesWhatCouldChange(t *testing.T) {
	w := idle(t)
	ctx := t.Context()
	w.people(3)
	filter := only("email", app.OpContains, "@")
	segment := w.segment(filter)
	plan := app.PropertyValue{Type: app.StringProperty, Text: "free"}
	number := app.PropertyValue{Type: app.NumberProperty, Number: 1e6}
	for key, v := range map[string]*app.PropertyValue{"plan": &plan, "seats": &number, "city": nil} {
		kind := app.StringProperty
		if v != nil {
			kind = v.Type
		}
		_, err := w.e.CreateProperty(ctx, w.key, app.PropertyInput{Key: key, Type: kind, Fallback: v})
		must(t, err)
	}
	open := true
	var domain app.Domain
	w.read(func(r *db.Reader) (err error) {
		domain, err = r.DomainByName(w.key.TeamID, testDomain)
		return err
	})
	_, err := w.e.UpdateDomain(ctx, w.key, domain.ID, app.DomainPatch{OpenTracking: &open})
	must(t, err)
	sent := w.sendNews(newsTo(segment.ID), "")
	var newest string
	var got *app.Broadcast
	w.read(func(r *db.Reader) (err error) {
		if newest, err = r.NewestContact(w.key.TeamID); err != nil {
			return err
		}
		got, err = r.Broadcast(w.key.TeamID, sent.ID)
		return err
	})
	if got.Status != app.QueuedBroadcast || got.Audience != 3 || got.Bound != newest || got.QueuedAt.IsZero() || len(got.Mails) != len(app.NewMails()) || got.Relay == "" {
		t.Errorf("queued as %+v", got)
	}
	f := got.Frozen
	if f == nil || !reflect.DeepEqual(f.Filter, filter) || f.Pages != "https://mail.example.com" || f.Tracking == nil || !f.Tracking.Open || f.Tracking.Click ||
		!maps.Equal(f.Fallbacks, map[string]string{"plan": "free", "seats": "1000000"}) {
		t.Errorf("frozen %+v", f)
	}
}

func TestWhoComesWhileABroadcastToNobodyLeavesGetsNothing(t *testing.T) {
	w := idle(t)
	sent := w.sendNews(newsTo(""), "")
	w.people(1)
	var audience app.Audience
	var got int
	w.read(func(r *db.Reader) error {
		b, err := r.Broadcast(w.key.TeamID, sent.ID)
		if err != nil {
			return err
		}
		if audience, err = frozenAudience(r, b); err != nil {
			return err
		}
		got, err = r.CountAudience(t.Context(), db.Effort{}, &audience)
		return err
	})
	if sent.Audience != 0 || got != 0 {
		t.Errorf("an audience of %d has become %d", sent.Audience, got)
	}
}

func TestAScheduledBroadcastGoesToThoseWhoAreThereInTime(t *testing.T) {
	bubble(t, func(t *testing.T) {
		relay := newRelay(nil)
		w := serving(t, relay)
		w.people(2)
		segment := w.segment(only("email", app.OpContains, "@"))
		sent := w.sendNews(newsTo(segment.ID), "in 1 hour")
		if sent.Status != app.ScheduledBroadcast || sent.Audience != 2 {
			t.Errorf("scheduled as %+v", sent)
		}
		time.Sleep(59 * time.Minute)
		synctest.Wait()
		if got := received(relay); len(got) != 0 {
			t.Errorf("left too early: %v", got)
		}
		_, err := w.e.CreateContact(t.Context(), w.key, app.ContactInput{Email: person(2)})
		must(t, err)
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		_, err = w.e.CreateContact(t.Context(), w.key, app.ContactInput{Email: person(3)})
		must(t, err)
		time.Sleep(time.Hour)
		synctest.Wait()
		wantEachOnce(t, received(relay), 3)
		if got := w.broadcast(sent.ID); got.Status != app.SentBroadcast || got.Audience != 3 || got.Counts.Sent != 3 {
			t.Errorf("ended as %+v", got)
		}
	})
}

func TestADraftIsSentOnceHoweverManyAskAtOnce(t *testing.T) {
	w := idle(t)
	w.people(5)
	draft, err := w.e.CreateBroadcast(t.Context(), w.key, newsTo(""), SendOptions{})
	must(t, err)
	var group sync.WaitGroup
	var mu sync.Mutex
	sent := 0
	for range 16 {
		group.Go(func() {
			_, err := w.e.SendBroadcast(t.Context(), w.key, draft.ID, "", SendOptions{})
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				sent++
				return
			}
			wantCode(t, err, app.CodeInvalidParameter)
		})
	}
	group.Wait()
	if sent != 1 {
		t.Errorf("sent %d times", sent)
	}
}

func TestASendCountsTheAudienceThatItGoesTo(t *testing.T) {
	w := idle(t)
	ctx := t.Context()
	w.people(8)
	few, many := w.segment(only("email", app.OpEquals, person(0))), w.segment(only("email", app.OpContains, "@"))
	size := map[string]int64{few.ID: 1, many.ID: 8}
	for round := range 20 {
		draft, err := w.e.CreateBroadcast(ctx, w.key, newsTo(few.ID), SendOptions{})
		must(t, err)
		var group sync.WaitGroup
		group.Go(func() {
			for i := range 20 {
				id := app.Change[string]{Set: true, Value: []string{many.ID, few.ID}[i%2]}
				if _, err := w.e.UpdateBroadcast(ctx, w.key, draft.ID, app.BroadcastPatch{SegmentID: id}); err != nil {
					wantCode(t, err, app.CodeInvalidParameter)
					return
				}
			}
		})
		var sent BroadcastView
		group.Go(func() {
			if sent, err = w.e.SendBroadcast(ctx, w.key, draft.ID, "", SendOptions{}); app.CodeOf(err) == app.CodeConflict {
				sent, err = w.e.SendBroadcast(ctx, w.key, draft.ID, "", SendOptions{})
			}
		})
		group.Wait()
		if app.CodeOf(err) == app.CodeConflict {
			continue // it was changed all the time
		}
		must(t, err)
		got := w.broadcast(draft.ID)
		if got.Audience != size[got.SegmentID] || sent.Audience != got.Audience || sent.SegmentID != got.SegmentID {
			t.Errorf("round %d: answered %d, stored %d for a segment of %d", round, sent.Audience, got.Audience, size[got.SegmentID])
		}
	}
}

func TestALargeAudienceIsCountedInHalves(t *testing.T) {
	w := idle(t)
	const n = quickScan + 2_000
	w.addContacts(n)
	for _, segment := range []string{"", w.segment(only("email", app.OpContains, "0")).ID} {
		audience := &app.Audience{TeamID: w.key.TeamID, SegmentID: segment}
		want := n / 2 // the others are unsubscribed
		if segment != "" {
			audience.Filter = only("email", app.OpContains, "0")
			want = 0
			for i := range n {
				if i%2 == 1 && strings.Contains(fmt.Sprint(i), "0") {
					want++
				}
			}
		}
		err := w.e.db.Read(t.Context(), func(r *db.Reader) error {
			_, err := r.CountAudience(t.Context(), db.Effort{Most: quickScan}, audience)
			return err
		})
		if !errors.Is(err, db.ErrLong) {
			t.Fatalf("the audience is not long: %v", err)
		}
		if sent := w.sendNews(newsTo(segment), "in 1 hour"); sent.Audience != int64(want) {
			t.Errorf("counted %d, want %d", sent.Audience, want)
		}
	}
}
