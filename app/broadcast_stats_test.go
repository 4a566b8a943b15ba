package app_test

import (
	"strings"
	"testing"
	"time"

	"mailer/app"
	"mailer/app/rules/pacing"
)

func TestRecipientQuery(t *testing.T) {
	for _, c := range []struct {
		q      app.RecipientQuery
		want   app.RecipientQuery
		bit    app.Seen
		not    app.Seen
		wrong  string
		queued bool
	}{
		{q: app.RecipientQuery{}},
		{q: app.RecipientQuery{Type: "sent"}, want: app.RecipientQuery{Type: "sent"}, bit: app.SeenSent},
		{q: app.RecipientQuery{Type: "unsubscribed"}, want: app.RecipientQuery{Type: "unsubscribed"}, bit: app.SeenUnsubscribed},
		{q: app.RecipientQuery{Type: "queued"}, want: app.RecipientQuery{Type: "queued"}, not: app.SeenEnded, queued: true},
		{q: app.RecipientQuery{Type: "not_opened"}, want: app.RecipientQuery{Type: "not_opened"}, bit: app.SeenSent | app.SeenDelivered,
			not: app.SeenBounced | app.SeenComplained | app.SeenSuppressed | app.SeenFailed | app.SeenCanceled | app.SeenOpened | app.SeenClicked},
		{q: app.RecipientQuery{Bounce: "transient"}, want: app.RecipientQuery{Type: "bounced", Bounce: app.BounceTransient}, bit: app.SeenBounced},
		{q: app.RecipientQuery{Type: "bounced", Bounce: "Permanent"}, want: app.RecipientQuery{Type: "bounced", Bounce: app.BouncePermanent}, bit: app.SeenBounced},
		{q: app.RecipientQuery{Type: "scheduled"}, wrong: "`type`"},
		{q: app.RecipientQuery{Type: "Sent"}, wrong: "`type`"},
		{q: app.RecipientQuery{Type: "sent", Bounce: "permanent"}, wrong: "`bounce_type` goes with"},
		{q: app.RecipientQuery{Type: "bounced", Bounce: "hard"}, wrong: "`bounce_type` must be"},
	} {
		got := c.q
		err := got.Validate()
		if c.wrong != "" {
			if err == nil || !strings.Contains(err.Error(), c.wrong) {
				t.Errorf("%+v: %v", c.q, err)
			}
			continue
		}
		with, without := got.Bits()
		if err != nil || got != c.want || with != c.bit || without != c.not || got.Waiting() != c.queued {
			t.Errorf("%+v became %+v, bits %d, %d, %v", c.q, got, with, without, err)
		}
	}
	for _, name := range strings.Split(strings.ReplaceAll(app.RecipientTypes, " or ", ", "), ", ") {
		if q := (app.RecipientQuery{Type: name}); q.Validate() != nil {
			t.Errorf("%s is offered and refused", name)
		}
	}
}

func TestBroadcastEmailNumber(t *testing.T) {
	mails := app.NewEmailIDPrefix()
	for _, n := range []int64{1, 15, 4096, pacing.MaxBroadcastRecipients} {
		if got, ok := app.BroadcastEmailNumber(app.BroadcastEmailID(mails, n)); !ok || got != n {
			t.Errorf("%d: %d, %v", n, got, ok)
		}
	}
	for _, id := range []string{"", mails, mails + "0000000g", mails + "00000000", mails + "000000001"} {
		if n, ok := app.BroadcastEmailNumber(id); ok {
			t.Errorf("%q is number %d", id, n)
		}
	}
}

func TestIDAfter(t *testing.T) {
	id, now := app.NewID(), time.Now()
	back, late := app.IDAfter(id, now.Add(-time.Hour)), app.IDAfter(id, now.Add(time.Hour))
	if _, ok := app.ParseID(late); !ok || late != app.IDAfter(id, now.Add(time.Hour)) {
		t.Errorf("made %s", late)
	}
	if !(id < back && back < late && late < app.IDAfter(id, now.Add(2*time.Hour))) {
		t.Errorf("%s, %s, %s are out of order", id, back, late)
	}
}

func TestOnlyCanceledBroadcastsCancelUnstartedRecipients(t *testing.T) {
	mails := app.NewEmailIDPrefix()
	for status, want := range map[app.BroadcastStatus]app.LastEvent{app.QueuedBroadcast: app.Queued, app.SentBroadcast: app.Queued, app.CanceledBroadcast: app.Canceled} {
		b := &app.Broadcast{Status: status, Started: 2}
		if got := b.SeenOf(&app.BroadcastRecipient{ID: app.BroadcastEmailID(mails, 3)}).LastEvent(); got != want {
			t.Errorf("%s: %s, want %s", status, got, want)
		}
		if got := b.SeenOf(&app.BroadcastRecipient{ID: app.BroadcastEmailID(mails, 2), Seen: app.SeenSent}).LastEvent(); got != app.Sent {
			t.Errorf("%s: one that left is %s", status, got)
		}
	}
}
