package render

import (
	"slices"

	"mailer/app"
	"mailer/app/kit/htmltext"
)

// Preview is a broadcast as one recipient would get it, without tracking and with inactive links
// to pages.
type Preview struct {
	Subject string
	Preview string
	HTML    string
	Text    string
	Missing []string // distinct keys of placeholders without a value and a fallback
}

// PreviewOf renders a broadcast, in its own language, with the values of a contact. page and view replace
// the URLs of the unsubscribe page and of the page that shows the mail. With clicks, the HTML shows them
// after its links. Errors: those of Compile.
func PreviewOf(b *app.Broadcast, contact *app.Contact, page, view string, clicks Clicks) (*Preview, error) {
	return previewAs(b, app.NewID(), contact, page, view, clicks)
}

// ForNobody renders a queued broadcast, in its own language, for the archive of its topic: of the
// contact nothing is known, nothing is tracked, and page replaces the URLs of all pages for a
// recipient. The time of Liquid is that at which the broadcast was queued. Errors: those of Compile.
func ForNobody(b *app.Broadcast, page string) (*Preview, error) {
	return previewAs(b.In(""), app.BroadcastEmailID(b.EmailIDPrefix, 0), &app.Contact{}, page, page, nil)
}

// previewAs is PreviewOf for an email with an id.
func previewAs(b *app.Broadcast, id string, contact *app.Contact, page, view string, clicks Clicks) (*Preview, error) {
	plain := *prepared(b)
	if b.Snapshot != nil {
		frozen := *b.Snapshot
		frozen.Tracking = nil
		plain.Snapshot = &frozen
	}
	c := &compiler{broadcast: &plain, clicks: clicks, mail: &Broadcast{teamID: b.TeamID, topicID: b.TopicID, from: b.From, fields: map[string]bool{}}}
	if err := c.frame(); err != nil {
		return nil, err
	}
	if err := c.bodies(); err != nil {
		return nil, err
	}
	preview, err := c.plain("preview_text", b.Preview, app.OneLine)
	if err != nil {
		return nil, err
	}
	rec := &app.BroadcastRecipient{ID: id, Email: contact.Email, Fields: c.mail.Fields(contact)}
	f := &fillState{mail: c.mail, recipient: rec, page: page, view: view}
	out := &Preview{Subject: c.mail.subjectOf(f), Preview: preview.body(f).String()}
	bodies := c.mail.bodies(f)
	out.HTML, out.Text = bodies.HTML.String(), bodies.Text.String()
	if f.err != nil {
		return nil, app.Invalid("html", "passes a bound for this contact: %s", f.err)
	}
	if b.Text == nil && len(clicks) == 0 {
		out.Text = htmltext.PlainText(out.HTML)
	}
	out.Missing = c.mail.missing(f)
	return out, nil
}

// missing returns the keys of placeholders that remain empty, in order, except for those with an
// explicit empty fallback.
func (b *Broadcast) missing(f *fillState) []string {
	out := slices.Clone(f.missing)
	seen := map[string]bool{}
	for _, s := range b.open {
		if !seen[s.key] && f.value(s.field) == "" {
			seen[s.key] = true
			out = append(out, s.key)
		}
	}
	return out
}

// missingSlot is a placeholder without a fallback.
type missingSlot struct{ key, field string }
