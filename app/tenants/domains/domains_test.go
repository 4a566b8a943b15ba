package domains_test

import (
	"context"
	"crypto/rsa"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"mailer/app"
	"mailer/app/rules/relayurl"
	"mailer/app/rules/tracking"
	"mailer/app/server"
	"mailer/app/tenants/domains"
	"mailer/app/testing/apptest"
	"mailer/app/testing/testserver"
)

func TestDomainVerificationLifecycle(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		dns := testserver.NewDNS()
		w := testserver.StartWithDNS(t, dns, testserver.NewRelay(nil))
		d := w.CreateDomain(app.DomainInput{Name: "acme.test"})
		wantStatus(w, d.ID, app.DomainNotStarted)
		time.Sleep(2 * app.RecheckEvery)
		if dns.Questions("") != 0 {
			t.Error("a domain is checked that nobody wanted verified")
		}
		testserver.Must(t, w.Services.Domains.VerifyDomain(t.Context(), w.Key, d.ID))
		wantStatus(w, d.ID, app.DomainPending)
		synctest.Wait()
		wantStatus(w, d.ID, app.DomainPending)
		dns.Publish(w.Services.Domains.DomainRecords(&d), "DKIM")
		time.Sleep(app.RecheckEvery + time.Minute)
		wantStatus(w, d.ID, app.DomainPending)
		dns.Publish(w.Services.Domains.DomainRecords(&d), "SPF")
		time.Sleep(app.RecheckEvery + time.Minute)
		wantStatus(w, d.ID, app.DomainVerified)
		dns.SetDown(true)
		time.Sleep(2 * app.RecheckEvery)
		wantStatus(w, d.ID, app.DomainVerified) // a timeout is no missing record
		dns.SetDown(false)
		dns.Unpublish("TXT send.acme.test")
		time.Sleep(app.RecheckEvery + time.Minute)
		wantStatus(w, d.ID, app.DomainPending)
		stopFor(w, app.GiveUpVerifying-2*app.RecheckEvery) // a round sees the loss immediately, or up to RecheckEvery later
		wantStatus(w, d.ID, app.DomainPending)
		time.Sleep(4 * app.RecheckEvery)
		wantStatus(w, d.ID, app.DomainFailed)
		asked := dns.Questions("")
		time.Sleep(2 * app.RecheckEvery)
		if dns.Questions("") != asked {
			t.Error("a failed domain is checked on its own")
		}
		dns.Publish(w.Services.Domains.DomainRecords(&d))
		testserver.Must(t, w.Services.Domains.VerifyDomain(t.Context(), w.Key, d.ID))
		synctest.Wait()
		wantStatus(w, d.ID, app.DomainVerified)
		want := []string{"domain.created not_started", "domain.updated pending", "domain.updated verified", "domain.updated pending",
			"domain.updated failed", "domain.updated pending", "domain.updated verified"}
		if got := statuses(w); !slices.Equal(got, want) {
			t.Errorf("webhooks heard %q", got)
		}
	})
}

func TestVerifyRevokesLostVerification(t *testing.T) {
	testserver.BothEngines(t)
	testserver.Synctest(t, func(t *testing.T) {
		dns := testserver.NewDNS()
		w := testserver.StartWithDNS(t, dns, testserver.NewRelay(nil))
		d := w.CreateDomain(app.DomainInput{Name: "acme.test"})
		dns.Publish(w.Services.Domains.DomainRecords(&d))
		testserver.Must(t, w.Services.Domains.VerifyDomain(t.Context(), w.Key, d.ID))
		synctest.Wait()
		wantStatus(w, d.ID, app.DomainVerified)
		dns.Unpublish("TXT mailer._domainkey.acme.test")
		testserver.Must(t, w.Services.Domains.VerifyDomain(t.Context(), w.Key, d.ID))
		synctest.Wait()
		wantStatus(w, d.ID, app.DomainPending)
		testserver.WantCode(t, w.Services.Domains.VerifyDomain(t.Context(), w.Key, app.NewID()), app.CodeNotFound)
	})
}

