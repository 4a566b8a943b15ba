package audience_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/tenants/audience"
	"mailer/app/testing/testserver"
	"mailer/db"
)

func TestSegmentCountsAreCurrent(t *testing.T) {
	testserver.BothEngines(t)
	w := testserver.New(t)
	ctx := t.Context()
	ids := w.AddContacts(10) // 5 unsubscribed
	live, all, manual := w.AddSegment(testserver.FilterOn("unsubscribed", app.OpIsTrue, "")), w.AddSegment(&app.Filter{Match: app.MatchAny}), w.AddSegment(nil)
	want := func(after string, inLive, inAll, inManual int) {
		t.Helper()
		for range 2 { // counted, then cached
			wantContacts(w, live.ID, inLive, after)
			wantContacts(w, all.ID, inAll, after)
			wantContacts(w, manual.ID, inManual, after)
		}
	}
	want("nothing", 5, 10, 0)
	for _, s := range []app.Segment{live, manual} {
		for _, id := range []string{ids[0], ids[1], "C1@example.net"} {
			_, err := w.Services.Audience.AddToSegment(ctx, w.Key, id, s.ID)
			testserver.Must(t, err)
		}
	}
	want("adding one that the filter picks and one that it does not", 6, 10, 2)
	w.WriteDB(func(tx *db.Tx) error {
		c, err := tx.Contact(w.Key.TeamID, ids[3])
		testserver.Must(t, err)
		c.Unsubscribed = true
		return tx.UpdateContact(&c)
	})
	want("a change of a contact", 7, 10, 2)
	w.WriteDB(func(tx *db.Tx) error {
		c, err := tx.Contact(w.Key.TeamID, ids[1])
		testserver.Must(t, err)
		return tx.DeleteContact(&c)
	})
	want("deleting a contact", 6, 9, 1)
	_, err := w.Services.Audience.RemoveFromSegment(ctx, w.Key, ids[0], manual.ID)
	testserver.Must(t, err)
	want("removing a contact", 6, 9, 0)
	if err := w.DB.Write(ctx, func(tx *db.Tx) error {
		c, err := tx.Contact(w.Key.TeamID, ids[0])
		return errors.Join(err, tx.DeleteContact(&c), errors.New("no"))
	}); err == nil {
		t.Fatal("a write that failed did not")
	}
	want("a change that was rolled back", 6, 9, 0)
	_, err = w.Services.Audience.UpdateSegment(ctx, w.Key, live.ID, app.SegmentPatch{Filter: app.Change[*app.Filter]{Set: true, Value: testserver.FilterOn("unsubscribed", app.OpIsFalse, "")}})
	testserver.Must(t, err)
	want("another filter", 4, 9, 0) // 3 that are not unsubscribed, and c0 as manual member
	_, err = w.Services.Audience.UpdateSegment(ctx, w.Key, live.ID, app.SegmentPatch{Filter: app.Change[*app.Filter]{Set: true, Null: true}})
	testserver.Must(t, err)
	want("no filter", 1, 9, 0)
	n := w.SQL("SELECT sum(members) FROM segments")[0] + " " + w.Count("members")
	if n != "1 1" {
		t.Errorf("counted and stored members: %s", n)
	}
}

func TestSegmentCountsAreCached(t *testing.T) {
	w := testserver.New(t)
	w.AddContacts(10)
	s := w.AddSegment(testserver.FilterOn("unsubscribed", app.OpIsTrue, ""))
	wantContacts(w, s.ID, 5, "nothing")
	other := w.AddTeam("Other", "example.org")
	w.SQL("UPDATE contacts SET unsubscribed = 1 WHERE team_id = ?", w.Key.TeamID) // without the store, which notices at its next write
	wantContacts(w, s.ID, 5, "what nobody told")
	_, err := w.Services.Audience.CreateSegment(t.Context(), other, app.SegmentInput{Name: "x"})
	testserver.Must(t, err)
	wantContacts(w, s.ID, 10, "what another process did")
	addContact(w, "new@example.net")
	wantContacts(w, s.ID, 10, "a new contact")
}

func TestOnlyLongScansWait(t *testing.T) {
	testserver.Synctest(t, longScansWait)
}

