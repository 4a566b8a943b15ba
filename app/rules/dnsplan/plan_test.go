package dnsplan

import (
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"mailer/app"
	"mailer/app/testing/apptest"
)

// dkimValue returns the value of a DKIM record with a key of apptest.RSAKey.
func dkimValue(t *testing.T, number int) string {
	t.Helper()
	public, err := x509.MarshalPKIXPublicKey(apptest.RSAKey(number).Public())
	if err != nil {
		t.Fatal(err)
	}
	return "v=DKIM1; k=rsa; p=" + base64.StdEncoding.EncodeToString(public)
}

// records parses lines "NAME TYPE VALUE"; the value of an MX begins with its priority.
func records(lines ...string) (out []Record) {
	for _, line := range lines {
		f := strings.SplitN(line, " ", 3)
		r := Record{Name: f[0], Type: f[1], Value: f[2]}
		r.Value, r.Proxied = strings.CutPrefix(r.Value, "proxied ")
		if r.Type == "MX" {
			priority, host, _ := strings.Cut(r.Value, " ")
			r.Priority, _ = strconv.Atoi(priority)
			r.Value = host
		}
		out = append(out, r)
	}
	return out
}

func namesOf(apex string, existing []Record) map[string]Name {
	out := map[string]Name{}
	for _, r := range existing {
		n := out[r.Name]
		n.Records = append(n.Records, r)
		out[r.Name] = n
	}
	n := out[apex]
	n.Apex = true
	out[apex] = n
	return out
}

// lines returns a plan, one line for each change and conflict, and the number of unchanged records.
func lines(p Plan) (out []string) {
	value := func(priority int, text string) string {
		if priority > 0 {
			return fmt.Sprintf("%d %s", priority, text)
		}
		return text
	}
	for _, c := range p.Changes {
		line := fmt.Sprintf("%s %s %s", c.Action, c.Name, c.Type)
		if c.Before != "" {
			line += " - " + value(c.BeforePriority, c.Before)
		}
		if c.After != "" {
			line += " + " + value(c.Priority, c.After)
		}
		if c.Completes {
			line += " (completes)"
		}
		out = append(out, line)
	}
	for _, c := range p.Conflicts {
		out = append(out, fmt.Sprintf("conflict %s %s: %s", c.Name, c.Type, c.Reason))
	}
	if p.Unchanged > 0 {
		out = append(out, fmt.Sprintf("unchanged %d", p.Unchanged))
	}
	return out
}

// matches reports whether each line is as wanted; a wanted line that ends in … is a prefix.
func matches(got, want []string) bool {
	return slices.EqualFunc(got, want, func(g, w string) bool {
		prefix, cut := strings.CutSuffix(w, "…")
		return g == w || cut && strings.HasPrefix(g, prefix)
	})
}

