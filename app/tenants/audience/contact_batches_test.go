package audience_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"mailer/app"
	"mailer/app/tenants/audience"
	"mailer/app/testing/testserver"
)

// lines formats the rows of an answer as "index status" and its errors as "index message".
func lines(r *audience.ContactBatchResult) string {
	var out []string
	for _, row := range r.Rows {
		out = append(out, fmt.Sprint(row.Index, " ", row.Status))
	}
	for _, e := range r.Errors {
		out = append(out, fmt.Sprint(e.Index, " ", e.Message))
	}
	return strings.Join(out, "; ")
}

func TestBatchConflictModes(t *testing.T) {
	known, created := app.ContactInput{Email: "KNOWN@example.org", FirstName: "K"}, app.ContactInput{Email: "new@example.org", FirstName: "A"}
	again := app.ContactInput{Email: "New@example.org", FirstName: "B", Unsubscribed: true}
	for _, c := range []struct {
		conflict app.OnConflict
		want     string
		first    string // first name of the created contact
	}{
		{app.ConflictError, "1 created; 0 A contact with this email address exists already; 2 An earlier item of this batch has the same email address; " +
			"3 A contact with this email address exists already", "A"},
		{app.ConflictSkip, "0 skipped; 1 created; 2 skipped; 3 skipped", "A"},
		{app.ConflictUpsert, "0 updated; 1 created; 2 updated; 3 updated", "B"},
	} {
		t.Run(string(c.conflict), func(t *testing.T) {
			a := newContactTest(t)
			id := a.create(app.ContactInput{Email: "known@example.org"})
			a.events()
			r, err := a.put(c.conflict, true, known, created, again, known)
			testserver.Must(t, err)
			if got := lines(r); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			if n := r.Created + r.Updated + r.Skipped + len(r.Errors); n != 4 {
				t.Errorf("the counts add up to %d", n)
			}
			ids := map[int]string{0: id, 1: a.contact("new@example.org").ID, 2: a.contact("new@example.org").ID, 3: id}
			for _, row := range r.Rows {
				if row.ID != ids[row.Index] {
					t.Errorf("item %d has the id %s, want %s", row.Index, row.ID, ids[row.Index])
				}
			}
			got := a.contact("new@example.org")
			if got.FirstName != c.first || got.Unsubscribed != (c.conflict == app.ConflictUpsert) {
				t.Errorf("%+v", got)
			}
			if c.conflict == app.ConflictUpsert {
				a.wantEvents("contact.updated", "contact.created")
			} else {
				a.wantEvents("contact.created")
			}
		})
	}
}

func TestStrictBatchWritesNothingOnError(t *testing.T) {
	good := func(i int) app.ContactInput { return app.ContactInput{Email: fmt.Sprintf("u%d@example.org", i)} }
	for name, c := range map[string]struct {
		bad   func(a *contactTest) app.ContactInput
		code  app.Code
		words string
	}{
		"shape":    {func(*contactTest) app.ContactInput { return app.ContactInput{Email: "x"} }, app.CodeValidation, "`email`"},
		"repeated": {func(*contactTest) app.ContactInput { return good(0) }, app.CodeConflict, "earlier item"},
		"known":    {func(a *contactTest) app.ContactInput { return app.ContactInput{Email: "known@example.org"} }, app.CodeConflict, "exists already"},
		"segment": {func(*contactTest) app.ContactInput {
			return app.ContactInput{Email: "x@example.org", Segments: []app.SegmentRef{{ID: app.NewID()}}}
		}, app.CodeNotFound, "segment"},
		"topic": {func(*contactTest) app.ContactInput {
			return app.ContactInput{Email: "x@example.org", Topics: []app.TopicChoice{{ID: app.NewID(), Subscription: app.OptIn}}}
		}, app.CodeNotFound, "topic"},
	} {
		t.Run(name, func(t *testing.T) {
			a := newContactTest(t)
			a.create(app.ContactInput{Email: "known@example.org"})
			a.events()
			first := good(0)
			first.Segments = []app.SegmentRef{{ID: a.segment}}
			_, err := a.put("", false, first, good(1), c.bad(a), app.ContactInput{})
			testserver.WantCode(t, err, c.code)
			var refusal *app.Error
			if !errors.As(err, &refusal) || !strings.HasPrefix(refusal.Message, "contacts.2: ") || !strings.Contains(refusal.Message, c.words) {
				t.Errorf("%v", err)
			}
			if contacts, members := a.counts(); contacts != 1 || members != 0 {
				t.Errorf("%d contacts, %d members", contacts, members)
			}
			a.wantEvents()
			r, err := a.put("", true, first, good(1), c.bad(a), good(3))
			testserver.Must(t, err)
			if r.Created != 3 || len(r.Errors) != 1 || r.Errors[0].Index != 2 || strings.Contains(r.Errors[0].Message, "contacts.") {
				t.Errorf("permissive: %+v", r)
			}
			if contacts, members := a.counts(); contacts != 4 || members != 1 {
				t.Errorf("%d contacts, %d members", contacts, members)
			}
		})
	}
}

