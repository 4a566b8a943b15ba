// Package insights inspects a mail for properties that lower its chance to reach inboxes. It does
// no I/O and keeps no state.
//
// Failure policy: any mail can be inspected in linear time. Only a broadcast that can't be
// compiled is an error.
package insights

import (
	"slices"
	"strings"
	"unicode"

	"mailer/app"
	"mailer/app/rules/render"
)

// OfMail inspects the final mail before its links are tracked. bulk: of a broadcast. Links to
// hosted pages at base are not counted.
func OfMail(m *app.Mail, bulk bool, base string) *app.Insights {
	c := inspect(m, base)
	marketing := bulk || m.TopicID != "" || c.listUnsubscribe || c.unsubscribe
	var found []string
	for _, p := range [...]struct {
		id string
		is bool
	}{
		{"no_one_click", marketing && !(c.listUnsubscribe && c.oneClick)},
		{"no_sender_link", c.links > 0 && !c.ownLink},
		{"link_shortener", c.shortener},
		{"html_too_large", len(m.HTML) > 100<<10},
		{"no_text_part", m.HTML != "" && m.Text == ""},
		{"no_unsubscribe_link", marketing && !c.unsubscribe},
		{"phishing_link", c.phishing},
		{"no_reply_sender", isNoReply(m.From.Local)},
		{"svg", c.svg || slices.ContainsFunc(m.Attachments, isSVG)},
		{"marketing_attachments", marketing && len(m.Attachments) > 0},
		{"images_without_text", c.images && !c.words},
		{"bare_domain", marketing && m.From.Domain == app.OrganizationalDomain(m.From.Domain)},
		{"http_links", c.http},
		{"shouting_subject", shouts(m.Subject)},
	} {
		if p.is {
			found = append(found, p.id)
		}
	}
	return app.NewInsights(found)
}

// OfBroadcast inspects a queued broadcast as a recipient without values gets it. Errors: those of
// Compile.
func OfBroadcast(s *app.Sealer, b *app.Broadcast) (*app.Insights, error) {
	plain, frozen := *b.In(""), app.BroadcastSnapshot{}
	if b.Snapshot != nil {
		frozen = *b.Snapshot
	}
	untracked := frozen
	untracked.Tracking = nil
	plain.Snapshot = &untracked
	mail, err := render.Compile(&plain)
	if err != nil {
		return nil, err
	}
	sample := mail.Partial(s, &app.BroadcastRecipient{ID: b.ID, Email: "reader@example.com"}).Flatten()
	if b.HTML == "" {
		frozen.Tracking = nil
	}
	return OfMail(sample, true, frozen.Pages).ForDomain(b.From.Domain, frozen.NoDMARC, frozen.Tracking), nil
}

// isNoReply reports whether a local part says that nobody reads its mail.
func isNoReply(local string) bool {
	letters := strings.Map(func(r rune) rune {
		if r < 'a' || r > 'z' {
			return -1
		}
		return r
	}, strings.ToLower(local))
	return strings.Contains(letters, "noreply") || strings.Contains(letters, "donotreply") || strings.Contains(letters, "dontreply")
}

func isSVG(a app.Attachment) bool {
	return strings.HasPrefix(strings.ToLower(a.ContentType), "image/svg") || strings.HasSuffix(strings.ToLower(a.Filename), ".svg")
}

// shouts reports whether a subject has at least five letters of which 80 % are capitals, or two
// exclamation marks in a row.
func shouts(subject string) bool {
	small, capital := 0, 0
	for _, r := range subject {
		switch {
		case unicode.IsUpper(r):
			capital++
		case unicode.IsLower(r):
			small++
		}
	}
	return capital+small >= 5 && capital >= 4*small || strings.Contains(subject, "!!")
}
