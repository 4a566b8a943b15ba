package app

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestParseAddress(t *testing.T) {
	long := func(n int, s string) string { return strings.Repeat(s, n) }
	for _, c := range []struct {
		in, name, mailbox, text string // text "": as in
	}{
		{"a@b.co", "", "a@b.co", ""},
		{"  a@b.co  ", "", "a@b.co", "a@b.co"},
		{"<a@b.co>", "", "a@b.co", "a@b.co"},
		{"Ann <a@b.co>", "Ann", "a@b.co", ""},
		{"Ann<a@b.co>", "Ann", "a@b.co", "Ann <a@b.co>"},
		{"Ann   Bell <a@b.co>", "Ann Bell", "a@b.co", "Ann Bell <a@b.co>"},
		{"Acme Inc. <a@b.co>", "Acme Inc.", "a@b.co", ""},
		{"J. R. R. Tolkien <a@b.co>", "J. R. R. Tolkien", "a@b.co", ""},
		{"Ann O'Neil & Co! <a@b.co>", "Ann O'Neil & Co!", "a@b.co", ""},
		{`"Acme, Inc." <a@b.co>`, "Acme, Inc.", "a@b.co", ""},
		{`"Plain" <a@b.co>`, "Plain", "a@b.co", "Plain <a@b.co>"},
		{`"" <a@b.co>`, "", "a@b.co", "a@b.co"},
		{`"a \"b\" \\ c" <a@b.co>`, `a "b" \ c`, "a@b.co", ""},
		{`"Acme (UK)" <a@b.co>`, "Acme (UK)", "a@b.co", ""},
		{`"a: b; c" <a@b.co>`, "a: b; c", "a@b.co", ""},
		{`"<x>" <a@b.co>`, "<x>", "a@b.co", ""},
		{"Jörg Müller <a@b.co>", "Jörg Müller", "a@b.co", ""},
		{"山田　太郎 <a@b.co>", "山田　太郎", "a@b.co", ""},
		{"Team 🚀 <a@b.co>", "Team 🚀", "a@b.co", ""},
		{"=?utf-8?q?J=C3=B6rg?= <a@b.co>", "Jörg", "a@b.co", "Jörg <a@b.co>"},
		{`"=?utf-8?q?J=C3=B6rg?=" <a@b.co>`, "=?utf-8?q?J=C3=B6rg?=", "a@b.co", ""},
		{"A.B+tag=x_y-z@B.CO", "", "A.B+tag=x_y-z@b.co", "A.B+tag=x_y-z@b.co"},
		{"!#$%&'*+-/=?^_`{|}~@b.co", "", "!#$%&'*+-/=?^_`{|}~@b.co", ""},
		{"a@bücher.example", "", "a@xn--bcher-kva.example", "a@xn--bcher-kva.example"},
		{"a@XN--BCHER-KVA.example", "", "a@xn--bcher-kva.example", "a@xn--bcher-kva.example"},
		{"用户@例え.jp", "", "用户@xn--r8jz45g.jp", "用户@xn--r8jz45g.jp"},
		{"jörg@b.co", "", "jörg@b.co", ""},
		{"a@1.2.co", "", "a@1.2.co", ""},
		{long(64, "x") + "@b.co", "", long(64, "x") + "@b.co", ""},
		{"a@" + long(63, "x") + ".co", "", "a@" + long(63, "x") + ".co", ""},
		{"a@" + long(62, "abc.") + "abcd", "", "a@" + long(62, "abc.") + "abcd", ""}, // 254 in all
	} {
		a, err := ParseAddress(c.in)
		if err != nil {
			t.Errorf("%q: %v", c.in, err)
			continue
		}
		if a.Name != c.name || a.Mailbox() != c.mailbox {
			t.Errorf("%q: name %q, mailbox %q", c.in, a.Name, a.Mailbox())
		}
		want := c.text
		if want == "" {
			want = c.in
		}
		if a.String() != want {
			t.Errorf("%q is read back as %q, want %q", c.in, a.String(), want)
		}
		checkReparses(t, a)
	}
}

func checkReparses(t *testing.T, a Address) {
	t.Helper()
	again, err := ParseAddress(a.String())
	if err != nil || again != a {
		t.Errorf("%#v is read back as %q, which gives %#v, %v", a, a.String(), again, err)
	}
}

