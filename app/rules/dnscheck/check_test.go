package dnscheck

import (
	"context"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"mailer/app"
	"mailer/app/testing/apptest"
)

// fakeDNS answers from lines "NAME TYPE VALUE". A TXT value may be split by | into strings, an MX
// value begins with its priority, and TYPE fail makes lookups fail. CNAMEs are followed once. A
// name with others below it exists.
type fakeDNS []string

func (f fakeDNS) lookup(_ context.Context, name string, t app.DNSType) (app.DNSAnswer, error) {
	answer := app.DNSAnswer{Server: "ns.test:53"}
	for _, line := range f {
		owner, rest, _ := strings.Cut(line, " ")
		kind, value, _ := strings.Cut(rest, " ")
		if owner == name || strings.HasSuffix(owner, "."+name) {
			answer.NameExists = true
		}
		if owner != name {
			continue
		}
		switch {
		case kind == "fail":
			return app.DNSAnswer{}, errors.New("answered SERVFAIL")
		case kind == "CNAME":
			answer.CNAME = value
			if t != app.DNSCNAME {
				target, err := f.lookup(context.Background(), value, t)
				answer.Records = append(answer.Records, target.Records...)
				return answer, err
			}
			answer.Records = append(answer.Records, app.DNSValue{Text: value})
		case kind == string(t):
			answer.Records = append(answer.Records, fakeValue(t, value))
		}
	}
	return answer, nil
}

func fakeValue(t app.DNSType, value string) app.DNSValue {
	switch t {
	case app.DNSText:
		parts := strings.Split(value, "|")
		return app.DNSValue{Text: strings.Join(parts, ""), Strings: parts}
	case app.DNSMX:
		v := app.DNSValue{}
		fmt.Sscanf(value, "%d %s", &v.Priority, &v.Text)
		return v
	}
	return app.DNSValue{Text: value}
}

// testKey is a public key in the format of p=.
var testKey = sync.OnceValue(func() string { return makeKey(0) })

func makeKey(number int) string {
	der, err := x509.MarshalPKIXPublicKey(apptest.RSAKey(number).Public())
	if err != nil {
		panic(err)
	}
	return base64.StdEncoding.EncodeToString(der)
}

func testDomain(name string) *app.Domain {
	return &app.Domain{Name: name, ReturnPath: "send", Status: app.DomainPending, Keys: []app.DKIMPair{{Selector: "mailer", State: app.DKIMSigning, Public: testKey()}}}
}

var sesNeeds = app.RelayNeeds{SPF: "include:amazonses.com", Feedback: "feedback-smtp.eu-west-1.amazonses.com"}

// provider is the zone of the relay's provider.
var provider = fakeDNS{"amazonses.com TXT v=spf1 ip4:199.255.192.0/22 -all", "example.com A 192.0.2.1"}

// checkOf checks a domain and returns one result.
func checkOf(t *testing.T, d *app.Domain, needs app.RelayNeeds, record, kind string, lines ...string) app.RecordCheck {
	t.Helper()
	for _, c := range Check(t.Context(), d, needs, "mail.acme.test", slices.Concat(provider, fakeDNS(lines)).lookup) {
		if c.Record == record && c.Type == kind {
			return c
		}
	}
	t.Fatalf("no check of %s %s", record, kind)
	return app.RecordCheck{}
}

// problem is a test case: DNS records and the expected result.
type problem struct {
	lines []string
	live  app.Live
	words []string // in the detail; empty: no detail
}

func (f problem) check(t *testing.T, got app.RecordCheck) {
	t.Helper()
	if got.Live != f.live {
		t.Errorf("%s: %s", got.Live, got.Detail)
	}
	if len(f.words) == 0 && got.Detail != "" {
		t.Errorf("detail: %s", got.Detail)
	}
	for _, w := range f.words {
		if !strings.Contains(got.Detail, w) {
			t.Errorf("%q is not in: %s", w, got.Detail)
		}
	}
	if strings.Contains(got.Detail, "%!") {
		t.Errorf("badly formatted: %s", got.Detail)
	}
}