func longScansWait(t *testing.T) {
	w := testserver.New(t)
	w.AddContacts(audience.QuickScanRows + 5_000)
	ctx := t.Context()
	long := w.AddSegment(testserver.FilterOn("email", app.OpEquals, "c0@example.net"))
	dense := w.AddSegment(testserver.FilterOn("email", app.OpContains, "@"))
	testserver.Must(t, w.Services.Audience.Scans().Acquire(ctx, "another team", audience.MaxScans))
	if rows, more, err := w.Services.Audience.ListSegmentContacts(ctx, w.Key, dense.ID, app.Page{Limit: 100}); len(rows) != 100 || !more || err != nil {
		t.Errorf("a page near its cursor waits: %d rows, %v", len(rows), err)
	}
	short, cancel := context.WithCancel(ctx)
	failed := make(chan error)
	go func() {
		_, _, err := w.Services.Audience.GetSegment(short, w.Key, long.ID)
		failed <- err
	}()
	synctest.Wait() // it waits for a slot
	cancel()
	if err := <-failed; !errors.Is(err, context.Canceled) {
		t.Errorf("one who goes away while waiting: %v", err)
	}
	type answer struct {
		n   int
		err error
	}
	counted, listed := make(chan answer), make(chan answer)
	go func() {
		_, n, err := w.Services.Audience.GetSegment(ctx, w.Key, long.ID)
		counted <- answer{n, err}
	}()
	go func() {
		rows, _, err := w.Services.Audience.ListSegmentContacts(ctx, w.Key, long.ID, app.Page{Limit: 20})
		listed <- answer{len(rows), err}
	}()
	synctest.Wait()
	testserver.Must(t, w.Services.Audience.CheckAudience(ctx, w.Key, long.ID)) // other reads don't wait
	select {
	case <-counted:
		t.Error("a long count did not wait")
	case <-listed:
		t.Error("a long list did not wait")
	default:
	}
	w.Services.Audience.Scans().Release("another team", audience.MaxScans)
	for _, c := range []chan answer{counted, listed} {
		if got := <-c; got.n != 1 || got.err != nil {
			t.Errorf("after the wait: %d, %v", got.n, got.err)
		}
	}
	testserver.Must(t, w.Services.Audience.Scans().Acquire(ctx, "another team", audience.MaxScans)) // all slots were released
}

func TestListContactSegments(t *testing.T) {
	testserver.BothEngines(t)
	w := testserver.New(t)
	ctx := t.Context()
	ids := w.AddContacts(2)
	r := rand.New(rand.NewPCG(1, 1))
	var want, others []string
	for range 450 { // more than one chunk of a scan
		f := testserver.FilterOn("unsubscribed", []string{app.OpIsTrue, app.OpIsFalse}[r.IntN(2)], "")
		if r.IntN(4) == 0 {
			f = nil
		}
		s := w.AddSegment(f)
		manual := r.IntN(5) == 0
		if manual {
			_, err := w.Services.Audience.AddToSegment(ctx, w.Key, ids[0], s.ID)
			testserver.Must(t, err)
		}
		if manual || f != nil && f.Conditions[0].Op == app.OpIsTrue {
			want = append(want, s.ID)
		} else {
			others = append(others, s.ID)
		}
	}
	slices.Reverse(want)
	page := func(p app.Page) (got []string, more bool) {
		t.Helper()
		rows, more, err := w.Services.Audience.ListContactSegments(ctx, w.Key, "C0@example.net", p)
		testserver.Must(t, err)
		for _, s := range rows {
			got = append(got, s.ID)
		}
		return got, more
	}
	for _, limit := range []int{1, 7, 100} {
		var down, up []string
		for at, more := (app.Page{Limit: limit}), true; more; {
			var got []string
			got, more = page(at)
			down = append(down, got...)
			at.After = got[len(got)-1]
		}
		for at, more := (app.Page{Limit: limit, Before: want[len(want)-1]}), true; more; {
			var got []string
			got, more = page(at)
			up = append(got, up...)
			at.Before = got[0]
		}
		if !slices.Equal(down, want) || !slices.Equal(up, want[:len(want)-1]) {
			t.Errorf("by %d: %d down, %d up, want %d", limit, len(down), len(up), len(want))
		}
	}
	for _, p := range []app.Page{{Limit: 1, After: others[0]}, {Limit: 1, Before: others[0]}, {Limit: 1, After: app.NewID()}} {
		_, _, err := w.Services.Audience.ListContactSegments(ctx, w.Key, ids[0], p)
		testserver.WantCode(t, err, app.CodeValidation)
	}
	_, _, err := w.Services.Audience.ListContactSegments(ctx, w.Key, "nobody@example.net", app.Page{Limit: 1})
	testserver.WantCode(t, err, app.CodeNotFound)
}