// The right column is a part of what the error must say.
func TestParseAddressRefuses(t *testing.T) {
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
		{"a@b.co; c@d.co", "group"},
		{"a@b.co c@d.co", "not a valid"},
		{"<a@b.co> <c@d.co>", "one pair"},
		{"<a@b.co>, c@d.co", "single address"},
		{"group: a@b.co;", "group"},
		{"group:;", "group"},
		{"undisclosed-recipients:;", "group"},
		{"a@b.co (comment)", "comments"},
		{"(comment) a@b.co", "comments"},
		{"Ann (x) <a@b.co>", "comments"},
		{"a(x)@b.co", "comments"},
		{"a@[127.0.0.1]", "address literal"},
		{"a@[IPv6:::1]", "address literal"},
		{"a@127.0.0.1", "IP address"},
		{`"a@b.co" <c@d.co>`, "@ in its display name"},
		{"a@b.co <c@d.co>", "not a valid"},
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
		{`"open <a@b.co>`, "double quote"},
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
		a, err := ParseAddress(c[0])
		if err == nil {
			t.Errorf("%q passes as %#v", c[0], a)
		} else if !strings.Contains(err.Error(), c[1]) {
			t.Errorf("%q: %v, want a text with %q", c[0], err, c[1])
		}
	}
}

// FuzzParseAddress: what passes is read back as the same address, and holds
// nothing that could leave the place where it is written.
// sameSimpleAddress checks that the short way reads what the whole grammar reads.
func sameSimpleAddress(t *testing.T, s string) (simple bool) {
	t.Helper()
	s = strings.Trim(s, " ")
	if checkAddressText(s) != nil {
		return false
	}
	short, ok := simpleAddress(s)
	if whole, err := anyAddress(s); ok && (err != nil || short != whole) {
		t.Errorf("%q: %#v in short, %#v and %v by the whole grammar", s, short, whole, err)
	}
	return ok
}

func TestSimpleAddressesAreReadAsByTheWholeGrammar(t *testing.T) {
	pieces := []string{"Ann", "B2", "ann", "x", "1", "mail.Example.com", "example.org", "a.b", "xn--bcher-kva.example", "xn--a", "a_b.co", "-a.co", "a..b", " ", " ", "  ", "<", " <", ">", ">", "@", "@", "@", ".", "-", "'", "\"", "\\", ",", ":", ";", "(", ")", "[", "]", "=?utf-8?q?x?=", "ü", "ß.de", "\t"}
	r := rand.New(rand.NewPCG(5, 322))
	simple := 0
	for range 200_000 {
		var s string
		for range 1 + r.IntN(8) {
			s += pieces[r.IntN(len(pieces))]
		}
		if sameSimpleAddress(t, s) {
			simple++
		}
	}
	if simple < 100 {
		t.Errorf("%d simple addresses", simple)
	}
	for _, s := range []string{"ann@example.org", "Ann B2 <ann@example.org>", " Acme <hello+x.y@Mail.Example.COM> "} {
		if !sameSimpleAddress(t, s) {
			t.Errorf("%q is not simple", s)
		}
	}
}

func FuzzParseAddress(f *testing.F) {
	for _, s := range []string{
		"a@b.co", "Acme Inc. <a@b.co>", `"x, \"y\"" <a@b.co>`, "=?utf-8?q?=3D=3Futf-8=3Fq=3Fx=3F=3D?= <a@b.co>", "用户@例え.jp",
		`"a@b"@c.co`, "g: a@b.co;", "a@[1.2.3.4]", "a@b。co", " \"\" <a@ß.de>", "=?utf-8?b?IA==?= <a@b.co>", "=?utf-8?q?=20a?= =?utf-8?q?=20=20b?= <a@b.co>",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		a, err := ParseAddress(s)
		sameSimpleAddress(t, s)
		if err != nil {
			if a != (Address{}) || err.Error() == "" || HasControl(err.Error()) {
				t.Errorf("%q: %#v, %q", s, a, err)
			}
			return
		}
		checkReparses(t, a)
		m := a.Mailbox()
		if strings.Count(m, "@") != 1 || strings.ContainsAny(m, " <>,;:\"\\()[]\r\n\x00") || len(m) > 254 || !utf8.ValidString(m) {
			t.Errorf("%q: mailbox %q", s, m)
		}
		if !IsASCII(a.Domain) || a.Domain != strings.ToLower(a.Domain) || !strings.Contains(a.Domain, ".") {
			t.Errorf("%q: domain %q", s, a.Domain)
		}
		if HasControl(a.Name) || strings.Contains(a.Name, "@") {
			t.Errorf("%q: name %q", s, a.Name)
		}
	})
}
