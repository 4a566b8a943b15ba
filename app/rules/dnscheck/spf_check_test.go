package dnscheck

import (
	"strings"
	"testing"

	"mailer/app"
)

func TestSPFFaults(t *testing.T) {
	const at = "send.example.com "
	chain := func(n int) (lines []string) { // s0 includes s1 includes … sn
		for i := range n {
			lines = append(lines, strings.ReplaceAll("s$.test TXT v=spf1 include:s", "$", string(rune('a'+i)))+string(rune('b'+i))+".test -all")
		}
		return append(lines, "s"+string(rune('a'+n))+".test TXT v=spf1 -all")
	}
	for name, f := range map[string]problem{
		"found":                       {[]string{at + "TXT v=spf1 include:amazonses.com ~all"}, app.LiveFound, nil},
		"found, -all":                 {[]string{at + "TXT v=spf1 include:amazonses.com -all"}, app.LiveFound, nil},
		"found, no all":               {[]string{at + "TXT v=spf1 include:amazonses.com"}, app.LiveFound, nil},
		"found, any case, split":      {[]string{at + "TXT V=SPF1  +Include:Amazon|SES.com.  ~ALL "}, app.LiveFound, nil},
		"found among others":          {[]string{at + "TXT v=spf1 ip4:192.0.2.0/24 ip6:2001:db8::/32 exp=e.test x-y=%{i} include:amazonses.com ~all", at + "TXT google-site-verification=x"}, app.LiveFound, nil},
		"found within an include":     {[]string{at + "TXT v=spf1 include:all.example.com ~all", "all.example.com TXT v=spf1 include:amazonses.com ~all"}, app.LiveFound, nil},
		"found by a redirect":         {[]string{at + "TXT v=spf1 redirect=all.example.com", "all.example.com TXT v=spf1 include:amazonses.com ~all"}, app.LiveFound, nil},
		"found by a CNAME":            {[]string{at + "CNAME spf.other.test", "spf.other.test TXT v=spf1 include:amazonses.com ~all"}, app.LiveFound, nil},
		"found with ten look-ups":     {append(chain(8), at+"TXT v=spf1 include:sa.test include:amazonses.com ~all"), app.LiveFound, nil},
		"found, macros":               {[]string{at + "TXT v=spf1 exists:%{ir}.%{l1r+}._spf.%{d} include:amazonses.com ~all"}, app.LiveFound, nil},
		"found, +all":                 {[]string{at + "TXT v=spf1 include:amazonses.com +all"}, app.LiveFound, []string{"allows everyone to send", "~all"}},
		"found, all bare":             {[]string{at + "TXT v=spf1 include:amazonses.com all"}, app.LiveFound, []string{"allows everyone to send"}},
		"missing":                     {nil, app.LiveMissing, []string{"no TXT record at send.example.com", "Add one"}},
		"missing, name typed twice":   {[]string{"send.example.com.example.com TXT v=spf1 include:amazonses.com ~all"}, app.LiveMissing, []string{"The record is at send.example.com.example.com", "enter only send as the name"}},
		"missing, at the domain":      {[]string{"example.com TXT v=spf1 include:amazonses.com ~all"}, app.LiveMissing, []string{"example.com has include:amazonses.com", "at send.example.com"}},
		"missing, another TXT":        {[]string{at + "TXT hello"}, app.LiveMissing, []string{"no SPF record at send.example.com", `"hello"`}},
		"a CNAME in the way":          {[]string{at + "CNAME old.other.test", "old.other.test A 192.0.2.1"}, app.LiveMissing, []string{"CNAME to old.other.test", "Delete the CNAME"}},
		"two records":                 {[]string{at + "TXT v=spf1 include:amazonses.com ~all", at + "TXT v=spf1 mx -all"}, app.LiveMismatch, []string{"2 SPF records at send.example.com", "RFC 7208 3.2", `"v=spf1 mx -all"`}},
		"the mechanism missing":       {[]string{at + "TXT v=spf1 ip4:192.0.2.1 -all"}, app.LiveMismatch, []string{"include:amazonses.com is missing", "v=spf1 ip4:192.0.2.1 include:amazonses.com -all"}},
		"missing before a redirect":   {[]string{at + "TXT v=spf1 redirect=other.test", "other.test TXT v=spf1 -all"}, app.LiveMismatch, []string{"v=spf1 include:amazonses.com redirect=other.test"}},
		"missing, no all":             {[]string{at + "TXT v=spf1"}, app.LiveMismatch, []string{"Change it to v=spf1 include:amazonses.com"}},
		"behind all":                  {[]string{at + "TXT v=spf1 ip4:192.0.2.1 -all include:amazonses.com"}, app.LiveMismatch, []string{"after all", "v=spf1 ip4:192.0.2.1 include:amazonses.com -all"}},
		"a redirect beside all":       {[]string{at + "TXT v=spf1 -all redirect=all.example.com", "all.example.com TXT v=spf1 include:amazonses.com ~all"}, app.LiveMismatch, []string{"is missing"}},
		"refused":                     {[]string{at + "TXT v=spf1 -include:amazonses.com ~all"}, app.LiveMismatch, []string{"refuses", "-include:amazonses.com"}},
		"refused within":              {[]string{at + "TXT v=spf1 -include:all.example.com ~all", "all.example.com TXT v=spf1 include:amazonses.com ~all"}, app.LiveMismatch, []string{"is missing"}},
		"eleven look-ups":             {append(chain(9), at+"TXT v=spf1 include:sa.test include:amazonses.com ~all"), app.LiveMismatch, []string{"more than 10 DNS look-ups"}},
		"eleven terms":                {[]string{at + "TXT v=spf1 include:amazonses.com" + strings.Repeat(" a:example.com", 10) + " ~all"}, app.LiveMismatch, []string{"more than 10 DNS look-ups"}},
		"ptr and macros count":        {[]string{at + "TXT v=spf1 include:amazonses.com" + strings.Repeat(" ptr", 5) + strings.Repeat(" exists:%{i}.x.test", 5) + " ~all"}, app.LiveMismatch, []string{"more than 10"}},
		"addresses do not count":      {[]string{at + "TXT v=spf1" + strings.Repeat(" ip4:192.0.2.1", 30) + " include:amazonses.com ~all"}, app.LiveFound, nil},
		"behind all does not count":   {[]string{at + "TXT v=spf1 include:amazonses.com ~all" + strings.Repeat(" a:example.com", 10)}, app.LiveFound, nil},
		"two void look-ups":           {[]string{at + "TXT v=spf1 a:no1.test mx:no2.test include:amazonses.com ~all"}, app.LiveFound, nil},
		"three void look-ups":         {[]string{at + "TXT v=spf1 a:no1.test mx:no2.test exists:no3.test include:amazonses.com ~all"}, app.LiveMismatch, []string{"more than 2 of its look-ups find nothing", "no3.test"}},
		"a loop":                      {[]string{at + "TXT v=spf1 include:amazonses.com include:l.test ~all", "l.test TXT v=spf1 include:send.example.com -all"}, app.LiveMismatch, []string{"include:send.example.com leads in a circle"}},
		"an include of nothing":       {[]string{at + "TXT v=spf1 include:amazonses.com include:gone.test ~all"}, app.LiveMismatch, []string{"include:gone.test names a domain without an SPF record"}},
		"an include of two":           {[]string{at + "TXT v=spf1 include:amazonses.com include:two.test ~all", "two.test TXT v=spf1 -all", "two.test TXT v=spf1 ~all"}, app.LiveMismatch, []string{"with 2 SPF records"}},
		"an include with a fault":     {[]string{at + "TXT v=spf1 include:amazonses.com include:bad.test ~all", "bad.test TXT v=spf1 ipv4:1.2.3.4"}, app.LiveMismatch, []string{"record of include:bad.test is not valid", "write ip4:"}},
		"an include of silence":       {[]string{at + "TXT v=spf1 include:amazonses.com include:dead.test ~all", "dead.test fail"}, app.LiveUnknown, []string{"can't be evaluated", "SERVFAIL"}},
		"no answer":                   {[]string{at + "fail"}, app.LiveUnknown, []string{"DNS lookup failed for send.example.com"}},
		"quotes typed":                {[]string{at + `TXT "v=spf1 include:amazonses.com ~all"`}, app.LiveMismatch, []string{"quotation marks"}},
		"a blank before it":           {[]string{at + "TXT  v=spf1 include:amazonses.com ~all"}, app.LiveMismatch, []string{"a space is before the value"}},
		"no blank behind the version": {[]string{at + "TXT v=spf1include:amazonses.com ~all"}, app.LiveMismatch, []string{"must begin with v=spf1 and a space"}},
		"another version":             {[]string{at + "TXT v=spf2 include:amazonses.com ~all"}, app.LiveMismatch, []string{"must begin with v=spf1"}},
		"no version":                  {[]string{at + "TXT include:amazonses.com ~all"}, app.LiveMismatch, []string{"put v=spf1 and a space before it"}},
		"ipv4:":                       {[]string{at + "TXT v=spf1 ipv4:192.0.2.1 include:amazonses.com ~all"}, app.LiveMismatch, []string{`"ipv4:192.0.2.1"`, "write ip4:"}},
		"a bare address":              {[]string{at + "TXT v=spf1 192.0.2.1 include:amazonses.com ~all"}, app.LiveMismatch, []string{"write ip4:192.0.2.1 instead"}},
		"a bare host":                 {[]string{at + "TXT v=spf1 amazonses.com ~all"}, app.LiveMismatch, []string{"write a:amazonses.com or include:amazonses.com"}},
		"commas":                      {[]string{at + "TXT v=spf1 mx, include:amazonses.com ~all"}, app.LiveMismatch, []string{"spaces, not with commas"}},
		"a semicolon at the end":      {[]string{at + "TXT v=spf1 include:amazonses.com ~all;"}, app.LiveMismatch, []string{`"~all;"`, "not with commas or semicolons"}},
		"a:address":                   {[]string{at + "TXT v=spf1 a:192.0.2.1 include:amazonses.com ~all"}, app.LiveMismatch, []string{"write ip4:192.0.2.1 instead"}},
		"a prefix too long":           {[]string{at + "TXT v=spf1 ip4:192.0.2.0/33 include:amazonses.com ~all"}, app.LiveMismatch, []string{"0 to 32"}},
		"two records in one":          {[]string{at + "TXT v=spf1 include:amazonses.com ~all v=spf1 mx ~all"}, app.LiveMismatch, []string{"two records were merged into one"}},
		"an include without domain":   {[]string{at + "TXT v=spf1 include: amazonses.com ~all"}, app.LiveMismatch, []string{`"include:"`, "domain is missing"}},
	} {
		t.Run(name, func(t *testing.T) {
			f.check(t, checkOf(t, testDomain("example.com"), sesNeeds, app.RecordSPF, "TXT", f.lines...))
		})
	}
}

