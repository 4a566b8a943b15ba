package app

import (
	"strings"
	"testing"
)

func TestParseSendingDomain(t *testing.T) {
	for in, want := range map[string]string{
		"example.com": "example.com", "EXAMPLE.Com": "example.com", "mail.example.co.uk": "mail.example.co.uk",
		"bücher.example": "xn--bcher-kva.example", "acme.github.io": "acme.github.io", "acme.test": "acme.test",
		"a.b.internal": "a.b.internal",
	} {
		if got, err := parseSendingDomain(in); err != nil || got != want {
			t.Errorf("%s: %q, %v", in, got, err)
		}
	}
	for in, words := range map[string]string{
		"co.uk": "public suffix", "github.io": "public suffix", "CO.UK": "public suffix", "xn--55qx5d.cn": "public suffix", "公司.cn": "public suffix",
		"com": "without a dot", "": "empty", "https://example.com": "bare domain name", "a@example.com": "bare domain name",
		"example.com.": "not valid", "exa mple.com": "not valid", "_dmarc.example.com": "not valid", "1.2.3.4": "IP address",
		strings.Repeat("a", 64) + ".com": "not valid",
	} {
		if got, err := parseSendingDomain(in); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%s: %q, %v", in, got, err)
		}
	}
}

func TestOrganizationalDomain(t *testing.T) {
	for in, want := range map[string]string{
		"example.com": "example.com", "a.b.example.com": "example.com", "a.example.co.uk": "example.co.uk",
		"a.acme.github.io": "acme.github.io", "a.b.test": "b.test", "co.uk": "co.uk",
	} {
		if got := OrganizationalDomain(in); got != want {
			t.Errorf("%s: %s", in, got)
		}
	}
}

func TestParseReturnPath(t *testing.T) {
	for in, want := range map[string]string{"": "send", "Bounces": "bounces", "a-1": "a-1", "9": "9"} {
		if got, err := parseReturnPath(in); err != nil || got != want {
			t.Errorf("%q: %q, %v", in, got, err)
		}
	}
	for _, in := range []string{"a.b", ".", "-a", "a-", "a_b", "ü", " a", "@", strings.Repeat("a", 64)} {
		if got, err := parseReturnPath(in); err == nil {
			t.Errorf("%q: %q", in, got)
		}
	}
}

func TestParseTrackingSubdomain(t *testing.T) {
	for in, want := range map[string]string{
		"": "", "links": "links", "LINKS.go": "links.go", "links.example.com": "links", "a.links.Example.com": "a.links",
		"bücher": "xn--bcher-kva",
	} {
		if got, err := parseTrackingSubdomain(in, "example.com"); err != nil || got != want {
			t.Errorf("%q: %q, %v", in, got, err)
		}
	}
	for _, in := range []string{"example.com", ".links", "links.", "a..b", "-a", "a_b", "https://a", "*", ".example.com", strings.Repeat("a.", 130) + "a"} {
		if got, err := parseTrackingSubdomain(in, "example.com"); err == nil {
			t.Errorf("%q: %q", in, got)
		}
	}
}

func TestCheckNames(t *testing.T) {
	long := strings.Repeat("a", 60) + "." + strings.Repeat("b", 60) + "." + strings.Repeat("c", 60) + "."
	for name, test := range map[string]struct {
		d     Domain
		field string
	}{
		"fine":      {Domain{Name: "example.com", ReturnPath: "send", TrackingSubdomain: "links"}, ""},
		"same name": {Domain{Name: "example.com", ReturnPath: "send", TrackingSubdomain: "send"}, "`tracking_subdomain`"},
		"long path": {Domain{Name: long + "example.com", ReturnPath: strings.Repeat("d", 60)}, "`custom_return_path`"},
		"long name": {Domain{Name: long + strings.Repeat("d", 50) + ".com", ReturnPath: "s"}, "`name`"},
	} {
		err := test.d.checkNames()
		if test.field == "" && err != nil || test.field != "" && (err == nil || !strings.Contains(err.Error(), test.field)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
