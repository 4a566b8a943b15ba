package app

import (
	"fmt"
	"strings"
	"testing"
)

const goodTargets = "<https://acme.test/u?x=1>, <mailto:u@acme.test?subject=stop>"

func TestHeadersAllowed(t *testing.T) {
	for name, value := range map[string]string{
		"X-Foo": "bar", "x-foo": "bar", "X-Mailer": "Acme 1.0", "X-SESSION": "1", "X-MailerLite": "1", "X-Entity-Ref-ID": "4711", "X-1": "ü",
		"X-!#$%&'*+-.^_`|~": "1",
		"In-Reply-To":       "<1@acme.test>", "references": "<1@acme.test> <2@acme.test>", "Importance": "high", "PRIORITY": "urgent",
		"Comments": "Grüße", "Keywords": "a, b", "Organization": "Äcme",
		"X-" + strings.Repeat("a", 74): "1", "X-Long": strings.Repeat("v", 997), "X-Spaces": "a  b", "X-__proto__": "1",
	} {
		got, err := parseHeaders(map[string]string{name: value})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if len(got) != 1 || got[0] != (Header{name, value}) {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestHeadersRefused(t *testing.T) {
	for _, c := range []struct{ name, value, field string }{
		{"X-SES-Configuration-Set", "x", "headers.X-SES-Configuration-Set"},
		{"x-ses-message-tags", "x", "headers.x-ses-message-tags"},
		{"X-Mailer-Email-ID", "x", "headers.X-Mailer-Email-ID"},
		{"X-MAILER-", "x", "headers.X-MAILER-"},
		{"X-SES-Foo", "", "headers.X-SES-Foo"}, // the name alone is wrong
		{"X-", "x", "headers.X-"},
		{"Bcc", "x@y.co", "headers.Bcc"},
		{"From", "x@y.co", "headers.From"},
		{"to", "x@y.co", "headers.to"},
		{"Subject", "x", "headers.Subject"},
		{"Date", "x", "headers.Date"},
		{"Message-ID", "<x@y>", "headers.Message-ID"},
		{"Content-Type", "text/html", "headers.Content-Type"},
		{"MIME-Version", "2.0", "headers.MIME-Version"},
		{"DKIM-Signature", "x", "headers.DKIM-Signature"},
		{"Return-Path", "x", "headers.Return-Path"},
		{"Sender", "x@y.co", "headers.Sender"},
		{"Resent-To", "x@y.co", "headers.Resent-To"},
		{"__proto__", "x", "headers.__proto__"}, // Haraka CVE-2026-34752
		{"List-Id", "x", "headers.List-Id"},
		{"", "x", "headers"},
		{"X Foo", "x", "headers"},
		{"X-Foo:", "x", "headers"},
		{"X-Foo\r\nBcc", "x", "headers"},
		{"X-Foo\x00", "x", "headers"},
		{"X-Fóo", "x", "headers"},
		{"X-" + strings.Repeat("a", 75), "x", "headers"},
		{"X-Foo", "a\r\nBcc: x@y.co", "headers.X-Foo"},
		{"X-Foo", "a\nb", "headers.X-Foo"},
		{"X-Foo", "a\rb", "headers.X-Foo"},
		{"X-Foo", "a\x00", "headers.X-Foo"},
		{"X-Foo", "a\tb", "headers.X-Foo"},
		{"X-Foo", "a\u2028b", "headers.X-Foo"},
		{"X-Foo", "\xff", "headers.X-Foo"},
		{"X-Foo", strings.Repeat("v", 998), "headers.X-Foo"},
		{"References", "<ü@acme.test>", "headers.References"},
		{"Importance", "hög", "headers.Importance"},
		{"List-Unsubscribe", goodTargets, "headers.List-Unsubscribe-Post"},
		{"List-Unsubscribe-Post", OneClick, "headers.List-Unsubscribe"},
	} {
		got, err := parseHeaders(map[string]string{c.name: c.value})
		if err == nil {
			t.Errorf("%q: %q passes as %v", c.name, c.value, got)
			continue
		}
		if e := err.(*Error); e.Code != CodeValidation || !strings.HasPrefix(e.Message, "`"+c.field+"` ") {
			t.Errorf("%q: %v, want field %s", c.name, err, c.field)
		}
	}
}

func TestHeadersTogether(t *testing.T) {
	got, err := parseHeaders(map[string]string{"x-b": "2", "X-C": " 3 ", "X-A": "1", "Comments": "", "X-Blank": "  "})
	if err != nil {
		t.Fatal(err)
	}
	if s := fmt.Sprint(got); s != "[{X-A 1} {x-b 2} {X-C 3}]" {
		t.Errorf("got %s", s)
	}
	if _, err := parseHeaders(map[string]string{"X-Foo": "1", "x-foo": "1"}); err == nil {
		t.Error("a name twice, in different case, passes")
	}
	many := map[string]string{}
	for i := range MaxHeaders {
		many[fmt.Sprint("X-", i)] = "1"
	}
	if _, err := parseHeaders(many); err != nil {
		t.Errorf("%d headers: %v", len(many), err)
	}
	many["X-more"] = "1"
	if _, err := parseHeaders(many); err == nil {
		t.Errorf("%d headers pass", len(many))
	}
}

func TestListUnsubscribe(t *testing.T) {
	for value, want := range map[string]bool{
		goodTargets:                             true,
		"<https://acme.test/u>":                 true,
		"<https://acme.test/u>,<mailto:u@a.co>": true,
		"  <HTTPS://acme.test/u>  ":             true,
		"<mailto:u@a.co> , <https://a.co/a,b>":  true,
		"<https://a.co/1>, <https://a.co/2>":    true,
		"<mailto:u@a.co>":                       false,
		"<http://acme.test/u>":                  false,
		"<https://acme.test/u>, <http://a.co>":  false,
		"https://acme.test/u":                   false,
		"<https://acme.test/u":                  false,
		"<https://acme.test/u>,":                false,
		"<https://acme.test/u>, ,<mailto:a@b>":  false,
		"<https://acme.test/u> <mailto:u@a.co>": false,
		"<https://acme.test/u> (comment)":       false,
		"<>":                                    false,
		"<https://>":                            false,
		"<https:///u>":                          false,
		"<https://acme.test/a b>":               false,
		"<javascript:alert(1)>":                 false,
		"<ftp://acme.test/>":                    false,
		"<https://acme.test>, <mailto:>":        false,
		"<https://acme.test/%zz>":               false,
		"<https://acme.test/<x>":                false,
		"<https://acme.test/ü>":                 false,
		"NO":                                    false,
	} {
		_, err := parseHeaders(map[string]string{"List-Unsubscribe": value, "list-unsubscribe-post": OneClick})
		if (err == nil) != want {
			t.Errorf("%s: %v", value, err)
		}
		if err != nil && !strings.Contains(err.Error(), "`headers.List-Unsubscribe`") {
			t.Errorf("%s: the error names another field: %v", value, err)
		}
	}
	for _, post := range []string{"list-unsubscribe=one-click", "List-Unsubscribe=One-Click; x", "yes"} {
		if _, err := parseHeaders(map[string]string{"List-Unsubscribe": goodTargets, "List-Unsubscribe-Post": post}); err == nil {
			t.Errorf("List-Unsubscribe-Post %q passes", post)
		}
	}
}

func FuzzHeaders(f *testing.F) {
	f.Add("X-Foo", "bar", "x-foo", "baz")
	f.Add("List-Unsubscribe", goodTargets, "List-Unsubscribe-Post", OneClick)
	f.Add("X-SES-Foo", "\r\n", "Comments", "é")
	f.Fuzz(func(t *testing.T, name1, value1, name2, value2 string) {
		got, err := parseHeaders(map[string]string{name1: value1, name2: value2})
		if err != nil {
			if CodeOf(err) != CodeValidation || HasControl(err.Error()) {
				t.Errorf("%q", err)
			}
			return
		}
		targets, post := false, false
		for _, h := range got {
			lower := strings.ToLower(h.Name)
			if strings.ContainsAny(h.Name, ": \r\n") || !IsASCII(h.Name) || HasControl(h.Value) || h.Value == "" || len(h.Value) > 997 {
				t.Errorf("%q: %q", h.Name, h.Value)
			}
			if strings.HasPrefix(lower, "x-ses-") || strings.HasPrefix(lower, "x-mailer-") {
				t.Errorf("%q passes", h.Name)
			}
			targets = targets || lower == "list-unsubscribe" && strings.Contains(strings.ToLower(h.Value), "<https:")
			post = post || lower == "list-unsubscribe-post" && h.Value == OneClick
		}
		if targets != post {
			t.Errorf("half of the unsubscribe pair passes: %v", got)
		}
		if len(got) == 2 && strings.EqualFold(got[0].Name, got[1].Name) {
			t.Errorf("twice the same: %v", got)
		}
	})
}