func TestSPFOfSeveralRelays(t *testing.T) {
	const at = "send.example.com TXT "
	for name, test := range map[string]struct {
		needs string
		problem
	}{
		"the address":          {"ip4:8.8.4.4", problem{[]string{at + "v=spf1 ip4:8.8.4.4 ~all"}, app.LiveFound, nil}},
		"its network":          {"ip4:8.8.4.4", problem{[]string{at + "v=spf1 ip4:8.8.4.0/24 ~all"}, app.LiveFound, nil}},
		"another network":      {"ip4:8.8.4.4", problem{[]string{at + "v=spf1 ip4:8.8.8.0/24 ~all"}, app.LiveMismatch, []string{"ip4:8.8.4.4 is missing"}}},
		"an IPv6 address":      {"ip6:2606:4700::1", problem{[]string{at + "v=spf1 ip6:2606:4700:0::1 ~all"}, app.LiveFound, nil}},
		"a host":               {"a:mail.acme.test", problem{[]string{at + "v=spf1 a:MAIL.acme.test ~all"}, app.LiveFound, nil}},
		"another host":         {"a:mail.acme.test", problem{[]string{at + "v=spf1 a:x.acme.test ~all"}, app.LiveMismatch, []string{"a:mail.acme.test is missing"}}},
		"nothing is needed":    {"", problem{[]string{at + "v=spf1 ip4:8.8.4.4 ~all"}, app.LiveFound, nil}},
		"nothing, no sender":   {"", problem{[]string{at + "v=spf1 ~all"}, app.LiveFound, []string{"names no sender", "ip4:ADDRESS"}}},
		"nothing, but a fault": {"", problem{[]string{at + "v=spf1 ip:8.8.4.4 ~all"}, app.LiveMismatch, []string{"write ip4:"}}},
	} {
		t.Run(name, func(t *testing.T) {
			test.check(t, checkOf(t, testDomain("example.com"), app.RelayNeeds{SPF: test.needs}, app.RecordSPF, "TXT", test.lines...))
		})
	}
}

