package domains_test

import (
	"testing"
	"testing/synctest"
	"time"

	"mailer/app"
	"mailer/app/server"
	"mailer/app/testing/testserver"
	"mailer/db"
)

func TestDomainReceivesWhileMXIsFound(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		dns := testserver.NewDNS()
		w := testserver.NewWithConfig(t, server.Config{Resolver: dns.Lookup, BounceHost: "mail.example.com"}, testserver.NewRelay(nil))
		w.Start()
		s, on, off := w.Services.Domains, true, false
		d := w.CreateDomain(app.DomainInput{Name: "acme.test"})
		set := func(receiving *bool) {
			t.Helper()
			_, err := s.UpdateDomain(t.Context(), w.Key, d.ID, app.DomainPatch{Receiving: receiving})
			testserver.Must(t, err)
			d = w.Domain(d.ID)
		}
		check := func(receives bool, status app.DomainStatus) {
			t.Helper()
			got, err := s.CheckDomain(t.Context(), w.Key.TeamID, "acme.test")
			testserver.Must(t, err)
			if got.Receives != receives || got.Status != status || receives && !got.ReceivesAt.Equal(time.Now()) {
				t.Errorf("receives %t at %s, status %s: %+v", got.Receives, got.ReceivesAt, got.Status, got.Checks)
			}
			synctest.Wait()
		}
		dns.Publish([]app.DNSRecord{{Type: "MX", Name: "acme.test", Value: "mail.example.com"}})
		dns.Publish(s.DomainRecords(&d))
		check(false, app.DomainVerified) // nobody wants it
		set(&on)
		check(true, app.DomainVerified)
		dns.SetDown(true)
		check(true, app.DomainVerified)
		dns.SetDown(false)
		dns.Unpublish("MX acme.test")
		check(false, app.DomainVerified) // the MX never gates sending
		dns.Publish(s.DomainRecords(&d), app.RecordReceiving)
		check(true, app.DomainVerified)
		dns.Unpublish("TXT send.acme.test")
		check(false, app.DomainPending)
		dns.Publish(s.DomainRecords(&d))
		check(true, app.DomainVerified)
		set(&off)
		check(false, app.DomainVerified)
		set(&on)
		check(true, app.DomainVerified)

		other := w.AddTeam("other", "other.example")
		theirs, err := s.AddDomain(t.Context(), other.TeamID, app.DomainInput{Name: "acme.test"})
		testserver.Must(t, err)
		if _, err := s.UpdateDomain(t.Context(), other, theirs.ID, app.DomainPatch{Receiving: &on}); app.CodeOf(err) != app.CodeConflict {
			t.Errorf("of another team that has not verified it: %v", err)
		}
		w.WriteDB(func(tx *db.Tx) error {
			return tx.Write(`UPDATE domains SET status = 'verified' WHERE id = ?`, theirs.ID)
		})
		check(false, app.DomainVerified)
		set(&off)
		if _, err := s.UpdateDomain(t.Context(), w.Key, d.ID, app.DomainPatch{Receiving: &on}); app.CodeOf(err) != app.CodeConflict {
			t.Errorf("a domain that another team has verified: %v", err)
		}
	})
}
