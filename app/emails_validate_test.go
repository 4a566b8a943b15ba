package app

import (
	"fmt"
	"strings"
	"testing"
)

func goodInput() EmailInput {
	return EmailInput{From: "Acme <hi@acme.test>", To: []string{"ann@example.org"}, Subject: "Hello", HTML: "<p>Hi <b>Ann</b></p>"}
}

func TestValidate(t *testing.T) {
	in := goodInput()
	in.Cc = []string{""}
	in.Bcc = []string{}
	in.ReplyTo = []string{"Support <s@acme.test>"}
	in.Headers = map[string]string{"X-B": "2", "X-A": "1"}
	in.Tags = []Tag{{"campaign", "a_b-1"}}
	in.Attachments = []Attachment{{Filename: "a.txt", Content: []byte("abc")}}
	m, err := in.Validate()
	if err != nil {
		t.Fatal(err)
	}
	if m.From.String() != "Acme <hi@acme.test>" || len(m.To) != 1 || m.To[0].Mailbox() != "ann@example.org" || m.Cc != nil || m.Bcc != nil {
		t.Errorf("addresses: %+v", m)
	}
	if m.ReplyTo[0].Name != "Support" || m.Subject != "Hello" || m.HTML != in.HTML || m.Text != "Hi Ann" {
		t.Errorf("content: %+v", m)
	}
	if fmt.Sprint(m.Headers, m.Tags) != "[{X-A 1} {X-B 2}] [{campaign a_b-1}]" {
		t.Errorf("headers, tags: %v %v", m.Headers, m.Tags)
	}
	if len(m.Attachments) != 1 || m.Attachments[0].Size != 3 || m.Attachments[0].ID == "" {
		t.Errorf("attachments: %+v", m.Attachments)
	}
}

func TestValidateText(t *testing.T) {
	text := func(s string) *string { return &s }
	for _, c := range []struct {
		html, want string
		text       *string
	}{
		{"<p>a</p>", "a", nil},
		{"<p>a</p>", "", text("")},
		{"<p>a</p>", "b", text("b")},
		{"", "b", text("b")},
		{"<img src=x>", "", nil},
	} {
		in := goodInput()
		in.HTML, in.Text = c.html, c.text
		m, err := in.Validate()
		if err != nil || m.Text != c.want || m.HTML != c.html {
			t.Errorf("%+v: %+v, %v", c, m, err)
		}
	}
}

// TestInvalidAddressErrorShowsTheForm covers several addresses in one string, and a name that
// contains an address.
func TestInvalidAddressErrorShowsTheForm(t *testing.T) {
	const array, alone = "several addresses in an array of strings", "write the address alone"
	for text, words := range map[string]string{
		"a@b.co, Bob <c@d.co>": array, "a@b.co; c@d.co": array, "Ann <a@b.co>, Bob <c@d.co>": array,
		`"a@b.co" <c@d.co>`: alone, "a@b.co <c@d.co>": alone, "Bob (a@b.co) <c@d.co>": alone, "=?utf-8?q?a=40b.co?= <c@d.co>": alone,
	} {
		in := EmailInput{From: "a@example.com", To: []string{text}, Subject: "s", HTML: "x"}
		if _, err := in.Validate(); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%s: %v, want %q", text, err, words)
		}
	}
}

