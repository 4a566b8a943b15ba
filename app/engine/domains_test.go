package engine

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mailer/app"
	"mailer/app/relays"
	"mailer/app/tracking"
)

func TestADomainGoesTheWholeWay(t *testing.T) {
	bubble(t, func(t *testing.T) {
		dns := newDNS()
		w := resolving(t, dns, newRelay(nil))
		d := w.add(app.DomainInput{Name: "acme.test"})
		w.wantStatus(d.ID, app.DomainNotStarted)
		time.Sleep(2 * app.RecheckEvery)
		if dns.questions("") != 0 {
			t.Error("a domain is checked that nobody wanted verified")
		}
		must(t, w.e.VerifyDomain(t.Context(), w.key, d.ID))
		w.wantStatus(d.ID, app.DomainPending)
		synctest.Wait()
		w.wantStatus(d.ID, app.DomainPending)
		dns.publish(w.e.DomainRecords(&d), "DKIM")
		time.Sleep(app.RecheckEvery + time.Minute)
		w.wantStatus(d.ID, app.DomainPending)
		dns.publish(w.e.DomainRecords(&d), "SPF")
		time.Sleep(app.RecheckEvery + time.Minute)
		w.wantStatus(d.ID, app.DomainVerified)
		dns.silent(true)
		time.Sleep(2 * app.RecheckEvery)
		w.wantStatus(d.ID, app.DomainVerified) // silence proves nothing
		dns.silent(false)
		dns.remove("TXT send.acme.test")
		time.Sleep(app.RecheckEvery + time.Minute)
		w.wantStatus(d.ID, app.DomainPending)
		w.away(app.GiveUpVerifying - app.RecheckEvery)
		w.wantStatus(d.ID, app.DomainPending)
		time.Sleep(2 * app.RecheckEvery)
		w.wantStatus(d.ID, app.DomainFailed)
		asked := dns.questions("")
		time.Sleep(2 * app.RecheckEvery)
		if dns.questions("") != asked {
			t.Error("a failed domain is checked on its own")
		}
		dns.publish(w.e.DomainRecords(&d))
		must(t, w.e.VerifyDomain(t.Context(), w.key, d.ID))
		synctest.Wait()
		w.wantStatus(d.ID, app.DomainVerified)
		want := []string{"domain.created not_started", "domain.updated pending", "domain.updated verified", "domain.updated pending",
			"domain.updated failed", "domain.updated pending", "domain.updated verified"}
		if got := w.statuses(); !slices.Equal(got, want) {
			t.Errorf("webhooks heard %q", got)
		}
	})
}

func TestVerifyTakesALostVerificationAwayAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		dns := newDNS()
		w := resolving(t, dns, newRelay(nil))
		d := w.add(app.DomainInput{Name: "acme.test"})
		dns.publish(w.e.DomainRecords(&d))
		must(t, w.e.VerifyDomain(t.Context(), w.key, d.ID))
		synctest.Wait()
		w.wantStatus(d.ID, app.DomainVerified)
		dns.remove("TXT mailer._domainkey.acme.test")
		must(t, w.e.VerifyDomain(t.Context(), w.key, d.ID))
		synctest.Wait()
		w.wantStatus(d.ID, app.DomainPending)
		wantCode(t, w.e.VerifyDomain(t.Context(), w.key, app.NewID()), app.CodeNotFound)
	})
}

func TestATrustedDomainStaysVerified(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := resolving(t, newDNS(), newRelay(nil))
		d := w.add(app.DomainInput{Name: "acme.test", Trusted: true})
		must(t, w.e.VerifyDomain(t.Context(), w.key, d.ID))
		time.Sleep(2 * app.RecheckEvery)
		w.away(100 * time.Hour)
		w.wantStatus(d.ID, app.DomainVerified)
		if records := w.e.DomainRecords(new(w.domain(d.ID))); records[0].Live != app.LiveMissing {
			t.Errorf("it was not looked at: %+v", records[0])
		}
	})
}

func TestAStartChecksWhatFellDueMeanwhile(t *testing.T) {
	bubble(t, func(t *testing.T) {
		dns := newDNS()
		w := resolving(t, dns, newRelay(nil))
		d := w.add(app.DomainInput{Name: "acme.test"})
		must(t, w.e.VerifyDomain(t.Context(), w.key, d.ID))
		synctest.Wait()
		w.stop()
		time.Sleep(time.Hour)
		dns.publish(w.e.DomainRecords(&d))
		w.relays = []*fakeRelay{newRelay(nil)}
		w.open()
		w.start()
		synctest.Wait()
		w.wantStatus(d.ID, app.DomainVerified)
	})
}

