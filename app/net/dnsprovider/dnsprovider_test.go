package dnsprovider

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"mailer/app/rules/dnsplan"
	"mailer/app/testing/dnstest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// long is a TXT value of more than 255 bytes.
var long = "v=DKIM1; k=rsa; p=" + strings.Repeat("A", 390)

// open returns a provider for a zone; token replaces the right one unless it is empty.
func open(t *testing.T, provider string, z *dnstest.Zone, token string) dnsplan.Provider {
	t.Helper()
	c := dnsplan.Credentials{Provider: provider, Token: dnstest.Token}
	if provider == dnsplan.RFC2136 {
		c.Token, c.Server = dnstest.Key, z.Serve(t)
	}
	if token != "" {
		c.Token = token
	}
	p, err := New(z.Client())(c)
	if err != nil {
		t.Fatal(err)
	}
	if h, ok := p.(*hetzner); ok {
		h.wait = time.Millisecond
	}
	return p
}

// failure returns the failure of an error and its text, in which the token must not be.
func failure(t *testing.T, err error, token string) dnsplan.Failure {
	t.Helper()
	e, ok := errors.AsType[*dnsplan.ProviderError](err)
	if !ok {
		t.Fatalf("error %v", err)
	}
	if token != "" && strings.Contains(e.Error(), token) {
		t.Errorf("%s has the token", e)
	}
	return e.Failure
}

var providers = []string{dnsplan.Cloudflare, dnsplan.Hetzner, dnsplan.RFC2136}

