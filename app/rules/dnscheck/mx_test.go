package dnscheck

import (
	"testing"

	"mailer/app"
)

func TestMXFaults(t *testing.T) {
	const at, host = "send.example.com MX ", "feedback-smtp.eu-west-1.amazonses.com"
	for name, f := range map[string]problem{
		"found":            {[]string{at + "10 " + host}, app.LiveFound, nil},
		"another priority": {[]string{at + "20 " + host}, app.LiveFound, []string{"priority 20 instead of 10"}},
		"missing":          {nil, app.LiveMissing, []string{"no MX record at send.example.com"}},
		"name typed twice": {[]string{"send.example.com.example.com MX 10 " + host}, app.LiveMissing, []string{"enter only send"}},
		"another host":     {[]string{at + "5 mx.other.test"}, app.LiveMismatch, []string{"mx.other.test with priority 5", host + " with priority 10"}},
		"two":              {[]string{at + "5 mx.other.test", at + "10 " + host}, app.LiveMismatch, []string{"2 MX records", "like mx.other.test"}},
		"null MX":          {[]string{at + "0 "}, app.LiveMismatch, []string{"lone dot", host}},
		"domain added":     {[]string{at + "10 " + host + ".example.com"}, app.LiveMismatch, []string{"with a dot at its end"}},
		"no answer":        {[]string{"send.example.com fail"}, app.LiveUnknown, []string{"SERVFAIL"}},
	} {
		t.Run(name, func(t *testing.T) {
			f.check(t, checkOf(t, testDomain("example.com"), sesNeeds, app.RecordSPF, "MX", f.lines...))
		})
	}
}

func TestTrackingFaults(t *testing.T) {
	const at, target, target6 = "links.example.com ", "mail.acme.test A 203.0.113.7", "mail.acme.test AAAA 2001:db8::7"
	for name, f := range map[string]problem{
		"found":                  {[]string{at + "CNAME mail.acme.test"}, app.LiveFound, nil},
		"flattened":              {[]string{at + "A 203.0.113.7", at + "AAAA 2001:db8::7", target, target6}, app.LiveFound, []string{"instead of a CNAME"}},
		"by way of another":      {[]string{at + "CNAME x.cdn.test", "x.cdn.test A 203.0.113.7", target}, app.LiveFound, []string{"x.cdn.test"}},
		"missing":                {nil, app.LiveMissing, []string{"no CNAME record at links.example.com", "Add one"}},
		"name typed twice":       {[]string{"links.example.com.example.com CNAME mail.acme.test"}, app.LiveMissing, []string{"enter only links"}},
		"elsewhere":              {[]string{at + "CNAME x.other.test", "x.other.test A 192.0.2.1", target}, app.LiveMismatch, []string{"CNAME to x.other.test", "Make it a CNAME to mail.acme.test"}},
		"elsewhere, no address":  {[]string{at + "CNAME x.other.test"}, app.LiveMismatch, []string{"CNAME to x.other.test"}},
		"domain added":           {[]string{at + "CNAME mail.acme.test.example.com"}, app.LiveMismatch, []string{"with a dot at its end"}},
		"another address":        {[]string{at + "A 192.0.2.1", target}, app.LiveMismatch, []string{"address record (192.0.2.1)", "add the CNAME"}},
		"one address too many":   {[]string{at + "A 203.0.113.7", at + "A 192.0.2.1", target}, app.LiveMismatch, []string{"address record"}},
		"no answer":              {[]string{"links.example.com fail"}, app.LiveUnknown, []string{"SERVFAIL"}},
		"target does not answer": {[]string{at + "A 192.0.2.1", "mail.acme.test fail"}, app.LiveUnknown, []string{"SERVFAIL"}},
	} {
		t.Run(name, func(t *testing.T) {
			d := testDomain("example.com")
			d.TrackingSubdomain = "links"
			f.check(t, checkOf(t, d, sesNeeds, app.RecordTracking, "CNAME", f.lines...))
		})
	}
}

func TestTrackingHostWithAddressRecord(t *testing.T) {
	d := testDomain("example.com")
	d.TrackingSubdomain = "links"
	for _, f := range []problem{
		{[]string{"links.example.com A 203.0.113.7"}, app.LiveFound, []string{"instead of a CNAME"}},
		{nil, app.LiveMissing, []string{"which is an address", "--base-url"}},
	} {
		checks := Check(t.Context(), d, app.RelayNeeds{}, "203.0.113.7", fakeDNS(f.lines).lookup)
		f.check(t, checks[len(checks)-1])
	}
}

func TestReceivingFaults(t *testing.T) {
	const at, host = "example.com MX ", "mail.acme.test"
	for name, f := range map[string]problem{
		"found":            {[]string{at + "10 " + host}, app.LiveFound, nil},
		"missing":          {nil, app.LiveMissing, []string{"no MX record at example.com"}},
		"another host":     {[]string{at + "5 alt.aspmx.l.google.com", at + "1 aspmx.l.google.com"}, app.LiveMismatch, []string{"Mail for example.com goes to aspmx.l.google.com. Publishing this would divert it. Use in.example.com."}},
		"another is first": {[]string{at + "1 aspmx.l.google.com", at + "10 " + host}, app.LiveMismatch, []string{"goes to aspmx.l.google.com", "priority 1 comes before the 10"}},
		"another is last":  {[]string{at + "20 backup.test", at + "10 " + host}, app.LiveFound, []string{"like backup.test"}},
		"both are first":   {[]string{at + "10 other.test", at + "10 " + host}, app.LiveFound, []string{"like other.test"}},
		"null MX":          {[]string{at + "0 "}, app.LiveMismatch, []string{"lone dot", host}},
		"domain added":     {[]string{at + "10 " + host + ".example.com"}, app.LiveMismatch, []string{"with a dot at its end"}},
		"no answer":        {[]string{"example.com fail"}, app.LiveUnknown, []string{"SERVFAIL"}},
	} {
		t.Run(name, func(t *testing.T) {
			d, needs := testDomain("example.com"), sesNeeds
			d.Receiving, needs.Receiver = true, host
			f.check(t, checkOf(t, d, needs, app.RecordReceiving, "MX", f.lines...))
		})
	}
	if n := len(testDomain("example.com").WantedRecords(app.RelayNeeds{Receiver: host}, "")); n != 3 {
		t.Errorf("a domain that receives nothing has %d records", n)
	}
}
