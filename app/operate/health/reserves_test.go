package health_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"mailer/app"
	"mailer/app/operate/health"
	"mailer/app/rules/feedback"
	"mailer/app/rules/relayurl"
	"mailer/app/server"
	"mailer/app/testing/testserver"
)

// Reserves are tested like primaries, and what their use would lack is a finding before the first
// switch.
func TestReservesAreChecked(t *testing.T) {
	testserver.BothEngines(t)
	testserver.Synctest(t, func(t *testing.T) {
		var broken sync.Map // replies to the password, by relay
		dns := testserver.NewDNS()
		probe := func(_ context.Context, r relayurl.Relay, _ *app.Outgoing, _ bool) []relayurl.Step {
			reply, isBroken := broken.Load(r.FullName())
			return []relayurl.Step{{Step: "auth", OK: !isBroken, Reply: fmt.Sprint(reply)}}
		}
		reserve := relayurl.Relay{Region: app.DefaultRegion, Name: app.DefaultRegion + "/b", Host: "smtp.postmarkapp.com", Port: 587}
		w := testserver.NewWithConfig(t, server.Config{Probe: probe, Resolver: dns.Lookup},
			testserver.NewRelayOf(relayurl.Relay{Region: app.DefaultRegion, Host: "relay.test", Port: 587, DKIM: true}, nil), testserver.NewRelayOf(reserve, nil))
		w.Start()
		d := w.CreateDomain(app.DomainInput{Name: "news.test"})
		dns.Publish(w.Services.Domains.DomainRecords(&d))
		dns.Publish([]app.DNSRecord{{Type: "TXT", Name: "include.test", Value: "v=spf1 -all"}, {Type: "TXT", Name: "send.news.test", Value: "v=spf1 a:relay.test ~all"}, {Type: "TXT", Name: "spf.mtasv.net", Value: "v=spf1 ip4:192.0.2.1 -all"}})
		check := func() []health.Check {
			_, err := w.Services.Domains.CheckDomain(t.Context(), d.TeamID, d.Name)
			testserver.Must(t, err)
			return look(w)
		}
		all := check()
		find(t, all, "relay us-east-1", true)
		find(t, all, "relay us-east-1/b", true)
		find(t, all, "domain news.test", false, "send.news.test", "include:spf.mtasv.net is missing", "v=spf1 a:relay.test include:spf.mtasv.net ~all", "mailer domains records news.test")
		find(t, all, "relay us-east-1/b reports", false, "Postmark", "mailer ingest")

		broken.Store(reserve.Name, "535 wrong password")
		w.Report(feedback.Report{Source: app.SourcePostmark, ID: "1", Kind: feedback.Delivered, Recipient: "bob@example.net"})
		dns.Publish([]app.DNSRecord{{Type: "TXT", Name: "send.news.test", Value: "v=spf1 a:relay.test include:spf.mtasv.net ~all"}, {Type: "TXT", Name: "_dmarc.news.test", Value: "v=DMARC1; p=reject"}})
		all = check()
		find(t, all, "relay us-east-1", true)
		find(t, all, "relay us-east-1/b", false, "535 wrong password", "--relay")
		find(t, all, "relay us-east-1/b reports", true)
		find(t, all, "domain news.test", false, "policy of the domain is reject", "us-east-1/b have no DKIM signature", "dkim=off")

		dns.Publish([]app.DNSRecord{{Type: "TXT", Name: "_dmarc.news.test", Value: "v=DMARC1; p=none"}})
		find(t, check(), "domain news.test", true)
	})
}
