package htmltext_test

import (
	"testing"

	"mailer/app/kit/htmltext"
)

// TestNormalizeLink: the right column is what the URL class of JavaScript returns for the left
// one.
func TestNormalizeLink(t *testing.T) {
	for link, want := range map[string]string{
		"https://a.test/x":            "https://a.test/x",
		"https://a.test/x y":          "https://a.test/x%20y",
		"https://a.test/x\ny\r\nz\tw": "https://a.test/xyzw",
		" \nhttps://a.test/x \t":      "https://a.test/x",
		"\x01https://a.test/x\x1f":    "https://a.test/x",
		"ht\ntps:\t//a.test\n/x":      "https://a.test/x",
		"HTTP://a.test?q=a b#c d":     "HTTP://a.test?q=a%20b#c%20d",
		"https://a.test/x\u00a0y":     "https://a.test/x%C2%A0y",
		"https://a.test/x\u2028y\x01": "https://a.test/x%E2%80%A8y",
		"https://a.test/x\x7fy":       "https://a.test/x%7Fy",
		"https://a.test/%20 %":        "https://a.test/%20%20%",
		"https://a.test":              "https://a.test",
		"https://a.test\n":            "https://a.test",
		"https://ü.test/ä b":          "https://ü.test/ä%20b",
		"https://a.test/x\xff y":      "https://a.test/x\xff%20y",
		// Not a valid host, so the link is unchanged.
		"https://a .test/x":     "https://a .test/x",
		" https://a.te\u00a0st": "https://a.te\u00a0st",
		" mailto:a@b.test?x= y": "mailto:a@b.test?x= y",
		" /a b ":                "/a b",
		" a b://c ":             "a b://c",
		"":                      "",
		"\n":                    "",
	} {
		if got := htmltext.NormalizeLink(link); got != want {
			t.Errorf("%q: got %q, want %q", link, got, want)
		} else if again := htmltext.NormalizeLink(got); again != got {
			t.Errorf("%q: %q becomes %q", link, got, again)
		}
	}
}
