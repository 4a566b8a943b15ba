package audience_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"mailer/app"
	"mailer/app/tenants/audience"
	"mailer/app/testing/testserver"
	"mailer/db"
)

// contactTest is a test server with a segment and two topics, the second one opted out of by
// default.
type contactTest struct {
	*testserver.Server
	segment string
	topics  [2]string
}

func newContactTest(t testing.TB) *contactTest {
	a := &contactTest{Server: testserver.New(t), segment: app.NewID(), topics: [2]string{app.NewID(), app.NewID()}}
	testserver.Must(t, a.DB.Write(t.Context(), func(tx *db.Tx) error {
		err := tx.InsertSegment(&app.Segment{ID: a.segment, TeamID: a.Key.TeamID, Name: "S", CreatedAt: tx.Now})
		for i, s := range []app.Subscription{app.OptIn, app.OptOut} {
			err = errors.Join(err, tx.InsertTopic(&app.Topic{ID: a.topics[i], TeamID: a.Key.TeamID, Name: fmt.Sprint("T", i), Default: s,
				Visibility: app.PublicTopic, CreatedAt: tx.Now, UpdatedAt: tx.Now}))
		}
		return err
	}))
	return a
}

func (a *contactTest) create(in app.ContactInput) string {
	a.T.Helper()
	id, _, err := a.Services.Audience.PutContact(a.T.Context(), a.Key, in, app.ConflictError)
	testserver.Must(a.T, err)
	return id
}

func (a *contactTest) patch(idOrEmail string, p app.ContactPatch) {
	a.T.Helper()
	_, err := a.Services.Audience.UpdateContact(a.T.Context(), a.Key, idOrEmail, p)
	testserver.Must(a.T, err)
}

func (a *contactTest) contact(idOrEmail string) app.Contact {
	a.T.Helper()
	c, err := a.Services.Audience.GetContact(a.T.Context(), a.Key, idOrEmail)
	testserver.Must(a.T, err)
	return c
}

func (a *contactTest) put(conflict app.OnConflict, permissive bool, inputs ...app.ContactInput) (*audience.ContactBatchResult, error) {
	items := make([]audience.ContactItem, len(inputs))
	for i := range inputs {
		items[i].Input = &inputs[i]
	}
	return a.Services.Audience.PutContacts(a.T.Context(), a.Key, items, conflict, permissive)
}

// counts returns the counters of the team's contacts and the segment's members.
func (a *contactTest) counts() (contacts, members int) {
	a.T.Helper()
	a.Read(func(r *db.Reader) error {
		s, err := r.Segment(a.Key.TeamID, a.segment)
		members = s.Members
		n, err2 := r.ContactCount(a.Key.TeamID)
		contacts = n
		return errors.Join(err, err2)
	})
	return contacts, members
}

