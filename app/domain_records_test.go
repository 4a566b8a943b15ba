package app

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestRecordsBeforeAnyCheck(t *testing.T) {
	at := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
	d := &Domain{Name: "example.com", ReturnPath: "send", TrackingSubdomain: "links", Status: DomainNotStarted, Keys: []DKIMPair{
		{Selector: "mailer", State: DKIMRetired, Public: "AA==", CreatedAt: at},
		{Selector: "mailer2", State: DKIMRetired, Public: "BB==", CreatedAt: at.Add(1)},
		{Selector: "mailer4", State: DKIMNext, Public: "DD==", CreatedAt: at.Add(3)},
		{Selector: "mailer3", State: DKIMSigning, Public: "CC==", CreatedAt: at.Add(2)},
	}}
	needs := RelayNeeds{SPF: "include:amazonses.com", Feedback: "feedback-smtp.eu-west-1.amazonses.com"}
	row := func(record, name, kind, value string, priority int, required bool) DNSRecord {
		return DNSRecord{Record: record, Name: name, Type: kind, TTL: "Auto", Status: DomainNotStarted, Value: value, Priority: priority, Live: LiveUnknown, Required: required}
	}
	want := []DNSRecord{
		row("DKIM", "mailer3._domainkey.example.com", "TXT", "v=DKIM1; k=rsa; p=CC==", 0, true),
		row("DKIM", "mailer4._domainkey.example.com", "TXT", "v=DKIM1; k=rsa; p=DD==", 0, false),
		row("DKIM", "mailer2._domainkey.example.com", "TXT", "v=DKIM1; k=rsa; p=BB==", 0, false),
		row("DKIM", "mailer._domainkey.example.com", "TXT", "v=DKIM1; k=rsa; p=AA==", 0, false),
		row("SPF", "send.example.com", "TXT", "v=spf1 include:amazonses.com ~all", 0, true),
		row("SPF", "send.example.com", "MX", "feedback-smtp.eu-west-1.amazonses.com", 10, false),
		row("DMARC", "_dmarc.example.com", "TXT", "v=DMARC1; p=none;", 0, false),
		row("Tracking", "links.example.com", "CNAME", "mail.acme.test", 0, false),
	}
	for i, state := range []DKIMState{DKIMSigning, DKIMNext, DKIMRetired, DKIMRetired} {
		want[i].Key = state
	}
	if diff := cmp.Diff(want, d.Records(needs, "mail.acme.test")); diff != "" {
		t.Error(diff)
	}
	d.Trusted = true
	for _, r := range d.Records(needs, "mail.acme.test") {
		if r.Required {
			t.Errorf("a trusted domain requires %+v", r)
		}
	}
}

func TestRecordsWithoutFeedbackAndTracking(t *testing.T) {
	d := &Domain{Name: "example.com", ReturnPath: "send", TrackingSubdomain: "links"}
	got := d.Records(RelayNeeds{}, "")
	if len(got) != 2 || got[0].Value != "v=spf1 ~all" || got[1].Record != RecordDMARC {
		t.Errorf("%+v", got)
	}
}

func TestRecordsShowCheckResults(t *testing.T) {
	d := &Domain{Name: "a.example.com", ReturnPath: "send", Status: DomainPending, CheckedAt: time.Now(), Keys: []DKIMPair{{Selector: "mailer", State: DKIMSigning}},
		Checks: []RecordCheck{
			{Record: "DKIM", Name: "mailer._domainkey.a.example.com", Type: "TXT", Live: LiveFound},
			{Record: "SPF", Name: "send.a.example.com", Type: "TXT", Live: LiveMismatch, Detail: "wrong"},
			{Record: "DMARC", Name: "_dmarc.a.example.com", Type: "TXT", Live: LiveFound, InheritedFrom: "example.com", Policy: "reject"},
			{Record: "SPF", Name: "old.a.example.com", Type: "MX", Live: LiveFound, Detail: "of a name that is not listed any more"},
		}}
	needs := RelayNeeds{SPF: "a:x.test", Feedback: "f.test"}
	status := func() (out []DomainStatus) {
		for _, r := range d.Records(needs, "") {
			out = append(out, r.Status)
		}
		return out
	}
	if diff := cmp.Diff([]DomainStatus{DomainVerified, DomainPending, DomainPending, DomainVerified}, status()); diff != "" {
		t.Error(diff)
	}
	got := d.Records(needs, "")
	if got[1].Live != LiveMismatch || got[1].Detail != "wrong" || got[2].Live != LiveUnknown || got[3].InheritedFrom != "example.com" || got[3].Policy != "reject" {
		t.Errorf("%+v", got)
	}
	d.Status = DomainFailed
	if diff := cmp.Diff([]DomainStatus{DomainVerified, DomainFailed, DomainFailed, DomainVerified}, status()); diff != "" {
		t.Error(diff)
	}
}

func TestRetiredKeysExpire(t *testing.T) {
	now := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
	k := DKIMPair{State: DKIMRetired, RetiredAt: now.Add(-DKIMRetention)}
	if !k.expired(now) || k.expired(now.Add(-1)) {
		t.Error("the edge of the retention is wrong")
	}
	if k.State = DKIMSigning; k.expired(now) {
		t.Error("a signing key has expired")
	}
}
