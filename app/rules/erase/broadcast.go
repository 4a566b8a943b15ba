package erase

import (
	"fmt"

	"github.com/go-json-experiment/json"

	"mailer/app"
)

// ScrubBroadcast scrubs the content of a broadcast and reports whether it changed. Errors: an
// unreadable snapshot.
func (e *Set) ScrubBroadcast(b *app.Broadcast) (changed bool, err error) {
	b.ReplyTo, changed = e.scrubList(b.ReplyTo)
	if from := e.scrubAddress(b.From); from != b.From {
		b.From, changed = from, true
	}
	texts := []*string{&b.Name, &b.Subject, &b.Preview, &b.HTML}
	if b.Text != nil {
		text := *b.Text
		b.Text = &text
		texts = append(texts, b.Text)
	}
	for _, text := range texts {
		if clean := e.Scrub(*text); clean != *text {
			*text, changed = clean, true
		}
	}
	design, err := e.ScrubJSON(b.Design)
	if err != nil {
		return false, err
	}
	b.Design, changed = design, changed || design != b.Design
	if b.Snapshot == nil {
		return changed, nil
	}
	frozen, hit, err := e.scrubSnapshot(b.Snapshot)
	b.Snapshot = frozen
	return changed || hit, err
}

func (e *Set) scrubSnapshot(f *app.BroadcastSnapshot) (*app.BroadcastSnapshot, bool, error) {
	text, err := json.Marshal(f, json.Deterministic(true))
	if err != nil {
		return f, false, fmt.Errorf("encode a part: %w", err)
	}
	clean, err := e.ScrubJSON(string(text))
	if err != nil || clean == string(text) {
		return f, false, err
	}
	out := &app.BroadcastSnapshot{}
	return out, true, json.Unmarshal([]byte(clean), out)
}

// ScrubRecipient removes address and values of a recipient in the set, and addresses of the set
// from the values of others. It reports whether anything changed.
func (e *Set) ScrubRecipient(r *app.BroadcastRecipient) (changed bool) {
	if e.Has(r.Email) {
		r.Email, r.Fields = app.Erased, nil
		return true
	}
	fields := make(map[string]string, len(r.Fields))
	for key, value := range r.Fields {
		fields[key] = e.Scrub(value)
		changed = changed || fields[key] != value
	}
	r.Fields = fields
	return changed
}

// OnlyDomain returns the common domain of all addresses in A-labels; empty: several.
func (e *Set) OnlyDomain() string {
	if len(e.locals) != 1 {
		return ""
	}
	for domain := range e.locals {
		return domain
	}
	return ""
}