func TestTrustedDomainStaysVerified(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.StartWithDNS(t, testserver.NewDNS(), testserver.NewRelay(nil))
		d := w.CreateDomain(app.DomainInput{Name: "acme.test", Trusted: true})
		testserver.Must(t, w.Services.Domains.VerifyDomain(t.Context(), w.Key, d.ID))
		time.Sleep(2 * app.RecheckEvery)
		stopFor(w, 100*time.Hour)
		wantStatus(w, d.ID, app.DomainVerified)
		if records := w.Services.Domains.DomainRecords(new(w.Domain(d.ID))); records[0].Live != app.LiveMissing {
			t.Errorf("it was not looked at: %+v", records[0])
		}
	})
}

func TestStartChecksOverdueDomains(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		dns := testserver.NewDNS()
		w := testserver.StartWithDNS(t, dns, testserver.NewRelay(nil))
		d := w.CreateDomain(app.DomainInput{Name: "acme.test"})
		testserver.Must(t, w.Services.Domains.VerifyDomain(t.Context(), w.Key, d.ID))
		synctest.Wait()
		w.Stop()
		time.Sleep(time.Hour)
		dns.Publish(w.Services.Domains.DomainRecords(&d))
		w.Relays = []*testserver.FakeRelay{testserver.NewRelay(nil)}
		w.Open()
		w.Start()
		synctest.Wait()
		wantStatus(w, d.ID, app.DomainVerified)
	})
}

func TestChecksOfOneDomainDontOverlap(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		dns := testserver.NewDNS()
		dns.Block = make(chan struct{})
		w := testserver.StartWithDNS(t, dns, testserver.NewRelay(nil))
		d := w.CreateDomain(app.DomainInput{Name: "acme.test"})
		for range 5 {
			testserver.Must(t, w.Services.Domains.VerifyDomain(t.Context(), w.Key, d.ID))
			synctest.Wait()
		}
		close(dns.Block)
		synctest.Wait()
		// The running check, and one more for all requests that came meanwhile.
		if n := dns.Questions("TXT mailer._domainkey.acme.test"); n != 2 {
			t.Errorf("asked %d times", n)
		}
	})
}

func TestVerifyDuringCheckRunsAgain(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		dns := testserver.NewDNS()
		w := testserver.New(t, testserver.NewRelay(nil))
		answered := make(chan struct{})
		w.Services.Domains.Resolver = func(ctx context.Context, name string, kind app.DNSType) (app.DNSAnswer, error) {
			answer, err := dns.Lookup(ctx, name, kind)
			<-answered // records published from here on are not in the answer
			return answer, err
		}
		w.Start()
		d := w.CreateDomain(app.DomainInput{Name: "acme.test"})
		testserver.Must(t, w.Services.Domains.VerifyDomain(t.Context(), w.Key, d.ID))
		synctest.Wait()
		dns.Publish(w.Services.Domains.DomainRecords(&d))
		testserver.Must(t, w.Services.Domains.VerifyDomain(t.Context(), w.Key, d.ID))
		close(answered)
		synctest.Wait()
		wantStatus(w, d.ID, app.DomainVerified)
	})
}

func TestShutdownEndsRunningCheck(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		dns := testserver.NewDNS()
		dns.Block = make(chan struct{}) // never opened
		w := testserver.StartWithDNS(t, dns, testserver.NewRelay(nil))
		d := w.CreateDomain(app.DomainInput{Name: "acme.test"})
		testserver.Must(t, w.Services.Domains.VerifyDomain(t.Context(), w.Key, d.ID))
		synctest.Wait()
		began := time.Now()
		w.Stop()
		if took := time.Since(began); took > time.Second {
			t.Errorf("took %v", took)
		}
	})
}

