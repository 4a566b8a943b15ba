package render

import (
	"mailer/app"
	"mailer/app/kit/htmltext"
)

// Preview is a broadcast as one recipient would get it, for looking at: nothing in it
// is tracked, and its links to pages lead where nothing happens.
type Preview struct {
	Subject string
	Preview string
	HTML    string
	Text    string
	Missing []string // keys of placeholders that have neither a value nor a fallback, each once
}

// PreviewOf fills a broadcast with the values of a contact. page stands in the place of
// the unsubscribe page's address. Where there are clicks, its HTML shows them behind its
// links. Errors: those of Compile.
func PreviewOf(b *app.Broadcast, contact *app.Contact, page string, clicks Clicks) (*Preview, error) {
	plain := *b
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
	beside, err := c.plain("preview_text", b.Preview, app.OneLine)
	if err != nil {
		return nil, err
	}
	rec := &app.BroadcastRecipient{Email: contact.Email, Fields: c.mail.Fields(contact)}
	f := &fillState{mail: c.mail, recipient: rec, page: page}
	out := &Preview{Subject: c.mail.Subject(rec), Preview: beside.body(f).String(), HTML: c.mail.html.body(f).String(), Text: c.mail.text.body(f).String()}
	if b.Text == nil && len(clicks) == 0 {
		out.Text = htmltext.PlainText(out.HTML)
	}
	out.Missing = c.missing(f)
	return out, nil
}

// missing are the keys of placeholders that a filling leaves empty, in the order of the
// content, but for those whose author wrote an empty fallback.
func (c *compiler) missing(f *fillState) (out []string) {
	seen := map[string]bool{}
	for _, s := range c.open {
		if !seen[s.key] && f.value(s.field) == "" {
			seen[s.key] = true
			out = append(out, s.key)
		}
	}
	return out
}

// missingSlot is a place for which nothing stands in where a recipient has no value.
type missingSlot struct{ key, field string }
