package listmonk

import (
	"path/filepath"
	"testing"
	"time"

	"mailer/app"
	"mailer/app/moving/transfer"
	"mailer/app/rules/archive"
	"mailer/app/testing/apptest"
	"mailer/app/testing/testserver"
	"mailer/db"
)

// importAll reads a listmonk and imports it. The plan must be what is done.
func importAll(t *testing.T, w *testserver.Server, l *apptest.Listmonk) *transfer.Report {
	t.Helper()
	dir := filepath.Join(memory(t), "a")
	testserver.Must(t, readAll(t, l, dir))
	var reports [2]*transfer.Report
	for i := range reports {
		r, err := archive.Open(dir)
		testserver.Must(t, err)
		reports[i], err = w.Services.Transfer.Import(t.Context(), firstTeam(t, w), r, transfer.Options{Apply: i == 1})
		testserver.Must(t, err)
	}
	plan, done := reports[0], reports[1]
	if plan.Suppressions != done.Suppressions || plan.MembershipsEnded != done.MembershipsEnded || plan.OptedOut != done.OptedOut {
		t.Errorf("the plan says %+v, what was done is %+v", plan, done)
	}
	return done
}

// TestBlocklistedSubscribersKeepReason: listmonk blocklists subscribers who bounce or complain, so
// each such address occurs twice.
func TestBlocklistedSubscribersKeepReason(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		l := instance(5, 0)
		l.Campaigns, l.Bounces = nil, nil
		for i, email := range []string{"gone@bücher.example", "angry@example.org", "left@example.org"} {
			l.Subscribers = append(l.Subscribers, apptest.LMSubscriber{ID: i + 1, Email: email, Status: "blocklisted", Created: time.Now(), Updated: time.Now()})
		}
		w := testserver.New(t, testserver.NewRelay(nil))
		first := importAll(t, w, l) // before any bounce
		if first.Suppressions.Unsubscribe != 3 {
			t.Errorf("%+v", first.Suppressions)
		}
		l.Bounces = []apptest.LMBounce{{ID: 1, Type: "hard", Email: "gone@xn--bcher-kva.example", Created: time.Now()}, {ID: 2, Type: "hard", Email: "angry@example.org", Created: time.Now()},
			{ID: 3, Type: "complaint", Email: "angry@example.org", Created: time.Now()}}
		second := importAll(t, w, l)
		if s := second.Suppressions; s.Bounce != 1 || s.Complaint != 1 || s.Unsubscribe != 0 {
			t.Errorf("%+v", s)
		}
		fresh := testserver.New(t, testserver.NewRelay(nil))
		if s := importAll(t, fresh, l).Suppressions; s.Bounce != 1 || s.Complaint != 1 || s.Unsubscribe != 1 {
			t.Errorf("at once: %+v", s)
		}
		for _, w := range []*testserver.Server{w, fresh} {
			for email, want := range map[string]app.SuppressionOrigin{"gone@bücher.example": app.OriginBounce, "angry@example.org": app.OriginComplaint, "left@example.org": app.OriginUnsubscribe} {
				if s := w.Suppression(email); s.Origin != want {
					t.Errorf("%s: %+v, want %s", email, s, want)
				}
			}
		}
	})
}

// TestLeavingPrivateListLeavesSegment: other members and other segments stay.
func TestLeavingPrivateListLeavesSegment(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		l := instance(5, 0)
		l.Campaigns, l.Bounces = nil, nil
		for i, email := range []string{"ann@bücher.example", "bob@example.org"} {
			l.Subscribers = append(l.Subscribers, apptest.LMSubscriber{ID: i + 1, Email: email, Status: "enabled", Created: time.Now(), Updated: time.Now(),
				Lists: []apptest.LMMember{{List: 3, Status: "unconfirmed", Changed: time.Now()}, {List: 7, Status: "confirmed", Changed: time.Now()}}})
		}
		w := testserver.New(t, testserver.NewRelay(nil))
		if r := importAll(t, w, l); r.Contacts.New != 2 || r.MembershipsEnded != 0 {
			t.Errorf("%+v", r)
		}
		time.Sleep(time.Hour)
		l.Change(func() {
			l.Subscribers[0].Lists[0].Status, l.Subscribers[0].Lists[0].Changed = "unsubscribed", time.Now()
		})
		time.Sleep(time.Hour)
		if r := importAll(t, w, l); r.MembershipsEnded != 1 || r.OptedOut != 0 {
			t.Errorf("%+v", r)
		}
		if r := importAll(t, w, l); r.MembershipsEnded != 0 {
			t.Errorf("once more: %+v", r)
		}
		members := map[string]int64{}
		w.Read(func(r *db.Reader) error {
			segments, _, err := r.ListSegments(w.Key.TeamID, app.Page{Limit: 100})
			for _, s := range segments {
				rows, _, err := r.ListSegmentContacts(t.Context(), db.Effort{}, &s, app.Page{Limit: 10})
				testserver.Must(t, err)
				for _, c := range rows {
					members[s.Name[:4]+" "+c.Email]++
				}
			}
			return err
		})
		if len(members) != 3 || members["Cust ann@bücher.example"] != 0 || members["Long ann@bücher.example"] != 1 || members["Cust bob@example.org"] != 1 {
			t.Errorf("members %v", members)
		}
		c, err := w.Services.Audience.GetContact(t.Context(), w.Key, "ann@bücher.example")
		if testserver.Must(t, err); c.Unsubscribed {
			t.Errorf("%+v", c)
		}
	})
}