func TestUnverifiedDomainErrorNamesMissingRecords(t *testing.T) {
	testserver.BothEngines(t)
	testserver.Synctest(t, func(t *testing.T) {
		dns := testserver.NewDNS()
		w := testserver.StartWithDNS(t, dns, testserver.NewRelay(nil))
		d := w.CreateDomain(app.DomainInput{Name: "acme.test"})
		wants := func(text ...string) {
			t.Helper()
			_, err := w.SendFrom("acme.test")
			testserver.WantCode(t, err, app.CodeValidation)
			for _, part := range text {
				if err == nil || !strings.Contains(err.Error(), part) {
					t.Errorf("no %q in %v", part, err)
				}
			}
		}
		wants("`from` uses the domain acme.test", "not_started", "TXT mailer._domainkey.acme.test", "TXT send.acme.test", "`mailer domains verify acme.test`", "/domains/"+d.ID+"/verify")
		dns.Publish(w.Services.Domains.DomainRecords(&d), "DKIM")
		testserver.Must(t, w.Services.Domains.VerifyDomain(t.Context(), w.Key, d.ID))
		synctest.Wait()
		wants("pending", "SPF record TXT send.acme.test is missing")
		if _, err := w.SendFrom("acme.test"); strings.Contains(err.Error(), "_domainkey") {
			t.Errorf("it names a record that is there: %v", err)
		}
		dns.Publish(w.Services.Domains.DomainRecords(&d))
		testserver.Must(t, w.Services.Domains.VerifyDomain(t.Context(), w.Key, d.ID))
		synctest.Wait()
		id, err := w.SendFrom("acme.test")
		testserver.Must(t, err)
		synctest.Wait()
		w.WantLastEvent(id, app.Sent)
	})
}

func TestDKIMKeyPerDomainAndRotation(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		dns := testserver.NewDNS()
		relay := testserver.NewRelay(testserver.InOrder(testserver.ReplyWith(app.StageDot, 451, "later")))
		w := testserver.StartWithDNS(t, dns, relay)
		signer := func(id string) string {
			t.Helper()
			tries := relay.Transactions(id)
			if len(tries) == 0 { // SQLite waits for locks by the clock, which stood still
				time.Sleep(100 * time.Millisecond)
				synctest.Wait()
				tries = relay.Transactions(id)
			}
			if len(tries) == 0 || tries[len(tries)-1].Message.DKIM == nil {
				t.Fatalf("%s: %d tries, or no key", id, len(tries))
			}
			k := tries[len(tries)-1].Message.DKIM
			return k.Selector + "._domainkey." + k.Domain
		}
		a, b := w.CreateDomain(app.DomainInput{Name: "a.test"}), w.CreateDomain(app.DomainInput{Name: "b.test"})
		if a.Keys[0].Public == b.Keys[0].Public {
			t.Error("two domains have one key")
		}
		for _, d := range []app.Domain{a, b} {
			dns.Publish(w.Services.Domains.DomainRecords(&d))
			testserver.Must(t, w.Services.Domains.VerifyDomain(t.Context(), w.Key, d.ID))
		}
		synctest.Wait()
		fromA, err := w.SendFrom("a.test")
		testserver.Must(t, err)
		fromB, err := w.SendFrom("b.test")
		testserver.Must(t, err)
		synctest.Wait()
		if signer(fromA) != "mailer._domainkey.a.test" || signer(fromB) != "mailer._domainkey.b.test" {
			t.Errorf("signed with %s and %s", signer(fromA), signer(fromB))
		}
		rotated, err := w.Services.Domains.RotateDKIM(t.Context(), w.Key.TeamID, "A.test")
		testserver.Must(t, err)
		again, err := w.Services.Domains.RotateDKIM(t.Context(), w.Key.TeamID, "a.test") // returns the existing next key
		testserver.Must(t, err)
		if len(rotated.Keys) != 2 || len(again.Keys) != 2 {
			t.Fatalf("keys %+v, then %+v", rotated.Keys, again.Keys)
		}
		time.Sleep(2*time.Minute + time.Second) // not at the same time as the cron jobs
		second, err := w.SendFrom("a.test")
		testserver.Must(t, err)
		synctest.Wait()
		if signer(second) != "mailer._domainkey.a.test" {
			t.Errorf("it signs with %s before the record is there", signer(second))
		}
		time.Sleep(app.RecheckEvery)
		events := len(statuses(w))
		_, err = w.SendFrom("a.test")
		testserver.Must(t, err)
		synctest.Wait()
		dns.Publish(w.Services.Domains.DomainRecords(&rotated))
		testserver.Must(t, w.Services.Domains.VerifyDomain(t.Context(), w.Key, a.ID))
		synctest.Wait()
		third, err := w.SendFrom("a.test") // immediately: an opened key must not stay cached
		testserver.Must(t, err)
		synctest.Wait()
		if signer(third) != "mailer2._domainkey.a.test" {
			t.Errorf("it still signs with %s", signer(third))
		}
		if got := statuses(w)[events:]; !slices.Equal(got, []string{"domain.updated verified"}) {
			t.Errorf("webhooks heard %q of the change of keys", got)
		}
		if got := signer(fromA); relay.Transactions(fromA)[1].Message.Signature == "" {
			t.Errorf("the second try of old mail has lost its signature and is signed with %s", got)
		}
		w.WantLastEvent(fromA, app.Sent)
		wantStatus(w, a.ID, app.DomainVerified)
		names := func() (out []string) {
			for _, r := range w.Services.Domains.DomainRecords(new(w.Domain(a.ID))) {
				if r.Record == "DKIM" {
					out = append(out, r.Name)
				}
			}
			return out
		}
		if got := names(); !slices.Equal(got, []string{"mailer2._domainkey.a.test", "mailer._domainkey.a.test"}) {
			t.Errorf("listed after the change: %q", got)
		}
		asked := dns.Questions("TXT mailer._domainkey.a.test")
		w.SQL("UPDATE dkim_keys SET retired_at = retired_at - ?", app.DKIMRetention.Milliseconds())
		if got := names(); !slices.Equal(got, []string{"mailer2._domainkey.a.test"}) {
			t.Errorf("listed a week later: %q", got)
		}
		testserver.Must(t, w.Services.Domains.VerifyDomain(t.Context(), w.Key, a.ID))
		synctest.Wait()
		if got := len(w.Domain(a.ID).Keys); got != 1 || dns.Questions("TXT mailer._domainkey.a.test") != asked {
			t.Errorf("%d keys are kept, or the DNS is asked about one that nobody needs", got)
		}
	})
}

