package app

import (
	"html"
	"slices"
	"strings"

	"github.com/google/uuid"
)

// PageLink is a link to a hosted page. Its token contains ids and a hash, never an address, and
// never expires: retired keys verify it too.
type PageLink struct {
	TeamID  string
	TopicID string      // empty: all topics
	Address AddressHash // zero: every recipient of Source
	Source  string      // id of the email that contained the link; empty: none
}

// The purposes that tokens of a PageLink are bound to, one for each page.
const (
	UnsubscribePage = "unsubscribe page"
	PreferencesPage = "preferences page"
)

const (
	pageTokenVersion = 1
	pageTokenSize    = 1 + 4*16 // without its MAC
)

// PageToken returns the signed token of a link to a page: 108 characters of base64url.
func (s *Sealer) PageToken(page string, l PageLink) string {
	b := make([]byte, 0, pageTokenSize+MacSize)
	b = append(b, pageTokenVersion)
	for _, id := range []string{l.TeamID, l.TopicID, l.Source} {
		raw := uuid.Nil
		if id != "" {
			raw = uuid.MustParse(id)
		}
		b = append(b, raw[:]...)
	}
	b = append(b, l.Address[:]...)
	return s.SealToken(page, b)
}

// ReadPageToken returns the link of a token that PageToken made for the page; ok is false for any
// other text.
func (s *Sealer) ReadPageToken(page, token string) (l PageLink, ok bool) {
	b, err := DecodeToken(token)
	if err != nil || len(b) != pageTokenSize+MacSize || b[0] != pageTokenVersion {
		return l, false
	}
	message, mac := b[:pageTokenSize], b[pageTokenSize:]
	if !s.VerifyMACAnyKey(page, message, mac) {
		return l, false
	}
	for i, id := range []*string{&l.TeamID, &l.TopicID, &l.Source} {
		if raw := uuid.UUID(message[1+16*i : 17+16*i]); raw != uuid.Nil {
			*id = raw.String()
		}
	}
	copy(l.Address[:], message[1+3*16:])
	return l, true
}

// NeedsUnsubscribePage reports whether a mail needs the URL of its unsubscribe page: for a
// placeholder in a body, or for the unsubscribe headers of a mail with a topic.
func (m *Mail) NeedsUnsubscribePage() bool {
	return m.needsUnsubscribeHeaders() || m.Raw == nil && (Placeholders(m.HTML) > 0 || Placeholders(m.Text) > 0)
}

func (m *Mail) needsUnsubscribeHeaders() bool {
	return m.TopicID != "" && !(slices.ContainsFunc(m.Headers, named(ListUnsubscribe)) && slices.ContainsFunc(m.Headers, named(listUnsubscribePost)))
}

func named(name string) func(Header) bool {
	return func(h Header) bool { return strings.EqualFold(h.Name, name) }
}

const viewPurpose = "view page v1"

// ViewURL returns the URL of the page that shows an email in a browser. Its token names the email
// and never expires. base is the base URL of hosted pages without a final slash.
func (s *Sealer) ViewURL(base, teamID, emailID string) string {
	message := make([]byte, 0, 2*16)
	for _, id := range []string{teamID, emailID} {
		raw := uuid.MustParse(id)
		message = append(message, raw[:]...)
	}
	return base + "/view/" + s.SealToken(viewPurpose, message)
}

// ReadViewToken returns the email of a token that ViewURL made; ok is false for any other text.
func (s *Sealer) ReadViewToken(token string) (teamID, emailID string, ok bool) {
	message, ok := s.OpenToken(viewPurpose, token, 2*16, 2*16)
	if !ok {
		return "", "", false
	}
	return uuid.UUID(message[:16]).String(), uuid.UUID(message[16:]).String(), true
}

// UnsubscribeURL returns the URL of the unsubscribe page of a link. base is the base URL of hosted
// pages without a final slash.
func (s *Sealer) UnsubscribeURL(base string, l PageLink) string {
	return base + "/unsubscribe/" + s.PageToken(UnsubscribePage, l)
}

// UnsubscribeHeaders returns the headers that offer unsubscribing with one click at the URL of an
// unsubscribe page (RFC 8058).
func UnsubscribeHeaders(url string) []Header {
	return []Header{{Name: "List-Unsubscribe", Value: "<" + url + ">"}, {Name: "List-Unsubscribe-Post", Value: OneClick}}
}

// FinalMail returns the mail to be sent: with placeholders filled, and with unsubscribe headers
// (RFC 8058) if it needs them. The result is deterministic and does not modify e.
func (e *Email) FinalMail() *Mail {
	if e.Unsubscribe == "" {
		return &e.Mail
	}
	m := e.Mail
	if m.Raw == nil {
		m.HTML = fillPlaceholders(m.HTML, html.EscapeString(e.Unsubscribe))
		m.Text = fillPlaceholders(m.Text, e.Unsubscribe)
	}
	if m.needsUnsubscribeHeaders() {
		// One of the headers alone, which Resend accepts, does not offer one-click unsubscribing.
		m.Headers = append(slices.DeleteFunc(slices.Clone(m.Headers), named(ListUnsubscribe)), UnsubscribeHeaders(e.Unsubscribe)...)
	}
	return &m
}

// AddressSubscription is the subscription of an address to a topic.
type AddressSubscription struct {
	Topic        string       // name of the topic
	Subscription Subscription // the explicit choice, or the topic's default
	Explicit     bool         // chosen by the address
	Unsubscribed bool         // the contact unsubscribed from everything
}

// Reason returns why mail of the topic is not sent to the address; empty: it is sent.
func (s *AddressSubscription) Reason() string {
	const notSent = "Not sent to this recipient: "
	switch {
	case s.Unsubscribed:
		return notSent + "the contact is unsubscribed from everything"
	case s.Subscription == OptIn:
		return ""
	case s.Explicit:
		return notSent + "opted out of the topic " + s.Topic
	}
	return notSent + "never opted in to the topic " + s.Topic + ", which is sent only to those who do"
}