func TestValidateRefuses(t *testing.T) {
	text := func(s string) *string { return &s }
	many := func(n int) []string {
		out := make([]string, n)
		for i := range out {
			out[i] = fmt.Sprintf("u%d@example.org", i)
		}
		return out
	}
	for _, c := range []struct {
		field string
		spoil func(*EmailInput)
	}{
		{"from", func(in *EmailInput) { in.From = "" }},
		{"from", func(in *EmailInput) { in.From = "nobody" }},
		{"from", func(in *EmailInput) { in.From = "a@b.co, c@d.co" }},
		{"to", func(in *EmailInput) { in.To = nil }},
		{"to", func(in *EmailInput) { in.To = []string{""} }},
		{"to", func(in *EmailInput) { in.To = nil; in.Bcc = many(1) }},
		{"to", func(in *EmailInput) { in.To = many(51) }},
		{"to", func(in *EmailInput) { in.To, in.Cc, in.Bcc = many(20), many(20), many(11) }},
		{"to[1]", func(in *EmailInput) { in.To = []string{"a@b.co", "x"} }},
		{"to[1]", func(in *EmailInput) { in.To = []string{"a@b.co", ""} }},
		{"cc[2]", func(in *EmailInput) { in.Cc = []string{"a@b.co", "a@b.co", "a@b"} }},
		{"bcc[0]", func(in *EmailInput) { in.Bcc = []string{"a@b.co\r\n"} }},
		{"reply_to[0]", func(in *EmailInput) { in.ReplyTo = []string{"g: a@b.co;"} }},
		{"reply_to", func(in *EmailInput) { in.ReplyTo = many(51) }},
		{"subject", func(in *EmailInput) { in.Subject = "" }},
		{"subject", func(in *EmailInput) { in.Subject = " \t " }},
		{"subject", func(in *EmailInput) { in.Subject = "a\r\nBcc: x@y.co" }},
		{"subject", func(in *EmailInput) { in.Subject = "a\nb" }},
		{"subject", func(in *EmailInput) { in.Subject = "a\rb" }},
		{"subject", func(in *EmailInput) { in.Subject = "a\x00b" }},
		{"subject", func(in *EmailInput) { in.Subject = "\xff" }},
		{"subject", func(in *EmailInput) { in.Subject = strings.Repeat("a", MaxSubject+1) }},
		{"html", func(in *EmailInput) { in.HTML = "" }},
		{"html", func(in *EmailInput) { in.HTML = ""; in.Text = text("") }},
		{"html", func(in *EmailInput) { in.HTML = "a\x00" }},
		{"html", func(in *EmailInput) { in.HTML = "\xc3" }},
		{"text", func(in *EmailInput) { in.Text = text("a\x00") }},
		{"text", func(in *EmailInput) { in.Text = text("\xc3(") }},
		{"headers.Bcc", func(in *EmailInput) { in.Headers = map[string]string{"Bcc": "x@y.co"} }},
		{"tags[1].name", func(in *EmailInput) { in.Tags = []Tag{{"a", "1"}, {"a", "2"}} }},
		{"tags[0].name", func(in *EmailInput) { in.Tags = []Tag{{"", "1"}} }},
		{"tags[0].name", func(in *EmailInput) { in.Tags = []Tag{{"a b", "1"}} }},
		{"tags[0].name", func(in *EmailInput) { in.Tags = []Tag{{strings.Repeat("a", 257), "1"}} }},
		{"tags[0].value", func(in *EmailInput) { in.Tags = []Tag{{"a", ""}} }},
		{"tags[0].value", func(in *EmailInput) { in.Tags = []Tag{{"a", "é"}} }},
		{"tags[0].value", func(in *EmailInput) { in.Tags = []Tag{{"a", "[x]"}} }},
		{"tags[0].value", func(in *EmailInput) { in.Tags = []Tag{{"a", "x@"}} }},
		{"tags", func(in *EmailInput) { in.Tags = make([]Tag, 51) }},
		{"attachments[0].filename", func(in *EmailInput) { in.Attachments = []Attachment{{Content: []byte{}}} }},
	} {
		in := goodInput()
		c.spoil(&in)
		m, err := in.Validate()
		if err == nil {
			t.Errorf("%s: %+v passes", c.field, in)
			continue
		}
		if m != nil {
			t.Errorf("%s: a mail together with the error", c.field)
		}
		if e, ok := err.(*Error); !ok || e.Code != CodeValidation || !strings.HasPrefix(e.Message, "`"+c.field+"` ") {
			t.Errorf("%v, want field %s", err, c.field)
		}
	}
}

func TestValidateAtTheLimits(t *testing.T) {
	in := goodInput()
	in.To = nil
	for i := range MaxRecipients {
		in.To = append(in.To, fmt.Sprintf("u%d@example.org", i))
	}
	in.Subject = strings.Repeat("a", MaxSubject)
	for i := range MaxTags {
		in.Tags = append(in.Tags, Tag{fmt.Sprint(i, strings.Repeat("a", 250)), strings.Repeat("Z", MaxTagLength)})
	}
	if _, err := in.Validate(); err != nil {
		t.Error(err)
	}
}