func TestProvidersChangeRecords(t *testing.T) {
	for _, provider := range providers {
		t.Run(provider, func(t *testing.T) {
			z := dnstest.NewZone("acme.test", "acme.test NS ns.acme.test", "send.acme.test TXT note", "send.acme.test TXT v=spf1 mx ~all", "send.acme.test MX 5 in.acme.test", "www.acme.test A 192.0.2.1")
			p := open(t, provider, z, "")
			zone, err := p.Zone(t.Context(), "_dmarc.sub.acme.test")
			if err != nil || zone != "acme.test" {
				t.Fatalf("zone %q, %v", zone, err)
			}
			z.Add("alias.acme.test CNAME www.acme.test")
			if zone, err := p.Zone(t.Context(), "alias.acme.test"); err != nil || zone != "acme.test" {
				t.Errorf("zone %q of a CNAME, %v", zone, err)
			}
			_, err = p.Zone(t.Context(), "other.test")
			if f := failure(t, err, ""); f != dnsplan.FailedZone && f != dnsplan.FailedToken {
				t.Errorf("a name of another zone: %v", err)
			}
			read := func(name, kind, value string) dnsplan.Record {
				t.Helper()
				all, err := p.Records(t.Context(), zone, name)
				if err != nil {
					t.Fatal(err)
				}
				i := slices.IndexFunc(all, func(r dnsplan.Record) bool { return r.Name == name && r.Type == kind && r.Value == value })
				if i < 0 {
					t.Fatalf("no %s %q at %s: %+v", kind, value, name, all)
				}
				return all[i]
			}
			if all, err := p.Records(t.Context(), zone, "send.acme.test"); err != nil || len(all) != 3 {
				t.Errorf("records %+v, %v", all, err)
			}
			if mx := read("send.acme.test", "MX", "in.acme.test"); mx.Priority != 5 {
				t.Errorf("MX %+v", mx)
			}
			if all, err := p.Records(t.Context(), zone, "none.acme.test"); err != nil || len(all) != 0 {
				t.Errorf("records of a name that does not exist: %+v, %v", all, err)
			}
			spf := read("send.acme.test", "TXT", "v=spf1 mx ~all")
			apply := func(c dnsplan.Change) {
				t.Helper()
				if err := p.Apply(t.Context(), zone, c); err != nil {
					t.Errorf("%+v: %v", c, err)
				}
			}
			apply(dnsplan.Change{Action: dnsplan.Add, Type: "TXT", Name: "mailer._domainkey.acme.test", After: long})
			apply(dnsplan.Change{Action: dnsplan.Add, Type: "TXT", Name: "send.acme.test", After: `say "hi"`})
			apply(dnsplan.Change{Action: dnsplan.Replace, Type: "TXT", Name: "send.acme.test", Before: spf.Value, After: "v=spf1 mx include:relay.test ~all", ID: spf.ID})
			apply(dnsplan.Change{Action: dnsplan.Add, Type: "CNAME", Name: "links.acme.test", After: "mail.test"})
			cname := read("links.acme.test", "CNAME", "mail.test")
			apply(dnsplan.Change{Action: dnsplan.Replace, Type: "CNAME", Name: "links.acme.test", Before: "mail.test", After: "new.test", ID: cname.ID})
			apply(dnsplan.Change{Action: dnsplan.Add, Type: "MX", Name: "bounce.acme.test", After: "mail.test", Priority: 10})
			note := read("send.acme.test", "TXT", "note")
			apply(dnsplan.Change{Action: dnsplan.Remove, Type: "TXT", Name: "send.acme.test", Before: "note", ID: note.ID})
			read("mailer._domainkey.acme.test", "TXT", long)
			want := []string{"acme.test NS ns.acme.test", "alias.acme.test CNAME www.acme.test", "bounce.acme.test MX 10 mail.test", "links.acme.test CNAME new.test", "mailer._domainkey.acme.test TXT " + long,
				"send.acme.test MX 5 in.acme.test", `send.acme.test TXT say "hi"`, "send.acme.test TXT v=spf1 mx include:relay.test ~all", "www.acme.test A 192.0.2.1"}
			if got := z.Records(); !slices.Equal(got, want) {
				t.Errorf("records\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
			for _, gone := range []dnsplan.Change{
				{Action: dnsplan.Replace, Type: "CNAME", Name: "links.acme.test", Before: "mail.test", After: "x.test", ID: "gone"},
				{Action: dnsplan.Replace, Type: "TXT", Name: "none.acme.test", Before: "x", After: "y", ID: "gone"},
			} {
				if f := failure(t, p.Apply(t.Context(), zone, gone), ""); f != dnsplan.FailedChanged {
					t.Errorf("%+v: %s", gone, f)
				}
			}
			if got := z.Records(); !slices.Equal(got, want) {
				t.Errorf("a change of a record that is gone had an effect: %q", got)
			}
		})
	}
}

func TestProvidersFailWithNames(t *testing.T) {
	add := dnsplan.Change{Action: dnsplan.Add, Type: "TXT", Name: "a.acme.test", After: "x"}
	for _, provider := range providers {
		t.Run(provider, func(t *testing.T) {
			wrong := []string{"a-wrong-token", "no token"}
			if provider == dnsplan.RFC2136 {
				wrong = []string{"hmac-sha256:updates.test:d3Jvbmc=", "other.test:c2VjcmV0IG9mIHRoZSB0ZXN0cw=="}
			}
			for _, token := range wrong {
				z := dnstest.NewZone("acme.test")
				_, err := open(t, provider, z, token).Zone(t.Context(), "acme.test")
				if f := failure(t, err, token); f != dnsplan.FailedToken {
					t.Errorf("%q: %v", token, err)
				}
			}
			z := dnstest.NewZone("acme.test")
			p := open(t, provider, z, "")
			if _, err := p.Zone(t.Context(), "acme.test"); err != nil {
				t.Fatal(err)
			}
			z.FailAfter(0)
			err := p.Apply(t.Context(), "acme.test", add)
			if f := failure(t, err, dnstest.Token); f != dnsplan.FailedRefused && f != dnsplan.FailedUnreachable {
				t.Errorf("a write that fails: %v", err)
			}
			if provider == dnsplan.RFC2136 {
				return
			}
			z.SetLimited(true)
			_, err = p.Records(t.Context(), "acme.test", "acme.test")
			if f := failure(t, err, dnstest.Token); f != dnsplan.FailedRate || !strings.Contains(err.Error(), "try again in 7s") {
				t.Errorf("a rate limit: %v", err)
			}
		})
	}
}

// TestUpdatesDependOnWhatWasRead makes updates whose prerequisites are not true any more.
func TestUpdatesDependOnWhatWasRead(t *testing.T) {
	z := dnstest.NewZone("acme.test", "links.acme.test TXT note", "c.acme.test CNAME x.test")
	p := open(t, dnsplan.RFC2136, z, "")
	for _, c := range []dnsplan.Change{
		{Action: dnsplan.Add, Type: "CNAME", Name: "links.acme.test", After: "mail.test"},
		{Action: dnsplan.Add, Type: "TXT", Name: "c.acme.test", After: "x"},
	} {
		if f := failure(t, p.Apply(t.Context(), "acme.test", c), ""); f != dnsplan.FailedChanged {
			t.Errorf("%+v: %s", c, f)
		}
	}
	if got := z.Records(); len(got) != 2 {
		t.Errorf("records %q", got)
	}
}

func TestUnreachableAPI(t *testing.T) {
	z := dnstest.NewZone("acme.test")
	client := &http.Client{Transport: failing{}}
	for _, provider := range providers[:2] {
		p, err := New(client)(dnsplan.Credentials{Provider: provider, Token: dnstest.Token})
		if err != nil {
			t.Fatal(err)
		}
		_, err = p.Zone(t.Context(), "acme.test")
		if f := failure(t, err, dnstest.Token); f != dnsplan.FailedUnreachable {
			t.Errorf("%s: %v", provider, err)
		}
	}
	address := z.Serve(t)
	p, err := New(nil)(dnsplan.Credentials{Provider: dnsplan.RFC2136, Token: dnstest.Key, Server: strings.Replace(address, "127.0.0.1", "127.0.0.9", 1)})
	if err != nil {
		t.Fatal(err)
	}
	_, err = p.Zone(t.Context(), "acme.test")
	if f := failure(t, err, ""); f != dnsplan.FailedUnreachable {
		t.Errorf("a name server that does not run: %v", err)
	}
}

type failing struct{}

// RoundTrip implements http.RoundTripper.
func (failing) RoundTrip(r *http.Request) (*http.Response, error) {
	return nil, errors.New("no route, with " + r.Header.Get("Authorization"))
}

func TestOpenRefusesWrongInput(t *testing.T) {
	for _, c := range []dnsplan.Credentials{
		{Provider: "route53", Token: "x"},
		{Provider: dnsplan.RFC2136, Token: dnstest.Key},
		{Provider: dnsplan.RFC2136, Token: dnstest.Key, Server: "127.0.0.1"},
		{Provider: dnsplan.RFC2136, Token: "secretsecret", Server: "127.0.0.1:53"},
	} {
		_, err := New(nil)(c)
		if err == nil {
			t.Errorf("%+v is accepted", c)
		} else {
			failure(t, err, "secretsecret")
		}
	}
}

func TestParseKey(t *testing.T) {
	for text, want := range map[string]string{
		"updates.test:c2VjcmV0":                "updates.test. hmac-sha256. c2VjcmV0",
		"hmac-sha512:Updates.test.:c2VjcmV0\n": "updates.test. hmac-sha512. c2VjcmV0",
		"key \"updates.test\" {\n\talgorithm hmac-sha384;\n\tsecret \"c2VjcmV0\";\n};\n": "updates.test. hmac-sha384. c2VjcmV0",
		"key updates.test { secret \"c2VjcmV0\"; };":                                     "updates.test. hmac-sha256. c2VjcmV0",
		"":                               "",
		"c2VjcmV0":                       "",
		"updates.test:":                  "",
		"updates.test:no base64":         "",
		"hmac-md5:updates.test:c2VjcmV0": "",
		"a..b:c2VjcmV0":                  "",
		"key updates.test { };":          "",
	} {
		name, algorithm, secret, err := ParseKey(text)
		if got := strings.TrimSpace(name + " " + algorithm + " " + secret); got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
}

func TestTextsAreQuotedAndJoined(t *testing.T) {
	for _, text := range []string{"", "a", `say "hi" \ there`, long, "ü" + strings.Repeat("x", 300)} {
		if got := joinText(quoteText(text)); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
	for quoted, want := range map[string]string{`"a" "b"`: "ab", `plain text`: "plain text", `"a\098c"`: "abc", `"a\"`: `a"`} {
		if got := joinText(quoted); got != want {
			t.Errorf("%s is %q, want %q", quoted, got, want)
		}
	}
}
