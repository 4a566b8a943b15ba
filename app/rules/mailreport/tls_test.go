package mailreport

import (
	"errors"
	"net/netip"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"mailer/app"
	"mailer/app/testing/apptest"
)

// tlsReports are the JSON files of testdata with what they say.
var tlsReports = map[string]TLS{
	"google.json": {
		Reporter: "Google Inc.", Contact: "smtp-tls-reporting@google.com", ReportID: "2026-11-01T00:00:00Z_example.com", Begin: dayBegin, End: dayEnd,
		Policies: []TLSPolicy{{Type: "sts", Mode: "enforce", Domain: "example.com", MX: []string{"mx.example.com"}, Successful: 41, Failed: 3, Failures: []TLSFailure{
			{Type: "certificate-expired", Sessions: 2, SendingIP: netip.MustParseAddr("2001:db8::1"), ReceivingMX: "mx.example.com", ReceivingIP: netip.MustParseAddr("192.0.2.25")},
			{Type: "validation-failure", Sessions: 1, SendingIP: netip.MustParseAddr("192.0.2.1"), Code: "X509_V_ERR", Info: "https://reports.example/1"},
		}}},
	},
	"microsoft.json": {
		Reporter: "Microsoft Corporation", Contact: "tlsrpt-noreply@microsoft.com", ReportID: "133944884956529435+example.com", Begin: dayBegin, End: dayEnd,
		Policies: []TLSPolicy{{Type: "sts", Domain: "example.com", Failed: 3, Failures: []TLSFailure{{Type: "sts-policy-fetch-error", Sessions: 3}}}},
	},
	"postfix.json": { // no organization, no domain, numbers as texts and the reverse, a negative count
		Reporter: "receiver.example", Contact: "tls@receiver.example", ReportID: "7", Begin: dayBegin, End: dayEnd, Skipped: 1,
		Policies: []TLSPolicy{
			{Type: "no-policy-found", Successful: 1},
			{Type: "tlsa", Domain: "mx.example.com", MX: []string{"mx.example.com"}, Successful: 5},
		},
	},
}

func TestReadsTLSReports(t *testing.T) {
	for name, want := range tlsReports {
		plain := file(t, name)
		for how, raw := range map[string][]byte{"plain": plain, "gzip": gzipped(t, plain), "BOM": append([]byte("\xef\xbb\xbf"), plain...), "UTF-16": utf16Bytes(string(plain), true)} {
			if kind := Kind(raw); kind != TLSReport {
				t.Errorf("%s %s: kind %q", name, how, kind)
			}
			got, err := ReadTLS(raw)
			if err != nil {
				t.Errorf("%s %s: %v", name, how, err)
				continue
			}
			if diff := cmp.Diff(&want, got, compareIP); diff != "" {
				t.Errorf("%s %s (-want +got):\n%s", name, how, diff)
			}
		}
	}
}

func TestReadsBrokenTLSReports(t *testing.T) {
	google := string(file(t, "google.json"))
	with := func(old, new string) []byte { return []byte(strings.Replace(google, old, new, 1)) }
	for name, test := range map[string]struct {
		raw      []byte
		policies int
		failures int
		skipped  int
	}{
		"negative failure":    {with(`"failed-session-count":2`, `"failed-session-count":-2`), 1, 1, 1},
		"huge failure":        {with(`"failed-session-count":2`, `"failed-session-count":1e30`), 1, 1, 1},
		"failure as text":     {with(`"failed-session-count":2`, `"failed-session-count":"2"`), 1, 2, 0},
		"failure as object":   {with(`"failed-session-count":2`, `"failed-session-count":{"n":2}`), 1, 1, 1},
		"no sum":              {with(`"total-successful-session-count":41,`, ``), 1, 2, 0},
		"no failures":         {with(`"failure-details":[`, `"failure-details":null,"x":[`), 1, 0, 0},
		"failures as object":  {with(`"failure-details":[`, `"failure-details":{},"x":[`), 1, 0, 0},
		"invalid UTF-8":       {with(`X509_V_ERR`, "X509\xff"), 1, 2, 0},
		"duplicate name":      {with(`{`, `{"report-id":"x",`), 1, 2, 0},
		"policies among junk": {with(`"policies":[`, `"policies":[1,"a",null,[],`), 1, 2, 0},
	} {
		got, err := ReadTLS(test.raw)
		if err != nil || len(got.Policies) != test.policies || len(got.Policies[0].Failures) != test.failures || got.Skipped != test.skipped {
			t.Errorf("%s: %+v, %v", name, got, err)
			continue
		}
		checkTLS(t, got)
	}
}

