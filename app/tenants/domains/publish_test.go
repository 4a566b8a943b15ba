package domains_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mailer/app"
	"mailer/app/net/dnsprovider"
	"mailer/app/net/resolver"
	"mailer/app/rules/dnsplan"
	"mailer/app/rules/relayurl"
	"mailer/app/tenants/domains"
	"mailer/app/testing/dnstest"
	"mailer/app/testing/testserver"
)

// publishing starts a server whose domains are checked and published in a zone, with a relay that
// needs a term in the SPF record, and adds acme.test to it.
func publishing(t *testing.T, z *dnstest.Zone) (*testserver.Server, app.Domain) {
	t.Helper()
	w := testserver.New(t, testserver.NewRelayOf(relayurl.Relay{Region: "us-east-1", Host: "relay.test", Port: 587}, nil))
	w.Services.Domains.Resolver, w.Config.Resolver = z.Lookup, z.Lookup
	w.Services.Domains.OpenDNS = dnsprovider.New(z.Client())
	w.Config.OpenDNS = w.Services.Domains.OpenDNS
	w.Start()
	d := w.CreateDomain(app.DomainInput{Name: "acme.test", ClickTracking: true, TrackingSubdomain: "links"})
	return w, d
}

// at returns the input for a provider.
func at(provider string) domains.PublishInput {
	return domains.PublishInput{Credentials: dnsplan.Credentials{Provider: provider, Token: dnstest.Token}}
}

// publish plans and publishes.
func publish(t *testing.T, w *testserver.Server, id string, in domains.PublishInput) (domains.Publication, error) {
	t.Helper()
	p, err := w.Services.Domains.PlanDNS(t.Context(), w.Key, id, in)
	testserver.Must(t, err)
	return w.Services.Domains.PublishDNS(t.Context(), w.Key, id, in, p.Plan.ID())
}

// audited returns the rows of the audit log with an action, oldest first: before and after.
func audited(t *testing.T, w *testserver.Server, action string) []string {
	t.Helper()
	return w.SQL("SELECT coalesce(before, '') || ' -> ' || coalesce(after, '') FROM audit_logs WHERE action = ? ORDER BY id", action)
}

func TestPublishedDomainIsVerifiedWithinAMinute(t *testing.T) {
	testserver.BothEngines(t)
	for _, provider := range []string{dnsplan.Cloudflare, dnsplan.Hetzner} {
		t.Run(provider, func(t *testing.T) {
			testserver.Synctest(t, func(t *testing.T) {
				z := dnstest.NewZone("acme.test", "acme.test NS ns.test", "acme.test TXT v=spf1 -all", "send.acme.test TXT note", "_dmarc.acme.test TXT v=DMARC1; p=reject")
				theirs := z.Records()
				w, d := publishing(t, z)
				p, err := w.Services.Domains.PlanDNS(t.Context(), w.Key, d.ID, at(provider))
				testserver.Must(t, err)
				if got := z.Records(); !slices.Equal(got, theirs) || len(p.Plan.Changes) != 3 || len(p.Plan.Conflicts) != 0 || p.Plan.Unchanged != 1 {
					t.Fatalf("a plan of %+v; the zone has %q", p.Plan, got)
				}
				out, err := w.Services.Domains.PublishDNS(t.Context(), w.Key, d.ID, at(provider), p.Plan.ID())
				testserver.Must(t, err)
				if len(out.Written) != 3 {
					t.Errorf("written %+v", out.Written)
				}
				time.Sleep(time.Minute)
				synctest.Wait()
				wantStatus(w, d.ID, app.DomainVerified)
				got := z.Records()
				for _, r := range theirs {
					if !slices.Contains(got, r) {
						t.Errorf("%s is gone", r)
					}
				}
				for _, r := range []string{"send.acme.test TXT v=spf1 a:relay.test ~all", "links.acme.test CNAME mail.example.com"} {
					if !slices.Contains(got, r) {
						t.Errorf("no %s in %q", r, got)
					}
				}
				if again, err := publish(t, w, d.ID, at(provider)); err != nil || len(again.Written) != 0 || again.Plan.Unchanged != 4 {
					t.Errorf("published again: %+v, %v", again, err)
				}
				rows := audited(t, w, "domain.publish")
				if len(rows) != 3 || !strings.Contains(rows[2], ` -> {"domain":"acme.test","name":"links.acme.test","provider":"`+provider+`","type":"CNAME","value":"mail.example.com"}`) {
					t.Errorf("audited %q", rows)
				}
			})
		})
	}
}