func TestCheckFindsAllRecords(t *testing.T) {
	d := testDomain("example.com")
	d.TrackingSubdomain = "links"
	lines := fakeDNS{
		"mailer._domainkey.example.com TXT v=DKIM1; k=rsa; p=" + testKey()[:200] + "|" + testKey()[200:],
		"send.example.com TXT v=spf1 include:amazonses.com ~all",
		"send.example.com MX 10 feedback-smtp.eu-west-1.amazonses.com",
		"_dmarc.example.com TXT v=DMARC1; p=reject; sp=none",
		"links.example.com CNAME mail.acme.test",
	}
	got := Check(t.Context(), d, sesNeeds, "mail.acme.test", slices.Concat(provider, lines).lookup)
	want := []app.RecordCheck{
		{Record: "DKIM", Name: "mailer._domainkey.example.com", Type: "TXT", Live: app.LiveFound},
		{Record: "SPF", Name: "send.example.com", Type: "TXT", Live: app.LiveFound, ValidBy: "include:amazonses.com", Has: []string{"include:amazonses.com"}},
		{Record: "SPF", Name: "send.example.com", Type: "MX", Live: app.LiveFound},
		{Record: "DMARC", Name: "_dmarc.example.com", Type: "TXT", Live: app.LiveFound, Policy: "reject"},
		{Record: "Tracking", Name: "links.example.com", Type: "CNAME", Live: app.LiveFound},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestPublishedRecordsAreFound: records published as shown must be found.
func TestPublishedRecordsAreFound(t *testing.T) {
	for name, needs := range map[string]app.RelayNeeds{"ses": sesNeeds, "host": {SPF: "a:mail.acme.test"}, "address": {SPF: "ip4:8.8.4.4"}, "none": {}} {
		d := testDomain("mail.example.co.uk")
		d.TrackingSubdomain = "links"
		var lines fakeDNS
		for _, r := range d.Records(needs, "mail.acme.test") {
			if r.Priority > 0 {
				r.Value = fmt.Sprint(r.Priority, " ", r.Value)
			}
			lines = append(lines, r.Name+" "+r.Type+" "+r.Value)
		}
		for _, c := range Check(t.Context(), d, needs, "mail.acme.test", lines.lookup) {
			if c.Live != app.LiveFound {
				t.Errorf("%s: %+v", name, c)
			}
		}
	}
}

func TestNoAnswers(t *testing.T) {
	d := testDomain("a.example.com")
	d.TrackingSubdomain = "links"
	ask := func(context.Context, string, app.DNSType) (app.DNSAnswer, error) {
		return app.DNSAnswer{}, errors.New("ns1.test:53: no answer in time\x1b[31m")
	}
	for _, c := range Check(t.Context(), d, sesNeeds, "mail.acme.test", ask) {
		if c.Live != app.LiveUnknown || !strings.Contains(c.Detail, "no answer in time") || strings.Contains(c.Detail, "\x1b") || !strings.Contains(c.Detail, c.Name) {
			t.Errorf("%+v", c)
		}
	}
}

func TestCheckEndsWithContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		ask := func(ctx context.Context, _ string, _ app.DNSType) (app.DNSAnswer, error) {
			<-ctx.Done()
			return app.DNSAnswer{}, ctx.Err()
		}
		start := time.Now()
		for _, c := range Check(ctx, testDomain("example.com"), sesNeeds, "", ask) {
			if c.Live != app.LiveUnknown {
				t.Errorf("%+v", c)
			}
		}
		if took := time.Since(start); took != time.Second {
			t.Errorf("took %s", took)
		}
	})
}

func TestLookupLimit(t *testing.T) {
	d := testDomain("a.b.example.com")
	d.TrackingSubdomain = "links"
	for i := range 20 {
		d.Keys = append(d.Keys, app.DKIMPair{Selector: fmt.Sprint("mailer", i), State: app.DKIMNext, Public: "AAAA"})
	}
	var asked, now, highest atomic.Int32
	ask := func(_ context.Context, name string, kind app.DNSType) (app.DNSAnswer, error) {
		asked.Add(1)
		if n := now.Add(1); n > highest.Load() {
			highest.Store(n)
		}
		defer now.Add(-1)
		if strings.HasPrefix(name, "send.") && kind == app.DNSText {
			return app.DNSAnswer{NameExists: true, Records: []app.DNSValue{fakeValue(kind, "v=spf1 a:a.test a:b.test mx:c.test include:d.test ~all")}}, nil
		}
		if name == "d.test" {
			return app.DNSAnswer{NameExists: true, Records: []app.DNSValue{fakeValue(kind, "v=spf1 a:e.test include:d.test ~all")}}, nil
		}
		return app.DNSAnswer{}, nil
	}
	Check(t.Context(), d, sesNeeds, "mail.acme.test", ask)
	if asked.Load() > maxCheckLookups || asked.Load() < 20 {
		t.Errorf("asked %d times", asked.Load())
	}
	if highest.Load() > maxConcurrent {
		t.Errorf("%d at once", highest.Load())
	}
}

func TestPanicMeansUnknown(t *testing.T) {
	ask := func(_ context.Context, name string, _ app.DNSType) (app.DNSAnswer, error) { panic("of " + name) }
	for _, c := range Check(t.Context(), testDomain("example.com"), sesNeeds, "", ask) {
		if c.Live != app.LiveUnknown || c.Detail == "" {
			t.Errorf("%+v", c)
		}
	}
}

// hugeAnswer returns that many records of 60 KB.
func hugeAnswer(records int) app.DNSAnswer {
	many := app.DNSAnswer{NameExists: true}
	for i := range records {
		text := strings.Repeat("p=;v=spf1 +a,\"\\ =:/%{", 3000)
		if i%2 == 0 {
			text = "v=spf1 " + strings.Repeat("a ", 30000)
		}
		many.Records = append(many.Records, app.DNSValue{Text: text})
	}
	return many
}

func TestDetailsOfHugeAnswersAreShort(t *testing.T) {
	many := hugeAnswer(20)
	d := testDomain("example.com")
	d.TrackingSubdomain = "links"
	checks := Check(t.Context(), d, sesNeeds, "mail.acme.test", func(context.Context, string, app.DNSType) (app.DNSAnswer, error) { return many, nil })
	for _, c := range checks {
		if len(c.Detail) > 2000 {
			t.Errorf("a detail of %d bytes: %.200s", len(c.Detail), c.Detail)
		}
	}
}

func TestUnregisteredDomain(t *testing.T) {
	for _, c := range Check(t.Context(), testDomain("mail.nowhere.test"), sesNeeds, "mail.acme.test", provider.lookup) {
		if c.Live != app.LiveMissing || !strings.Contains(c.Detail, "nowhere.test itself does not exist in the DNS") {
			t.Errorf("%+v", c)
		}
	}
}

func TestUnknownAnswersKeepStatus(t *testing.T) {
	d := testDomain("example.com")
	d.Status = app.DomainVerified
	checks := Check(t.Context(), d, sesNeeds, "", fakeDNS{"mailer._domainkey.example.com fail", "send.example.com fail", "_dmarc.example.com fail"}.lookup)
	if status, _, _ := app.NextDomainStatus(d, checks, time.Now()); status != app.DomainVerified {
		t.Errorf("%s: %+v", status, checks)
	}
}
