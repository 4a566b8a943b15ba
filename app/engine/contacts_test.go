package engine

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"mailer/app"
	"mailer/db"
)

// audience is a world with a segment and two topics, the second one opted out
// of by default.
type audience struct {
	*world
	segment string
	topics  [2]string
}

func newAudience(t testing.TB) *audience {
	a := &audience{world: idle(t), segment: app.NewID(), topics: [2]string{app.NewID(), app.NewID()}}
	must(t, a.db.Write(t.Context(), func(tx *db.Tx) error {
		err := tx.InsertSegment(&app.Segment{ID: a.segment, TeamID: a.key.TeamID, Name: "S", CreatedAt: tx.Now})
		for i, s := range []app.Subscription{app.OptIn, app.OptOut} {
			err = errors.Join(err, tx.InsertTopic(&app.Topic{ID: a.topics[i], TeamID: a.key.TeamID, Name: fmt.Sprint("T", i), Default: s,
				Visibility: app.PublicTopic, CreatedAt: tx.Now, UpdatedAt: tx.Now}))
		}
		return err
	}))
	return a
}

func (a *audience) create(in app.ContactInput) string {
	a.t.Helper()
	id, err := a.e.CreateContact(a.t.Context(), a.key, in)
	must(a.t, err)
	return id
}

func (a *audience) patch(idOrEmail string, p app.ContactPatch) {
	a.t.Helper()
	_, err := a.e.UpdateContact(a.t.Context(), a.key, idOrEmail, p)
	must(a.t, err)
}

func (a *audience) contact(idOrEmail string) app.Contact {
	a.t.Helper()
	c, err := a.e.GetContact(a.t.Context(), a.key, idOrEmail)
	must(a.t, err)
	return c
}

func (a *audience) put(conflict app.OnConflict, permissive bool, inputs ...app.ContactInput) (*ContactBatchResult, error) {
	items := make([]ContactItem, len(inputs))
	for i := range inputs {
		items[i].Input = &inputs[i]
	}
	return a.e.PutContacts(a.t.Context(), a.key, items, conflict, permissive)
}

// counts are the counters of the team's contacts and the segment's members.
func (a *audience) counts() (contacts, members int) {
	a.t.Helper()
	a.read(func(r *db.Reader) error {
		s, err := r.Segment(a.key.TeamID, a.segment)
		members = s.Members
		n, err2 := r.ContactCount(a.key.TeamID)
		contacts = n
		return errors.Join(err, err2)
	})
	return contacts, members
}

type told struct {
	Type string
	Data struct {
		ID           string
		AudienceID   *string  `json:"audience_id"`
		SegmentIDs   []string `json:"segment_ids"`
		Email        string
		FirstName    *string `json:"first_name"`
		Unsubscribed bool
		Origin       string
		Topics       []app.TopicChoice
	}
}

// told gives what webhooks would be told since the last call, oldest first.
func (a *audience) told() (out []told) {
	a.t.Helper()
	pool, err := sql.Open("sqlite", "file:"+a.path)
	must(a.t, err)
	defer pool.Close()
	rows, err := pool.QueryContext(a.t.Context(), `SELECT payload FROM happenings ORDER BY id`)
	must(a.t, err)
	defer rows.Close()
	for rows.Next() {
		var payload string
		var one told
		must(a.t, rows.Scan(&payload))
		must(a.t, json.Unmarshal([]byte(payload), &one))
		out = append(out, one)
	}
	must(a.t, rows.Err())
	must(a.t, a.db.Write(a.t.Context(), func(tx *db.Tx) error {
		_, err := tx.PurgeWebhookEvents(tx.Now.Add(time.Hour), 1_000_000)
		return err
	}))
	return out
}

func (a *audience) wantTold(want ...string) []told {
	a.t.Helper()
	all := a.told()
	var names []string
	for _, one := range all {
		names = append(names, one.Type)
	}
	if !slices.Equal(names, want) {
		a.t.Fatalf("told %q, want %q", names, want)
	}
	return all
}