// TestRecordsPublishedLaterAreFoundSoon publishes for a domain that has waited for its records for
// more than an hour, whose checks have become rare, and its zone shows them after 20 seconds.
func TestRecordsPublishedLaterAreFoundSoon(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		z := dnstest.NewZone("acme.test")
		w, d := publishing(t, z)
		hidden := dnstest.NewZone("acme.test")
		w.Services.Domains.Resolver = hidden.Lookup
		testserver.Must(t, w.Services.Domains.VerifyDomain(t.Context(), w.Key, d.ID))
		time.Sleep(2 * time.Hour)
		_, err := publish(t, w, d.ID, at(dnsplan.Cloudflare))
		testserver.Must(t, err)
		synctest.Wait()
		wantStatus(w, d.ID, app.DomainPending)
		for _, r := range z.Records() {
			hidden.Add(r)
		}
		testserver.SleepAndSettle(time.Minute + time.Second)
		wantStatus(w, d.ID, app.DomainVerified)
	})
}

func TestPublishingWritesNothingForConflicts(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		z := dnstest.NewZone("acme.test", "send.acme.test TXT v=spf1 redirect=other.test", "links.acme.test A 192.0.2.1")
		w, d := publishing(t, z)
		out, err := publish(t, w, d.ID, at(dnsplan.Cloudflare))
		testserver.Must(t, err)
		if len(out.Plan.Conflicts) != 2 || len(out.Written) != 2 {
			t.Errorf("conflicts %+v, written %+v", out.Plan.Conflicts, out.Written)
		}
		for _, r := range []string{"send.acme.test TXT v=spf1 redirect=other.test", "links.acme.test A 192.0.2.1"} {
			if !slices.Contains(z.Records(), r) {
				t.Errorf("%s is gone", r)
			}
		}
	})
}

func TestPublishingCompletesSPFWithinLookupLimit(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		z := dnstest.NewZone("acme.test", "send.acme.test TXT v=spf1 include:a.acme.test -all", "a.acme.test TXT v=spf1 "+strings.Repeat("a:host.acme.test ", 8)+"-all", "host.acme.test A 192.0.2.1", "relay.test A 192.0.2.2")
		w, d := publishing(t, z)
		p, err := w.Services.Domains.PlanDNS(t.Context(), w.Key, d.ID, at(dnsplan.Cloudflare))
		testserver.Must(t, err)
		if i := slices.IndexFunc(p.Plan.Changes, func(c dnsplan.Change) bool { return c.Completes }); i < 0 || p.Plan.Changes[i].After != "v=spf1 include:a.acme.test a:relay.test -all" {
			t.Errorf("10 lookups: %+v", p.Plan)
		}
		z.Add("acme.test TXT v=spf1 include:a.acme.test -all")
		_, err = w.Services.Domains.UpdateDomain(t.Context(), w.Key, d.ID, app.DomainPatch{})
		testserver.Must(t, err)
		tight := dnstest.NewZone("acme.test", "send.acme.test TXT v=spf1 a:host.acme.test include:a.acme.test -all", "a.acme.test TXT v=spf1 "+strings.Repeat("a:host.acme.test ", 8)+"-all", "host.acme.test A 192.0.2.1")
		w.Services.Domains.Resolver, w.Services.Domains.OpenDNS = tight.Lookup, dnsprovider.New(tight.Client())
		p, err = w.Services.Domains.PlanDNS(t.Context(), w.Key, d.ID, at(dnsplan.Cloudflare))
		testserver.Must(t, err)
		if len(p.Plan.Conflicts) != 1 || !strings.Contains(p.Plan.Conflicts[0].Reason, "more than 10 DNS look-ups") {
			t.Errorf("11 lookups: %+v", p.Plan)
		}
	})
}

// TestPublishingKeepsPolicyOfDomainAbove publishes for a subdomain, to which the policy of the domain
// above applies.
func TestPublishingKeepsPolicyOfDomainAbove(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		z := dnstest.NewZone("acme.test", "_dmarc.acme.test TXT v=DMARC1; p=reject")
		w, _ := publishing(t, z)
		d := w.CreateDomain(app.DomainInput{Name: "news.acme.test"})
		dmarc := func(p domains.Publication) (names []string) {
			for _, c := range p.Plan.Changes {
				if c.Record == app.RecordDMARC {
					names = append(names, c.Name)
				}
			}
			return names
		}
		p, err := w.Services.Domains.PlanDNS(t.Context(), w.Key, d.ID, at(dnsplan.Hetzner))
		testserver.Must(t, err)
		if got := dmarc(p); len(got) != 0 {
			t.Errorf("a record that overrides the policy: %q", got)
		}
		w.Services.Domains.Resolver = nil // then the provider's zone is read
		p, err = w.Services.Domains.PlanDNS(t.Context(), w.Key, d.ID, at(dnsplan.Hetzner))
		testserver.Must(t, err)
		if got := dmarc(p); len(got) != 0 {
			t.Errorf("without a resolver, a record that overrides the policy: %q", got)
		}
	})
}