func TestMembershipEvents(t *testing.T) {
	w := testserver.New(t)
	ctx := t.Context()
	id := addContact(w, "Ann@example.net")
	a, b := w.AddSegment(nil), w.AddSegment(testserver.FilterOn("unsubscribed", app.OpIsFalse, ""))
	step := func(add bool, contact, segment string, code app.Code) {
		t.Helper()
		act := w.Services.Audience.RemoveFromSegment
		if add {
			act = w.Services.Audience.AddToSegment
		}
		got, err := act(ctx, w.Key, contact, segment)
		if code != "" {
			testserver.WantCode(t, err, code)
			return
		}
		testserver.Must(t, err)
		if got != id {
			t.Errorf("the contact is %s, not %s", got, id)
		}
	}
	step(true, id, a.ID, "")
	step(true, "ann@EXAMPLE.net", a.ID, "") // a member already
	step(true, id, b.ID, "")
	step(false, id, a.ID, "")
	step(false, id, a.ID, app.CodeNotFound)
	step(false, "ann@example.net", b.ID, "")
	step(false, id, b.ID, app.CodeNotFound) // a member by filter, not manually
	step(true, id, app.NewID(), app.CodeNotFound)
	step(true, app.NewID(), a.ID, app.CodeNotFound)
	var got []string
	for _, one := range w.TeamWebhookEvents(w.Key.TeamID) {
		got = append(got, fmt.Sprint(one.Type, one.Data["segment_ids"], one.Data["audience_id"]))
	}
	want := []string{
		"contact.updated[" + a.ID + "]" + a.ID, "contact.updated[" + a.ID + " " + b.ID + "]" + a.ID,
		"contact.updated[" + b.ID + "]" + b.ID, "contact.updated[]",
	}
	if !slices.Equal(got, want) {
		t.Errorf("heard\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestDeletedSegmentLeavesNoRows(t *testing.T) {
	testserver.BothEngines(t)
	w := testserver.New(t)
	ctx := t.Context()
	ids := w.AddContacts(base.PurgeChunk + 100)
	gone, stays := w.AddSegment(nil), w.AddSegment(nil)
	for _, s := range []app.Segment{gone, stays} {
		w.WriteDB(func(tx *db.Tx) error {
			for _, id := range ids {
				if _, err := tx.AddMember(s.ID, id); err != nil {
					return err
				}
			}
			return tx.CountMembers(s.ID, len(ids))
		})
	}
	testserver.Must(t, w.Services.Audience.DeleteSegment(ctx, w.Key, gone.ID))
	testserver.WantCode(t, w.Services.Audience.DeleteSegment(ctx, w.Key, gone.ID), app.CodeNotFound)
	testserver.WantCode(t, w.Services.Audience.CheckAudience(ctx, w.Key, gone.ID), app.CodeNotFound)
	testserver.Must(t, w.Services.Audience.PurgeLeftovers(ctx))
	if n := w.Count("members") + " " + w.Count("leftovers"); n != fmt.Sprint(len(ids), " 0") {
		t.Errorf("members and leftovers: %s", n)
	}
	wantContacts(w, stays.ID, len(ids), "cleaning")
}

func TestFilterMustMatchProperties(t *testing.T) {
	testserver.BothEngines(t)
	w := testserver.New(t)
	ctx := t.Context()
	_, err := w.Services.Properties.CreateProperty(ctx, w.Key, app.PropertyInput{Key: "plan", Type: app.StringProperty})
	testserver.Must(t, err)
	bad, good := testserver.FilterOn("property:plan", app.OpGreaterThan, "5"), testserver.FilterOn("property:undeclared", app.OpGreaterThan, "5")
	_, err = w.Services.Audience.CreateSegment(ctx, w.Key, app.SegmentInput{Name: "S", Filter: bad})
	testserver.WantCode(t, err, app.CodeValidation)
	s := w.AddSegment(good)
	_, err = w.Services.Audience.UpdateSegment(ctx, w.Key, s.ID, app.SegmentPatch{Filter: app.Change[*app.Filter]{Set: true, Value: bad}})
	testserver.WantCode(t, err, app.CodeValidation)
	other := w.AddTeam("Other", "example.org")
	_, err = w.Services.Audience.CreateSegment(ctx, other, app.SegmentInput{Name: "S", Filter: bad}) // the other team has no such property
	testserver.Must(t, err)
}

func TestLongScansAreFairBetweenTeams(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.New(t)
		other := w.AddTeam("Other", "other.example")
		mine, theirs := addContact(w, "bob@example.net"), w.CreateContact(other.TeamID, "eve@example.net").ID
		for range 150 { // more conditions than a quick read evaluates
			w.AddSegment(testserver.FilterOn("email", app.OpEquals, "bob@example.net"))
		}
		few, err := w.Services.Audience.CreateSegment(t.Context(), other, app.SegmentInput{Name: "all", Filter: testserver.FilterOn("email", app.OpContains, "@")})
		testserver.Must(t, err)
		testserver.Must(t, w.Services.Audience.Scans().Acquire(t.Context(), w.Key.TeamID, audience.MaxScans))
		listed := make(chan error, 8)
		for range 8 {
			go func() {
				rows, more, err := w.Services.Audience.ListContactSegments(t.Context(), w.Key, mine, app.Page{Limit: 100, After: ""})
				if err == nil && (len(rows) != 100 || !more) {
					err = fmt.Errorf("%d segments, more: %v", len(rows), more)
				}
				listed <- err
			}()
		}
		synctest.Wait()
		rows, _, err := w.Services.Audience.ListContactSegments(t.Context(), other, theirs, app.Page{Limit: 100})
		if err != nil || len(rows) != 1 || rows[0].ID != few.ID {
			t.Errorf("theirs: %v, %v", rows, err)
		}
		if len(listed) != 0 {
			t.Error("a long walk of segments did not wait for its turn")
		}
		w.Services.Audience.Scans().Release(w.Key.TeamID, audience.MaxScans)
		for range 8 {
			testserver.Must(t, <-listed)
		}
	})
}
