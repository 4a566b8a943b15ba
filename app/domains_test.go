package app

import (
	"strings"
	"testing"
	"time"
)

func TestDomainInput(t *testing.T) {
	regions := []string{"eu-west-1", "us-east-1"}
	d, err := (&DomainInput{Name: "Bücher.Example"}).Validate(regions)
	if err != nil || d.Name != "xn--bcher-kva.example" || d.Region != "eu-west-1" || d.ReturnPath != "send" || d.TrackingSubdomain != "" {
		t.Errorf("%+v, %v", d, err)
	}
	d, err = (&DomainInput{Name: "acme.test", Region: "us-east-1", ReturnPath: "Bounces", OpenTracking: true, ClickTracking: true,
		TrackingSubdomain: "Links.acme.test", Trusted: true}).Validate(regions)
	if err != nil || d.Region != "us-east-1" || d.ReturnPath != "bounces" || !d.OpenTracking || !d.ClickTracking || d.TrackingSubdomain != "links" || !d.Trusted {
		t.Errorf("%+v, %v", d, err)
	}
	for _, tt := range []struct {
		in   DomainInput
		want string
	}{
		{DomainInput{}, "`name` is required"},
		{DomainInput{Name: "co.uk"}, "`name` must be a domain of your own: under co.uk anyone can register names (it is a public suffix); use a name below it, like example.co.uk"},
		{DomainInput{Name: "exa mple.com"}, "`name` is a domain name that is not valid"},
		{DomainInput{Name: "acme.test", Region: "sa-east-1"}, "`region` must be one of eu-west-1, us-east-1"},
		{DomainInput{Name: "acme.test", ReturnPath: "a.b"}, "`custom_return_path` must be one label"},
		{DomainInput{Name: "acme.test", TrackingSubdomain: "a_b"}, "`tracking_subdomain` must be a label"},
		{DomainInput{Name: "acme.test", TrackingSubdomain: "SEND"}, "`tracking_subdomain` must differ from the return path send"},
	} {
		_, err := tt.in.Validate(regions)
		if err == nil || CodeOf(err) != CodeValidation || !strings.HasPrefix(err.Error(), "validation_error: "+tt.want) {
			t.Errorf("%+v: %v, want %s", tt.in, err, tt.want)
		}
	}
}

func TestDomainRegions(t *testing.T) {
	for in, want := range map[string]string{"": "us-east-1", "sa-east-1": "sa-east-1", "here": "here"} {
		if d, err := (&DomainInput{Name: "acme.test", Region: in}).Validate(nil); err != nil || d.Region != want {
			t.Errorf("%q: %q, %v", in, d.Region, err)
		}
	}
	for _, in := range []string{"EU", "a b", strings.Repeat("a", 41), "a\n"} {
		if _, err := (&DomainInput{Name: "acme.test", Region: in}).Validate(nil); err == nil {
			t.Errorf("%q passes", in)
		}
	}
}

func TestDomainPatch(t *testing.T) {
	yes, no := true, false
	old := Domain{Name: "acme.test", ReturnPath: "send", OpenTracking: true, TrackingSubdomain: "links"}
	change := func(p DomainPatch) Domain {
		t.Helper()
		d, err := p.Apply(old)
		if err != nil {
			t.Error(err)
		}
		return d
	}
	if d := change(DomainPatch{}); !d.OpenTracking || d.ClickTracking || d.TrackingSubdomain != "links" {
		t.Errorf("nothing: %+v", d)
	}
	if d := change(DomainPatch{OpenTracking: &no, ClickTracking: &yes}); d.OpenTracking || !d.ClickTracking || d.TrackingSubdomain != "links" {
		t.Errorf("both: %+v", d)
	}
	if d := change(DomainPatch{TrackingSubdomain: Change[string]{Set: true, Value: "Go.acme.test"}}); d.TrackingSubdomain != "go" {
		t.Errorf("set: %+v", d)
	}
	for _, c := range []Change[string]{{Set: true}, {Set: true, Null: true}} {
		if d := change(DomainPatch{TrackingSubdomain: c}); d.TrackingSubdomain != "" {
			t.Errorf("cleared: %+v", d)
		}
	}
	for _, bad := range []string{"send", "acme.test", "a b", "-"} {
		if _, err := (&DomainPatch{TrackingSubdomain: Change[string]{Set: true, Value: bad}}).Apply(old); CodeOf(err) != CodeValidation {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestNextSelector(t *testing.T) {
	var d Domain
	for _, tt := range []struct{ have, want string }{
		{"mailer", "mailer2"}, {"mailer mailer2", "mailer3"}, {"mailer10 mailer9", "mailer11"}, {"mailer2", "mailer3"},
	} {
		d.Keys = nil
		for selector := range strings.FieldsSeq(tt.have) {
			d.Keys = append(d.Keys, DKIMPair{Selector: selector})
		}
		if got := d.NextSelector(); got != tt.want {
			t.Errorf("after %s: %s, want %s", tt.have, got, tt.want)
		}
	}
}

func TestVerifyStepsNameMissingRecords(t *testing.T) {
	d := &Domain{ID: "7", Name: "acme.test", ReturnPath: "send", Status: DomainPending, CheckedAt: time.Now(), Keys: []DKIMPair{{Selector: "mailer", State: DKIMSigning}}}
	check := func(live Live) RecordCheck {
		return RecordCheck{Record: RecordSPF, Name: "send.acme.test", Type: "TXT", Live: live}
	}
	dkim := RecordCheck{Record: RecordDKIM, Name: "mailer._domainkey.acme.test", Type: "TXT", Live: LiveFound}
	for name, tt := range map[string]struct {
		checks []RecordCheck
		want   string
	}{
		"one": {[]RecordCheck{dkim, check(LiveMissing)}, "the SPF record TXT send.acme.test is missing. " +
			"Publish what `mailer domains records acme.test` shows, then run `mailer domains verify acme.test` or POST /domains/7/verify"},
		"wrong":     {[]RecordCheck{dkim, check(LiveMismatch)}, "the SPF record TXT send.acme.test has another value. Publish"},
		"no check":  {nil, "the DKIM record TXT mailer._domainkey.acme.test is not known to be there, and the SPF record TXT send.acme.test is not known"},
		"all there": {[]RecordCheck{dkim, check(LiveFound)}, "run `mailer domains verify acme.test`"},
	} {
		d.Checks = tt.checks
		if got := d.VerifySteps(d.Records(RelayNeeds{}, "")); !strings.HasPrefix(got, tt.want) || strings.Contains(got, "DMARC") {
			t.Errorf("%s: %s", name, got)
		}
	}
}