func TestPlans(t *testing.T) {
	key, other := dkimValue(t, 0), dkimValue(t, 1)
	spf := app.DNSRecord{Record: app.RecordSPF, Name: "send.a.test", Type: "TXT", Value: "v=spf1 include:relay.test ~all"}
	mx := app.DNSRecord{Record: app.RecordSPF, Name: "send.a.test", Type: "MX", Value: "feedback.test", Priority: 10}
	dkim := app.DNSRecord{Record: app.RecordDKIM, Name: "mailer._domainkey.a.test", Type: "TXT", Value: key}
	dmarc := app.DNSRecord{Record: app.RecordDMARC, Name: "_dmarc.a.test", Type: "TXT", Value: "v=DMARC1; p=none;"}
	links := app.DNSRecord{Record: app.RecordTracking, Name: "links.a.test", Type: "CNAME", Value: "mail.test"}
	works := func(r app.DNSRecord) app.DNSRecord { r.Live = app.LiveFound; return r }
	for _, test := range []struct {
		name                string
		wanted              []app.DNSRecord
		existing, published []string
		in                  Input // further fields
		want                []string
	}{
		{name: "nothing exists", wanted: []app.DNSRecord{dkim, spf, mx, dmarc, links},
			want: []string{"add mailer._domainkey.a.test TXT + " + key, "add send.a.test TXT + v=spf1 include:relay.test ~all", "add send.a.test MX + 10 feedback.test",
				"add _dmarc.a.test TXT + v=DMARC1; p=none;", "add links.a.test CNAME + mail.test"}},
		{name: "everything exists", wanted: []app.DNSRecord{dkim, spf, mx, dmarc, links},
			existing: []string{"mailer._domainkey.a.test TXT " + key, "send.a.test TXT v=spf1 include:relay.test ~all", "send.a.test MX 10 feedback.test", "_dmarc.a.test TXT v=DMARC1; p=none;", "links.a.test CNAME mail.test"},
			want:     []string{"unchanged 5"}},

		{name: "DKIM with other tags", wanted: []app.DNSRecord{dkim}, existing: []string{"mailer._domainkey.a.test TXT " + strings.Replace(key, "k=rsa", "k=rsa; n=note", 1)}, want: []string{"unchanged 1"}},
		{name: "DKIM key of another", wanted: []app.DNSRecord{dkim}, existing: []string{"mailer._domainkey.a.test TXT " + other}, want: []string{"conflict mailer._domainkey.a.test TXT: mailer._domainkey.a.test has the TXT record v=DKIM1…"}},
		{name: "own DKIM key before", wanted: []app.DNSRecord{dkim}, existing: []string{"mailer._domainkey.a.test TXT " + other}, published: []string{"mailer._domainkey.a.test TXT " + other},
			want: []string{"replace mailer._domainkey.a.test TXT - " + other + " + " + key}},
		{name: "own DKIM key before, besides the present one", wanted: []app.DNSRecord{dkim}, existing: []string{"mailer._domainkey.a.test TXT " + other, "mailer._domainkey.a.test TXT " + key}, published: []string{"mailer._domainkey.a.test TXT " + other},
			want: []string{"remove mailer._domainkey.a.test TXT - " + other, "unchanged 1"}},
		{name: "a note beside the DKIM key", wanted: []app.DNSRecord{dkim}, existing: []string{"mailer._domainkey.a.test TXT note"}, want: []string{"conflict mailer._domainkey.a.test TXT: mailer._domainkey.a.test has the TXT record note already…"}},
		{name: "DKIM by a CNAME that works", wanted: []app.DNSRecord{works(dkim)}, existing: []string{"mailer._domainkey.a.test CNAME keys.test"}, want: []string{"unchanged 1"}},
		{name: "DKIM by a CNAME that does not work", wanted: []app.DNSRecord{dkim}, existing: []string{"mailer._domainkey.a.test CNAME keys.test"}, want: []string{"conflict mailer._domainkey.a.test TXT: mailer._domainkey.a.test is a CNAME to keys.test…"}},

		{name: "SPF beside other TXT records", wanted: []app.DNSRecord{spf}, existing: []string{"send.a.test TXT site-verification=1"}, want: []string{"add send.a.test TXT + v=spf1 include:relay.test ~all"}},
		{name: "SPF of another", wanted: []app.DNSRecord{spf}, existing: []string{"send.a.test TXT v=spf1 include:other.test -all"},
			want: []string{"replace send.a.test TXT - v=spf1 include:other.test -all + v=spf1 include:other.test include:relay.test -all (completes)"}},
		{name: "SPF without all", wanted: []app.DNSRecord{spf}, existing: []string{"send.a.test TXT v=spf1 ip4:192.0.2.1"},
			want: []string{"replace send.a.test TXT - v=spf1 ip4:192.0.2.1 + v=spf1 ip4:192.0.2.1 include:relay.test (completes)"}},
		{name: "SPF that has the term", wanted: []app.DNSRecord{spf}, existing: []string{"send.a.test TXT v=spf1 include:other.test include:relay.test -all"}, want: []string{"unchanged 1"}},
		{name: "SPF that has the term after all", wanted: []app.DNSRecord{spf}, existing: []string{"send.a.test TXT v=spf1 -all include:relay.test"},
			want: []string{"replace send.a.test TXT - v=spf1 -all include:relay.test + v=spf1 include:relay.test -all include:relay.test (completes)"}},
		{name: "SPF that refuses the term", wanted: []app.DNSRecord{spf}, existing: []string{"send.a.test TXT v=spf1 -include:relay.test ~all"}, want: []string{"conflict send.a.test TXT: The SPF record at send.a.test can't be completed: the term…"}},
		{name: "SPF with redirect", wanted: []app.DNSRecord{spf}, existing: []string{"send.a.test TXT v=spf1 redirect=_spf.other.test"}, want: []string{"conflict send.a.test TXT: The SPF record at send.a.test can't be completed: its redirect= gives the decision to the record of _spf.other.test. …"}},
		{name: "SPF with redirect that works", wanted: []app.DNSRecord{works(spf)}, existing: []string{"send.a.test TXT v=spf1 redirect=_spf.other.test"}, want: []string{"unchanged 1"}},
		{name: "SPF with all, which makes redirect void", wanted: []app.DNSRecord{spf}, existing: []string{"send.a.test TXT v=spf1 ~all redirect=_spf.other.test"},
			want: []string{"replace send.a.test TXT - v=spf1 ~all redirect=_spf.other.test + v=spf1 include:relay.test ~all redirect=_spf.other.test (completes)"}},
		{name: "invalid SPF", wanted: []app.DNSRecord{spf}, existing: []string{"send.a.test TXT v=spf1 includes:other.test ~all"}, want: []string{"conflict send.a.test TXT: The SPF record at send.a.test can't be completed: the term…"}},
		{name: "two SPF records", wanted: []app.DNSRecord{spf}, existing: []string{"send.a.test TXT v=spf1 ~all", "send.a.test TXT v=spf1 -all"}, want: []string{"conflict send.a.test TXT: send.a.test has 2 SPF records…"}},
		{name: "SPF with too many lookups", wanted: []app.DNSRecord{spf}, existing: []string{"send.a.test TXT v=spf1 include:other.test -all"},
			in:   Input{SPFFault: func(name, record string) string { return name + " takes more than 10 DNS look-ups" }},
			want: []string{"conflict send.a.test TXT: With include:relay.test, receivers would refuse the SPF record at send.a.test: send.a.test takes more than 10 DNS look-ups."}},
		{name: "own SPF of another relay", wanted: []app.DNSRecord{spf}, existing: []string{"send.a.test TXT note", "send.a.test TXT v=spf1 include:old.test ~all"}, published: []string{"send.a.test TXT v=spf1 include:old.test ~all"},
			want: []string{"replace send.a.test TXT - v=spf1 include:old.test ~all + v=spf1 include:relay.test ~all"}},
		{name: "own SPF beside that of another", wanted: []app.DNSRecord{spf}, existing: []string{"send.a.test TXT v=spf1 include:old.test ~all", "send.a.test TXT v=spf1 -all"}, published: []string{"send.a.test TXT v=spf1 include:old.test ~all"},
			want: []string{"remove send.a.test TXT - v=spf1 include:old.test ~all", "replace send.a.test TXT - v=spf1 -all + v=spf1 include:relay.test -all (completes)"}},
		{name: "own SPF that was changed by hand", wanted: []app.DNSRecord{spf}, existing: []string{"send.a.test TXT v=spf1 include:old.test include:crm.test ~all"}, published: []string{"send.a.test TXT v=spf1 include:old.test ~all"},
			want: []string{"replace send.a.test TXT - v=spf1 include:old.test include:crm.test ~all + v=spf1 include:old.test include:crm.test include:relay.test ~all (completes)"}},

		{name: "MX of another", wanted: []app.DNSRecord{mx}, existing: []string{"send.a.test MX 5 inbox.test"}, want: []string{"conflict send.a.test MX: send.a.test has the MX inbox.test already…"}},
		{name: "MX of another beside the wanted one", wanted: []app.DNSRecord{mx}, existing: []string{"send.a.test MX 10 feedback.test", "send.a.test MX 5 inbox.test"}, want: []string{"conflict send.a.test MX: send.a.test has the MX inbox.test already…"}},
		{name: "MX with another priority", wanted: []app.DNSRecord{mx}, existing: []string{"send.a.test MX 5 feedback.test"}, want: []string{"unchanged 1"}},
		{name: "own MX of another region", wanted: []app.DNSRecord{mx}, existing: []string{"send.a.test MX 10 old.test"}, published: []string{"send.a.test MX 10 old.test"}, want: []string{"replace send.a.test MX - 10 old.test + 10 feedback.test"}},

		{name: "DMARC of another", wanted: []app.DNSRecord{dmarc}, existing: []string{"_dmarc.a.test TXT v=DMARC1; p=reject"}, want: []string{"unchanged 1"}},
		{name: "DMARC of another, with reports", wanted: []app.DNSRecord{dmarc}, existing: []string{"_dmarc.a.test TXT v=DMARC1; p=reject; pct=50;"}, in: Input{DMARCReports: "d@b.test"},
			want: []string{"replace _dmarc.a.test TXT - v=DMARC1; p=reject; pct=50; + v=DMARC1; p=reject; pct=50; rua=mailto:d@b.test; (completes)"}},
		{name: "DMARC with other reports", wanted: []app.DNSRecord{works(dmarc)}, existing: []string{"_dmarc.a.test TXT v=DMARC1;p=none;rua=mailto:x@y.test!10m ;fo=1"}, in: Input{DMARCReports: "d@b.test"},
			want: []string{"replace _dmarc.a.test TXT - v=DMARC1;p=none;rua=mailto:x@y.test!10m ;fo=1 + v=DMARC1;p=none;rua=mailto:x@y.test!10m,mailto:d@b.test ;fo=1 (completes)"}},
		{name: "DMARC with the same reports", wanted: []app.DNSRecord{dmarc}, existing: []string{"_dmarc.a.test TXT v=DMARC1; p=none; rua=mailto:x@y.test, mailto:D@b.test!5m"}, in: Input{DMARCReports: "d@b.test"}, want: []string{"unchanged 1"}},
		{name: "own DMARC, with reports", wanted: []app.DNSRecord{dmarc}, existing: []string{"_dmarc.a.test TXT v=DMARC1; p=none;"}, published: []string{"_dmarc.a.test TXT v=DMARC1; p=none;"}, in: Input{DMARCReports: "d@b.test"},
			want: []string{"replace _dmarc.a.test TXT - v=DMARC1; p=none; + v=DMARC1; p=none; rua=mailto:d@b.test;"}},
		{name: "no DMARC, with reports", wanted: []app.DNSRecord{dmarc}, in: Input{DMARCReports: "d@b.test"}, want: []string{"add _dmarc.a.test TXT + v=DMARC1; p=none; rua=mailto:d@b.test;"}},
		{name: "invalid DMARC, with reports", wanted: []app.DNSRecord{dmarc}, existing: []string{"_dmarc.a.test TXT v=DMARC1; p=none; p=reject"}, in: Input{DMARCReports: "d@b.test"}, want: []string{"conflict _dmarc.a.test TXT: The DMARC record at _dmarc.a.test can't be completed: the tag p= is there twice…"}},
		{name: "two DMARC records", wanted: []app.DNSRecord{dmarc}, existing: []string{"_dmarc.a.test TXT v=DMARC1; p=none", "_dmarc.a.test TXT v=DMARC1; p=reject"}, want: []string{"conflict _dmarc.a.test TXT: _dmarc.a.test has 2 DMARC records…"}},
		{name: "DMARC beside other TXT records", wanted: []app.DNSRecord{dmarc}, existing: []string{"_dmarc.a.test TXT note"}, want: []string{"add _dmarc.a.test TXT + v=DMARC1; p=none;"}},
		{name: "inherited DMARC", wanted: []app.DNSRecord{works(dmarc)}, in: Input{PolicyOf: "test"}, want: []string{"unchanged 1"}},
		{name: "inherited DMARC, with reports", wanted: []app.DNSRecord{works(dmarc)}, in: Input{PolicyOf: "test", DMARCReports: "d@b.test"}, want: []string{"conflict _dmarc.a.test TXT: The DMARC policy of test counts for this domain…"}},
		{name: "perhaps inherited DMARC", wanted: []app.DNSRecord{dmarc}, in: Input{PolicyUnknown: true}, want: []string{"conflict _dmarc.a.test TXT: The DNS did not answer…"}},

		{name: "tracking host with an address", wanted: []app.DNSRecord{links}, existing: []string{"links.a.test A 192.0.2.1"}, want: []string{"conflict links.a.test CNAME: links.a.test has a record of the type A already…"}},
		{name: "tracking host with an address that works", wanted: []app.DNSRecord{works(links)}, existing: []string{"links.a.test A 192.0.2.1"}, want: []string{"unchanged 1"}},
		{name: "tracking host with a TXT record", wanted: []app.DNSRecord{links}, existing: []string{"links.a.test TXT note"}, want: []string{"conflict links.a.test CNAME: links.a.test has a record of the type TXT already…"}},
		{name: "tracking host that leads elsewhere", wanted: []app.DNSRecord{links}, existing: []string{"links.a.test CNAME shop.test"}, want: []string{"conflict links.a.test CNAME: links.a.test is a CNAME to shop.test already…"}},
		{name: "tracking host through a proxy", wanted: []app.DNSRecord{links}, existing: []string{"links.a.test CNAME proxied mail.test"}, want: []string{"conflict links.a.test CNAME: The provider answers for links.a.test…"}},
		{name: "own tracking host of another server", wanted: []app.DNSRecord{links}, existing: []string{"links.a.test CNAME old.test"}, published: []string{"links.a.test CNAME old.test"}, want: []string{"replace links.a.test CNAME - old.test + mail.test"}},
		{name: "tracking host at the top of a zone", wanted: []app.DNSRecord{{Record: app.RecordTracking, Name: "a.test", Type: "CNAME", Value: "mail.test"}}, existing: []string{"a.test NS ns.test"}, want: []string{"conflict a.test CNAME: a.test has a record of the type NS already…"}},
		{name: "tracking host at the empty top of a zone", wanted: []app.DNSRecord{{Record: app.RecordTracking, Name: "a.test", Type: "CNAME", Value: "mail.test"}}, want: []string{"conflict a.test CNAME: a.test is the name of a zone…"}},

		{name: "delegated name", wanted: []app.DNSRecord{spf, mx}, existing: []string{"send.a.test NS ns.other.test"},
			want: []string{"conflict send.a.test TXT: send.a.test is delegated…", "conflict send.a.test MX: send.a.test is delegated…"}},
		{name: "delegated domain", wanted: []app.DNSRecord{{Record: app.RecordSPF, Name: "send.b.a.test", Type: "TXT", Value: "v=spf1 ~all"}}, existing: []string{"b.a.test NS ns.other.test"}, want: []string{"conflict send.b.a.test TXT: b.a.test is delegated to other name servers (ns.other.test)…"}},
		{name: "TXT at the top of a zone", wanted: []app.DNSRecord{{Record: app.RecordSPF, Name: "a.test", Type: "TXT", Value: "v=spf1 ~all"}}, existing: []string{"a.test NS ns.test"}, want: []string{"add a.test TXT + v=spf1 ~all"}},

		{name: "own records that nobody needs any more", wanted: []app.DNSRecord{dkim}, existing: []string{"old._domainkey.a.test TXT " + other, "old._domainkey.a.test TXT note", "links.a.test CNAME mail.test", "mailer._domainkey.a.test TXT " + key},
			published: []string{"old._domainkey.a.test TXT " + other, "links.a.test CNAME mail.test", "mailer._domainkey.a.test TXT " + key, "gone.a.test TXT x"},
			want:      []string{"remove old._domainkey.a.test TXT - " + other, "remove links.a.test CNAME - mail.test", "unchanged 1"}},
		{name: "own record that was changed by hand", existing: []string{"links.a.test CNAME shop.test"}, published: []string{"links.a.test CNAME mail.test"}},
		{name: "own CNAME makes room", wanted: []app.DNSRecord{spf}, existing: []string{"send.a.test CNAME mail.test"}, published: []string{"send.a.test CNAME mail.test"},
			want: []string{"remove send.a.test CNAME - mail.test", "add send.a.test TXT + v=spf1 include:relay.test ~all"}},
	} {
		in := test.in
		in.Wanted, in.Names, in.Published, in.SPFTerms = test.wanted, namesOf("a.test", records(test.existing...)), records(test.published...), []string{"include:relay.test"}
		if got := lines(Make(in)); !matches(got, test.want) {
			t.Errorf("%s:\n%s\nwant:\n%s", test.name, strings.Join(got, "\n"), strings.Join(test.want, "\n"))
		}
	}
}

