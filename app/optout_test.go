package app

import (
	"reflect"
	"strings"
	"testing"

	"mailer/app/kit/seal"
)

const (
	teamID  = "01920000-0000-7000-8000-000000000001"
	topicID = "01920000-0000-7000-8000-000000000002"
	emailID = "01920000-0000-7000-8000-000000000003"
	pageURL = "https://mail.example.com/a?b=1&c=2/unsubscribe/token"
)

func newSealer(t testing.TB) *Sealer {
	t.Helper()
	s, err := NewSealer(seal.MasterKey{Key: seal.NewMasterKey()})
	if err == nil {
		err = s.SetSeed(seal.NewMasterKey())
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestPageTokenRoundTrip(t *testing.T) {
	s := newSealer(t)
	for _, link := range []PageLink{
		{TeamID: teamID, TopicID: topicID, Address: s.AddressHash(teamID, KeyOf("a@example.org")), Source: emailID},
		{TeamID: teamID, Address: s.AddressHash(teamID, KeyOf("a@example.org"))},
		{TeamID: teamID, TopicID: topicID, Source: emailID},
	} {
		token := s.PageToken(UnsubscribePage, link)
		if got, ok := s.ReadPageToken(UnsubscribePage, token); !ok || got != link {
			t.Errorf("read %+v, %v; want %+v", got, ok, link)
		}
		if len(token) != 108 || token != s.PageToken(UnsubscribePage, link) {
			t.Errorf("token %q", token)
		}
		for _, bad := range []string{"", token[:107], token + "A", token + "=", token[:50] + " " + token[50:], token[:50] + "\n" + token[50:], token + "\r\n", s.PageToken(PreferencesPage, link), newSealer(t).PageToken(UnsubscribePage, link)} {
			if _, ok := s.ReadPageToken(UnsubscribePage, bad); ok {
				t.Errorf("%q passes", bad)
			}
		}
		for i := range token {
			other := byte('A')
			if token[i] == other {
				other = 'B'
			}
			if _, ok := s.ReadPageToken(UnsubscribePage, token[:i]+string(other)+token[i+1:]); ok {
				t.Errorf("it passes with another character at %d", i)
			}
		}
	}
}

func TestUnsubscribePlaceholdersBecomeURL(t *testing.T) {
	for in, want := range map[string]string{
		"":                        "",
		"no link":                 "no link",
		"{{{UNSUBSCRIBE_URL}}}":   "L",
		"{{{ UNSUBSCRIBE_URL }}}": "L",
		"a {{{\t\r\nRESEND_UNSUBSCRIBE_URL  }}} b{{{UNSUBSCRIBE_URL}}}c": "a L bLc",
		"{{{{UNSUBSCRIBE_URL}}}}":                 "{L}",
		"{{{ {{{UNSUBSCRIBE_URL}}} }}}":           "{{{ L }}}",
		"{{UNSUBSCRIBE_URL}}":                     "{{UNSUBSCRIBE_URL}}",
		"{{{unsubscribe_url}}}":                   "{{{unsubscribe_url}}}",
		"{{{UNSUBSCRIBE_URLS}}}":                  "{{{UNSUBSCRIBE_URLS}}}",
		"{{{RESEND_ UNSUBSCRIBE_URL}}}":           "{{{RESEND_ UNSUBSCRIBE_URL}}}",
		"{{{UNSUBSCRIBE_URL}} {{{UNSUBSCRIBE_URL": "{{{UNSUBSCRIBE_URL}} {{{UNSUBSCRIBE_URL",
		"{{{NAME}}} {{{":                          "{{{NAME}}} {{{",
	} {
		e := Email{Unsubscribe: "L", Mail: Mail{Text: in}}
		if got := e.FinalMail().Text; got != want {
			t.Errorf("%q becomes %q, want %q", in, got, want)
		}
		if e.NeedsUnsubscribePage() != (in != want) || e.Text != in {
			t.Errorf("%q: leads to a page: %v; kept as %q", in, e.NeedsUnsubscribePage(), e.Text)
		}
	}
}

func headersOf(m *Mail) string {
	var b strings.Builder
	for _, h := range m.Headers {
		b.WriteString(h.Name + ": " + h.Value + "\n")
	}
	return b.String()
}

func TestUnsubscribeHeaders(t *testing.T) {
	const ours = "List-Unsubscribe: <" + pageURL + ">\nList-Unsubscribe-Post: List-Unsubscribe=One-Click\n"
	theirs := []Header{{Name: "LIST-unsubscribe", Value: "<https://x.example/u>"}, {Name: "List-Unsubscribe-Post", Value: "List-Unsubscribe=One-Click"}, {Name: "X-A", Value: "1"}}
	other := []Header{{Name: "X-A", Value: "1"}}
	for name, c := range map[string]struct {
		mail  Mail
		leads bool
		pair  string // headers added to the given ones
	}{
		"plain":                          {Mail{Text: "t", Headers: other}, false, ""},
		"topic":                          {Mail{Text: "t", TopicID: topicID, Headers: other}, true, ours},
		"topic, own pair":                {Mail{Text: "t", TopicID: topicID, Headers: theirs}, false, ""},
		"topic, own pair, placeholder":   {Mail{Text: "{{{UNSUBSCRIBE_URL}}}", TopicID: topicID, Headers: theirs}, true, ""},
		"no topic, placeholder in html":  {Mail{HTML: "{{{UNSUBSCRIBE_URL}}}"}, true, ""},
		"no topic, own pair, no mention": {Mail{Text: "t", Headers: theirs}, false, ""},
	} {
		e := Email{Mail: c.mail}
		if e.NeedsUnsubscribePage() != c.leads {
			t.Errorf("%s: leads to a page: %v", name, e.NeedsUnsubscribePage())
		}
		if c.leads {
			e.Unsubscribe = pageURL
		}
		given := headersOf(&c.mail)
		for range 2 {
			if got := headersOf(e.FinalMail()); got != given+c.pair {
				t.Errorf("%s: headers\n%s", name, got)
			}
		}
		if !reflect.DeepEqual(e.Mail, c.mail) {
			t.Errorf("%s: what is kept became %+v", name, e.Mail)
		}
	}
}

func TestFinalMailDoesNotModifyStoredHeaders(t *testing.T) {
	spare := make([]Header, 1, 4)
	spare[0] = Header{Name: "X-A", Value: "1"}
	a := Email{Unsubscribe: "A", Mail: Mail{TopicID: topicID, Headers: spare}}
	b := Email{Unsubscribe: "B", Mail: Mail{TopicID: topicID, Headers: spare}}
	first := a.FinalMail()
	b.FinalMail()
	if first.Headers[1].Value != "<A>" {
		t.Error("two mails share their headers")
	}
}

func TestDerivedTextLinksToUnsubscribePage(t *testing.T) {
	in := EmailInput{From: "a@example.com", To: []string{"b@example.org"}, Subject: "s",
		HTML: `<p>Hi</p><a href="{{{ RESEND_UNSUBSCRIBE_URL }}}">No more</a>`}
	m, err := in.Validate()
	if err != nil {
		t.Fatal(err)
	}
	sent := (&Email{Mail: *m, Unsubscribe: pageURL}).FinalMail()
	if sent.Text != "Hi\n\nNo more ("+pageURL+")" || sent.HTML != `<p>Hi</p><a href="`+strings.ReplaceAll(pageURL, "&", "&amp;")+`">No more</a>` {
		t.Errorf("text %q, html %q", sent.Text, sent.HTML)
	}
}

func TestTopicAndPlaceholderValidation(t *testing.T) {
	many := strings.Repeat("{{{UNSUBSCRIBE_URL}}}", 101)
	text := func(s string) *string { return &s }
	for name, c := range map[string]struct {
		in    EmailInput
		topic string
		words string
	}{
		"no topic":                 {EmailInput{Text: text("t")}, "", ""},
		"topic":                    {EmailInput{Text: text("t"), TopicID: strings.ToUpper(topicID)}, topicID, ""},
		"no id":                    {EmailInput{Text: text("t"), TopicID: "news"}, "", "`topic_id` must be the id of a topic"},
		"braces":                   {EmailInput{Text: text("t"), TopicID: "{" + topicID + "}"}, "", "`topic_id`"},
		"100 placeholders":         {EmailInput{Text: text(many[21:])}, "", ""},
		"101 placeholders in text": {EmailInput{Text: text(many)}, "", "`text` must not hold more than 100"},
		"101 placeholders in html": {EmailInput{HTML: many, Text: text("")}, "", "`html` must not hold more than 100"},
		"101 made of html":         {EmailInput{HTML: strings.ReplaceAll(many, "UNSUB", "<b>UNSUB</b>")}, "", "`text` must not hold more than 100"},
	} {
		c.in.From, c.in.To, c.in.Subject = "a@example.com", []string{"b@example.org"}, "s"
		m, err := c.in.Validate()
		switch {
		case c.words != "":
			if CodeOf(err) != CodeValidation || !strings.Contains(err.Error(), c.words) {
				t.Errorf("%s: %v", name, err)
			}
		case err != nil || m.TopicID != c.topic:
			t.Errorf("%s: %v, %+v", name, err, m)
		}
	}
}

func TestAddressSubscriptionReason(t *testing.T) {
	for _, c := range []struct {
		subscription AddressSubscription
		words        string // empty: it is sent
	}{
		{AddressSubscription{Topic: "News", Subscription: OptIn}, ""},
		{AddressSubscription{Topic: "News", Subscription: OptIn, Explicit: true}, ""},
		{AddressSubscription{Topic: "News", Subscription: OptOut, Explicit: true}, "opted out of the topic News"},
		{AddressSubscription{Topic: "News", Subscription: OptOut}, "never opted in to the topic News"},
		{AddressSubscription{Topic: "News", Subscription: OptIn, Explicit: true, Unsubscribed: true}, "unsubscribed from everything"},
		{AddressSubscription{Topic: "News", Subscription: OptOut, Unsubscribed: true}, "unsubscribed from everything"},
	} {
		if got := c.subscription.Reason(); c.words == "" && got != "" || !strings.Contains(got, c.words) {
			t.Errorf("%+v: %q", c.subscription, got)
		}
	}
}

func FuzzPlaceholders(f *testing.F) {
	for _, s := range []string{"{{{UNSUBSCRIBE_URL}}}", "{{{{{{ RESEND_UNSUBSCRIBE_URL\t}}}}}}", "{{{"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		m := (&Email{Unsubscribe: "L", Mail: Mail{Text: s}}).FinalMail()
		if asks := (&Mail{Text: s}).NeedsUnsubscribePage(); asks == (m.Text == s) {
			t.Errorf("%q becomes %q though it asks: %v", s, m.Text, asks)
		}
	})
}

func TestTopicHeadersReplaceLoneListUnsubscribe(t *testing.T) {
	for _, target := range []string{"<mailto:u@x.example>", "<https://x.example/u>"} {
		e := Email{Mail: Mail{Text: "t", TopicID: topicID, Headers: []Header{{Name: "list-unsubscribe", Value: target}, {Name: "X-A", Value: "1"}}}, Unsubscribe: pageURL}
		want := "X-A: 1\nList-Unsubscribe: <" + pageURL + ">\nList-Unsubscribe-Post: List-Unsubscribe=One-Click\n"
		if got := headersOf(e.FinalMail()); !e.NeedsUnsubscribePage() || got != want {
			t.Errorf("%s: headers\n%s", target, got)
		}
	}
}
