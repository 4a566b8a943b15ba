package resolver

import (
	"fmt"
	"strings"
	"testing"

	"github.com/miekg/dns"

	"mailer/app"
	"mailer/app/rules/dnscheck"
)

// TestCheckFindsPublishedRecords serves the records of a domain over the wire, split into strings
// as DNS servers do.
func TestCheckFindsPublishedRecords(t *testing.T) {
	d := &app.Domain{Name: "example.com", ReturnPath: "send", TrackingSubdomain: "links",
		Keys: []app.DKIMPair{{Selector: "mailer", State: app.DKIMSigning, Public: strings.Repeat("MIIBIjAN", 49)}}}
	needs := app.RelayNeeds{SPF: "include:amazonses.com", Feedback: "feedback-smtp.eu-west-1.amazonses.com"}
	lines := []string{"example.com. 60 IN NS ns1.example.net."}
	for _, r := range d.Records(needs, "mail.acme.test") {
		lines = append(lines, line(r))
	}
	handlers := dnsWorld(t)
	handlers["127.0.0.2"] = parseZone(t, "example.com.", lines...)
	r := authoritative(t, handlers)
	for _, c := range dnscheck.Check(t.Context(), d, needs, "mail.acme.test", r.Lookup) {
		if c.Live != app.LiveFound {
			t.Errorf("%+v", c)
		}
	}

	handlers = map[string]dns.Handler{"127.0.0.1": handlers["127.0.0.1"], "127.0.0.2": parseZone(t, "example.com.", lines[0])}
	for _, c := range dnscheck.Check(t.Context(), d, needs, "mail.acme.test", authoritative(t, handlers).Lookup) {
		if c.Live != app.LiveMissing {
			t.Errorf("%+v", c)
		}
	}
}

func line(r app.DNSRecord) string {
	value := r.Value
	switch r.Type {
	case "TXT":
		value = fmt.Sprintf("%q", value[:min(255, len(value))])
		if len(r.Value) > 255 {
			value += fmt.Sprintf(" %q", r.Value[255:])
		}
	case "MX":
		value = fmt.Sprintf("%d %s.", r.Priority, value)
	case "CNAME":
		value += "."
	}
	return fmt.Sprintf("%s. 60 IN %s %s", r.Name, r.Type, value)
}