// A record of others gets the terms of reserves too, unless it would be refused with them.
func TestSPFOfReserves(t *testing.T) {
	for _, test := range []struct {
		name, existing, fault string
		want                  []string
	}{
		{"both are missing", "v=spf1 mx -all", "", []string{"replace send.a.test TXT - v=spf1 mx -all + v=spf1 mx include:relay.test a:b.test -all (completes)"}},
		{"the reserve is missing", "v=spf1 include:relay.test -all", "", []string{"replace send.a.test TXT - v=spf1 include:relay.test -all + v=spf1 include:relay.test a:b.test -all (completes)"}},
		{"no room for the reserve", "v=spf1 mx -all", "a:b.test", []string{"replace send.a.test TXT - v=spf1 mx -all + v=spf1 mx include:relay.test -all (completes)"}},
		{"the reserve is refused", "v=spf1 include:relay.test -a:b.test -all", "", []string{"unchanged 1"}},
		{"no room for the primary", "v=spf1 mx -all", "relay.test", []string{"conflict send.a.test TXT: With include:relay.test, receivers…"}},
	} {
		in := Input{Wanted: []app.DNSRecord{{Record: app.RecordSPF, Name: "send.a.test", Type: "TXT", Value: "v=spf1 include:relay.test a:b.test ~all"}},
			Names: namesOf("a.test", records("send.a.test TXT "+test.existing)), SPFTerms: []string{"include:relay.test", "a:b.test"}}
		in.SPFFault = func(_, record string) string {
			if test.fault != "" && strings.Contains(record, test.fault) {
				return "too long"
			}
			return ""
		}
		if got := lines(Make(in)); !matches(got, test.want) {
			t.Errorf("%s:\n%s\nwant:\n%s", test.name, strings.Join(got, "\n"), strings.Join(test.want, "\n"))
		}
	}
}

