package app

import (
	"fmt"
	"strings"
	"testing"
)

const goodTargets = "<https://acme.test/u?x=1>, <mailto:u@acme.test?subject=stop>"

func parseHeaders(headers map[string]string) ([]Header, error) {
	return headersIn(CompatStrict, headers)
}

// headersIn returns the headers of a mail from from@a.co to to@a.co with the subject "Grüße" in
// a mode.
func headersIn(compat Compat, headers map[string]string) ([]Header, error) {
	in := &EmailInput{Headers: headers, Compat: compat}
	m := &Mail{Subject: "Grüße", From: Address{Local: "from", Domain: "a.co"}, To: []Address{{Local: "to", Domain: "a.co"}}}
	err := in.headers(m)
	return m.Headers, err
}

// longThread are the message ids of a long conversation.
var longThread = strings.Repeat("<0123456789abcdef@desk.example.org> ", 300) + "<last@desk.example.org>"

func TestHeadersAllowed(t *testing.T) {
	for name, value := range map[string]string{
		"X-Foo": "bar", "x-foo": "bar", "X-Mailer": "Acme 1.0", "X-SESSION": "1", "X-MailerLite": "1", "X-Entity-Ref-ID": "4711", "X-1": "ü",
		"X-a.B_c-9":   "1",
		"In-Reply-To": "<1@acme.test>", "references": "<1@acme.test> <2@acme.test>", "Importance": "high", "PRIORITY": "urgent",
		"Comments": "Grüße", "Keywords": "a, b", "Organization": "Äcme",
		"X-" + strings.Repeat("a", 74): "1", "X-Long": strings.Repeat("v", 997), "X-Spaces": "a  b", "X-__proto__": "1",
		"References": longThread, "X-Words": strings.Repeat("word ", 3199) + "end", "X-Umlauts": strings.Repeat("ü", 2000),
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
		{"X-Long", strings.Repeat("v", 998), "headers.X-Long"},
		{"X-Piece", "a " + strings.Repeat("v", 998) + " b", "headers.X-Piece"},
		{"References", strings.ReplaceAll(longThread, " ", "  "), "headers.References"}, // no single blank
		{"X-Words", strings.Repeat("word ", 3200) + "end", "headers.X-Words"},
		{"x-ses-message-tags", "x", "headers.x-ses-message-tags"},
		{"X-Mailer-Email-ID", "x", "headers.X-Mailer-Email-ID"},
		{"X-MAILER-", "x", "headers.X-MAILER-"},
		{"X-SES-Foo", "", "headers.X-SES-Foo"}, // invalid by its name alone
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
		{"__proto__", "x", "headers"}, // Haraka CVE-2026-34752
		{"X-A;b", "x", "headers"},     // a semicolon ends the list of names in a signature
		{"X-A(b)", "x", "headers"},
		{`X-A"b`, "x", "headers"},
		{"X-A\\b", "x", "headers"},
		{"X-!#$%&'*+-.^_`|~", "x", "headers"},
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

func TestHeadersTotalLimit(t *testing.T) {
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
			if strings.ContainsAny(h.Name, ": \r\n") || !IsASCII(h.Name) || HasControl(h.Value) || h.Value == "" || len(h.Value) > 16_000 {
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

// TestProviderInstructionHeadersAreRefused also checks that similar names are accepted.
func TestProviderInstructionHeadersAreRefused(t *testing.T) {
	for _, compat := range []Compat{CompatStrict, CompatResend} {
		for _, name := range []string{
			"X-SES-CONFIGURATION-SET", "X-Mailer-Email-ID", "X-SMTPAPI", "x-smtpapi", "X-PM-Metadata-mailer-email-id", "X-PM-Message-Stream",
			"X-Postmark-Tag", "X-Mailgun-Recipient-Variables", "X-MC-BccAddress", "X-MSYS-API", "X-MJ-TemplateID", "X-Mailin-Tag", "X-SIB-API",
			"X-SG-EID", "X-SMTP2GO-Tag", "X-ElasticEmail-Settings", "X-Amz-Meta", "x-PM-tag",
		} {
			_, err := headersIn(compat, map[string]string{name: "x"})
			if err == nil || !strings.Contains(err.Error(), "`headers."+name+"` is an order to a mail provider") {
				t.Errorf("%s, %s: %v", compat, name, err)
			}
		}
		for _, name := range []string{"X-Mailer", "X-SES", "X-PM", "X-MCE", "X-SGML", "X-Campaign", "X-Entity-Ref-ID", "X-Priority"} {
			if _, err := headersIn(compat, map[string]string{name: "x"}); err != nil {
				t.Errorf("%s, %s: %v", compat, name, err)
			}
		}
	}
}

func TestEmailIDHeaderIsInstruction(t *testing.T) {
	if !InstructsProvider(strings.ToLower(EmailIDHeader)) {
		t.Error("a caller may set", EmailIDHeader)
	}
}

// TestHeadersByMode compares the modes: a header is kept, ignored, or refused with a message.
func TestHeadersByMode(t *testing.T) {
	const kept, ignored, notSet = "kept", "ignored", "is not a header that can be set"
	for _, c := range []struct{ name, value, strict, resend string }{
		{"Auto-Submitted", "auto-generated", notSet, kept},
		{"Feedback-ID", "a:b:c:d", notSet, kept},
		{"Precedence", "bulk", notSet, kept},
		{"List-Id", "<news.acme.test>", notSet, kept},
		{"List-Post", "NO", notSet, kept},
		{"Thread-Topic", "Grüße", notSet, kept},
		{"Feedback-ID", "ü", notSet, "must be plain ASCII"},
		{"Thread-Topic", "a\r\nBcc: x@a.co", notSet, "control characters"},
		{"Date", "x", notSet, ignored},
		{"Message-ID", "<x@y>", notSet, ignored},
		{"message-id", "ü", notSet, ignored},
		{"Return-Path", "x", notSet, ignored},
		{"Sender", "x@y.co", notSet, ignored},
		{"Message-ID", "a\nb", notSet, "control characters"},
		{"MIME-Version", "1.0", notSet, notSet},
		{"Content-Type", "text/html", notSet, notSet},
		{"Content-Transfer-Encoding", "8bit", notSet, notSet},
		{"DKIM-Signature", "x", notSet, notSet},
		{"Received", "x", notSet, notSet},
		{"ARC-Seal", "x", notSet, notSet},
		{"Authentication-Results", "x", notSet, notSet},
		{"Bcc", "x@y.co", notSet, notSet},
		{"Resent-To", "x@y.co", notSet, notSet},
		{"Delivered-To", "x@y.co", notSet, notSet},
		{"X-Foo", "x", kept, kept},
		{"References", "<1@a>", kept, kept},

		{"From", "Other Name <FROM@a.co>", notSet, ignored},
		{"From", "x@a.co", notSet, "names other addresses than `from`"},
		{"To", "to@a.co", notSet, ignored},
		{"To", "to@a.co, x@a.co", notSet, "names other addresses than `to`"},
		{"Cc", "to@a.co", notSet, "names other addresses than `cc`"},
		{"Cc", " ", notSet, ignored},
		{"To", "Undisclosed:;", notSet, "must not be a group"},
		{"Subject", "Grüße", notSet, ignored},
		{"Subject", "=?utf-8?q?Gr=C3=BC=C3=9Fe?=", notSet, ignored},
		{"Subject", "Gruss", notSet, "says another subject than `subject`"},
		{"Reply-To", "a b", "is not a valid email address", "is not a valid email address"},

		{"List-Unsubscribe", goodTargets, "is required beside List-Unsubscribe", kept},
		{"List-Unsubscribe", "<mailto:u@a.co>", "at least one https", kept},
		{"List-Unsubscribe", "<ftp://a.co>", "https and mailto targets only", "https and mailto targets only"},
		{"List-Unsubscribe", "u@a.co", "must be a list like", "must be a list like"},
		{"List-Unsubscribe-Post", OneClick, "is required beside List-Unsubscribe-Post", "is required beside List-Unsubscribe-Post"},
	} {
		for compat, want := range map[Compat]string{"": c.strict, CompatStrict: c.strict, CompatResend: c.resend} {
			got, err := headersIn(compat, map[string]string{c.name: c.value})
			switch {
			case err != nil:
				if want == kept || want == ignored || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "`headers."+strings.TrimSuffix(c.name, "-Post")) {
					t.Errorf("%q, %s: %q: %v, want %s", compat, c.name, c.value, err, want)
				}
			case want == kept && len(got) == 1 && got[0] == (Header{c.name, c.value}):
			case want == ignored && len(got) == 0:
			default:
				t.Errorf("%q, %s: %q leaves %v, want %s", compat, c.name, c.value, got, want)
			}
		}
	}
}

func TestMailtoUnsubscribeIsNotOneClick(t *testing.T) {
	_, err := headersIn(CompatResend, map[string]string{"List-Unsubscribe": "<mailto:u@a.co>", "List-Unsubscribe-Post": OneClick})
	if err == nil || !strings.Contains(err.Error(), "at least one https") {
		t.Error(err)
	}
}

// TestReplyToHeader includes what Symfony sends.
func TestReplyToHeader(t *testing.T) {
	for _, compat := range []Compat{CompatStrict, CompatResend} {
		for _, c := range []struct {
			field  []string
			header string
			want   string // addresses, or the error message
		}{
			{[]string{"r@example.com"}, "R <r@example.com>", "[r@example.com]"},
			{[]string{"R <r@example.com>", "s@example.com"}, `S <S@EXAMPLE.com>, "R, r" <r@example.com>`, "[R <r@example.com> s@example.com]"},
			{[]string{"r@example.com"}, "", "[r@example.com]"},
			{[]string{"r@example.com"}, "s@example.com", "names other addresses than `reply_to`"},
			{[]string{"r@example.com"}, "r@example.com, s@example.com", "names other addresses than `reply_to`"},
			{nil, "R, and so on <r@example.com>, s@example.com", `["R, and so on" <r@example.com> s@example.com]`},
			{[]string{""}, "r@example.com", "[r@example.com]"},
			{nil, "", "[]"},
			{nil, "r@example.com,", "is empty"},
			{nil, strings.Repeat("r@example.com,", 50) + "r@example.com", "more than 50 addresses"},
			{nil, "r@example.com\r\nBcc: x@example.com", "control characters"},
		} {
			in := &EmailInput{From: "a@b.co", To: []string{"c@d.co"}, Subject: "s", HTML: "x", ReplyTo: c.field,
				Headers: map[string]string{"reply-to": c.header}, Compat: compat}
			m, err := in.Validate()
			if err != nil {
				if !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.(*Error).Message, "`headers.reply-to`") {
					t.Errorf("%q, %q: %v", c.field, c.header, err)
				}
				continue
			}
			if got := fmt.Sprint(m.ReplyTo); got != c.want || len(m.Headers) > 0 {
				t.Errorf("%q, %q: %s and %v, want %s", c.field, c.header, got, m.Headers, c.want)
			}
		}
	}
}

// FuzzHeadersByMode checks that each accepted header is a single line and is not owned by the
// message.
func FuzzHeadersByMode(f *testing.F) {
	for name, value := range map[string]string{
		"X-A": "1", "Reply-To": "A, B <a@b.co>, c@d.co", "From": "from@a.co", "List-Unsubscribe": "<mailto:a@b>", "Feedback-ID": "a:b", "Subject": "=?utf-8?q?x?=",
		"X-A;b": "1", "To": `"a, b" <to@a.co>`, "X-SMTPAPI": "{}", "Date": "x",
	} {
		f.Add(name, value)
	}
	f.Fuzz(func(t *testing.T, name, value string) {
		for _, compat := range []Compat{CompatStrict, CompatResend} {
			got, err := headersIn(compat, map[string]string{name: value})
			if err != nil {
				if e, ok := err.(*Error); !ok || e.Code != CodeValidation || !strings.HasPrefix(e.Message, "`headers") {
					t.Errorf("%q: %q: %v", name, value, err)
				}
				continue
			}
			for _, h := range got {
				lower := strings.ToLower(h.Name)
				if HasControl(h.Value) || h.Value == "" || strings.ContainsAny(h.Name, " :;()\"\\\r\n") || InstructsProvider(lower) ||
					strings.HasPrefix(lower, "content-") || strings.Contains(" from to cc bcc subject date message-id mime-version sender received reply-to ", " "+lower+" ") {
					t.Errorf("%q: %q is kept", h.Name, h.Value)
				}
			}
		}
	})
}