func TestMailOfDeletedDomainFails(t *testing.T) {
	testserver.BothEngines(t)
	testserver.Synctest(t, func(t *testing.T) {
		relay := testserver.NewRelay(testserver.InOrder(testserver.ReplyWith(app.StageDot, 451, "later")))
		w := testserver.Start(t, relay)
		d := w.CreateDomain(app.DomainInput{Name: "acme.test", Trusted: true})
		token, _, err := w.Services.Teams.CreateKey(t.Context(), w.Key.TeamID, app.KeyInput{Name: "k", Permission: app.SendingAccess, Role: app.RoleOwner, Domain: "acme.test"})
		testserver.Must(t, err)
		_, err = w.Services.Teams.Authenticate(t.Context(), token)
		testserver.Must(t, err)
		id, err := w.SendFrom("acme.test")
		testserver.Must(t, err)
		synctest.Wait()
		testserver.Must(t, w.Services.Domains.DeleteDomain(t.Context(), w.Key, d.ID))
		_, err = w.Services.Teams.Authenticate(t.Context(), token)
		testserver.WantCode(t, err, app.CodeInvalidAPIKey)
		testserver.WantCode(t, w.Services.Domains.DeleteDomain(t.Context(), w.Key, d.ID), app.CodeNotFound)
		_, err = w.SendFrom("acme.test")
		testserver.WantCode(t, err, app.CodeValidation)
		w.RetryNow(id) // immediately: the key of the domain must not stay cached
		time.Sleep(2 * time.Second)
		if n := len(relay.Transactions(id)); n != 1 {
			t.Errorf("%d tries", n)
		}
		w.WantLastEvent(id, app.Failed)
		if w.Unit(id) != nil {
			t.Error("it is still open")
		}
		if text := w.OnlyEvent(id, app.EventType(app.Failed)).Detail.Message; !strings.Contains(text, "the domain acme.test is no longer one of this team's") {
			t.Errorf("event says %q", text)
		}
		// Added again, the domain has another key and sends immediately.
		relay.SetScript(nil)
		w.CreateDomain(app.DomainInput{Name: "acme.test", Trusted: true})
		id, err = w.SendFrom("acme.test")
		testserver.Must(t, err)
		synctest.Wait()
		w.WantLastEvent(id, app.Sent)
		if got := statuses(w); !slices.Equal(got, []string{"domain.created verified", "domain.deleted verified", "domain.created verified"}) {
			t.Errorf("webhooks heard %q", got)
		}
	})
}

