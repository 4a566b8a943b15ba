package mailbox

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// TestParseRefuses: the right column is a part of the error message.
func TestParseRefuses(t *testing.T) {
	for _, c := range [][2]string{
		{"", "empty"},
		{"   ", "not a valid"},
		{"a", "not a valid"},
		{"@b.co", "not a valid"},
		{"a@", "not a valid"},
		{"a@b", "without a dot"},
		{"a@localhost", "without a dot"},
		{"Ann <a@b>", "without a dot"},
		{"a@b.co, c@d.co", "single address"},
		{"a@b.co,", "single address"},
		{"a@b.co; c@d.co", "single address"},
		{"a@b.co;", "single address"},
		{"mailto:a@b.co", "mailto"},
		{"<mailto:a@b.co>", "mailto"},
		{"Ann <mailto:a@b.co>", "mailto"},
		{"a@b.co c@d.co", "not a valid"},
		{"<a@b.co> <c@d.co>", "one pair"},
		{"<a@b.co>, c@d.co", "single address"},
		{"group: a@b.co;", "group"},
		{"group:;", "group"},
		{"undisclosed-recipients:;", "group"},
		{"a@b.co (comment)", "comments"},
		{"(comment) a@b.co", "comments"},
		{"a(x)@b.co", "comments"},
		{"a@[127.0.0.1]", "address literal"},
		{"a@[IPv6:::1]", "address literal"},
		{"a@127.0.0.1", "IP address"},
		{`"a@b.co" <c@d.co>`, "@ in its display name"},
		{"a@b.co <c@d.co>", "@ in its display name"},
		{"user@host <c@d.co>", "@ in its display name"},
		{"Ann (a@b.co) <c@d.co>", "@ in its display name"},
		{"a@b.co, Ann <c@d.co>", "single address"},
		{"Team: a@b.co, Ann <c@d.co>", "group"},
		{"Acme, Inc. <a@b.co> x", "single address"},
		{"Acme, Inc. <a@b.co>, c@d.co", "single address"},
		{"Acme, Inc. <a@b.co> <c@d.co>", "single address"},
		{"Acme > Inc, <a@b.co>", "one pair"},
		{"Acme, Inc. <a@b>", "single address"},
		{"Acme, Inc. <>", "single address"},
		{"Acme, =?utf-8?q?a=40b.co?= <c@d.co>", "@ in its display name"},
		{"Acme, =?utf-8?q?a=0D=0ABcc=3A_x?= <c@d.co>", "control"},
		{"Acme, =?x-unknown?q?a?= <c@d.co>", "single address"},
		{"=?utf-8?q?victim=40evil.co=00?=@b.co", "encoded word"},
		{"Ann <=?utf-8?b?YUBiLmNv?=@b.co>", "encoded word"},
		{"x=?utf-8?q?a?=y@b.co", "encoded word"},
		{"a.=?utf-8?q?a?=@b.co", "encoded word"},
		{"=?utf-8?q?a=40b.co?= <c@d.co>", "@ in its display name"},
		{"=?utf-8?b?YUBiLmNv?= <c@d.co>", "@ in its display name"},
		{"=?utf-8?q?a=0D=0ABcc=3A_x?= <c@d.co>", "control"},
		{"=?utf-8?q?a=00?= <c@d.co>", "control"},
		{"=?x-unknown?q?a?= <c@d.co>", "not a valid"},
		{`"a b"@c.co`, "quoted part"},
		{`"a"@c.co`, "quoted part"},
		{`"a@evil.co"@c.co`, "quoted part"}, // Nodemailer: mail to the wrong domain
		{`Ann <"a@evil.co> x"@c.co>`, "quoted part"},
		{`"xclow3n@evil.co x"@internal.co`, "quoted part"},
		{"a@b.co\r\nBcc: c@d.co", "line breaks"},
		{"a@b.co\n", "line breaks"},
		{"\ra@b.co", "line breaks"},
		{"a\x00@b.co", "control"},
		{"Ann\t<a@b.co>", "control"},
		{"Ann\u2028x <a@b.co>", "line breaks"},
		{"Ann\u0085x <a@b.co>", "line breaks"},
		{"a@b.co> SIZE=1", "one pair"}, // ESMTP parameters (GHSA-wpwj-69cm-q9c5)
		{"a@b.co>", "one pair"},
		{"<a@b.co", "closing angle"},
		{"<a@b.co> x", "closing angle"},
		{"<a@b.co>>", "one pair"},
		{"<<a@b.co>", "one pair"},
		{"<>", "not a valid"},
		{"<@x.co:a@b.co>", "group"},
		{"<@x.co,@y.co:a@b.co>", "single address"},
		{"a@b@c.co", "not a valid"},
		{"a b@c.co", "not a valid"},
		{".a@c.co", "not a valid"},
		{"a.@c.co", "not a valid"},
		{"a..b@c.co", "not a valid"},
		{"a@c..co", "not a valid"},
		{"a@.c.co", "not a valid"},
		{"a@c.co.", "not a valid"},
		{"a@c。co。", "domain"},
		{"a@-c.co", "domain"},
		{"a@c-.co", "domain"},
		{"a@c_d.co", "domain"},
		{"a@xn--a.co", "domain"},
		{"a@b.co/x", "domain"},
		{"a\\@b.co", "not a valid"},
		{"a\xff@b.co", "UTF-8"},
		{"jo\u0308rg@b.co", "normal form"},
		{"a\u200b@b.co", "before the @"},
		{"a\u202e@b.co", "before the @"},
		{"a\u00a0b@b.co", "before the @"},
		{strings.Repeat("x", 65) + "@b.co", "64 bytes"},
		{"a@" + strings.Repeat("x", 64) + ".co", "domain"},
		{"a@" + strings.Repeat("abc.", 63) + "abc", "253"},
		{"ab@" + strings.Repeat("abc.", 62) + "abcd", "254"},
		{strings.Repeat("x", 256) + " <a@b.co>", "255"},
		{strings.Repeat("x", 1001), "1000"},
		{strings.Repeat("(", 5000), "1000"},
	} {
		a, err := Parse(c[0])
		if err == nil {
			t.Errorf("%q passes as %#v", c[0], a)
		} else if !strings.Contains(err.Error(), c[1]) {
			t.Errorf("%q: %v, want a text with %q", c[0], err, c[1])
		}
	}
}

