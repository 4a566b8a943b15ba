package relays_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"mailer/app"
	"mailer/app/rules/relayurl"
	"mailer/app/sending/relays"
	"mailer/app/server"
	"mailer/app/testing/testserver"
)

const (
	regionA = app.DefaultRegion
	relayB  = app.DefaultRegion + "/b"
)

// aligned starts a server with two relays, of which the reserve may have options, and with domains
// that are checked in a fake DNS.
func aligned(t *testing.T, reserve func(r *relayurl.Relay)) (w *testserver.Server, dns *testserver.FakeDNS, first, second *testserver.FakeRelay, down map[string]bool) {
	t.Helper()
	testserver.FastHeartbeat(t)
	down = map[string]bool{}
	probe := func(_ context.Context, r relayurl.Relay, _ *app.Outgoing, _ bool) []relayurl.Step {
		return []relayurl.Step{{Step: "mail", OK: !down[r.FullName()]}}
	}
	dns = testserver.NewDNS()
	first = testserver.NewRelayOf(relayurl.Relay{Region: regionA, Host: "relay.test", Port: 587, Connections: 4, DKIM: true}, nil)
	b := relayurl.Relay{Region: regionA, Name: relayB, Host: "b.test", Port: 587, Connections: 4, DKIM: true}
	if reserve != nil {
		reserve(&b)
	}
	second = testserver.NewRelayOf(b, nil)
	w = testserver.NewWithConfig(t, server.Config{Probe: probe, Resolver: dns.Lookup}, first, second)
	w.Start()
	waitForTick()
	return w, dns, first, second, down
}

// fail makes the primary unusable, and repair ends that.
func fail(first *testserver.FakeRelay, down map[string]bool) {
	first.SetScript(testserver.Always(testserver.RelayTrouble(app.StageConnect, "refused")))
	down[regionA] = true
}

func repair(first *testserver.FakeRelay, down map[string]bool) {
	first.SetScript(nil)
	delete(down, regionA)
}

// verified adds a domain whose records are published, with an SPF record and a DMARC policy.
func verified(t *testing.T, w *testserver.Server, dns *testserver.FakeDNS, name, spf, policy string) app.Domain {
	t.Helper()
	d := w.CreateDomain(app.DomainInput{Name: name})
	dns.Publish(w.Services.Domains.DomainRecords(&d))
	dns.Publish([]app.DNSRecord{{Type: "TXT", Name: "send." + name, Value: spf}, {Type: "TXT", Name: "_dmarc." + name, Value: "v=DMARC1; p=" + policy}})
	testserver.Must(t, w.Services.Domains.VerifyDomain(t.Context(), w.Key, d.ID))
	pass(time.Second)
	if d = w.Domain(d.ID); d.Status != app.DomainVerified {
		t.Fatalf("%s is %s: %+v", name, d.Status, d.Checks)
	}
	return d
}

// spfRow returns the SPF record of a domain as it is shown.
func spfRow(t *testing.T, w *testserver.Server, id string) app.DNSRecord {
	t.Helper()
	d := w.Domain(id)
	records := w.Services.Domains.DomainRecords(&d)
	return records[slices.IndexFunc(records, func(r app.DNSRecord) bool { return r.Record == app.RecordSPF && r.Type == "TXT" })]
}

// recheck lets the DNS rounds of half an hour pass.
func recheck(t *testing.T, w *testserver.Server) {
	t.Helper()
	for range 3 {
		pass(15 * time.Minute)
		testserver.Must(t, w.Services.Domains.CheckDue(t.Context()))
		pass(time.Second)
	}
}

// Adding, ordering, switching and removing relays changes what a record should be, and not whether
// the domain may send.
func TestRelaysDoNotChangeStatusOfDomain(t *testing.T) {
	testserver.SynctestHours(t, func(t *testing.T) {
		w, dns, _, _, _ := aligned(t, nil)
		d := verified(t, w, dns, "acme.test", "v=spf1 a:relay.test ~all", "none")
		s := w.CommandServices().Relays
		steps := []struct {
			what   string
			change func() error
			value  string
			lacks  []string
		}{
			{"a reserve", func() error { return nil }, "v=spf1 a:relay.test a:b.test ~all", []string{"a:b.test"}},
			{"switched", func() error { _, err := s.Switch(t.Context(), regionA, "b"); return err }, "v=spf1 a:relay.test a:b.test ~all", []string{"a:b.test"}},
			{"another primary", func() error {
				_, err := s.Order(t.Context(), regionA, []string{relayB, regionA})
				return err
			}, "v=spf1 a:b.test a:relay.test ~all", []string{"a:b.test"}},
			{"a third relay", func() error {
				_, err := s.AddRelay(t.Context(), relays.AddInput{Text: regionA + "/c=smtp://c.test", Reserve: true})
				return err
			}, "v=spf1 a:b.test a:relay.test a:c.test ~all", []string{"a:b.test", "a:c.test"}},
			{"it becomes the primary", func() error {
				_, err := s.Order(t.Context(), regionA, []string{regionA + "/c", relayB, regionA})
				return err
			}, "v=spf1 a:c.test a:b.test a:relay.test ~all", []string{"a:c.test", "a:b.test"}},
			{"it is removed", func() error { _, err := s.Remove(t.Context(), regionA+"/c"); return err }, "v=spf1 a:b.test a:relay.test ~all", []string{"a:b.test"}},
		}
		for _, step := range steps {
			testserver.Must(t, step.change())
			waitForTick()
			recheck(t, w)
			row, now := spfRow(t, w, d.ID), w.Domain(d.ID)
			if now.Status != app.DomainVerified || row.Live != app.LiveFound || row.Status != app.DomainVerified || row.Value != step.value {
				t.Errorf("%s: %s, %+v", step.what, now.Status, row)
			}
			if got := now.SPFCheck().Lacks; !slices.Equal(got, step.lacks) || !strings.Contains(row.Detail, step.lacks[0]+" ") {
				t.Errorf("%s: lacks %q, %q", step.what, got, row.Detail)
			}
		}
		dns.Publish([]app.DNSRecord{{Type: "TXT", Name: "send.acme.test", Value: "v=spf1 mx ~all"}})
		recheck(t, w)
		if got := w.Domain(d.ID).Status; got != app.DomainPending {
			t.Errorf("without the mechanism that it was verified with: %s", got)
		}
	})
}