func TestUpdateDomainChecksNewTrackingHost(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		dns := testserver.NewDNS()
		w := testserver.StartWithDNS(t, dns, testserver.NewRelay(nil))
		d := w.CreateDomain(app.DomainInput{Name: "acme.test"})
		dns.Publish(w.Services.Domains.DomainRecords(&d))
		testserver.Must(t, w.Services.Domains.VerifyDomain(t.Context(), w.Key, d.ID))
		synctest.Wait()
		events := len(statuses(w))
		on := true
		links := app.DomainPatch{ClickTracking: &on, TrackingSubdomain: app.Change[string]{Set: true, Value: "links"}}
		changed, err := w.Services.Domains.UpdateDomain(t.Context(), w.Key, d.ID, links)
		testserver.Must(t, err)
		_, err = w.Services.Domains.UpdateDomain(t.Context(), w.Key, d.ID, links) // no change
		testserver.Must(t, err)
		if !changed.ClickTracking || changed.OpenTracking || changed.TrackingSubdomain != "links" {
			t.Errorf("changed to %+v", changed)
		}
		synctest.Wait()
		tracking := func() app.DNSRecord {
			records := w.Services.Domains.DomainRecords(new(w.Domain(d.ID)))
			return records[len(records)-1]
		}
		if r := tracking(); r.Type != "CNAME" || r.Name != "links.acme.test" || r.Value != "mail.example.com" || r.Live != app.LiveMissing || r.Required {
			t.Errorf("record %+v", r)
		}
		dns.Publish([]app.DNSRecord{tracking()})
		time.Sleep(app.RecheckEvery + time.Minute)
		if r := tracking(); r.Live != app.LiveFound {
			t.Errorf("record %+v", r)
		}
		_, err = w.Services.Domains.UpdateDomain(t.Context(), w.Key, d.ID, app.DomainPatch{TrackingSubdomain: app.Change[string]{Set: true, Null: true}})
		testserver.Must(t, err)
		if r := tracking(); r.Type == "CNAME" || w.Domain(d.ID).TrackingSubdomain != "" || !w.Domain(d.ID).ClickTracking {
			t.Errorf("cleared: %+v", w.Domain(d.ID))
		}
		if got := len(statuses(w)) - events; got != 2 {
			t.Errorf("webhooks heard of %d changes", got)
		}
		_, err = w.Services.Domains.UpdateDomain(t.Context(), w.Key, d.ID, app.DomainPatch{TrackingSubdomain: app.Change[string]{Set: true, Value: "send"}})
		testserver.WantCode(t, err, app.CodeValidation)
		_, err = w.Services.Domains.UpdateDomain(t.Context(), w.AddTeam("Other", "other.test"), d.ID, links)
		testserver.WantCode(t, err, app.CodeNotFound)
	})
}

func TestTrustedDomainsTrackingHostIsChecked(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		dns := testserver.NewDNS()
		w := testserver.StartWithDNS(t, dns, testserver.NewRelay(nil))
		d := w.CreateDomain(app.DomainInput{Name: "acme.test", Trusted: true, ClickTracking: true})
		dns.Publish([]app.DNSRecord{{Type: "CNAME", Name: "links.acme.test", Value: "mail.example.com"}})
		_, err := w.Services.Domains.UpdateDomain(t.Context(), w.Key, d.ID, app.DomainPatch{TrackingSubdomain: app.Change[string]{Set: true, Value: "links"}})
		testserver.Must(t, err)
		synctest.Wait()
		if got := tracking.ForDomain(new(w.Domain(d.ID)), "https://mail.example.com"); got == nil || got.Base != "https://links.acme.test" {
			t.Errorf("tracked at %+v", got)
		}
	})
}