func TestChecksOfADomainDontOverlap(t *testing.T) {
	bubble(t, func(t *testing.T) {
		dns := newDNS()
		dns.gate = make(chan struct{})
		w := resolving(t, dns, newRelay(nil))
		d := w.add(app.DomainInput{Name: "acme.test"})
		for range 5 {
			must(t, w.e.VerifyDomain(t.Context(), w.key, d.ID))
			synctest.Wait()
		}
		close(dns.gate)
		synctest.Wait()
		// The one that ran, and one more for all who came meanwhile.
		if n := dns.questions("TXT mailer._domainkey.acme.test"); n != 2 {
			t.Errorf("asked %d times", n)
		}
	})
}

func TestAWishToVerifyIsNotLostInARunningCheck(t *testing.T) {
	bubble(t, func(t *testing.T) {
		dns := newDNS()
		w := idle(t, newRelay(nil))
		answered := make(chan struct{})
		w.e.cfg.Resolver = func(ctx context.Context, name string, kind app.DNSType) (app.DNSAnswer, error) {
			answer, err := dns.lookup(ctx, name, kind)
			<-answered // what is published from here on is not in it
			return answer, err
		}
		w.start()
		d := w.add(app.DomainInput{Name: "acme.test"})
		must(t, w.e.VerifyDomain(t.Context(), w.key, d.ID))
		synctest.Wait()
		dns.publish(w.e.DomainRecords(&d))
		must(t, w.e.VerifyDomain(t.Context(), w.key, d.ID))
		close(answered)
		synctest.Wait()
		w.wantStatus(d.ID, app.DomainVerified)
	})
}

func TestAStopEndsAChecksQuestions(t *testing.T) {
	bubble(t, func(t *testing.T) {
		dns := newDNS()
		dns.gate = make(chan struct{}) // never opened
		w := resolving(t, dns, newRelay(nil))
		d := w.add(app.DomainInput{Name: "acme.test"})
		must(t, w.e.VerifyDomain(t.Context(), w.key, d.ID))
		synctest.Wait()
		began := time.Now()
		w.stop()
		if took := time.Since(began); took > time.Second {
			t.Errorf("took %v", took)
		}
	})
}

func TestAnUnverifiedDomainIsRefusedInWordsThatHelp(t *testing.T) {
	bubble(t, func(t *testing.T) {
		dns := newDNS()
		w := resolving(t, dns, newRelay(nil))
		d := w.add(app.DomainInput{Name: "acme.test"})
		wants := func(words ...string) {
			t.Helper()
			_, err := w.sendFrom("acme.test")
			wantCode(t, err, app.CodeValidation)
			for _, part := range words {
				if err == nil || !strings.Contains(err.Error(), part) {
					t.Errorf("no %q in %v", part, err)
				}
			}
		}
		wants("`from` uses the domain acme.test", "not_started", "TXT mailer._domainkey.acme.test", "TXT send.acme.test", "`mailer domains verify acme.test`", "/domains/"+d.ID+"/verify")
		dns.publish(w.e.DomainRecords(&d), "DKIM")
		must(t, w.e.VerifyDomain(t.Context(), w.key, d.ID))
		synctest.Wait()
		wants("pending", "SPF record TXT send.acme.test is missing")
		if _, err := w.sendFrom("acme.test"); strings.Contains(err.Error(), "_domainkey") {
			t.Errorf("it names a record that is there: %v", err)
		}
		dns.publish(w.e.DomainRecords(&d))
		must(t, w.e.VerifyDomain(t.Context(), w.key, d.ID))
		synctest.Wait()
		id, err := w.sendFrom("acme.test")
		must(t, err)
		synctest.Wait()
		w.wantLast(id, app.Sent)
	})
}

