package engine

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
	"mailer/db"
)

// addContacts puts contacts into the team's audience, and counts them, as
// c0@example.net and so on. Every other one is unsubscribed.
func (w *world) addContacts(n int) (ids []string) {
	w.t.Helper()
	must(w.t, w.db.Write(w.t.Context(), func(tx *db.Tx) error {
		ids = nil
		for i := range n {
			email := fmt.Sprintf("c%d@example.net", i)
			c := app.Contact{ID: app.NewID(), TeamID: w.key.TeamID, Email: email, Unsubscribed: i%2 == 0, CreatedAt: tx.Now, UpdatedAt: tx.Now,
				Hash: w.cfg.Sealer.AddressHash(w.key.TeamID, email)}
			if err := tx.InsertContact(&c); err != nil {
				return err
			}
			ids = append(ids, c.ID)
		}
		return tx.CountContacts(w.key.TeamID, n)
	}))
	return ids
}

func only(field, op, value string) *app.Filter {
	return &app.Filter{Match: app.MatchAll, Conditions: []app.Condition{{Field: field, Op: op, Value: value}}}
}

func (w *world) segment(f *app.Filter) app.Segment {
	w.t.Helper()
	s, err := w.e.CreateSegment(w.t.Context(), w.key, app.SegmentInput{Name: "S", Filter: f})
	must(w.t, err)
	return s
}

func (w *world) wantContacts(segmentID string, want int, after string) {
	w.t.Helper()
	_, n, err := w.e.GetSegment(w.t.Context(), w.key, segmentID)
	must(w.t, err)
	if n != want {
		w.t.Errorf("%d contacts after %s, want %d", n, after, want)
	}
}

func TestCountsOfSegmentsAreNeverStale(t *testing.T) {
	w := idle(t)
	ctx := t.Context()
	ids := w.addContacts(10) // 5 unsubscribed
	live, all, hand := w.segment(only("unsubscribed", app.OpIsTrue, "")), w.segment(&app.Filter{Match: app.MatchAny}), w.segment(nil)
	want := func(after string, inLive, inAll, inHand int) {
		t.Helper()
		for range 2 { // counted, and remembered
			w.wantContacts(live.ID, inLive, after)
			w.wantContacts(all.ID, inAll, after)
			w.wantContacts(hand.ID, inHand, after)
		}
	}
	want("nothing", 5, 10, 0)
	for _, s := range []app.Segment{live, hand} {
		for _, id := range []string{ids[0], ids[1], "C1@example.net"} {
			_, err := w.e.AddToSegment(ctx, w.key, id, s.ID)
			must(t, err)
		}
	}
	want("adding one that the filter picks and one that it does not", 6, 10, 2)
	w.change(func(tx *db.Tx) error {
		c, err := tx.Contact(w.key.TeamID, ids[3])
		must(t, err)
		c.Unsubscribed = true
		return tx.UpdateContact(&c)
	})
	want("a change of a contact", 7, 10, 2)
	w.change(func(tx *db.Tx) error {
		c, err := tx.Contact(w.key.TeamID, ids[1])
		must(t, err)
		return tx.DeleteContact(&c)
	})
	want("deleting a contact", 6, 9, 1)
	_, err := w.e.RemoveFromSegment(ctx, w.key, ids[0], hand.ID)
	must(t, err)
	want("removing a contact", 6, 9, 0)
	if err := w.db.Write(ctx, func(tx *db.Tx) error {
		c, err := tx.Contact(w.key.TeamID, ids[0])
		return errors.Join(err, tx.DeleteContact(&c), errors.New("no"))
	}); err == nil {
		t.Fatal("a write that failed did not")
	}
	want("a change that was rolled back", 6, 9, 0)
	_, err = w.e.UpdateSegment(ctx, w.key, live.ID, app.SegmentPatch{Filter: app.Change[*app.Filter]{Set: true, Value: only("unsubscribed", app.OpIsFalse, "")}})
	must(t, err)
	want("another filter", 4, 9, 0) // 3 that are not, and c0 by hand
	_, err = w.e.UpdateSegment(ctx, w.key, live.ID, app.SegmentPatch{Filter: app.Change[*app.Filter]{Set: true, Null: true}})
	must(t, err)
	want("no filter", 1, 9, 0)
	n := w.sql("SELECT sum(members) FROM segments")[0] + " " + w.count("members")
	if n != "1 1" {
		t.Errorf("counted and stored members: %s", n)
	}
}

