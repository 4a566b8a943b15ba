package dnscheck

import (
	"testing"

	"mailer/app"
)

func TestDMARCFaults(t *testing.T) {
	const at, up = "_dmarc.news.example.com TXT ", "_dmarc.example.com TXT "
	for name, f := range map[string]struct {
		problem
		inherited, policy string
	}{
		"own":                       {problem{[]string{at + "v=DMARC1; p=quarantine; sp=reject"}, app.LiveFound, nil}, "", "quarantine"},
		"own, blanks, case, rua":    {problem{[]string{at + "v = DMARC1 ;p = REJECT ; rua=mailto:a@b.test"}, app.LiveFound, nil}, "", "reject"},
		"own before inherited":      {problem{[]string{at + "v=DMARC1; p=none;", up + "v=DMARC1; p=reject"}, app.LiveFound, nil}, "", "none"},
		"own among other records":   {problem{[]string{at + "hello", at + "v=DMARC1; p=none"}, app.LiveFound, nil}, "", "none"},
		"no policy, but reports":    {problem{[]string{at + "v=DMARC1; p=monitor; rua=mailto:a@b.test"}, app.LiveFound, nil}, "", "none"},
		"inherited":                 {problem{[]string{up + "v=DMARC1; p=reject"}, app.LiveFound, nil}, "example.com", "reject"},
		"inherited, sp":             {problem{[]string{up + "v=DMARC1; p=reject; sp=none"}, app.LiveFound, nil}, "example.com", "none"},
		"inherited beside a TXT":    {problem{[]string{at + "hello", up + "v=DMARC1; p=reject"}, app.LiveFound, nil}, "example.com", "reject"},
		"none":                      {problem{nil, app.LiveMissing, []string{"no TXT record at _dmarc.news.example.com", "Add one"}}, "", ""},
		"none inherited of two":     {problem{[]string{up + "v=DMARC1; p=none", up + "v=DMARC1; p=reject"}, app.LiveMissing, []string{"no TXT record"}}, "", ""},
		"none but another":          {problem{[]string{at + "hello"}, app.LiveMissing, []string{`only "hello"`}}, "", ""},
		"name typed twice":          {problem{[]string{"_dmarc.news.example.com.example.com TXT v=DMARC1; p=none"}, app.LiveMissing, []string{"enter only _dmarc.news as the name"}}, "", ""},
		"two records":               {problem{[]string{at + "v=DMARC1; p=none", at + "v=DMARC1; p=reject"}, app.LiveMismatch, []string{"2 DMARC records", "Delete all but one"}}, "", ""},
		"no policy":                 {problem{[]string{at + "v=DMARC1; adkim=s"}, app.LiveMismatch, []string{"p=none, p=quarantine or p=reject"}}, "", ""},
		"no semicolon":              {problem{[]string{at + "v=DMARC1 p=none"}, app.LiveMismatch, []string{"semicolon"}}, "", ""},
		"commas":                    {problem{[]string{at + "v=DMARC1, p=none"}, app.LiveMismatch, []string{"semicolon"}}, "", ""},
		"version not first":         {problem{[]string{at + "p=none; v=DMARC1"}, app.LiveMismatch, []string{"must begin with v=DMARC1;"}}, "", ""},
		"lower case":                {problem{[]string{at + "v=dmarc1; p=none"}, app.LiveMismatch, []string{"in just that case"}}, "", ""},
		"no version":                {problem{[]string{at + "p=none"}, app.LiveMismatch, []string{"must begin with v=DMARC1;"}}, "", ""},
		"quotes typed":              {problem{[]string{at + `"v=DMARC1; p=none"`}, app.LiveMismatch, []string{"quotation marks"}}, "", ""},
		"no answer":                 {problem{[]string{"_dmarc.news.example.com fail"}, app.LiveUnknown, []string{"SERVFAIL"}}, "", ""},
		"no answer of organisation": {problem{[]string{"_dmarc.example.com fail"}, app.LiveUnknown, []string{"SERVFAIL"}}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := checkOf(t, testDomain("news.example.com"), sesNeeds, app.RecordDMARC, "TXT", f.lines...)
			f.check(t, got)
			if got.InheritedFrom != f.inherited || got.Policy != f.policy {
				t.Errorf("inherited from %q, policy %q", got.InheritedFrom, got.Policy)
			}
		})
	}
}

func FuzzParseDMARC(f *testing.F) {
	for _, s := range []string{"v=DMARC1; p=none;", "v=DMARC1; p=reject; sp=none; rua=mailto:a@b.test", "v=DMARC1", "v=DMARC1;;p", "v=DMARC1; \xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		nearDMARC(app.DNSAnswer{Records: []app.DNSValue{{Text: s}}})
		policy, err := parseDMARC(s)
		known := map[string]bool{"none": true, "quarantine": true, "reject": true}
		if err == nil && (!known[policy.own] || !known[policy.sub]) {
			t.Errorf("%q: %+v", s, policy)
		}
	})
}