func TestEachDomainSignsWithItsOwnKeyAndARotationChangesIt(t *testing.T) {
	bubble(t, func(t *testing.T) {
		dns := newDNS()
		relay := newRelay(firstly(says(app.StageDot, 451, "later")))
		w := resolving(t, dns, relay)
		signer := func(id string) string {
			t.Helper()
			tries := relay.seen(id)
			if len(tries) == 0 { // SQLite waits for others by the clock, which stood still
				time.Sleep(100 * time.Millisecond)
				synctest.Wait()
				tries = relay.seen(id)
			}
			if len(tries) == 0 || tries[len(tries)-1].m.DKIM == nil {
				t.Fatalf("%s: %d tries, or no key", id, len(tries))
			}
			k := tries[len(tries)-1].m.DKIM
			return k.Selector + "._domainkey." + k.Domain
		}
		a, b := w.add(app.DomainInput{Name: "a.test"}), w.add(app.DomainInput{Name: "b.test"})
		if a.Keys[0].Public == b.Keys[0].Public {
			t.Error("two domains have one key")
		}
		for _, d := range []app.Domain{a, b} {
			dns.publish(w.e.DomainRecords(&d))
			must(t, w.e.VerifyDomain(t.Context(), w.key, d.ID))
		}
		synctest.Wait()
		fromA, err := w.sendFrom("a.test")
		must(t, err)
		fromB, err := w.sendFrom("b.test")
		must(t, err)
		synctest.Wait()
		if signer(fromA) != "mailer._domainkey.a.test" || signer(fromB) != "mailer._domainkey.b.test" {
			t.Errorf("signed with %s and %s", signer(fromA), signer(fromB))
		}
		rotated, err := w.e.RotateDKIM(t.Context(), w.key.TeamID, "A.test")
		must(t, err)
		again, err := w.e.RotateDKIM(t.Context(), w.key.TeamID, "a.test") // the waiting one is the answer
		must(t, err)
		if len(rotated.Keys) != 2 || len(again.Keys) != 2 {
			t.Fatalf("keys %+v, then %+v", rotated.Keys, again.Keys)
		}
		time.Sleep(2*time.Minute + time.Second) // not together with the cron jobs
		second, err := w.sendFrom("a.test")
		must(t, err)
		synctest.Wait()
		if signer(second) != "mailer._domainkey.a.test" {
			t.Errorf("it signs with %s before the record is there", signer(second))
		}
		time.Sleep(app.RecheckEvery)
		heard := len(w.statuses())
		_, err = w.sendFrom("a.test")
		must(t, err)
		synctest.Wait()
		dns.publish(w.e.DomainRecords(&rotated))
		must(t, w.e.VerifyDomain(t.Context(), w.key, a.ID))
		synctest.Wait()
		third, err := w.sendFrom("a.test") // at once: an opened key must not linger
		must(t, err)
		synctest.Wait()
		if signer(third) != "mailer2._domainkey.a.test" {
			t.Errorf("it still signs with %s", signer(third))
		}
		if got := w.statuses()[heard:]; !slices.Equal(got, []string{"domain.updated verified"}) {
			t.Errorf("webhooks heard %q of the change of keys", got)
		}
		if got := signer(fromA); relay.seen(fromA)[1].m.Signature == "" {
			t.Errorf("the second try of old mail has lost its signature and is signed with %s", got)
		}
		w.wantLast(fromA, app.Sent)
		w.wantStatus(a.ID, app.DomainVerified)
		names := func() (out []string) {
			for _, r := range w.e.DomainRecords(new(w.domain(a.ID))) {
				if r.Record == "DKIM" {
					out = append(out, r.Name)
				}
			}
			return out
		}
		if got := names(); !slices.Equal(got, []string{"mailer2._domainkey.a.test", "mailer._domainkey.a.test"}) {
			t.Errorf("listed after the change: %q", got)
		}
		asked := dns.questions("TXT mailer._domainkey.a.test")
		w.sql("UPDATE dkim_keys SET retired_at = retired_at - ?", app.DKIMRetention.Milliseconds())
		if got := names(); !slices.Equal(got, []string{"mailer2._domainkey.a.test"}) {
			t.Errorf("listed a week later: %q", got)
		}
		must(t, w.e.VerifyDomain(t.Context(), w.key, a.ID))
		synctest.Wait()
		if got := len(w.domain(a.ID).Keys); got != 1 || dns.questions("TXT mailer._domainkey.a.test") != asked {
			t.Errorf("%d keys are kept, or the DNS is asked about one that nobody needs", got)
		}
	})
}