func TestRepeatOfFailedItemCountsAsFirst(t *testing.T) {
	for _, conflict := range []app.OnConflict{app.ConflictError, app.ConflictSkip, app.ConflictUpsert} {
		a := newContactTest(t)
		r, err := a.put(conflict, true, app.ContactInput{Email: "a@example.org", FirstName: "a\nb"}, app.ContactInput{Email: "a@example.org", FirstName: "A"})
		testserver.Must(t, err)
		if len(r.Rows) != 1 || r.Rows[0].Index != 1 || r.Rows[0].Status != "created" || len(r.Errors) != 1 || a.contact("a@example.org").FirstName != "A" {
			t.Errorf("%s: %+v", conflict, r)
		}
	}
}

func TestItemOverflowingItsContactFailsAlone(t *testing.T) {
	a := newContactTest(t)
	keys := func(prefix string, n int) app.PropertyChanges {
		out := app.PropertyChanges{}
		for i := range n {
			out[fmt.Sprint(prefix, i)] = &app.PropertyValue{Type: app.StringProperty, Text: prefix}
		}
		return out
	}
	a.create(app.ContactInput{Email: "old@example.org", Properties: keys("o", 50)})
	r, err := a.put(app.ConflictUpsert, true,
		app.ContactInput{Email: "old@example.org", Properties: keys("a", 51)},
		app.ContactInput{Email: "old@example.org", Properties: keys("b", 30)},
		app.ContactInput{Email: "old@example.org", Properties: keys("c", 21)},
		app.ContactInput{Email: "old@example.org", Properties: keys("d", 20)},
		app.ContactInput{Email: "new@example.org", Properties: keys("a", 100)},
		app.ContactInput{Email: "new@example.org", Properties: keys("b", 1), FirstName: "N"})
	testserver.Must(t, err)
	const full = " `properties` can hold at most 100 keys"
	if got, want := lines(r), "1 updated; 3 updated; 4 created; 0"+full+"; 2"+full+"; 5"+full; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if c := a.contact("old@example.org"); len(c.Properties) != 100 || c.Properties["d19"].Text != "d" {
		t.Errorf("%d properties", len(c.Properties))
	}
	if c := a.contact("new@example.org"); len(c.Properties) != 100 || c.FirstName != "" {
		t.Errorf("%d properties, first name %q", len(c.Properties), c.FirstName)
	}
}

func TestBatchMergesSegmentsAndTopics(t *testing.T) {
	testserver.BothEngines(t)
	a := newContactTest(t)
	in := app.ContactInput{Email: "ann@example.org", Segments: []app.SegmentRef{{ID: a.segment}},
		Topics: []app.TopicChoice{{ID: a.topics[0], Subscription: app.OptOut}, {ID: a.topics[1], Subscription: app.OptIn}}}
	again := app.ContactInput{Email: "Ann@example.org", Segments: in.Segments, Topics: []app.TopicChoice{{ID: a.topics[0], Subscription: app.OptIn}}}
	_, err := a.put(app.ConflictUpsert, false, in, again)
	testserver.Must(t, err)
	events := a.wantEvents("contact.created", "contact.topics.updated")
	want := []app.TopicChoice{{ID: a.topics[0], Subscription: app.OptIn}, {ID: a.topics[1], Subscription: app.OptIn}}
	if got := events[1].Data.Topics; !slices.Equal(got, want) {
		t.Errorf("chosen %v", got)
	}
	_, err = a.put(app.ConflictUpsert, false, again)
	testserver.Must(t, err)
	a.wantEvents()
	if contacts, members := a.counts(); contacts != 1 || members != 1 {
		t.Errorf("%d contacts, %d members", contacts, members)
	}
}

// sequential returns the statuses that a permissive batch must have, computed item after item.
func sequential(state map[string]app.Contact, inputs []app.ContactInput, conflict app.OnConflict) (status []string) {
	for _, in := range inputs {
		address := strings.ToLower(in.Email)
		n, err := in.Validate()
		old, known := state[address]
		switch {
		case err != nil || known && conflict == app.ConflictError:
			status = append(status, "failed")
			continue
		case known && conflict == app.ConflictSkip:
			status = append(status, "skipped")
			continue
		case known:
			status = append(status, "updated")
		default:
			status = append(status, "created")
		}
		state[address], _ = n.Merge(old)
	}
	return status
}