func (w *world) change(fn func(tx *db.Tx) error) {
	w.t.Helper()
	must(w.t, w.db.Write(w.t.Context(), fn))
}

func TestCountsAreRememberedUntilAContactChanges(t *testing.T) {
	w := idle(t)
	w.addContacts(10)
	s := w.segment(only("unsubscribed", app.OpIsTrue, ""))
	w.wantContacts(s.ID, 5, "nothing")
	w.sql("UPDATE contacts SET unsubscribed = 1 WHERE team_id = ?", w.key.TeamID) // beside the store, which cannot know
	w.wantContacts(s.ID, 5, "what nobody told")
	other := w.addTeam("Other", "example.org")
	_, err := w.e.CreateSegment(t.Context(), other, app.SegmentInput{Name: "x"})
	must(t, err)
	w.wantContacts(s.ID, 5, "what another team did")
	w.addContact("new@example.net")
	w.wantContacts(s.ID, 10, "a new contact")
}

func TestLongScansWaitForAPlaceAndQuickOnesDoNot(t *testing.T) {
	bubble(t, longScansWait)
}

func longScansWait(t *testing.T) {
	w := idle(t)
	w.addContacts(quickScan + 5_000)
	ctx := t.Context()
	long := w.segment(only("email", app.OpEquals, "c0@example.net"))
	dense := w.segment(only("email", app.OpContains, "@"))
	must(t, w.e.scans.Acquire(ctx, maxScans))
	if rows, more, err := w.e.ListSegmentContacts(ctx, w.key, dense.ID, app.Page{Limit: 100}); len(rows) != 100 || !more || err != nil {
		t.Errorf("a page near its cursor waits: %d rows, %v", len(rows), err)
	}
	impatient, cancel := context.WithCancel(ctx)
	failed := make(chan error)
	go func() {
		_, _, err := w.e.GetSegment(impatient, w.key, long.ID)
		failed <- err
	}()
	synctest.Wait() // it waits for its place
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
		_, n, err := w.e.GetSegment(ctx, w.key, long.ID)
		counted <- answer{n, err}
	}()
	go func() {
		rows, _, err := w.e.ListSegmentContacts(ctx, w.key, long.ID, app.Page{Limit: 20})
		listed <- answer{len(rows), err}
	}()
	synctest.Wait()
	must(t, w.e.CheckAudience(ctx, w.key, long.ID)) // other reads go on
	select {
	case <-counted:
		t.Error("a long count did not wait")
	case <-listed:
		t.Error("a long list did not wait")
	default:
	}
	w.e.scans.Release(maxScans)
	for _, c := range []chan answer{counted, listed} {
		if got := <-c; got.n != 1 || got.err != nil {
			t.Errorf("after the wait: %d, %v", got.n, got.err)
		}
	}
	if !w.e.scans.TryAcquire(maxScans) {
		t.Error("a place is not given back")
	}
}

func TestSegmentsOfAContact(t *testing.T) {
	w := idle(t)
	ctx := t.Context()
	ids := w.addContacts(2)
	r := rand.New(rand.NewPCG(1, 1))
	var want, others []string
	for range 450 { // more than are looked at together
		f := only("unsubscribed", []string{app.OpIsTrue, app.OpIsFalse}[r.IntN(2)], "")
		if r.IntN(4) == 0 {
			f = nil
		}
		s := w.segment(f)
		byHand := r.IntN(5) == 0
		if byHand {
			_, err := w.e.AddToSegment(ctx, w.key, ids[0], s.ID)
			must(t, err)
		}
		if byHand || f != nil && f.Conditions[0].Op == app.OpIsTrue {
			want = append(want, s.ID)
		} else {
			others = append(others, s.ID)
		}
	}
	slices.Reverse(want)
	page := func(p app.Page) (got []string, more bool) {
		t.Helper()
		rows, more, err := w.e.ListContactSegments(ctx, w.key, "C0@example.net", p)
		must(t, err)
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
		_, _, err := w.e.ListContactSegments(ctx, w.key, ids[0], p)
		wantCode(t, err, app.CodeValidation)
	}
	_, _, err := w.e.ListContactSegments(ctx, w.key, "nobody@example.net", app.Page{Limit: 1})
	wantCode(t, err, app.CodeNotFound)
}