type contactEvent struct {
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

// events returns the events announced since the last call, oldest first.
func (a *contactTest) events() (out []contactEvent) {
	a.T.Helper()
	for _, payload := range a.SQL(`SELECT payload FROM webhook_events ORDER BY id`) {
		var one contactEvent
		testserver.Must(a.T, json.Unmarshal([]byte(payload), &one))
		out = append(out, one)
	}
	testserver.Must(a.T, a.DB.Write(a.T.Context(), func(tx *db.Tx) error {
		_, err := tx.PurgeWebhookEvents(tx.Now.Add(time.Hour), 1_000_000)
		return err
	}))
	return out
}

func (a *contactTest) wantEvents(want ...string) []contactEvent {
	a.T.Helper()
	all := a.events()
	var names []string
	for _, one := range all {
		names = append(names, one.Type)
	}
	if !slices.Equal(names, want) {
		a.T.Fatalf("told %q, want %q", names, want)
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

func TestContactEvents(t *testing.T) {
	a := newContactTest(t)
	id := a.create(app.ContactInput{Email: "Ann@example.org", FirstName: "Ann", Segments: []app.SegmentRef{{ID: a.segment}, {ID: a.segment}},
		Topics: []app.TopicChoice{{ID: a.topics[0], Subscription: app.OptIn}}})
	all := a.wantEvents("contact.created", "contact.topics.updated")
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
	a.wantEvents()
	if c := a.contact(id); !c.UpdatedAt.Equal(created.UpdatedAt) {
		t.Error("a patch that changes nothing is an update")
	}
	a.patch("ANN@example.org", firstName("Anne"))
	if d := a.wantEvents("contact.updated")[0].Data; *d.FirstName != "Anne" || !slices.Equal(d.SegmentIDs, []string{a.segment}) {
		t.Errorf("%+v", d)
	}
	_, err := a.Services.Audience.DeleteContact(t.Context(), a.Key, "ann@example.org", false)
	testserver.Must(t, err)
	if d := a.wantEvents("contact.deleted")[0].Data; d.ID != id || d.Email != "Ann@example.org" || !slices.Equal(d.SegmentIDs, []string{a.segment}) {
		t.Errorf("%+v", d)
	}
	if contacts, members := a.counts(); contacts != 0 || members != 0 {
		t.Errorf("%d contacts and %d members are left", contacts, members)
	}
}

func TestConcurrentCreatesOfOneAddress(t *testing.T) {
	testserver.BothEngines(t)
	a := newContactTest(t)
	const n = 16
	errs := make([]error, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			email := []string{"ann@example.org", "ANN@Example.ORG"}[i%2]
			if i%4 < 2 {
				_, _, errs[i] = a.Services.Audience.PutContact(t.Context(), a.Key, app.ContactInput{Email: email}, app.ConflictError)
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
		testserver.WantCode(t, err, app.CodeConflict)
	}
	if contacts, _ := a.counts(); won != 1 || contacts != 1 {
		t.Errorf("%d creates won, %d contacts", won, contacts)
	}
	a.wantEvents("contact.created")
}

func TestOnlyPatchResubscribes(t *testing.T) {
	a := newContactTest(t)
	ctx := t.Context()
	suppress := func(email string, origin app.SuppressionOrigin) {
		_, err := a.Services.Suppressions.AddSuppression(ctx, a.Key, app.SuppressionInput{Email: email, Origin: origin})
		testserver.Must(t, err)
	}
	suppress("ann@example.org", app.OriginUnsubscribe)
	suppress("bob@example.org", app.OriginBounce)
	a.create(app.ContactInput{Email: "Ann@example.org"})
	bob := a.create(app.ContactInput{Email: "bob@example.org", Unsubscribed: true})
	_, err := a.put(app.ConflictUpsert, false, app.ContactInput{Email: "ann@example.org", FirstName: "Ann"}, app.ContactInput{Email: "bob@example.org"})
	testserver.Must(t, err)
	for _, email := range []string{"ann@example.org", "bob@example.org"} {
		if !a.contact(email).Unsubscribed {
			t.Errorf("%s is subscribed", email)
		}
	}
	a.events()
	a.patch("ann@example.org", firstName("Anne"))
	if !a.contact("ann@example.org").Unsubscribed {
		t.Error("a patch of another field subscribes again")
	}
	a.wantEvents("contact.updated")
	a.patch("ann@example.org", subscribe(true))
	a.patch(bob, subscribe(true))
	all := a.wantEvents("suppression.removed", "contact.updated", "contact.updated")
	if d := all[0].Data; d.Email != "ann@example.org" || d.Origin != "unsubscribe" || all[1].Data.Unsubscribed {
		t.Errorf("told %+v", all)
	}
	if _, err := a.Services.Suppressions.GetSuppression(ctx, a.Key, "ann@example.org"); app.CodeOf(err) != app.CodeNotFound {
		t.Errorf("the opt-out still stands: %v", err)
	}
	if _, err := a.Services.Suppressions.GetSuppression(ctx, a.Key, "bob@example.org"); err != nil {
		t.Errorf("the bounce is gone: %v", err)
	}
	// The contact may be subscribed while its address is still suppressed.
	suppress("ann@example.org", app.OriginUnsubscribe)
	a.events()
	a.patch("ann@example.org", subscribe(true))
	a.wantEvents("suppression.removed")
}

func TestContactOptOutOnFullDisk(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		a := &contactTest{Server: testserver.New(t, testserver.NewRelay(nil))}
		id := a.create(app.ContactInput{Email: "ann@example.org"})
		gone := a.create(app.ContactInput{Email: "bob@example.org"})
		if err := a.FailWrite(testserver.DiskFullError(t)); !errors.Is(err, db.ErrFull) {
			t.Fatal(err)
		}
		_, err := a.Services.Audience.UpdateContact(t.Context(), a.Key, id, firstName("Ann"))
		testserver.WantCode(t, err, app.CodeServiceUnavailable)
		_, err = a.Services.Audience.UpdateContact(t.Context(), a.Key, id, subscribe(true))
		testserver.WantCode(t, err, app.CodeServiceUnavailable)
		a.patch(id, subscribe(false))
		if !a.contact(id).Unsubscribed {
			t.Error("still subscribed")
		}
		if err := a.FailWrite(testserver.DiskFullError(t)); !errors.Is(err, db.ErrFull) {
			t.Fatal(err)
		}
		_, err = a.Services.Audience.RemoveContacts(t.Context(), a.Key, app.ContactRemoval{IDs: []string{gone}})
		if err != nil {
			t.Errorf("a deletion waits for room: %v", err)
		}
	})
}

func TestOtherTeamsAudienceIsNotFound(t *testing.T) {
	testserver.BothEngines(t)
	a := newContactTest(t)
	id := a.create(app.ContactInput{Email: "ann@example.org"})
	theirs := a.AddTeam("Other", "other.example")
	ctx := t.Context()
	for _, path := range []string{id, "ann@example.org"} {
		_, err := a.Services.Audience.GetContact(ctx, theirs, path)
		testserver.WantCode(t, err, app.CodeNotFound)
		_, err = a.Services.Audience.UpdateContact(ctx, theirs, path, firstName("X"))
		testserver.WantCode(t, err, app.CodeNotFound)
		_, err = a.Services.Audience.DeleteContact(ctx, theirs, path, false)
		testserver.WantCode(t, err, app.CodeNotFound)
	}
	_, err := a.Services.Audience.DeleteContact(ctx, theirs, id, true)
	testserver.WantCode(t, err, app.CodeNotFound)
	erased, err := a.Services.Audience.DeleteContact(ctx, theirs, "ann@example.org", true) // erases the address in the other team, which has no data of it
	if err != nil || erased == id {
		t.Errorf("erased %s, %v", erased, err)
	}
	found, err := a.Services.Audience.GetContacts(ctx, theirs, app.ContactRead{Contacts: []app.ContactRef{{ID: id}, {Email: "ann@example.org"}}})
	testserver.Must(t, err)
	if len(found.Contacts) != 0 || !slices.Equal(found.Missing, []int{0, 1}) {
		t.Errorf("%+v", found)
	}
	for _, erase := range []bool{false, true} {
		ids, err := a.Services.Audience.RemoveContacts(ctx, theirs, app.ContactRemoval{IDs: []string{id}, Emails: []string{"ann@example.org"}, Erase: erase})
		if err != nil || len(ids) != 0 {
			t.Errorf("removed %v, %v", ids, err)
		}
	}
	for _, in := range []app.ContactInput{
		{Email: "x@example.org", Segments: []app.SegmentRef{{ID: a.segment}}},
		{Email: "x@example.org", Topics: []app.TopicChoice{{ID: a.topics[0], Subscription: app.OptIn}}},
	} {
		_, _, err := a.Services.Audience.PutContact(ctx, theirs, in, app.ConflictError)
		testserver.WantCode(t, err, app.CodeNotFound)
	}
	testserver.WantCode(t, a.Services.Audience.CheckAudience(ctx, theirs, a.segment), app.CodeNotFound)
	if c := a.contact(id); c.FirstName != "" {
		t.Error("changed by another team")
	}
}

func TestListContactsWithTopics(t *testing.T) {
	testserver.BothEngines(t)
	a := newContactTest(t)
	a.create(app.ContactInput{Email: "ann@example.org", Topics: []app.TopicChoice{{ID: a.topics[0], Subscription: app.OptOut}}})
	a.create(app.ContactInput{Email: "bob@example.org"})
	list := func(include app.Include) (out []string) {
		rows, more, err := a.Services.Audience.ListContacts(t.Context(), a.Key, "", include, app.Page{Limit: 10})
		testserver.Must(t, err)
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
	_, _, err := a.Services.Audience.ListContacts(t.Context(), a.Key, "", app.Include{}, app.Page{Limit: 1, After: app.NewID()})
	testserver.WantCode(t, err, app.CodeValidation)
}

func TestUnsubscribedStaysAfterDeleteAndRecreate(t *testing.T) {
	a := newContactTest(t)
	id := a.create(app.ContactInput{Email: "Ann@example.org", Unsubscribed: true, Topics: []app.TopicChoice{{ID: a.topics[0], Subscription: app.OptOut}}})
	a.events()
	_, err := a.Services.Audience.DeleteContact(t.Context(), a.Key, id, false)
	testserver.Must(t, err)
	if d := a.wantEvents("suppression.added", "contact.deleted")[0].Data; d.Email != "ann@example.org" || d.Origin != string(app.OriginUnsubscribe) {
		t.Errorf("%+v", d)
	}
	again := a.create(app.ContactInput{Email: "ann@example.org"})
	if !a.contact(again).Unsubscribed {
		t.Error("the contact is subscribed again")
	}
	rows, _, err := a.Services.Audience.ListContactTopics(t.Context(), a.Key, again, app.Page{Limit: 100})
	testserver.Must(t, err)
	for _, row := range rows {
		if row.ID == a.topics[0] && row.Subscription != app.OptOut {
			t.Error("the contact is subscribed to the topic again")
		}
	}
	a.patch(again, subscribe(true))
	if s, err := a.Services.Suppressions.GetSuppression(t.Context(), a.Key, "ann@example.org"); app.CodeOf(err) != app.CodeNotFound {
		t.Errorf("after the contact subscribed: %+v %v", s, err)
	}
}
