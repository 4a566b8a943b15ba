package erase

import (
	"testing"

	"mailer/app"
)

func TestScrubBroadcast(t *testing.T) {
	e := NewSet([]string{"vic@erase.example"})
	text := "to vic@erase.example"
	make := func() *app.Broadcast {
		return &app.Broadcast{Name: "for vic@erase.example", Subject: "Hi VIC@erase.example", From: app.Address{Name: "A", Local: "a", Domain: "b.example"},
			ReplyTo: []app.Address{{Name: "Vic", Local: "Vic", Domain: "erase.example"}},
			BroadcastContent: app.BroadcastContent{Preview: "vic@erase.example", HTML: "<p>vic@erase.example</p>", Text: &text,
				Snapshot: &app.BroadcastSnapshot{Fallbacks: map[string]string{"who": "vic@erase.example", "other": "x"}, Pages: "https://p.example",
					Filter: &app.Filter{Match: app.MatchAll, Conditions: []app.Condition{{Field: "email", Op: app.OpEquals, Value: "vic@erase.example"}}}}}}
	}
	b, old := make(), make()
	changed, err := e.ScrubBroadcast(b)
	if err != nil || !changed {
		t.Fatalf("%v, %v", changed, err)
	}
	if b.Name != "for [erased]" || b.Subject != "Hi [erased]" || b.Preview != app.Erased || b.HTML != "<p>[erased]</p>" || *b.Text != "to [erased]" ||
		!b.ReplyTo[0].IsErased() || b.Snapshot.Fallbacks["who"] != app.Erased || b.Snapshot.Fallbacks["other"] != "x" ||
		b.Snapshot.Filter.Conditions[0].Value != app.Erased || b.Snapshot.Pages != "https://p.example" || b.From != old.From {
		t.Errorf("%+v %+v", b, b.Snapshot)
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
