package app

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestParseAddress(t *testing.T) {
	long := func(n int, s string) string { return strings.Repeat(s, n) }
	for _, c := range []struct {
		in, name, mailbox, text string // empty text: equal to in
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
		{"a@" + long(62, "abc.") + "abcd", "", "a@" + long(62, "abc.") + "abcd", ""}, // 254 bytes
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

// FuzzParseAddress checks that a parsed address is parsed again to the same address and can't
// break out of a header or an SMTP command.
func FuzzParseAddress(f *testing.F) {
	for _, s := range []string{
		"a@b.co", "Acme Inc. <a@b.co>", `"x, \"y\"" <a@b.co>`, "=?utf-8?q?=3D=3Futf-8=3Fq=3Fx=3F=3D?= <a@b.co>", "用户@例え.jp",
		`"a@b"@c.co`, "g: a@b.co;", "a@[1.2.3.4]", "a@b。co", " \"\" <a@ß.de>", "=?utf-8?b?IA==?= <a@b.co>", "=?utf-8?q?=20a?= =?utf-8?q?=20=20b?= <a@b.co>",
		"Acme, Inc. <a@b.co>", "[Acme] X <a@b.co>", `A\"B, <a@b.co>`, "Acme, =?utf-8?q?=3D=3Fx=3F=3D?= <a@b.co>", "=?utf-8?q?x?=@b.co", "a: b; (c) \" <a@b.co>",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		a, err := ParseAddress(s)
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
