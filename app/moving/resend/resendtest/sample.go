package resendtest

import (
	"fmt"
	"time"
)

// Keys of Sample.
const (
	FullKey    = "re_full_123456789"
	SendingKey = "re_sending_123456789"
)

// id returns the id of the n-th object of a kind.
func id(kind, n int) string { return fmt.Sprintf("%08x-0000-4000-8000-%012x", kind, n) }

// day returns the creation time of the n-th object. Newer objects come first.
func day(n int) string {
	return Stamp(time.Date(2025, 11, 30, 20, 39, 59, 540771000, time.UTC).AddDate(0, 0, -n))
}

func ptr[T any](v T) *T { return &v }

// Sample returns an account with objects of each kind and some contacts.
func Sample(contacts int) Account {
	a := Account{
		Key: FullKey, Sending: SendingKey,
		Properties: []Property{{ID: id(1, 1), Key: "plan", Type: "string", Fallback: "free", CreatedAt: day(1)}, {ID: id(1, 2), Key: "seats", Type: "number", CreatedAt: day(2)}},
		Segments:   []Segment{{ID: id(2, 1), Name: "Customers", CreatedAt: day(1)}, {ID: id(2, 2), Name: "Active", CreatedAt: day(2), Filter: map[string]any{"match": "all"}}, {ID: id(2, 3), Name: "Nobody", CreatedAt: day(3)}},
		Audiences:  []Segment{{ID: id(3, 1), Name: "Of old", CreatedAt: day(9)}},
		Topics: []Topic{{ID: id(4, 1), Name: "News", Description: "What is new", Default: "opt_in", Visibility: "public", CreatedAt: day(1)},
			{ID: id(4, 2), Name: "Offers", Default: "opt_out", Visibility: "private", CreatedAt: day(2)}},
		Webhooks: []Webhook{{ID: id(9, 1), Endpoint: "https://hooks.example.com/resend", Events: []string{"email.sent", "email.bounced"}, Status: "enabled", CreatedAt: day(1), Secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"},
			{ID: id(9, 2), Endpoint: "https://hooks.example.com/old", Events: []string{"email.opened"}, Status: "disabled", CreatedAt: day(2)},
			{ID: id(9, 3), Endpoint: "https://hooks.example.com/none", Status: "enabled", CreatedAt: day(3), Secret: "whsec_x"}},
		Keys:        []Key{{ID: id(10, 1), Name: "Production", CreatedAt: day(1), LastUsedAt: ptr(day(0))}, {ID: id(10, 2), Name: "Test", CreatedAt: day(2)}},
		Automations: []Automation{{ID: id(12, 1), Name: "Welcome series", Status: "enabled", CreatedAt: day(1), UpdatedAt: day(0)}},
		Events:      []Event{{ID: id(13, 1), Name: "user.created", Schema: map[string]string{"plan": "string"}, CreatedAt: day(1)}},
		Emails:      []Email{{ID: id(14, 1), MessageID: "<1@resend.dev>", To: []string{"a@example.net"}, From: "Acme <hello@example.com>", CreatedAt: day(1), Subject: "Hello", LastEvent: "delivered"}},
		Received:    []Email{{ID: id(15, 1), MessageID: "<2@example.net>", To: []string{"hello@example.com"}, From: "a@example.net", CreatedAt: day(1), Subject: "Re: Hello"}},
	}
	a.Templates, a.Broadcasts, a.Domains = sampleTemplates(), sampleBroadcasts(), sampleDomains()
	a.Suppressions = []Suppression{{ID: id(11, 1), Email: "gone@example.net", Origin: "bounce", SourceID: ptr(id(14, 1)), CreatedAt: day(1)},
		{ID: id(11, 2), Email: "angry@example.net", Origin: "complaint", CreatedAt: day(2)}, {ID: id(11, 3), Email: "never@example.net", Origin: "manual", CreatedAt: day(3)}}
	for n := range contacts {
		a.Contacts = append(a.Contacts, sampleContact(n))
	}
	return a
}

// sampleContact returns the n-th contact: every fifth unsubscribed, every third opted out of news,
// every fourth opted in to offers.
func sampleContact(n int) Contact {
	c := Contact{ID: id(5, n), Email: fmt.Sprintf("c%d@example.net", n), FirstName: ptr(fmt.Sprintf("Ann %d", n)), CreatedAt: day(n), Unsubscribed: n%5 == 4,
		Properties: map[string]Value{"plan": {"string", "pro"}, "seats": {"number", float64(n)}}, Choices: map[string]string{}}
	if n%3 == 1 {
		c.Choices[id(4, 1)] = "opt_out"
	}
	if n%4 == 2 {
		c.Choices[id(4, 2)] = "opt_in"
	}
	for g, member := range []bool{n%2 == 0, n%3 == 0} {
		if member {
			c.Segments = append(c.Segments, id(2, g+1))
		}
	}
	if n%7 == 5 {
		c.Segments = append(c.Segments, id(3, 1))
	}
	return c
}

func sampleTemplates() []Template {
	made := func(n int, name, status string, change func(*Template)) Template {
		t := Template{TemplateRow: TemplateRow{ID: id(6, n), Name: name, Status: status, CreatedAt: day(n), UpdatedAt: day(0)}, Object: "template", Version: id(66, n),
			From: ptr("Acme <hello@example.com>"), Subject: ptr("Hi {{{NAME}}}"), HTML: "<p>Hi {{{NAME}}},\n{{{COUNT}}} left</p>",
			Variables: []Variable{{ID: id(67, n), Key: "NAME", Type: "string", Fallback: "there", CreatedAt: day(n), UpdatedAt: day(n)}, {ID: id(68, n), Key: "COUNT", Type: "number", CreatedAt: day(n), UpdatedAt: day(n)}}}
		if status == "published" {
			t.PublishedAt = ptr(day(0))
		}
		change(&t)
		return t
	}
	return []Template{
		made(1, "Welcome", "published", func(t *Template) { t.Alias = ptr("welcome"); t.ReplyTo = []string{"help@example.com"} }),
		made(2, "Being written", "draft", func(t *Template) { t.Text = ptr("") }),
		made(3, "Changed since", "published", func(t *Template) { t.Unpublished = true }),
		made(5, "With braces", "published", func(t *Template) { t.HTML += "\n<p>{{NAME}}</p>" }),
		made(4, "With a list", "published", func(t *Template) {
			t.Variables = append(t.Variables, Variable{ID: id(69, 4), Key: "ITEMS", Type: "list", Fallback: []any{"a"}, CreatedAt: day(4), UpdatedAt: day(4)})
		}),
	}
}

func sampleBroadcasts() []Broadcast {
	made := func(n int, name, status string, change func(*Broadcast)) Broadcast {
		b := Broadcast{BroadcastRow: BroadcastRow{ID: id(7, n), Name: name, AudienceID: ptr(id(2, 1)), SegmentID: ptr(id(2, 1)), Status: status, CreatedAt: day(n)}, Object: "broadcast",
			From: "Acme <hello@example.com>", Subject: "News", HTML: ptr("<p>Hi {{{contact.first_name|there}}}</p><a href=\"{{{RESEND_UNSUBSCRIBE_URL}}}\">No more</a>")}
		change(&b)
		return b
	}
	return []Broadcast{
		made(1, "Next", "draft", func(b *Broadcast) {
			b.TopicID = ptr(id(4, 1))
			b.Preview = ptr("A look")
			b.ReplyTo = []string{"help@example.com"}
		}),
		made(2, "Soon", "scheduled", func(b *Broadcast) { b.ScheduledAt = ptr("2026-12-01 09:00:00+00") }),
		made(3, "November", "sent", func(b *Broadcast) { b.SentAt = ptr(day(3)); b.SegmentID = nil }),
		made(4, "To nobody yet", "draft", func(b *Broadcast) { b.SegmentID, b.AudienceID = nil, nil; b.Text = ptr("Plain {{name}}") }),
	}
}

func sampleDomains() []Domain {
	return []Domain{
		{Object: "domain", DomainRow: DomainRow{ID: id(8, 1), Name: "example.com", Status: "verified", CreatedAt: day(1), Region: "eu-west-1", OpenTracking: true, Capabilities: Capabilities{"enabled", "disabled"}}, Tracking: ptr("links"),
			Records: []Record{{"SPF", "bounces", "MX", "Auto", "verified", "feedback-smtp.eu-west-1.amazonses.com", 10}, {"SPF", "bounces", "TXT", "Auto", "verified", "v=spf1 include:amazonses.com ~all", 0},
				{"DKIM", "resend._domainkey", "TXT", "Auto", "verified", "p=MIGf", 0}, {"Tracking", "links", "CNAME", "Auto", "verified", "links1.resend-dns.com", 0}}},
		{Object: "domain", DomainRow: DomainRow{ID: id(8, 2), Name: "mail.example.org", Status: "partially_failed", CreatedAt: day(2), Region: "us-east-1", Capabilities: Capabilities{"enabled", "enabled"}},
			Records: []Record{{"SPF", "send.mail", "MX", "Auto", "failed", "feedback-smtp.us-east-1.amazonses.com", 10}, {"Receiving", "mail", "MX", "Auto", "verified", "inbound-smtp.us-east-1.amazonaws.com", 10}}},
	}
}