// TestAppliedPlansLeaveNothingToDo makes a second plan from the outcome of the first, for each set
// of existing records: nothing is left but conflicts, and no record of others is gone.
func TestAppliedPlansLeaveNothingToDo(t *testing.T) {
	key := dkimValue(t, 0)
	wanted := []app.DNSRecord{
		{Record: app.RecordDKIM, Name: "mailer._domainkey.a.test", Type: "TXT", Value: key},
		{Record: app.RecordSPF, Name: "send.a.test", Type: "TXT", Value: "v=spf1 include:relay.test ~all"},
		{Record: app.RecordSPF, Name: "send.a.test", Type: "MX", Value: "feedback.test", Priority: 10},
		{Record: app.RecordDMARC, Name: "_dmarc.a.test", Type: "TXT", Value: "v=DMARC1; p=none;"},
		{Record: app.RecordTracking, Name: "links.a.test", Type: "CNAME", Value: "mail.test"},
	}
	existing := records("send.a.test TXT v=spf1 mx -all", "send.a.test TXT note", "send.a.test MX 5 inbox.test", "_dmarc.a.test TXT v=DMARC1; p=reject; sp=none",
		"links.a.test A 192.0.2.1", "links.a.test CNAME old.test", "mailer._domainkey.a.test TXT note", "send.a.test CNAME x.test", "send.a.test TXT v=spf1 include:old.test ~all")
	published := records("send.a.test TXT v=spf1 include:old.test ~all", "links.a.test CNAME old.test")
	for chosen := range 1 << len(existing) {
		var now []Record
		for i, r := range existing {
			if chosen>>i&1 == 1 {
				now = append(now, r)
			}
		}
		in := Input{Wanted: wanted, Names: namesOf("a.test", now), Published: published, SPFTerms: []string{"include:relay.test"}, DMARCReports: "d@b.test"}
		first := Make(in)
		after := slices.Clone(now)
		for _, c := range first.Changes {
			if c.Before != "" {
				i := slices.IndexFunc(after, func(r Record) bool { return r.Name == c.Name && r.Type == c.Type && r.Value == c.Before })
				if i < 0 {
					t.Fatalf("%b: %+v changes what does not exist", chosen, c)
				}
				after = slices.Delete(after, i, i+1)
			}
			if c.After != "" {
				after = append(after, Record{Name: c.Name, Type: c.Type, Value: c.After, Priority: c.Priority})
			}
		}
		in.Names = namesOf("a.test", after)
		if second := Make(in); len(second.Changes) > 0 || len(second.Conflicts) != len(first.Conflicts) {
			t.Errorf("%b: a second plan has %q after %q", chosen, lines(second), lines(first))
		}
		for _, r := range now {
			keeps := func(a Record) bool {
				return a.Name == r.Name && a.Type == r.Type && (a.Value == r.Value || a.Value == "v=spf1 mx include:relay.test -all" || strings.HasPrefix(a.Value, r.Value))
			}
			ours := slices.ContainsFunc(published, func(o Record) bool { return o.Name == r.Name && o.Type == r.Type && o.Value == r.Value })
			if !ours && !slices.ContainsFunc(after, keeps) {
				t.Errorf("%b: %+v is gone: %q", chosen, r, lines(first))
			}
		}
	}
}

