package db

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mailer/app"
)

var domainTime = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func newDomain(teamID, name string) *app.Domain {
	return &app.Domain{ID: app.NewID(), TeamID: teamID, Name: name, Status: app.DomainNotStarted, Region: "us-east-1", ReturnPath: "send", CreatedAt: domainTime,
		Keys: []app.DKIMPair{{Selector: "mailer", State: app.DKIMSigning, Public: "AA==", Sealed: []byte{1}, CreatedAt: domainTime}}}
}

func TestDomainRoundTrip(t *testing.T) {
	d := openFile(t)
	teamID := addTestTeam(t, d, "Team")
	want := newDomain(teamID, "acme.test")
	want.Status, want.Trusted, want.OpenTracking, want.ClickTracking, want.TrackingSubdomain = app.DomainPending, true, true, true, "links"
	want.PendingSince, want.CheckAt = domainTime.Add(time.Hour), domainTime.Add(2*time.Hour)
	write(t, d, func(tx *Tx) error { return tx.InsertDomain(want) })
	write(t, d, func(tx *Tx) error {
		if err := tx.InsertDomain(newDomain(teamID, "acme.test")); !errors.Is(err, ErrConflict) {
			t.Errorf("the same name twice: %v", err)
		}
		if err := tx.InsertDKIMKey(want.ID, &want.Keys[0]); !errors.Is(err, ErrConflict) {
			t.Errorf("the same selector twice: %v", err)
		}
		if _, err := tx.Domain(app.NewID(), want.ID); !errors.Is(err, ErrNotFound) {
			t.Errorf("another team's: %v", err)
		}
		return nil
	})
	want.Status, want.CheckedAt = app.DomainVerified, domainTime.Add(3*time.Hour)
	want.Checks = []app.RecordCheck{{Record: "SPF", Name: "send.acme.test", Type: "TXT", Live: app.LiveMismatch, Detail: "in words"}}
	write(t, d, func(tx *Tx) error { return tx.SetDomainChecks(want) })
	read(t, d, func(r *Reader) error {
		got, err := r.Domain(teamID, want.ID)
		if diff := cmp.Diff(*want, got); diff != "" {
			t.Error(diff)
		}
		return err
	})
}

func TestDKIMKeyRotationAndDeletion(t *testing.T) {
	d := openFile(t)
	teamID := addTestTeam(t, d, "Team")
	domain := newDomain(teamID, "acme.test")
	write(t, d, func(tx *Tx) error { return tx.InsertDomain(domain) })
	states := func() map[string]app.DKIMState {
		out := map[string]app.DKIMState{}
		read(t, d, func(r *Reader) error {
			got, err := r.DomainByName(teamID, "acme.test")
			for _, k := range got.Keys {
				out[k.Selector] = k.State
			}
			return err
		})
		return out
	}
	write(t, d, func(tx *Tx) error {
		if err := tx.PromoteDKIMKey(domain.ID); !errors.Is(err, ErrNotFound) {
			t.Errorf("promoted nothing: %v", err)
		}
		return nil
	})
	if diff := cmp.Diff(map[string]app.DKIMState{"mailer": app.DKIMSigning}, states()); diff != "" {
		t.Error(diff)
	}
	next := app.DKIMPair{Selector: "mailer2", State: app.DKIMNext, Public: "BB==", Sealed: []byte{2}, CreatedAt: domainTime}
	write(t, d, func(tx *Tx) error { return tx.InsertDKIMKey(domain.ID, &next) })
	write(t, d, func(tx *Tx) error { return tx.PromoteDKIMKey(domain.ID) })
	if diff := cmp.Diff(map[string]app.DKIMState{"mailer": app.DKIMRetired, "mailer2": app.DKIMSigning}, states()); diff != "" {
		t.Error(diff)
	}
	write(t, d, func(tx *Tx) error { return tx.PurgeDKIMKeys(domain.ID, tx.Now.Add(-time.Hour)) })
	if len(states()) != 2 {
		t.Error("a key that was retired a moment ago is gone")
	}
	write(t, d, func(tx *Tx) error { return tx.PurgeDKIMKeys(domain.ID, tx.Now.Add(time.Hour)) })
	if diff := cmp.Diff(map[string]app.DKIMState{"mailer2": app.DKIMSigning}, states()); diff != "" {
		t.Error(diff)
	}
	write(t, d, func(tx *Tx) error {
		key := app.Key{ID: app.NewID(), TeamID: teamID, Name: "k", Permission: app.SendingAccess, Role: app.RoleOwner, DomainID: domain.ID, Public: "p", Hash: []byte{1}, CreatedAt: domainTime}
		if err := tx.InsertKey(key); err != nil {
			return err
		}
		if err := tx.DeleteDomain(app.NewID(), domain.ID); !errors.Is(err, ErrNotFound) {
			t.Errorf("another team deletes it: %v", err)
		}
		return tx.DeleteDomain(teamID, domain.ID)
	})
	read(t, d, func(r *Reader) error {
		if _, err := r.FindKey("p"); !errors.Is(err, ErrNotFound) {
			t.Errorf("a key of the deleted domain: %v", err)
		}
		if _, err := r.Domain(teamID, domain.ID); !errors.Is(err, ErrNotFound) {
			t.Errorf("the deleted domain: %v", err)
		}
		return nil
	})
}

func TestDueDomainsOrder(t *testing.T) {
	d := openFile(t)
	teamID := addTestTeam(t, d, "Team")
	for i, minutes := range []int{30, 10, 20, 0, -1} { // the last one is never due
		domain := newDomain(teamID, fmt.Sprintf("d%d.test", i))
		if minutes >= 0 {
			domain.CheckAt = domainTime.Add(time.Duration(minutes) * time.Minute)
		}
		write(t, d, func(tx *Tx) error { return tx.InsertDomain(domain) })
	}
	read(t, d, func(r *Reader) error {
		for limit, want := range map[int]string{2: "d3.test d1.test ", 10: "d3.test d1.test d2.test "} {
			due, err := r.DueDomains(domainTime.Add(20*time.Minute), limit)
			if err != nil {
				return err
			}
			got := ""
			for _, domain := range due {
				got += domain.Name + " "
			}
			if got != want {
				t.Errorf("due %q, want %q", got, want)
			}
		}
		return nil
	})
}

func read(t *testing.T, d *DB, fn func(r *Reader) error) {
	t.Helper()
	if err := d.Read(t.Context(), fn); err != nil {
		t.Fatal(err)
	}
}