func firstName(s string) app.ContactPatch {
	return app.ContactPatch{FirstName: app.Change[string]{Set: true, Value: s}}
}

func subscribe(yes bool) app.ContactPatch {
	unsubscribed := !yes
	return app.ContactPatch{Unsubscribed: &unsubscribed}
}

func TestWebhooksAreToldWhatChangedOfAContact(t *testing.T) {
	a := newAudience(t)
	id := a.create(app.ContactInput{Email: "Ann@example.org", FirstName: "Ann", Segments: []app.SegmentRef{{ID: a.segment}, {ID: a.segment}},
		Topics: []app.TopicChoice{{ID: a.topics[0], Subscription: app.OptIn}}})
	all := a.wantTold("contact.created", "contact.topics.updated")
	if d := all[0].Data; d.ID != id || d.Email != "Ann@example.org" || *d.FirstName != "Ann" || !slices.Equal(d.SegmentIDs, []string{a.segment}) ||
		d.AudienceID == nil || *d.AudienceID != a.segment {
		t.Errorf("%+v", d)
	}
	if d := all[1].Data; d.Email != "Ann@example.org" || !slices.Equal(d.Topics, []app.TopicChoice{{ID: a.topics[0], Subscription: app.OptIn}}) {
		t.Errorf("%+v", d)
	}
	created := a.contact(id)
	a.patch(id, firstName("Ann"))
	a.patch("ANN@example.org", app.ContactPatch{Properties: app.PropertyChanges{"x": nil}})
	a.wantTold()
	if c := a.contact(id); !c.UpdatedAt.Equal(created.UpdatedAt) {
		t.Error("a patch that changes nothing is an update")
	}
	a.patch("ANN@example.org", firstName("Anne"))
	if d := a.wantTold("contact.updated")[0].Data; *d.FirstName != "Anne" || !slices.Equal(d.SegmentIDs, []string{a.segment}) {
		t.Errorf("%+v", d)
	}
	_, err := a.e.DeleteContact(t.Context(), a.key, "ann@example.org", false)
	must(t, err)
	if d := a.wantTold("contact.deleted")[0].Data; d.ID != id || d.Email != "Ann@example.org" || !slices.Equal(d.SegmentIDs, []string{a.segment}) {
		t.Errorf("%+v", d)
	}
	if contacts, members := a.counts(); contacts != 0 || members != 0 {
		t.Errorf("%d contacts and %d members are left", contacts, members)
	}
}

func TestOfConcurrentCreatesOfOneAddressOneWins(t *testing.T) {
	a := newAudience(t)
	const n = 16
	errs := make([]error, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			email := []string{"ann@example.org", "ANN@Example.ORG"}[i%2]
			if i%4 < 2 {
				_, errs[i] = a.e.CreateContact(t.Context(), a.key, app.ContactInput{Email: email})
				return
			}
			_, errs[i] = a.put(app.ConflictError, false, app.ContactInput{Email: email})
		})
	}
	all.Wait()
	won := 0
	for _, err := range errs {
		if err == nil {
			won++
			continue
		}
		wantCode(t, err, app.CodeConflict)
	}
	if contacts, _ := a.counts(); won != 1 || contacts != 1 {
		t.Errorf("%d creates won, %d contacts", won, contacts)
	}
	a.wantTold("contact.created")
}