func TestRefusesTLSReports(t *testing.T) {
	google := string(file(t, "google.json"))
	with := func(old, new string) []byte { return []byte(strings.Replace(google, old, new, 1)) }
	for name, test := range map[string]struct {
		raw  []byte
		want string
	}{
		"empty":           {nil, "it is empty"},
		"XML":             {file(t, "google.xml"), "it is not JSON"},
		"array":           {[]byte("[]"), "it is not a TLS report"},
		"cut":             {[]byte(google[:len(google)/2]), "the JSON ends too early"},
		"cut in a text":   {[]byte(google[:20]), "the JSON ends too early"},
		"cut gzip":        {gzipped(t, []byte(google))[:100], "the packed file ends too early"},
		"not closed":      {with(`]}]}`, `}]}]`), "it is not JSON: the fault is at byte"},
		"zip":             {[]byte(apptest.Zip(t, "a.json", google)), "it is a ZIP archive"},
		"no reporter":     {[]byte(strings.NewReplacer("Google Inc.", "", "smtp-tls-reporting@google.com", "").Replace(google)), "organization-name and contact-info are missing"},
		"no range":        {with("date-range", "range"), "2026-11-01T00:00:00Z_example.com of Google Inc. can't be read: its begin or end is missing"},
		"range in words":  {with("2026-11-01T00:00:00Z", "monday"), "its begin or end is not a time"},
		"no policies":     {with(`"policies"`, `"policy"`), "no policy with readable counts"},
		"negative counts": {with(":41", ":-41"), "no policy with readable counts"},
		"gzip bomb":       {gzipped(t, []byte(strings.Repeat(" ", 20<<20))), "more than 100 times its packed size"},
		"deep arrays":     {[]byte(strings.Repeat("[", 1_000_000)), "more than 32 nested values"},
		"deep objects":    {[]byte(strings.Repeat(`{"a":`, 100_000)), "more than 32 nested values"},
		"many objects":    {with(`"policies":[`, `"policies":[`+strings.Repeat("{},", 1_000_000)), "more than 100000 objects"},
	} {
		got, err := ReadTLS(test.raw)
		var e *app.Error
		if got != nil || !errors.As(err, &e) || e.Code != app.CodeValidation || !strings.HasPrefix(e.Message, "The TLS report") || !strings.Contains(e.Message, test.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestBoundsHostNamesOfTLSReports(t *testing.T) {
	raw := strings.Replace(string(file(t, "google.json")), `"mx-host":[`, `"mx-host":[`+strings.Repeat(`"a.example",`, 100_000), 1)
	if got, err := ReadTLS([]byte(raw)); err != nil || len(got.Policies[0].MX) != maxDetails {
		t.Errorf("%v", err)
	}
}

func checkTLS(t *testing.T, r *TLS) {
	t.Helper()
	if r.Reporter == "" || len(r.Policies) == 0 || r.End.Before(r.Begin) {
		t.Errorf("%+v", r)
	}
	checkText(t, r.Reporter, r.Contact, r.ReportID)
	for _, p := range r.Policies {
		if p.Successful < 0 || p.Failed < 0 || p.Successful > MaxCount || p.Failed > MaxCount || len(p.MX) > maxDetails {
			t.Errorf("%+v", p)
		}
		checkText(t, append(p.MX, p.Type, p.Mode, p.Domain)...)
		for _, f := range p.Failures {
			if f.Sessions < 1 || f.Sessions > MaxCount {
				t.Errorf("%+v", f)
			}
			checkText(t, f.Type, f.ReceivingMX, f.Code, f.Info)
		}
	}
}

func FuzzReadTLS(f *testing.F) {
	for name := range tlsReports {
		f.Add(file(f, name))
		f.Add(gzipped(f, file(f, name)))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		r, err := ReadTLS(raw)
		var e *app.Error
		switch {
		case err == nil:
			checkTLS(t, r)
		case !errors.As(err, &e) || len(e.Message) > 2*maxText+500 || !utf8.ValidString(e.Message):
			t.Errorf("%v", err)
		}
	})
}
