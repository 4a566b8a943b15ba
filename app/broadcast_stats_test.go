package app_test

import (
	"strings"
	"testing"
	"time"

	"mailer/app"
	"mailer/app/erase"
	"mailer/app/pacing"
)

func TestWhatAListOfRecipientsCanBeAskedFor(t *testing.T) {
	for _, c := range []struct {
		q      app.RecipientQuery
		want   app.RecipientQuery
		bit    app.Seen
		wrong  string
		queued bool
	}{
		{q: app.RecipientQuery{}},
		{q: app.RecipientQuery{Type: "sent"}, want: app.RecipientQuery{Type: "sent"}, bit: app.SeenSent},
		{q: app.RecipientQuery{Type: "unsubscribed"}, want: app.RecipientQuery{Type: "unsubscribed"}, bit: app.SeenUnsubscribed},
		{q: app.RecipientQuery{Type: "queued"}, want: app.RecipientQuery{Type: "queued"}, queued: true},
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
		if err != nil || got != c.want || got.Bit() != c.bit || got.Waiting() != c.queued {
			t.Errorf("%+v became %+v, bit %d, %v", c.q, got, got.Bit(), err)
		}
	}
	for _, name := range strings.Split(strings.ReplaceAll(app.RecipientTypes, " or ", ", "), ", ") {
		if q := (app.RecipientQuery{Type: name}); q.Validate() != nil {
			t.Errorf("%s is offered and refused", name)
		}
	}
}

func TestNumbersOfRecipientsAreReadBack(t *testing.T) {
	mails := app.NewMails()
	for _, n := range []int64{1, 15, 4096, pacing.MaxBroadcastRecipients} {
		if got, ok := app.MailNumber(app.MailID(mails, n)); !ok || got != n {
			t.Errorf("%d: %d, %v", n, got, ok)
		}
	}
	for _, id := range []string{"", mails, mails + "0000000g", mails + "00000000", mails + "000000001"} {
		if n, ok := app.MailNumber(id); ok {
			t.Errorf("%q is number %d", id, n)
		}
	}
}

func TestAnIDAfterAnotherIsOneInItsOrder(t *testing.T) {
	id, now := app.NewID(), time.Now()
	back, late := app.IDAfter(id, now.Add(-time.Hour)), app.IDAfter(id, now.Add(time.Hour))
	if _, ok := app.ParseID(late); !ok || late != app.IDAfter(id, now.Add(time.Hour)) {
		t.Errorf("made %s", late)
	}
	if !(id < back && back < late && late < app.IDAfter(id, now.Add(2*time.Hour))) {
		t.Errorf("%s, %s, %s are out of order", id, back, late)
	}
}

func TestOnlyABroadcastThatWasCanceledCancelsTheUnbegun(t *testing.T) {
	mails := app.NewMails()
	for status, want := range map[app.BroadcastStatus]app.LastEvent{app.QueuedBroadcast: app.Queued, app.SentBroadcast: app.Queued, app.CanceledBroadcast: app.Canceled} {
		b := &app.Broadcast{Status: status, Begun: 2}
		if got := b.SeenOf(&app.BroadcastRecipient{ID: app.MailID(mails, 3)}).LastEvent(); got != want {
			t.Errorf("%s: %s, want %s", status, got, want)
		}
		if got := b.SeenOf(&app.BroadcastRecipient{ID: app.MailID(mails, 2), Seen: app.SeenSent}).LastEvent(); got != app.Sent {
			t.Errorf("%s: one that left is %s", status, got)
		}
	}
}

func TestABroadcastIsScrubbedWhole(t *testing.T) {
	e := erase.NewSet([]string{"vic@erase.example"})
	text := "to vic@erase.example"
	make := func() *app.Broadcast {
		return &app.Broadcast{Name: "for vic@erase.example", Subject: "Hi VIC@erase.example", From: app.Address{Name: "A", Local: "a", Domain: "b.example"},
			ReplyTo: []app.Address{{Name: "Vic", Local: "Vic", Domain: "erase.example"}},
			BroadcastContent: app.BroadcastContent{Preview: "vic@erase.example", HTML: "<p>vic@erase.example</p>", Text: &text,
				Frozen: &app.BroadcastFrozen{Fallbacks: map[string]string{"who": "vic@erase.example", "other": "x"}, Pages: "https://p.example",
					Filter: &app.Filter{Match: app.MatchAll, Conditions: []app.Condition{{Field: "email", Op: app.OpEquals, Value: "vic@erase.example"}}}}}}
	}
	b, old := make(), make()
	changed, err := e.ScrubBroadcast(b)
	if err != nil || !changed {
		t.Fatalf("%v, %v", changed, err)
	}
	if b.Name != "for [erased]" || b.Subject != "Hi [erased]" || b.Preview != app.Erased || b.HTML != "<p>[erased]</p>" || *b.Text != "to [erased]" ||
		!b.ReplyTo[0].IsErased() || b.Frozen.Fallbacks["who"] != app.Erased || b.Frozen.Fallbacks["other"] != "x" ||
		b.Frozen.Filter.Conditions[0].Value != app.Erased || b.Frozen.Pages != "https://p.example" || b.From != old.From {
		t.Errorf("%+v %+v", b, b.Frozen)
	}
	if text != "to vic@erase.example" {
		t.Error("what it was read from changed")
	}
	if changed, err = e.ScrubBroadcast(b); changed || err != nil {
		t.Errorf("again: %v, %v", changed, err)
	}
	one := &app.BroadcastRecipient{Email: "VIC@Erase.example", Fields: map[string]string{"first_name": "Vic"}}
	other := &app.BroadcastRecipient{Email: "x@erase.example", Fields: map[string]string{"property:friend": "vic@erase.example", "first_name": "X"}}
	if !e.ScrubRecipient(one) || one.Email != app.Erased || one.Fields != nil {
		t.Errorf("the erased one is %+v", one)
	}
	if !e.ScrubRecipient(other) || other.Email != "x@erase.example" || other.Fields["property:friend"] != app.Erased || other.Fields["first_name"] != "X" {
		t.Errorf("another one is %+v", other)
	}
	if e.ScrubRecipient(other) {
		t.Error("changed twice")
	}
}