func TestBatchEqualsSequentialItems(t *testing.T) {
	a := newContactTest(t)
	state := map[string]app.Contact{}
	r := rand.New(rand.NewPCG(7, 7))
	for round := range 60 {
		inputs := make([]app.ContactInput, 1+r.IntN(12))
		for i := range inputs {
			email := fmt.Sprintf("u%d@example.org", r.IntN(20)+round/10*10)
			if r.IntN(2) == 0 {
				email = strings.ToUpper(email)
			}
			inputs[i] = app.ContactInput{Email: email, FirstName: []string{"", "A", "B", "\n"}[r.IntN(4)], LastName: []string{"", "L", "M"}[r.IntN(3)],
				Unsubscribed: r.IntN(4) == 0, Properties: app.PropertyChanges{fmt.Sprint("k", r.IntN(3)): {Type: app.NumberProperty, Number: float64(r.IntN(5))}}}
			if r.IntN(3) == 0 {
				inputs[i].Properties["k0"] = nil
			}
		}
		conflict := []app.OnConflict{app.ConflictError, app.ConflictSkip, app.ConflictUpsert}[r.IntN(3)]
		want := sequential(state, inputs, conflict)
		result, err := a.put(conflict, true, inputs...)
		testserver.Must(t, err)
		got := make([]string, len(inputs))
		for _, row := range result.Rows {
			got[row.Index] = row.Status
		}
		for _, e := range result.Errors {
			got[e.Index] = "failed"
		}
		if !slices.Equal(got, want) {
			t.Fatalf("round %d (%s): %q, want %q", round, conflict, got, want)
		}
	}
	for address, want := range state {
		c := a.contact(address)
		if c.FirstName != want.FirstName || c.LastName != want.LastName || c.Unsubscribed != want.Unsubscribed || !maps.Equal(c.Properties, want.Properties) {
			t.Errorf("%s is %+v, want %+v", address, c, want)
		}
	}
	if contacts, _ := a.counts(); contacts != len(state) {
		t.Errorf("%d contacts, want %d", contacts, len(state))
	}
}

func TestGetContactsKeepsRequestOrder(t *testing.T) {
	a := newContactTest(t)
	ann, bob := a.create(app.ContactInput{Email: "ann@example.org"}), a.create(app.ContactInput{Email: "bob@example.org"})
	found, err := a.Services.Audience.GetContacts(t.Context(), a.Key, app.ContactRead{Include: []string{"topics"}, Contacts: []app.ContactRef{
		{Email: "BOB@example.org"}, {ID: app.NewID()}, {ID: strings.ToUpper(ann)}, {ID: ann, Email: "Ann@example.org"},
		{ID: ann, Email: "bob@example.org"}, {ID: bob, Email: "nobody@example.org"}, {Email: "nobody@example.org"}, {ID: bob},
	}})
	testserver.Must(t, err)
	var ids []string
	for _, c := range found.Contacts {
		ids = append(ids, c.ID)
		if len(c.Topics) != 2 {
			t.Errorf("%d topics", len(c.Topics))
		}
	}
	if !slices.Equal(ids, []string{bob, ann, ann, bob}) || !slices.Equal(found.Missing, []int{1, 4, 5, 6}) {
		t.Errorf("%q, missing %v", ids, found.Missing)
	}
}

func TestRemoveContactsDeletesEachOnce(t *testing.T) {
	for _, erase := range []bool{false, true} {
		a := newContactTest(t)
		var ids []string
		for i := range 4 {
			ids = append(ids, a.create(app.ContactInput{Email: fmt.Sprintf("u%d@example.org", i), Segments: []app.SegmentRef{{ID: a.segment}}}))
		}
		a.events()
		got, err := a.Services.Audience.RemoveContacts(t.Context(), a.Key, app.ContactRemoval{
			IDs: []string{ids[2], app.NewID(), ids[0], strings.ToUpper(ids[2])}, Emails: []string{"U0@example.org", "nobody@example.org", "u1@example.org"}, Erase: erase,
		})
		testserver.Must(t, err)
		if want := []string{ids[2], ids[0], ids[1]}; !slices.Equal(got, want) {
			t.Errorf("erase %v: deleted %q, want %q", erase, got, want)
		}
		if contacts, members := a.counts(); contacts != 1 || members != 1 {
			t.Errorf("erase %v: %d contacts, %d members", erase, contacts, members)
		}
		for i, one := range a.wantEvents("contact.deleted", "contact.deleted", "contact.deleted") {
			if one.Data.ID != got[i] || !slices.Equal(one.Data.SegmentIDs, []string{a.segment}) {
				t.Errorf("told %+v", one.Data)
			}
		}
	}
}

func TestContactBatchLimits(t *testing.T) {
	a := newContactTest(t)
	for _, items := range [][]audience.ContactItem{nil, append(thousand("x"), thousand("y")[0])} {
		_, err := a.Services.Audience.PutContacts(t.Context(), a.Key, items, app.ConflictUpsert, true)
		testserver.WantCode(t, err, app.CodeValidation)
	}
	r, err := a.Services.Audience.PutContacts(t.Context(), a.Key, thousand("x"), app.ConflictError, false)
	testserver.Must(t, err)
	if contacts, _ := a.counts(); r.Created != 1000 || contacts != 1000 {
		t.Errorf("%d created, %d contacts", r.Created, contacts)
	}
	if r.Rows[0].Index != 0 || !slices.IsSortedFunc(r.Rows, func(a, b audience.ContactBatchRow) int { return a.Index - b.Index }) {
		t.Error("the rows are not in the order of the request")
	}
}