func TestMailOfADeletedDomainFailsAndNeverLeavesUnsigned(t *testing.T) {
	bubble(t, func(t *testing.T) {
		relay := newRelay(firstly(says(app.StageDot, 451, "later")))
		w := serving(t, relay)
		d := w.add(app.DomainInput{Name: "acme.test", Trusted: true})
		token, _, err := w.e.CreateKey(t.Context(), w.key.TeamID, app.KeyInput{Name: "k", Permission: app.SendingAccess, Role: app.RoleOwner, Domain: "acme.test"})
		must(t, err)
		_, err = w.e.Authenticate(t.Context(), token)
		must(t, err)
		id, err := w.sendFrom("acme.test")
		must(t, err)
		synctest.Wait()
		must(t, w.e.DeleteDomain(t.Context(), w.key, d.ID))
		_, err = w.e.Authenticate(t.Context(), token)
		wantCode(t, err, app.CodeInvalidAPIKey)
		wantCode(t, w.e.DeleteDomain(t.Context(), w.key, d.ID), app.CodeNotFound)
		_, err = w.sendFrom("acme.test")
		wantCode(t, err, app.CodeValidation)
		w.due(id) // at once: the key of the domain must not linger
		time.Sleep(2 * time.Second)
		if n := len(relay.seen(id)); n != 1 {
			t.Errorf("%d tries", n)
		}
		w.wantLast(id, app.Failed)
		if w.unit(id) != nil {
			t.Error("it is still open")
		}
		if words := w.eventOf(id, app.EventType(app.Failed)).Detail.Message; !strings.Contains(words, "the domain acme.test is no longer one of this team's") {
			t.Errorf("event says %q", words)
		}
		// Added anew it has another key, and sends at once.
		relay.follow(nil)
		w.add(app.DomainInput{Name: "acme.test", Trusted: true})
		id, err = w.sendFrom("acme.test")
		must(t, err)
		synctest.Wait()
		w.wantLast(id, app.Sent)
		if got := w.statuses(); !slices.Equal(got, []string{"domain.created verified", "domain.deleted verified", "domain.created verified"}) {
			t.Errorf("webhooks heard %q", got)
		}
	})
}

func TestUpdateDomainChangesTrackingAndLooksForTheNewHost(t *testing.T) {
	bubble(t, func(t *testing.T) {
		dns := newDNS()
		w := resolving(t, dns, newRelay(nil))
		d := w.add(app.DomainInput{Name: "acme.test"})
		dns.publish(w.e.DomainRecords(&d))
		must(t, w.e.VerifyDomain(t.Context(), w.key, d.ID))
		synctest.Wait()
		heard := len(w.statuses())
		on := true
		links := app.DomainPatch{ClickTracking: &on, TrackingSubdomain: app.Change[string]{Set: true, Value: "links"}}
		changed, err := w.e.UpdateDomain(t.Context(), w.key, d.ID, links)
		must(t, err)
		_, err = w.e.UpdateDomain(t.Context(), w.key, d.ID, links) // nothing new
		must(t, err)
		if !changed.ClickTracking || changed.OpenTracking || changed.TrackingSubdomain != "links" {
			t.Errorf("changed to %+v", changed)
		}
		synctest.Wait()
		tracking := func() app.DNSRecord {
			records := w.e.DomainRecords(new(w.domain(d.ID)))
			return records[len(records)-1]
		}
		if r := tracking(); r.Type != "CNAME" || r.Name != "links.acme.test" || r.Value != "mail.example.com" || r.Live != app.LiveMissing || r.Required {
			t.Errorf("record %+v", r)
		}
		dns.publish([]app.DNSRecord{tracking()})
		time.Sleep(app.RecheckEvery + time.Minute)
		if r := tracking(); r.Live != app.LiveFound {
			t.Errorf("record %+v", r)
		}
		_, err = w.e.UpdateDomain(t.Context(), w.key, d.ID, app.DomainPatch{TrackingSubdomain: app.Change[string]{Set: true, Null: true}})
		must(t, err)
		if r := tracking(); r.Type == "CNAME" || w.domain(d.ID).TrackingSubdomain != "" || !w.domain(d.ID).ClickTracking {
			t.Errorf("cleared: %+v", w.domain(d.ID))
		}
		if got := len(w.statuses()) - heard; got != 2 {
			t.Errorf("webhooks heard of %d changes", got)
		}
		_, err = w.e.UpdateDomain(t.Context(), w.key, d.ID, app.DomainPatch{TrackingSubdomain: app.Change[string]{Set: true, Value: "send"}})
		wantCode(t, err, app.CodeValidation)
		_, err = w.e.UpdateDomain(t.Context(), w.addTeam("Other", "other.test"), d.ID, links)
		wantCode(t, err, app.CodeNotFound)
	})
}