func TestWebhooksHearWhoCameAndWent(t *testing.T) {
	w := idle(t)
	ctx := t.Context()
	id := w.addContact("Ann@example.net")
	a, b := w.segment(nil), w.segment(only("unsubscribed", app.OpIsFalse, ""))
	step := func(add bool, contact, segment string, code app.Code) {
		t.Helper()
		act := w.e.RemoveFromSegment
		if add {
			act = w.e.AddToSegment
		}
		got, err := act(ctx, w.key, contact, segment)
		if code != "" {
			wantCode(t, err, code)
			return
		}
		must(t, err)
		if got != id {
			t.Errorf("the contact is %s, not %s", got, id)
		}
	}
	step(true, id, a.ID, "")
	step(true, "ann@EXAMPLE.net", a.ID, "") // is there
	step(true, id, b.ID, "")
	step(false, id, a.ID, "")
	step(false, id, a.ID, app.CodeNotFound)
	step(false, "ann@example.net", b.ID, "")
	step(false, id, b.ID, app.CodeNotFound) // the filter has it, no hand
	step(true, id, app.NewID(), app.CodeNotFound)
	step(true, app.NewID(), a.ID, app.CodeNotFound)
	var got []string
	for _, one := range w.heard(w.key.TeamID) {
		got = append(got, fmt.Sprint(one.Type, one.Data["segment_ids"], one.Data["audience_id"]))
	}
	want := []string{
		"contact.updated[" + a.ID + "]" + a.ID, "contact.updated[" + a.ID + " " + b.ID + "]" + a.ID,
		"contact.updated[" + b.ID + "]" + b.ID, "contact.updated[] <nil>",
	}
	if !slices.Equal(got, want) {
		t.Errorf("heard\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestADeletedSegmentLeavesNoRows(t *testing.T) {
	w := idle(t)
	ctx := t.Context()
	ids := w.addContacts(purgeChunk + 100)
	gone, stays := w.segment(nil), w.segment(nil)
	for _, s := range []app.Segment{gone, stays} {
		w.change(func(tx *db.Tx) error {
			for _, id := range ids {
				if _, err := tx.AddMember(s.ID, id); err != nil {
					return err
				}
			}
			return tx.CountMembers(s.ID, len(ids))
		})
	}
	must(t, w.e.DeleteSegment(ctx, w.key, gone.ID))
	wantCode(t, w.e.DeleteSegment(ctx, w.key, gone.ID), app.CodeNotFound)
	wantCode(t, w.e.CheckAudience(ctx, w.key, gone.ID), app.CodeNotFound)
	must(t, w.e.clean(ctx))
	if n := w.count("members") + " " + w.count("leftovers"); n != fmt.Sprint(len(ids), " 0") {
		t.Errorf("members and leftovers: %s", n)
	}
	w.wantContacts(stays.ID, len(ids), "cleaning")
}

func TestAFilterMustFitDeclaredProperties(t *testing.T) {
	w := idle(t)
	ctx := t.Context()
	_, err := w.e.CreateProperty(ctx, w.key, app.PropertyInput{Key: "plan", Type: app.StringProperty})
	must(t, err)
	bad, good := only("property:plan", app.OpGreaterThan, "5"), only("property:undeclared", app.OpGreaterThan, "5")
	_, err = w.e.CreateSegment(ctx, w.key, app.SegmentInput{Name: "S", Filter: bad})
	wantCode(t, err, app.CodeValidation)
	s := w.segment(good)
	_, err = w.e.UpdateSegment(ctx, w.key, s.ID, app.SegmentPatch{Filter: app.Change[*app.Filter]{Set: true, Value: bad}})
	wantCode(t, err, app.CodeValidation)
	other := w.addTeam("Other", "example.org")
	_, err = w.e.CreateSegment(ctx, other, app.SegmentInput{Name: "S", Filter: bad}) // not theirs
	must(t, err)
}