func TestRegionsAndRecordsFollowRelays(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.New(t)
		d := w.CreateDomain(app.DomainInput{Name: "early.test", Region: "anywhere"})
		if got := w.Services.Domains.Regions(); got != nil {
			t.Errorf("regions %q before any server", got)
		}
		if spf := spfOf(w.Services.Domains.DomainRecords(&d)); spf != "v=spf1 ~all" {
			t.Errorf("SPF %q before any server", spf)
		}
		w.Stop()
		w.Relays = []*testserver.FakeRelay{
			testserver.NewRelayOf(relayurl.Relay{Region: "eu-west-1", Host: "relay.test", Port: 587}, nil),
			testserver.NewRelayOf(relayurl.Relay{Region: "us-east-1", Host: "email-smtp.us-east-1.amazonaws.com", Port: 587, Profile: relayurl.ProfileSES}, nil),
		}
		w.Open()
		w.Start()
		cfg := w.Config
		cfg.Routes, cfg.BaseURL = nil, ""
		command, err := server.New(t.Context(), cfg)
		testserver.Must(t, err)
		for _, e := range []*server.Server{w.Services, command} {
			if got := e.Domains.Regions(); !slices.Equal(got, []string{"eu-west-1", "us-east-1"}) {
				t.Errorf("regions %q", got)
			}
			if spf := spfOf(e.Domains.DomainRecords(&app.Domain{Name: "x.test", Region: "us-east-1"})); spf != "v=spf1 include:amazonses.com ~all" {
				t.Errorf("SPF by the second relay: %q", spf)
			}
			if spf := spfOf(e.Domains.DomainRecords(&d)); spf != "v=spf1 ~all" {
				t.Errorf("SPF of a region that has no relay: %q", spf)
			}
			if spf := spfOf(e.Domains.DomainRecords(&app.Domain{Name: "x.test", Region: app.CaptureRegion})); spf != "v=spf1 a:relay.test ~all" {
				t.Errorf("SPF by the default relay: %q", spf)
			}
			if _, target := e.Domains.RecordInputs(&d); target != "mail.example.com" {
				t.Errorf("tracking hosts point to %q", target)
			}
			_, err := e.Domains.AddDomain(t.Context(), w.Key.TeamID, app.DomainInput{Name: "new.test", Region: "sa-east-1"})
			testserver.WantCode(t, err, app.CodeValidation)
			if err == nil || !strings.Contains(err.Error(), "`region` must be one of eu-west-1, us-east-1") {
				t.Errorf("error %v", err)
			}
		}
		if d := w.CreateDomain(app.DomainInput{Name: "new.test"}); d.Region != "eu-west-1" {
			t.Errorf("region %q", d.Region)
		}
	})
}

func spfOf(records []app.DNSRecord) string {
	i := slices.IndexFunc(records, func(r app.DNSRecord) bool { return r.Record == app.RecordSPF && r.Type == "TXT" })
	return records[i].Value
}

func TestTwoTeamsMayAddTheSameDomain(t *testing.T) {
	testserver.BothEngines(t)
	w := testserver.New(t, testserver.NewRelay(nil))
	other := w.AddTeam("Other", "other.test")
	d := w.CreateDomain(app.DomainInput{Name: "acme.test"})
	theirs, err := w.Services.Domains.AddDomain(t.Context(), other.TeamID, app.DomainInput{Name: "acme.test"})
	testserver.Must(t, err)
	if theirs.Keys[0].Public == d.Keys[0].Public {
		t.Error("two teams share a key")
	}
	_, err = w.Services.Domains.GetDomain(t.Context(), other, d.ID)
	testserver.WantCode(t, err, app.CodeNotFound)
	testserver.WantCode(t, w.Services.Domains.VerifyDomain(t.Context(), other, d.ID), app.CodeNotFound)
	testserver.WantCode(t, w.Services.Domains.DeleteDomain(t.Context(), other, d.ID), app.CodeNotFound)
	_, err = w.Services.Domains.CheckDomain(t.Context(), other.TeamID, testserver.TestDomain)
	testserver.WantCode(t, err, app.CodeNotFound)
	_, err = w.Services.Domains.RotateDKIM(t.Context(), other.TeamID, testserver.TestDomain)
	testserver.WantCode(t, err, app.CodeNotFound)
}