func TestATrustedDomainsTrackingHostIsLookedForToo(t *testing.T) {
	bubble(t, func(t *testing.T) {
		dns := newDNS()
		w := resolving(t, dns, newRelay(nil))
		d := w.add(app.DomainInput{Name: "acme.test", Trusted: true, ClickTracking: true})
		dns.publish([]app.DNSRecord{{Type: "CNAME", Name: "links.acme.test", Value: "mail.example.com"}})
		_, err := w.e.UpdateDomain(t.Context(), w.key, d.ID, app.DomainPatch{TrackingSubdomain: app.Change[string]{Set: true, Value: "links"}})
		must(t, err)
		synctest.Wait()
		if got := tracking.TrackingAt(new(w.domain(d.ID)), "https://mail.example.com"); got == nil || got.Base != "https://links.acme.test" {
			t.Errorf("tracked at %+v", got)
		}
	})
}

func TestRegionsAndRecordsComeFromTheRelaysAlsoBesideAServer(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := idle(t)
		d := w.add(app.DomainInput{Name: "early.test", Region: "anywhere"})
		if got := w.e.Regions(); got != nil {
			t.Errorf("regions %q before any server", got)
		}
		if spf := spfOf(w.e.DomainRecords(&d)); spf != "v=spf1 ~all" {
			t.Errorf("SPF %q before any server", spf)
		}
		w.stop()
		w.relays = []*fakeRelay{
			newRelayOf(relays.Relay{Region: "eu-west-1", Host: "relay.test", Port: 587}, nil),
			newRelayOf(relays.Relay{Region: "us-east-1", Host: "email-smtp.us-east-1.amazonaws.com", Port: 587, Profile: relays.ProfileSES}, nil),
		}
		w.open()
		w.start()
		cfg := w.cfg
		cfg.Routes, cfg.BaseURL = nil, ""
		beside, err := New(t.Context(), cfg)
		must(t, err)
		for _, e := range []*Engine{w.e, beside} {
			if got := e.Regions(); !slices.Equal(got, []string{"eu-west-1", "us-east-1"}) {
				t.Errorf("regions %q", got)
			}
			if spf := spfOf(e.DomainRecords(&app.Domain{Name: "x.test", Region: "us-east-1"})); spf != "v=spf1 include:amazonses.com ~all" {
				t.Errorf("SPF by the second relay: %q", spf)
			}
			if spf := spfOf(e.DomainRecords(&d)); spf != "v=spf1 a:relay.test ~all" { // its own is not configured
				t.Errorf("SPF by the default relay: %q", spf)
			}
			if _, target := e.wants(&d); target != "mail.example.com" {
				t.Errorf("tracking hosts point to %q", target)
			}
			_, err := e.AddDomain(t.Context(), w.key.TeamID, app.DomainInput{Name: "new.test", Region: "sa-east-1"})
			wantCode(t, err, app.CodeValidation)
			if err == nil || !strings.Contains(err.Error(), "`region` must be one of eu-west-1, us-east-1") {
				t.Errorf("error %v", err)
			}
		}
		if d := w.add(app.DomainInput{Name: "new.test"}); d.Region != "eu-west-1" {
			t.Errorf("region %q", d.Region)
		}
	})
}

func spfOf(records []app.DNSRecord) string {
	i := slices.IndexFunc(records, func(r app.DNSRecord) bool { return r.Record == app.RecordSPF && r.Type == "TXT" })
	return records[i].Value
}

func TestTwoTeamsMayAddOneNameAndDontSeeEachOther(t *testing.T) {
	w := idle(t, newRelay(nil))
	other := w.addTeam("Other", "other.test")
	d := w.add(app.DomainInput{Name: "acme.test"})
	theirs, err := w.e.AddDomain(t.Context(), other.TeamID, app.DomainInput{Name: "acme.test"})
	must(t, err)
	if theirs.Keys[0].Public == d.Keys[0].Public {
		t.Error("two teams share a key")
	}
	_, err = w.e.GetDomain(t.Context(), other, d.ID)
	wantCode(t, err, app.CodeNotFound)
	wantCode(t, w.e.VerifyDomain(t.Context(), other, d.ID), app.CodeNotFound)
	wantCode(t, w.e.DeleteDomain(t.Context(), other, d.ID), app.CodeNotFound)
	_, err = w.e.CheckDomain(t.Context(), other.TeamID, testDomain)
	wantCode(t, err, app.CodeNotFound)
	_, err = w.e.RotateDKIM(t.Context(), other.TeamID, testDomain)
	wantCode(t, err, app.CodeNotFound)
}
