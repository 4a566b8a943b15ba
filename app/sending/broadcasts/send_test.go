package broadcasts_test

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
	"mailer/app/sending/broadcasts"
	"mailer/app/sending/mail"
	"mailer/app/tenants/audience"
	"mailer/app/testing/testserver"
	"mailer/db"
)

// broadcastTo returns a broadcast to a segment; empty: to all contacts.
func broadcastTo(segment string) app.BroadcastInput {
	return app.BroadcastInput{From: "Ann <ann@" + testserver.TestDomain + ">", Subject: "News", HTML: "<p>Hi</p>", SegmentID: segment}
}

func TestSentBroadcastIsSnapshot(t *testing.T) {
	w := testserver.New(t)
	ctx := t.Context()
	w.AddSubscribers(3)
	filter := testserver.FilterOn("email", app.OpContains, "@")
	segment := w.AddSegment(filter)
	plan := app.PropertyValue{Type: app.StringProperty, Text: "free"}
	number := app.PropertyValue{Type: app.NumberProperty, Number: 1e6}
	for key, v := range map[string]*app.PropertyValue{"plan": &plan, "seats": &number, "city": nil} {
		kind := app.StringProperty
		if v != nil {
			kind = v.Type
		}
		_, err := w.Services.Properties.CreateProperty(ctx, w.Key, app.PropertyInput{Key: key, Type: kind, Fallback: v})
		testserver.Must(t, err)
	}
	open := true
	var domain app.Domain
	w.Read(func(r *db.Reader) (err error) {
		domain, err = r.DomainByName(w.Key.TeamID, testserver.TestDomain)
		return err
	})
	_, err := w.Services.Domains.UpdateDomain(ctx, w.Key, domain.ID, app.DomainPatch{OpenTracking: &open})
	testserver.Must(t, err)
	sent := sendBroadcast(w, broadcastTo(segment.ID), "")
	var newest string
	var got *app.Broadcast
	w.Read(func(r *db.Reader) (err error) {
		if newest, err = r.NewestContact(w.Key.TeamID); err != nil {
			return err
		}
		got, err = r.Broadcast(w.Key.TeamID, sent.ID)
		return err
	})
	if got.Status != app.QueuedBroadcast || got.Audience != 3 || got.MaxContactID != newest || got.QueuedAt.IsZero() || len(got.EmailIDPrefix) != len(app.NewEmailIDPrefix()) || got.Relay == "" {
		t.Errorf("queued as %+v", got)
	}
	f := got.Snapshot
	if f == nil || !reflect.DeepEqual(f.Filter, filter) || f.Pages != "https://mail.example.com" || f.Tracking == nil || !f.Tracking.Open || f.Tracking.Click ||
		!maps.Equal(f.Fallbacks, map[string]string{"plan": "free", "seats": "1000000"}) {
		t.Errorf("frozen %+v", f)
	}
}

func TestContactsAddedToEmptyBroadcast(t *testing.T) {
	w := testserver.New(t)
	sent := sendBroadcast(w, broadcastTo(""), "")
	w.AddSubscribers(1)
	var recipients app.Audience
	var got int
	w.Read(func(r *db.Reader) error {
		b, err := r.Broadcast(w.Key.TeamID, sent.ID)
		if err != nil {
			return err
		}
		if recipients, err = audience.FrozenAudience(r, b); err != nil {
			return err
		}
		got, err = r.CountAudience(t.Context(), db.Effort{}, &recipients)
		return err
	})
	if sent.Audience != 0 || got != 0 {
		t.Errorf("an audience of %d has become %d", sent.Audience, got)
	}
}

func TestScheduledBroadcastAudienceAtStart(t *testing.T) {
	testserver.BothEngines(t)
	testserver.SynctestHours(t, func(t *testing.T) {
		relay := testserver.NewRelay(nil)
		w := testserver.Start(t, relay)
		w.AddSubscribers(2)
		segment := w.AddSegment(testserver.FilterOn("email", app.OpContains, "@"))
		sent := sendBroadcast(w, broadcastTo(segment.ID), "in 1 hour")
		if sent.Status != app.ScheduledBroadcast || sent.Audience != 2 {
			t.Errorf("scheduled as %+v", sent)
		}
		time.Sleep(59 * time.Minute)
		synctest.Wait()
		if got := testserver.Received(relay); len(got) != 0 {
			t.Errorf("left too early: %v", got)
		}
		_, _, err := w.Services.Audience.PutContact(t.Context(), w.Key, app.ContactInput{Email: testserver.SubscriberAddress(2)}, app.ConflictError)
		testserver.Must(t, err)
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		_, _, err = w.Services.Audience.PutContact(t.Context(), w.Key, app.ContactInput{Email: testserver.SubscriberAddress(3)}, app.ConflictError)
		testserver.Must(t, err)
		time.Sleep(time.Hour)
		synctest.Wait()
		testserver.WantEachOnce(t, testserver.Received(relay), 3)
		if got := w.Broadcast(sent.ID); got.Status != app.SentBroadcast || got.Audience != 3 || got.Counts.Sent != 3 {
			t.Errorf("ended as %+v", got)
		}
	})
}

