package db

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"mailer/app"
)

// trackedStore returns a store with one email to the given recipients.
func trackedStore(t *testing.T, tracking *app.Tracking, to ...string) (*DB, *app.Email) {
	t.Helper()
	d, team := suppressionStore(t, 0)
	e := &app.Email{ID: app.NewID(), TeamID: team.ID, Relay: "r", MessageID: "m", CreatedAt: time.Now(), LastEvent: app.Queued, Tracking: tracking,
		Mail: app.Mail{From: app.Address{Local: "a", Domain: "example.com"}, To: []app.Address{{Local: "x", Domain: "example.org"}}, HTML: "<p>x</p>"}}
	if err := d.Write(t.Context(), func(tx *Tx) error { return tx.InsertEmail(e, to) }); err != nil {
		t.Fatal(err)
	}
	return d, e
}

func TestEmailTrackingRoundTrip(t *testing.T) {
	for _, want := range []*app.Tracking{nil, {Base: "https://a.test", Open: true}, {Base: "https://a.test", Click: true, Pages: "https://b.test"}} {
		d, e := trackedStore(t, want, "x@example.org")
		err := d.Read(t.Context(), func(r *Reader) error {
			got, err := r.Email(e.TeamID, e.ID)
			if err == nil && ((got.Tracking == nil) != (want == nil) || want != nil && *got.Tracking != *want) {
				t.Errorf("read %+v, want %+v", got.Tracking, want)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
}

func TestTrackedEmail(t *testing.T) {
	at := time.UnixMilli(1_800_000_000_000).UTC()
	d, e := trackedStore(t, nil, "x@example.org")
	err := d.Write(t.Context(), func(tx *Tx) error {
		for i, kind := range []app.EventType{"deferred", app.EventInDoubt, "sent", "sent", "opened", "prefetched", "clicked", "prefetched"} {
			ev := app.Event{ID: app.NewID(), EmailID: e.ID, Type: kind, CreatedAt: at.Add(time.Duration(i) * time.Minute)}
			if err := tx.InsertEvent(ev); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	err = d.Read(t.Context(), func(r *Reader) error {
		for _, c := range []struct{ at, taken time.Time }{
			{at, time.Time{}}, {at.Add(time.Minute), at.Add(time.Minute)}, {at.Add(2*time.Minute - time.Millisecond), at.Add(time.Minute)},
			{at.Add(2 * time.Minute), at.Add(2 * time.Minute)}, {at.Add(time.Hour), at.Add(3 * time.Minute)},
		} {
			got, err := r.TrackedEmail(e.ID, c.at)
			want := TrackedEmail{TeamID: e.TeamID, Domain: e.From.Domain, Relay: e.Relay, Recipient: "x@example.org", Taken: c.taken, Events: 4, Prefetched: 2}
			if err != nil || got != want {
				t.Errorf("at %v: %+v, %v", c.at, got, err)
			}
		}
		if _, err := r.TrackedEmail(app.NewID(), at); !errors.Is(err, ErrNotFound) {
			t.Errorf("a deleted email: %v", err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func TestTrackedEmailToSeveralHasNoRecipient(t *testing.T) {
	d, e := trackedStore(t, nil, "x@example.org", "y@example.org")
	err := d.Read(t.Context(), func(r *Reader) error {
		got, err := r.TrackedEmail(e.ID, time.Now())
		if got.Recipient != "" {
			t.Errorf("it is %s", got.Recipient)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// TestDomainStatusReadsChecksOnlyForTracking: sends from domains without tracking do not
// pay for it.
func TestDomainStatusReadsChecksOnlyForTracking(t *testing.T) {
	d, team := suppressionStore(t, 0)
	for name, flags := range map[string][2]bool{"none.test": {}, "opens.test": {true, false}, "clicks.test": {false, true}} {
		dom := app.Domain{ID: app.NewID(), TeamID: team.ID, Name: name, Status: app.DomainVerified, Region: "us-east-1", ReturnPath: "send",
			OpenTracking: flags[0], ClickTracking: flags[1], TrackingSubdomain: "links", CreatedAt: time.Now()}
		var got app.Domain
		err := d.Write(t.Context(), func(tx *Tx) (err error) {
			if err := tx.InsertDomain(&dom); err != nil {
				return err
			}
			dom.Checks = []app.RecordCheck{{Record: app.RecordTracking, Name: "links." + name, Live: app.LiveFound}}
			if err := tx.SetDomainChecks(&dom); err != nil {
				return err
			}
			got, err = tx.DomainStatus(team.ID, name)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		tracks := flags[0] || flags[1]
		if got.Region != "us-east-1" || got.Status != app.DomainVerified || got.OpenTracking != flags[0] || got.ClickTracking != flags[1] ||
			got.TrackingName() != "links."+name || (len(got.Checks) == 1) != tracks {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestTrackedEmailOfBroadcastRecipient(t *testing.T) {
	d, b := queuedStore(t, 4, app.QueuedBroadcast)
	at := time.UnixMilli(1_800_000_000_000).UTC()
	id := func(n int64) string { return app.BroadcastEmailID(b.EmailIDPrefix, n) }
	change(t, d, b, func(tx *Tx) error {
		for i, kind := range []app.EventType{app.EventInDoubt, "sent", "opened", "prefetched"} {
			ev := app.Event{ID: app.NewID(), EmailID: id(1), BroadcastID: b.ID, Type: kind, CreatedAt: at.Add(time.Duration(i) * time.Minute)}
			if err := tx.InsertEvent(ev); err != nil {
				return err
			}
		}
		_, err := tx.MarkRecipient(b.ID, id(1), app.SeenSent)
		if err == nil {
			_, err = tx.MarkRecipient(b.ID, id(2), app.SeenSent)
		}
		return err
	})
	err := d.Read(t.Context(), func(r *Reader) error {
		for n, want := range map[int64]TrackedEmail{
			1: {Taken: at.Add(time.Minute), Events: 2, Prefetched: 1},
			2: {Taken: time.UnixMilli(b.QueuedAt.UnixMilli()).UTC()}, // the timeline has no time for it
			3: {Pending: true},
		} {
			want.TeamID, want.Domain, want.Relay, want.Broadcast, want.Recipient = b.TeamID, "example.com", b.Relay, b.ID, fmt.Sprintf("P%d@example.net", n)
			if got, err := r.TrackedEmail(id(n), at.Add(time.Hour)); err != nil || got != want {
				t.Errorf("%d: %+v, %v, want %+v", n, got, err, want)
			}
		}
		for _, unknown := range []string{id(5), app.BroadcastEmailID(app.NewEmailIDPrefix(), 1)} {
			if _, err := r.TrackedEmail(unknown, at); !errors.Is(err, ErrNotFound) {
				t.Errorf("nobody: %v", err)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