func TestOnlyAPatchSubscribesAgain(t *testing.T) {
	a := newAudience(t)
	ctx := t.Context()
	suppress := func(email string, origin app.SuppressionOrigin) {
		_, err := a.e.AddSuppression(ctx, a.key, app.SuppressionInput{Email: email, Origin: origin})
		must(t, err)
	}
	suppress("ann@example.org", app.OriginUnsubscribe)
	suppress("bob@example.org", app.OriginBounce)
	a.create(app.ContactInput{Email: "Ann@example.org"})
	bob := a.create(app.ContactInput{Email: "bob@example.org", Unsubscribed: true})
	_, err := a.put(app.ConflictUpsert, false, app.ContactInput{Email: "ann@example.org", FirstName: "Ann"}, app.ContactInput{Email: "bob@example.org"})
	must(t, err)
	for _, email := range []string{"ann@example.org", "bob@example.org"} {
		if !a.contact(email).Unsubscribed {
			t.Errorf("%s is subscribed", email)
		}
	}
	a.told()
	a.patch("ann@example.org", firstName("Anne"))
	if !a.contact("ann@example.org").Unsubscribed {
		t.Error("a patch of another field subscribes again")
	}
	a.wantTold("contact.updated")
	a.patch("ann@example.org", subscribe(true))
	a.patch(bob, subscribe(true))
	all := a.wantTold("suppression.removed", "contact.updated", "contact.updated")
	if d := all[0].Data; d.Email != "ann@example.org" || d.Origin != "unsubscribe" || all[1].Data.Unsubscribed {
		t.Errorf("told %+v", all)
	}
	if _, err := a.e.GetSuppression(ctx, a.key, "ann@example.org"); app.CodeOf(err) != app.CodeNotFound {
		t.Errorf("the opt-out still stands: %v", err)
	}
	if _, err := a.e.GetSuppression(ctx, a.key, "bob@example.org"); err != nil {
		t.Errorf("the bounce is gone: %v", err)
	}
	// The flag may be clear already while the address is still suppressed.
	suppress("ann@example.org", app.OriginUnsubscribe)
	a.told()
	a.patch("ann@example.org", subscribe(true))
	a.wantTold("suppression.removed")
}

func TestAnOptOutOfAContactNeedsNoRoomOnTheDisk(t *testing.T) {
	bubble(t, func(t *testing.T) {
		a := &audience{world: idle(t, newRelay(nil))}
		id := a.create(app.ContactInput{Email: "ann@example.org"})
		gone := a.create(app.ContactInput{Email: "bob@example.org"})
		if err := a.strike(fullStorage(t)); !errors.Is(err, db.ErrFull) {
			t.Fatal(err)
		}
		_, err := a.e.UpdateContact(t.Context(), a.key, id, firstName("Ann"))
		wantCode(t, err, app.CodeServiceUnavailable)
		_, err = a.e.UpdateContact(t.Context(), a.key, id, subscribe(true))
		wantCode(t, err, app.CodeServiceUnavailable)
		a.patch(id, subscribe(false))
		if !a.contact(id).Unsubscribed {
			t.Error("still subscribed")
		}
		if err := a.strike(fullStorage(t)); !errors.Is(err, db.ErrFull) {
			t.Fatal(err)
		}
		_, err = a.e.RemoveContacts(t.Context(), a.key, app.ContactRemoval{IDs: []string{gone}})
		if err != nil {
			t.Errorf("a deletion waits for room: %v", err)
		}
	})
}