func TestBrokenProviderSPFIsNotTheOwnersFault(t *testing.T) {
	for name, lines := range map[string]fakeDNS{"none": nil, "silent": {"amazonses.com fail"}, "two": {"amazonses.com TXT v=spf1 -all", "amazonses.com TXT v=spf1 ~all"}} {
		lines = append(lines, "send.example.com TXT v=spf1 include:amazonses.com ~all")
		for _, c := range Check(t.Context(), testDomain("example.com"), sesNeeds, "", lines.lookup) {
			if c.Record == app.RecordSPF && c.Type == "TXT" && c.Live != app.LiveFound {
				t.Errorf("%s: %+v", name, c)
			}
		}
	}
}

func TestParseSPF(t *testing.T) {
	for _, text := range []string{
		"v=spf1", "v=spf1 all", "v=spf1 a", "v=spf1 a/24", "v=spf1 a//64", "v=spf1 a/24//64", "v=spf1 a:b.test/0//128", "v=spf1 mx:b.test", "v=spf1 ptr:b.test",
		"v=spf1 ?exists:%{i}", "v=spf1 a:%{d}/24", "v=spf1 include:_spf.b.test", "v=spf1 exists:%{l1r-+}.%%.%_%-.b.test", "v=spf1 redirect=b.test exp=%{d}", "v=spf1 unknown=", "v=spf1 ip6:::1", "v=spf1 ip6:2001:db8::/32",
	} {
		if _, err := parseSPF(text); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	for _, text := range []string{
		"v=spf1 all:b.test", "v=spf1 all/8", "v=spf1 a:", "v=spf1 a/33", "v=spf1 a/08", "v=spf1 a//129", "v=spf1 a/", "v=spf1 include", "v=spf1 include:b", "v=spf1 include:b.test/24", "v=spf1 exists",
		"v=spf1 ip4", "v=spf1 ip4:", "v=spf1 ip4:::1", "v=spf1 ip6:1.2.3.4", "v=spf1 ip4:1.2.3", "v=spf1 ip6:fe80::1%eth0", "v=spf1 ptr/24", "v=spf1 +", "v=spf1 ++all", "v=spf1 a\tmx", "v=spf1 exists:%{x}", "v=spf1 exists:%", "v=spf1 exists:%{i", "v=spf1 a:b.1",
		"v=spf1 redirect=", "v=spf1 redirect=a.test redirect=a.test", "v=spf1 =x", "v=spf1 a:bü.test\xff", "v=spf1 x=\x01",
	} {
		if rec, err := parseSPF(text); err == nil {
			t.Errorf("%s: %+v", text, rec)
		}
	}
}

func FuzzParseSPF(f *testing.F) {
	for _, s := range []string{"v=spf1", "v=spf1 a:%{d}/24//64 ~all", "v=spf1 ip4:1.2.3.4/8 redirect=b.test", "v=spf1 +\xff", "v=spf1 exists:%{i"} {
		f.Add(s)
	}
	c := &checker{domain: testDomain("example.com"), org: "example.com", needs: sesNeeds, ask: provider.lookup, left: maxCheckLookups, asked: map[dnsQuestion]asked{}}
	f.Fuzz(func(t *testing.T, s string) {
		nearSPF(app.DNSAnswer{Records: []app.DNSValue{{Text: s}}})
		if !isSPF(s) {
			return
		}
		rec, err := parseSPF(s)
		if err != nil {
			return
		}
		if _, err := parseSPF(withTerms(rec, "include:amazonses.com")); err != nil && len(s) < 300 {
			t.Errorf("%q: the advice is wrong: %v", s, err)
		}
		c.left, c.asked = maxCheckLookups, map[dnsQuestion]asked{}
		c.spfVerdict(t.Context(), app.DNSRecord{Name: "send.example.com"}, "send.example.com", s)
	})
}