func TestPlanIDFollowsItsContent(t *testing.T) {
	a := Plan{Changes: []Change{{Action: Add, Type: "TXT", Name: "a.test", After: "x"}}}
	b := Plan{Changes: []Change{{Action: Add, Type: "TXT", Name: "a.test", After: "y"}}}
	c := Plan{Conflicts: []Conflict{{Type: "TXT", Name: "a.test", Reason: "x"}}}
	if ids := []string{a.ID(), b.ID(), c.ID(), new(Plan).ID()}; a.ID() != ids[0] || len(slices.Compact(slices.Sorted(slices.Values(ids)))) != len(ids) {
		t.Errorf("ids %q", ids)
	}
}

func TestReceivingNeverDivertsMail(t *testing.T) {
	wanted := app.DNSRecord{Record: app.RecordReceiving, Name: "acme.test", Type: "MX", Value: "mail.example.com", Priority: 10}
	const taken = "conflict acme.test MX: Mail for acme.test goes to aspmx.l.google.com. Publishing this would divert it. Use in.acme.test."
	for name, tt := range map[string]struct {
		existing, published []Record
		want                string
	}{
		"nothing":              {nil, nil, "add acme.test MX + 10 mail.example.com"},
		"there":                {records("acme.test MX 10 mail.example.com"), nil, "unchanged 1"},
		"another's":            {records("acme.test MX 1 aspmx.l.google.com"), nil, taken},
		"another's and ours":   {records("acme.test MX 1 aspmx.l.google.com", "acme.test MX 10 mail.example.com"), nil, taken},
		"our former host":      {records("acme.test MX 10 old.example.com"), records("acme.test MX 10 old.example.com"), "replace acme.test MX - 10 old.example.com + 10 mail.example.com"},
		"another's and former": {records("acme.test MX 1 aspmx.l.google.com", "acme.test MX 10 old.example.com"), records("acme.test MX 10 old.example.com"), taken},
	} {
		got := strings.Join(lines(Make(Input{Wanted: []app.DNSRecord{wanted}, Names: namesOf("acme.test", tt.existing), Published: tt.published})), "\n")
		if got != tt.want {
			t.Errorf("%s: %s", name, got)
		}
	}
}