// sameSimple checks that simple and the full grammar return the same result.
func sameSimple(t *testing.T, s string) (isSimple bool) {
	t.Helper()
	s = strings.Trim(s, " ")
	if checkText(s) != nil {
		return false
	}
	short, ok := simple(s)
	if whole, err := byGrammar(s); ok && (err != nil || short != whole) {
		t.Errorf("%q: %#v in short, %#v and %v by the whole grammar", s, short, whole, err)
	}
	return ok
}

func TestSimpleParserEqualsFullGrammar(t *testing.T) {
	pieces := []string{"Ann", "B2", "ann", "x", "1", "mail.Example.com", "example.org", "a.b", "xn--bcher-kva.example", "xn--a", "a_b.co", "-a.co", "a..b", " ", " ", "  ", "<", " <", ">", ">", "@", "@", "@", ".", "-", "'", "\"", "\\", ",", ":", ";", "(", ")", "[", "]", "=?utf-8?q?x?=", "ü", "ß.de", "\t"}
	r := rand.New(rand.NewPCG(5, 322))
	simple := 0
	for range 200_000 {
		var s string
		for range 1 + r.IntN(8) {
			s += pieces[r.IntN(len(pieces))]
		}
		if sameSimple(t, s) {
			simple++
		}
	}
	if simple < 100 {
		t.Errorf("%d simple addresses", simple)
	}
	for _, s := range []string{"ann@example.org", "Ann B2 <ann@example.org>", " Acme <hello+x.y@Mail.Example.COM> "} {
		if !sameSimple(t, s) {
			t.Errorf("%q is not simple", s)
		}
	}
}

// TestUnquotedDisplayNames: names that clients do not quote, with the parsed names.
func TestUnquotedDisplayNames(t *testing.T) {
	for in, want := range map[string]string{
		"Acme, Inc. <a@b.co>":                      "Acme, Inc.",
		"Jane (via site) <a@b.co>":                 "Jane (via site)",
		"[Acme] X <a@b.co>":                        "[Acme] X",
		"Acme: Support <a@b.co>":                   "Acme: Support",
		`A\B <a@b.co>`:                             `A\B`,
		"A; B<a@b.co>":                             "A; B",
		"Müller,  Jörg   <a@b.co>":                 "Müller, Jörg",
		`5" pipe <a@b.co>`:                         `5" pipe`,
		`"open <a@b.co>`:                           `"open`,
		`"Acme" and, more <a@b.co>`:                `"Acme" and, more`,
		"=?utf-8?q?J=C3=B6rg?= (Acme) <a@b.co>":    "Jörg (Acme)",
		"Acme, =?utf-8?q?=3D=3Fx=3F=3D?= <a@b.co>": "Acme, =?x?=",
		"Ann (x) <a@b.co>":                         "Ann (x)",
		`"Acme, Inc." <a@b.co>`:                    "Acme, Inc.", // quoted names stay unchanged
		`"a <x>" <a@b.co>`:                         "a <x>",
		"Group: <a@b.co>":                          "Group:",
		strings.Repeat("x", 250) + "(,) <a@b.co>":  strings.Repeat("x", 250) + "(,)",
	} {
		m, err := Parse(in)
		if want := (Mailbox{want, "a", "b.co"}); err != nil || m != want {
			t.Errorf("%q: %#v, %v; want %#v", in, m, err, want)
		}
	}
}

// TestLocalPartsResemblingEncodedWords: a local part that only contains = and ? is valid.
func TestLocalPartsResemblingEncodedWords(t *testing.T) {
	for _, s := range []string{"=?@b.co", "?=@b.co", "a=?b@b.co", "?=a=?@b.co", "=?=@b.co"} {
		if _, err := Parse(s); err != nil {
			t.Errorf("%q: %v", s, err)
		}
	}
}