func TestForeignContactsSegmentsAndTopicsAreNotFound(t *testing.T) {
	a := newAudience(t)
	id := a.create(app.ContactInput{Email: "ann@example.org"})
	theirs := a.addTeam("Other", "other.example")
	ctx := t.Context()
	for _, path := range []string{id, "ann@example.org"} {
		_, err := a.e.GetContact(ctx, theirs, path)
		wantCode(t, err, app.CodeNotFound)
		_, err = a.e.UpdateContact(ctx, theirs, path, firstName("X"))
		wantCode(t, err, app.CodeNotFound)
		for _, erase := range []bool{false, true} {
			_, err = a.e.DeleteContact(ctx, theirs, path, erase)
			wantCode(t, err, app.CodeNotFound)
		}
	}
	found, err := a.e.GetContacts(ctx, theirs, app.ContactRead{Contacts: []app.ContactRef{{ID: id}, {Email: "ann@example.org"}}})
	must(t, err)
	if len(found.Contacts) != 0 || !slices.Equal(found.Missing, []int{0, 1}) {
		t.Errorf("%+v", found)
	}
	for _, erase := range []bool{false, true} {
		ids, err := a.e.RemoveContacts(ctx, theirs, app.ContactRemoval{IDs: []string{id}, Emails: []string{"ann@example.org"}, Erase: erase})
		if err != nil || len(ids) != 0 {
			t.Errorf("removed %v, %v", ids, err)
		}
	}
	for _, in := range []app.ContactInput{
		{Email: "x@example.org", Segments: []app.SegmentRef{{ID: a.segment}}},
		{Email: "x@example.org", Topics: []app.TopicChoice{{ID: a.topics[0], Subscription: app.OptIn}}},
	} {
		_, err := a.e.CreateContact(ctx, theirs, in)
		wantCode(t, err, app.CodeNotFound)
	}
	wantCode(t, a.e.CheckAudience(ctx, theirs, a.segment), app.CodeNotFound)
	if c := a.contact(id); c.FirstName != "" {
		t.Error("changed by another team")
	}
}

func TestContactsAreListedWithTheirTopics(t *testing.T) {
	a := newAudience(t)
	a.create(app.ContactInput{Email: "ann@example.org", Topics: []app.TopicChoice{{ID: a.topics[0], Subscription: app.OptOut}}})
	a.create(app.ContactInput{Email: "bob@example.org"})
	list := func(include app.Include) (out []string) {
		rows, more, err := a.e.ListContacts(t.Context(), a.key, "", include, app.Page{Limit: 10})
		must(t, err)
		if more {
			t.Error("there are more")
		}
		for _, c := range rows {
			line := c.Email
			for _, row := range c.Topics {
				line += fmt.Sprint(" ", row.Name, " ", row.Subscription, " ", row.Explicit)
			}
			out = append(out, line)
		}
		return out
	}
	want := []string{"bob@example.org T1 opt_out false T0 opt_in false", "ann@example.org T1 opt_out false T0 opt_out true"}
	if got := list(app.Include{Topics: true}); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if got := list(app.Include{}); strings.Contains(strings.Join(got, ""), "T0") {
		t.Errorf("%q", got)
	}
	_, _, err := a.e.ListContacts(t.Context(), a.key, "", app.Include{}, app.Page{Limit: 1, After: app.NewID()})
	wantCode(t, err, app.CodeValidation)
}

func TestWhoUnsubscribedStaysSoWhenDeletedAndAddedAgain(t *testing.T) {
	a := newAudience(t)
	id := a.create(app.ContactInput{Email: "Ann@example.org", Unsubscribed: true, Topics: []app.TopicChoice{{ID: a.topics[0], Subscription: app.OptOut}}})
	a.told()
	_, err := a.e.DeleteContact(t.Context(), a.key, id, false)
	must(t, err)
	if d := a.wantTold("suppression.added", "contact.deleted")[0].Data; d.Email != "ann@example.org" || d.Origin != string(app.OriginUnsubscribe) {
		t.Errorf("%+v", d)
	}
	again := a.create(app.ContactInput{Email: "ann@example.org"})
	if !a.contact(again).Unsubscribed {
		t.Error("the contact is subscribed again")
	}
	rows, _, err := a.e.ListContactTopics(t.Context(), a.key, again, app.Page{Limit: 100})
	must(t, err)
	for _, row := range rows {
		if row.ID == a.topics[0] && row.Subscription != app.OptOut {
			t.Error("the contact is subscribed to the topic again")
		}
	}
	a.patch(again, subscribe(true))
	if s, err := a.e.GetSuppression(t.Context(), a.key, "ann@example.org"); app.CodeOf(err) != app.CodeNotFound {
		t.Errorf("after the contact subscribed: %+v %v", s, err)
	}
}