func TestKeyGenerationDelaysNoOtherDomain(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.New(t, testserver.NewRelay(nil))
		w.AddDomain(w.Key.TeamID, "registered.example", "default", app.DomainVerified)
		w.Services.Domains.Settings.Capture = true
		blocked := make(chan struct{})
		w.Services.Domains.SetThrowaway(func() (*rsa.PrivateKey, error) {
			<-blocked
			return apptest.RSAKey(0), nil
		})
		var slow sync.WaitGroup
		slow.Go(func() {
			if key, err := w.Services.Domains.DKIMKey(t.Context(), w.Key.TeamID, "stranger.example"); err != nil || key == nil {
				t.Errorf("a key of capture mode: %v, %v", key, err)
			}
		})
		synctest.Wait() // the first key is being made
		key, err := w.Services.Domains.DKIMKey(t.Context(), w.Key.TeamID, "registered.example")
		testserver.Must(t, err)
		if key == nil || key.Domain != "registered.example" {
			t.Errorf("meanwhile: %+v", key)
		}
		close(blocked)
		slow.Wait()
	})
}

func TestAdminCantDeleteDomainOfOwnersKey(t *testing.T) {
	w := testserver.New(t)
	d := w.CreateDomain(app.DomainInput{Name: "acme.test", Trusted: true})
	bind := func(name string, role app.Role) string {
		t.Helper()
		token, _, err := w.Services.Teams.CreateKey(t.Context(), w.Key.TeamID, app.KeyInput{Name: name, Permission: app.SendingAccess, Role: role, Domain: "acme.test"})
		testserver.Must(t, err)
		return token
	}
	admin := &app.Key{ID: app.NewID(), TeamID: w.Key.TeamID, Permission: app.FullAccess, Role: app.RoleAdmin}
	bind("an admin's", app.RoleAdmin)
	token := bind("the shop", app.RoleOwner)
	err := w.Services.Domains.DeleteDomain(t.Context(), admin, d.ID)
	testserver.WantCode(t, err, app.CodeConflict)
	if err == nil || !strings.Contains(err.Error(), `"the shop"`) {
		t.Errorf("the refusal does not name the key: %v", err)
	}
	_, err = w.Services.Teams.Authenticate(t.Context(), token)
	testserver.Must(t, err)
	other := w.AddTeam("Other", "other.example")
	testserver.WantCode(t, w.Services.Domains.DeleteDomain(t.Context(), other, d.ID), app.CodeNotFound)
	testserver.Must(t, w.Services.Domains.DeleteDomain(t.Context(), w.Key, d.ID)) // an owner may
	_, err = w.Services.Teams.Authenticate(t.Context(), token)
	testserver.WantCode(t, err, app.CodeInvalidAPIKey)
	d = w.CreateDomain(app.DomainInput{Name: "acme.test", Trusted: true})
	bind("an admin's", app.RoleAdmin)
	testserver.Must(t, w.Services.Domains.DeleteDomain(t.Context(), admin, d.ID)) // an admin may delete keys of admins
}

func TestKeyGenerationIsFairBetweenTeams(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.New(t)
		other := w.AddTeam("Other", "other.example")
		testserver.Must(t, w.Services.Domains.KeySlots().Acquire(t.Context(), w.Key.TeamID, 1)) // a key is being made
		var adding sync.WaitGroup
		var refused, added, before atomic.Int64
		for i := range domains.MaxKeysWaiting + 4 {
			adding.Go(func() {
				_, err := w.Services.Domains.AddDomain(t.Context(), w.Key.TeamID, app.DomainInput{Name: fmt.Sprintf("d%d.test", i)})
				switch {
				case err == nil:
					added.Add(1)
				case app.CodeOf(err) == app.CodeRateLimitExceeded:
					refused.Add(1)
				default:
					t.Error(err)
				}
			})
		}
		adding.Go(func() {
			_, err := w.Services.Domains.AddDomain(t.Context(), other.TeamID, app.DomainInput{Name: "theirs.test"})
			before.Store(added.Load())
			if err != nil {
				t.Error(err)
			}
		})
		synctest.Wait() // until all other callers wait
		w.Services.Domains.KeySlots().Release(w.Key.TeamID, 1)
		adding.Wait()
		if n := before.Load(); n > 3 {
			t.Errorf("%d domains of the crowd came before it", n)
		}
		if refused.Load() != 4 || added.Load() != domains.MaxKeysWaiting {
			t.Errorf("%d were added, %d refused", added.Load(), refused.Load())
		}
	})
}
