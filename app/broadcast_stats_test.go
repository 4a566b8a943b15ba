package app

import (
	"strings"
	"testing"
	"time"
)

func TestWhatAListOfRecipientsCanBeAskedFor(t *testing.T) {
	for _, c := range []struct {
		q      RecipientQuery
		want   RecipientQuery
		bit    Seen
		wrong  string
		queued bool
	}{
		{q: RecipientQuery{}},
		{q: RecipientQuery{Type: "sent"}, want: RecipientQuery{Type: "sent"}, bit: SeenSent},
		{q: RecipientQuery{Type: "unsubscribed"}, want: RecipientQuery{Type: "unsubscribed"}, bit: SeenUnsubscribed},
		{q: RecipientQuery{Type: "queued"}, want: RecipientQuery{Type: "queued"}, queued: true},
		{q: RecipientQuery{Bounce: "transient"}, want: RecipientQuery{Type: "bounced", Bounce: BounceTransient}, bit: SeenBounced},
		{q: RecipientQuery{Type: "bounced", Bounce: "Permanent"}, want: RecipientQuery{Type: "bounced", Bounce: BouncePermanent}, bit: SeenBounced},
		{q: RecipientQuery{Type: "scheduled"}, wrong: "`type`"},
		{q: RecipientQuery{Type: "Sent"}, wrong: "`type`"},
		{q: RecipientQuery{Type: "sent", Bounce: "permanent"}, wrong: "`bounce_type` goes with"},
		{q: RecipientQuery{Type: "bounced", Bounce: "hard"}, wrong: "`bounce_type` must be"},
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
	for _, name := range strings.Split(strings.ReplaceAll(RecipientTypes, " or ", ", "), ", ") {
		if q := (RecipientQuery{Type: name}); q.Validate() != nil {
			t.Errorf("%s is offered and refused", name)
		}
	}
}

func TestNumbersOfRecipientsAreReadBack(t *testing.T) {
	mails := NewMails()
	for _, n := range []int64{1, 15, 4096, MaxBroadcastRecipients} {
		if got, ok := MailNumber(MailID(mails, n)); !ok || got != n {
			t.Errorf("%d: %d, %v", n, got, ok)
		}
	}
	for _, id := range []string{"", mails, mails + "0000000g", mails + "00000000", mails + "000000001"} {
		if n, ok := MailNumber(id); ok {
			t.Errorf("%q is number %d", id, n)
		}
	}
}

func TestAnIDAfterAnotherIsOneInItsOrder(t *testing.T) {
	id, now := NewID(), time.Now()
	back, late := IDAfter(id, now.Add(-time.Hour)), IDAfter(id, now.Add(time.Hour))
	if _, ok := ParseID(late); !ok || late != IDAfter(id, now.Add(time.Hour)) {
		t.Errorf("made %s", late)
	}
	if !(id < back && back < late && late < IDAfter(id, now.Add(2*time.Hour))) {
		t.Errorf("%s, %s, %s are out of order", id, back, late)
	}
}

func TestOnlyABroadcastThatWasCanceledCancelsTheUnbegun(t *testing.T) {
	mails := NewMails()
	for status, want := range map[BroadcastStatus]LastEvent{QueuedBroadcast: Queued, SentBroadcast: Queued, CanceledBroadcast: Canceled} {
		b := &Broadcast{Status: status, Begun: 2}
		if got := b.SeenOf(&BroadcastRecipient{ID: MailID(mails, 3)}).LastEvent(); got != want {
			t.Errorf("%s: %s, want %s", status, got, want)
		}
		if got := b.SeenOf(&BroadcastRecipient{ID: MailID(mails, 2), Seen: SeenSent}).LastEvent(); got != Sent {
			t.Errorf("%s: one that left is %s", status, got)
		}
	}
}

func TestABroadcastIsScrubbedWhole(t *testing.T) {
	e := NewErasure([]string{"vic@erase.example"})
	text := "to vic@erase.example"
	make := func() *Broadcast {
		return &Broadcast{Name: "for vic@erase.example", Subject: "Hi VIC@erase.example", From: Address{Name: "A", Local: "a", Domain: "b.example"},
			ReplyTo: []Address{{Name: "Vic", Local: "Vic", Domain: "erase.example"}},
			BroadcastContent: BroadcastContent{Preview: "vic@erase.example", HTML: "<p>vic@erase.example</p>", Text: &text,
				Frozen: &BroadcastFrozen{Fallbacks: map[string]string{"who": "vic@erase.example", "other": "x"}, Pages: "https://p.example",
					Filter: &Filter{Match: MatchAll, Conditions: []Condition{{Field: "email", Op: OpEquals, Value: "vic@erase.example"}}}}}}
	}
	b, old := make(), make()
	changed, err := e.ScrubBroadcast(b)
	if err != nil || !changed {
		t.Fatalf("%v, %v", changed, err)
	}
	if b.Name != "for [erased]" || b.Subject != "Hi [erased]" || b.Preview != Erased || b.HTML != "<p>[erased]</p>" || *b.Text != "to [erased]" ||
		!b.ReplyTo[0].IsErased() || b.Frozen.Fallbacks["who"] != Erased || b.Frozen.Fallbacks["other"] != "x" ||
		b.Frozen.Filter.Conditions[0].Value != Erased || b.Frozen.Pages != "https://p.example" || b.From != old.From {
		t.Errorf("%+v %+v", b, b.Frozen)
	}
	if text != "to vic@erase.example" {
		t.Error("what it was read from changed")
	}
	if changed, err = e.ScrubBroadcast(b); changed || err != nil {
		t.Errorf("again: %v, %v", changed, err)
	}
	one := &BroadcastRecipient{Email: "VIC@Erase.example", Fields: map[string]string{"first_name": "Vic"}}
	other := &BroadcastRecipient{Email: "x@erase.example", Fields: map[string]string{"property:friend": "vic@erase.example", "first_name": "X"}}
	if !e.ScrubRecipient(one) || one.Email != Erased || one.Fields != nil {
		t.Errorf("the erased one is %+v", one)
	}
	if !e.ScrubRecipient(other) || other.Email != "x@erase.example" || other.Fields["property:friend"] != Erased || other.Fields["first_name"] != "X" {
		t.Errorf("another one is %+v", other)
	}
	if e.ScrubRecipient(other) {
		t.Error("changed twice")
	}
}