func TestPartialPublicationIsReportedAndRemembered(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		z := dnstest.NewZone("acme.test")
		w, d := publishing(t, z)
		z.FailAfter(1)
		out, err := publish(t, w, d.ID, at(dnsplan.Hetzner))
		testserver.WantCode(t, err, app.CodeConflict)
		if len(out.Written) != 1 || err == nil || !strings.Contains(err.Error(), "Hetzner refused the record at send.acme.test (HTTP 422, code invalid_input). Written before that, and remembered: TXT mailer._domainkey.acme.test") {
			t.Errorf("written %+v, %v", out.Written, err)
		}
		if rows := audited(t, w, "domain.publish"); len(rows) != 1 {
			t.Errorf("audited %q", rows)
		}
		// The rest follows with the next attempt, and what was published is replaced later.
		z.FailAfter(-1)
		_, err = publish(t, w, d.ID, at(dnsplan.Hetzner))
		testserver.Must(t, err)
		_, err = w.Services.Domains.UpdateDomain(t.Context(), w.Key, d.ID, app.DomainPatch{TrackingSubdomain: app.Change[string]{Set: true, Value: "go"}})
		testserver.Must(t, err)
		out, err = publish(t, w, d.ID, at(dnsplan.Hetzner))
		testserver.Must(t, err)
		got := z.Records()
		if len(out.Written) != 2 || !slices.Contains(got, "go.acme.test CNAME mail.example.com") || slices.Contains(got, "links.acme.test CNAME mail.example.com") {
			t.Errorf("written %+v; the zone has %q", out.Written, got)
		}
		if rows := audited(t, w, "domain.publish"); !strings.HasSuffix(rows[4], `"value":"mail.example.com"} -> `) {
			t.Errorf("audited %q", rows)
		}
	})
}

func TestPublishingRefusals(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		z := dnstest.NewZone("acme.test")
		w, d := publishing(t, z)
		otherZone := w.CreateDomain(app.DomainInput{Name: "elsewhere.test"})
		other := w.AddTeam("Other", "other.test")
		with := func(change func(*domains.PublishInput)) domains.PublishInput {
			in := at(dnsplan.Cloudflare)
			change(&in)
			return in
		}
		for _, test := range []struct {
			name, id string
			key      *app.Key
			in       domains.PublishInput
			code     app.Code
			message  string
		}{
			{"another team", d.ID, other, at(dnsplan.Cloudflare), app.CodeNotFound, "domain"},
			{"wrong token", d.ID, w.Key, with(func(in *domains.PublishInput) { in.Credentials.Token = "wrong-token" }), app.CodeValidation, "Cloudflare does not accept the token"},
			{"no zone", otherZone.ID, w.Key, at(dnsplan.Cloudflare), app.CodeValidation, "has no zone that contains elsewhere.test"},
			{"unknown provider", d.ID, w.Key, at("route53"), app.CodeConflict, "there is no such provider"},
			{"no provider", d.ID, w.Key, domains.PublishInput{}, app.CodeValidation, "no token is remembered for acme.test"},
			{"token without provider", d.ID, w.Key, with(func(in *domains.PublishInput) { in.Credentials.Provider = "" }), app.CodeValidation, "`provider`"},
			{"no token", d.ID, w.Key, with(func(in *domains.PublishInput) { in.Credentials.Token = " " }), app.CodeValidation, "`token` is required"},
			{"two lines", d.ID, w.Key, with(func(in *domains.PublishInput) { in.Credentials.Token = "wrong-token\nX: y" }), app.CodeValidation, "`token` has a character"},
			{"long token", d.ID, w.Key, with(func(in *domains.PublishInput) { in.Credentials.Token = strings.Repeat("x", 5000) }), app.CodeValidation, "`token` must have"},
			{"no address", d.ID, w.Key, with(func(in *domains.PublishInput) { in.DMARCReports = "a@b.test!10m" }), app.CodeValidation, "`dmarc_reports`"},
			{"two addresses", d.ID, w.Key, with(func(in *domains.PublishInput) { in.DMARCReports = "a@b.test,c@d.test" }), app.CodeValidation, "`dmarc_reports`"},
		} {
			_, err := w.Services.Domains.PlanDNS(t.Context(), test.key, test.id, test.in)
			testserver.WantCode(t, err, test.code)
			if err != nil && (!strings.Contains(err.Error(), test.message) || strings.Contains(err.Error(), "wrong-token")) {
				t.Errorf("%s: %v", test.name, err)
			}
		}
		z.SetLimited(true)
		_, err := w.Services.Domains.PlanDNS(t.Context(), w.Key, d.ID, at(dnsplan.Hetzner))
		testserver.WantCode(t, err, app.CodeServiceUnavailable)
		z.SetLimited(false)
		p, err := w.Services.Domains.PlanDNS(t.Context(), w.Key, d.ID, at(dnsplan.Hetzner))
		testserver.Must(t, err)
		z.Add("send.acme.test TXT v=spf1 mx -all") // another plan is due now
		_, err = w.Services.Domains.PublishDNS(t.Context(), w.Key, d.ID, at(dnsplan.Hetzner), p.Plan.ID())
		testserver.WantCode(t, err, app.CodeConflict)
		if got := z.Records(); len(got) != 1 {
			t.Errorf("the zone has %q", got)
		}
	})
}