func TestConcurrentSendsOfOneDraft(t *testing.T) {
	testserver.BothEngines(t)
	w := testserver.New(t)
	w.AddSubscribers(5)
	draft, err := w.Services.Broadcasts.CreateBroadcast(t.Context(), w.Key, broadcastTo(""), mail.SendOptions{})
	testserver.Must(t, err)
	var group sync.WaitGroup
	var mu sync.Mutex
	sent := 0
	for range 16 {
		group.Go(func() {
			_, err := w.Services.Broadcasts.SendBroadcast(t.Context(), w.Key, draft.ID, "", mail.SendOptions{})
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				sent++
				return
			}
			testserver.WantCode(t, err, app.CodeInvalidParameter)
		})
	}
	group.Wait()
	if sent != 1 {
		t.Errorf("sent %d times", sent)
	}
}

func TestSendCountsItsAudience(t *testing.T) {
	testserver.BothEngines(t)
	w := testserver.New(t)
	ctx := t.Context()
	w.AddSubscribers(8)
	few, many := w.AddSegment(testserver.FilterOn("email", app.OpEquals, testserver.SubscriberAddress(0))), w.AddSegment(testserver.FilterOn("email", app.OpContains, "@"))
	size := map[string]int64{few.ID: 1, many.ID: 8}
	for round := range 20 {
		draft, err := w.Services.Broadcasts.CreateBroadcast(ctx, w.Key, broadcastTo(few.ID), mail.SendOptions{})
		testserver.Must(t, err)
		var group sync.WaitGroup
		group.Go(func() {
			for i := range 20 {
				id := app.Change[string]{Set: true, Value: []string{many.ID, few.ID}[i%2]}
				if _, err := w.Services.Broadcasts.UpdateBroadcast(ctx, w.Key, draft.ID, app.BroadcastPatch{SegmentID: id}); err != nil {
					testserver.WantCode(t, err, app.CodeInvalidParameter)
					return
				}
			}
		})
		var sent broadcasts.BroadcastView
		group.Go(func() {
			if sent, err = w.Services.Broadcasts.SendBroadcast(ctx, w.Key, draft.ID, "", mail.SendOptions{}); app.CodeOf(err) == app.CodeConflict {
				sent, err = w.Services.Broadcasts.SendBroadcast(ctx, w.Key, draft.ID, "", mail.SendOptions{})
			}
		})
		group.Wait()
		if app.CodeOf(err) == app.CodeConflict {
			continue // concurrent changes prevented it
		}
		testserver.Must(t, err)
		got := w.Broadcast(draft.ID)
		if got.Audience != size[got.SegmentID] || sent.Audience != got.Audience || sent.SegmentID != got.SegmentID {
			t.Errorf("round %d: answered %d, stored %d for a segment of %d", round, sent.Audience, got.Audience, size[got.SegmentID])
		}
	}
}

func TestLargeAudienceIsCountedInHalves(t *testing.T) {
	w := testserver.New(t)
	const n = audience.QuickScanRows + 2_000
	w.AddContacts(n)
	for _, segment := range []string{"", w.AddSegment(testserver.FilterOn("email", app.OpContains, "0")).ID} {
		recipients := &app.Audience{TeamID: w.Key.TeamID, SegmentID: segment}
		want := n / 2 // the others are unsubscribed
		if segment != "" {
			recipients.Filter = testserver.FilterOn("email", app.OpContains, "0")
			want = 0
			for i := range n {
				if i%2 == 1 && strings.Contains(fmt.Sprint(i), "0") {
					want++
				}
			}
		}
		err := w.Services.DB.Read(t.Context(), func(r *db.Reader) error {
			_, err := r.CountAudience(t.Context(), db.Effort{MaxRows: audience.QuickScanRows}, recipients)
			return err
		})
		if !errors.Is(err, db.ErrLong) {
			t.Fatalf("the audience is not long: %v", err)
		}
		if sent := sendBroadcast(w, broadcastTo(segment), "in 1 hour"); sent.Audience != int64(want) {
			t.Errorf("counted %d, want %d", sent.Audience, want)
		}
	}
}