func TestRememberedDNSToken(t *testing.T) {
	testserver.BothEngines(t)
	testserver.Synctest(t, func(t *testing.T) {
		z := dnstest.NewZone("acme.test")
		w, d := publishing(t, z)
		in := at(dnsplan.Cloudflare)
		_, err := publish(t, w, d.ID, in)
		testserver.Must(t, err)
		if got := w.Domain(d.ID).DNS; got.Provider != "" {
			t.Errorf("remembered without a request: %+v", got)
		}
		in.Remember = true
		_, err = publish(t, w, d.ID, in)
		testserver.Must(t, err)
		if got := w.Domain(d.ID).DNS; got.Provider != dnsplan.Cloudflare || got.Since.IsZero() {
			t.Errorf("remembered: %+v", got)
		}
		if rows := w.SQL("SELECT sealed FROM dns_credentials"); len(rows) != 1 || strings.Contains(rows[0], dnstest.Token) {
			t.Errorf("stored: %q", rows)
		}
		p, err := publish(t, w, d.ID, domains.PublishInput{})
		testserver.Must(t, err)
		if p.Provider != dnsplan.Cloudflare || p.Plan.Unchanged != 4 {
			t.Errorf("with the remembered token: %+v", p)
		}
		testserver.WantCode(t, w.Services.Domains.ForgetDNS(t.Context(), w.AddTeam("Other", "other.test"), d.ID), app.CodeNotFound)
		testserver.Must(t, w.Services.Domains.ForgetDNS(t.Context(), w.Key, d.ID))
		testserver.WantCode(t, w.Services.Domains.ForgetDNS(t.Context(), w.Key, d.ID), app.CodeNotFound)
		if got := w.Domain(d.ID).DNS; got.Provider != "" {
			t.Errorf("forgotten: %+v", got)
		}
		_, err = publish(t, w, d.ID, in)
		testserver.Must(t, err)
		testserver.Must(t, w.Services.Domains.DeleteDomain(t.Context(), w.Key, d.ID))
		if rows := w.SQL("SELECT domain_id FROM dns_credentials UNION ALL SELECT domain_id FROM dns_published"); len(rows) != 0 {
			t.Errorf("of a deleted domain: %q", rows)
		}
		for _, row := range w.SQL("SELECT coalesce(before, '') || coalesce(after, '') FROM audit_logs") {
			if strings.Contains(row, dnstest.Token) {
				t.Errorf("the audit log has the token: %s", row)
			}
		}
	})
}

// TestPublishingOnNameServer uses a name server that takes updates, as the operator does.
func TestPublishingOnNameServer(t *testing.T) {
	z := dnstest.NewZone("test", "send.acme.test TXT v=spf1 mx -all", "send.acme.test MX 5 relay.test", "_dmarc.acme.test TXT v=DMARC1; p=reject", "relay.test A 192.0.2.1")
	w, d := publishing(t, z)
	address := z.Serve(t)
	w.Services.Domains.Resolver = resolver.New(address).Lookup
	in := domains.PublishInput{Credentials: dnsplan.Credentials{Provider: dnsplan.RFC2136, Token: dnstest.Key, Server: address}, DMARCReports: "reports@acme.test"}
	p, err := w.Services.Domains.PlanDNS(t.Context(), w.Key, d.ID, in)
	testserver.Must(t, err)
	out, err := w.Services.Domains.PublishAndCheck(t.Context(), w.Key.TeamID, d.ID, in, p.Plan.ID())
	testserver.Must(t, err)
	want := []string{"_dmarc.acme.test TXT v=DMARC1; p=reject; rua=mailto:reports@acme.test", "links.acme.test CNAME mail.example.com",
		"mailer._domainkey.acme.test TXT v=DKIM1; k=rsa; p=" + d.Keys[0].Public, "relay.test A 192.0.2.1", "send.acme.test MX 5 relay.test", "send.acme.test TXT v=spf1 mx a:relay.test -all"}
	if got := z.Records(); !slices.Equal(got, want) || len(out.Written) != 4 || out.Domain.Status != app.DomainVerified {
		t.Errorf("%s, with\n%s\nwant\n%s", out.Domain.Status, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
