package db

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"mailer/app"
	"mailer/app/kit/membudget"
)

// newContact returns a contact of a team as package audience creates it.
func newContact(teamID, email string, p app.Properties) app.Contact {
	now := time.UnixMilli(1_790_000_000_123).UTC()
	return app.Contact{ID: app.NewID(), TeamID: teamID, Email: email, Hash: hashOf(email), Properties: p, CreatedAt: now, UpdatedAt: now}
}

// otherTeam adds a second team.
func otherTeam(t testing.TB, d *DB) app.Team {
	t.Helper()
	team := app.Team{ID: app.NewID(), Name: "Other", CreatedAt: time.UnixMilli(1)}
	writeContacts(t, d, func(tx *Tx) error { return tx.InsertTeam(team) })
	return team
}

func writeContacts(t testing.TB, d *DB, fn func(tx *Tx) error) {
	t.Helper()
	if err := d.Write(t.Context(), fn); err != nil {
		t.Fatal(err)
	}
}

func readContacts(t testing.TB, d *DB, fn func(r *Reader) error) {
	t.Helper()
	if err := d.Read(t.Context(), fn); err != nil {
		t.Fatal(err)
	}
}

func TestContactRoundTrip(t *testing.T) {
	d, team := suppressionStore(t, 0)
	c := newContact(team.ID, "Ann@example.org", app.Properties{
		"text": {Type: app.StringProperty, Text: "\"\\\n\u2028 漢 <&>"}, "empty": {Type: app.StringProperty}, "digits": {Type: app.StringProperty, Text: "007"},
		"n": {Type: app.NumberProperty, Number: -0.1}, "large": {Type: app.NumberProperty, Number: math.MaxFloat64}, "zero": {Type: app.NumberProperty},
	})
	c.FirstName, c.Unsubscribed = "Ann", true
	writeContacts(t, d, func(tx *Tx) error { return tx.InsertContact(&c) })
	changed := c
	changed.FirstName, changed.LastName, changed.Unsubscribed, changed.Properties, changed.UpdatedAt = "", "Lee", false, nil, c.UpdatedAt.Add(time.Second)
	for _, want := range []app.Contact{c, changed} {
		readContacts(t, d, func(r *Reader) error {
			byID, err := r.Contact(team.ID, c.ID)
			byAddress, err2 := r.ContactByAddress(team.ID, c.Hash)
			if !reflect.DeepEqual(byID, want) || !reflect.DeepEqual(byAddress, want) {
				t.Errorf("got %+v\nand %+v\nwant %+v", byID, byAddress, want)
			}
			return errors.Join(err, err2)
		})
		writeContacts(t, d, func(tx *Tx) error { return tx.UpdateContact(&changed) })
	}
}

func TestContactsOfOtherTeamAreNotFound(t *testing.T) {
	d, team := suppressionStore(t, 0)
	other := otherTeam(t, d)
	c, same := newContact(team.ID, "a@b.example", nil), newContact(other.ID, "a@b.example", nil)
	writeContacts(t, d, func(tx *Tx) error { return errors.Join(tx.InsertContact(&c), tx.InsertContact(&same)) })
	readContacts(t, d, func(r *Reader) error {
		if _, err := r.Contact(other.ID, c.ID); !errors.Is(err, ErrNotFound) {
			t.Error(err)
		}
		if got, err := r.ContactByAddress(other.ID, c.Hash); err != nil || got.ID != same.ID {
			t.Error(got, err)
		}
		if _, _, err := r.ListContacts(t.Context(), other.ID, app.Page{Limit: 1, After: c.ID}); !errors.Is(err, ErrNotFound) {
			t.Error(err)
		}
		return nil
	})
	for name, fn := range map[string]func(tx *Tx, c *app.Contact) error{"update": (*Tx).UpdateContact, "delete": (*Tx).DeleteContact} {
		foreign := c
		foreign.TeamID = other.ID
		if err := d.Write(t.Context(), func(tx *Tx) error { return fn(tx, &foreign) }); !errors.Is(err, ErrNotFound) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := d.Write(t.Context(), func(tx *Tx) error { again := newContact(team.ID, "a@b.example", nil); return tx.InsertContact(&again) }); err == nil {
		t.Error("an address has two contacts of one team")
	}
}

func TestDeleteContactKeepsOnlyOptOuts(t *testing.T) {
	d, team := suppressionStore(t, 0)
	c, stays := newContact(team.ID, "a@b.example", nil), newContact(team.ID, "b@b.example", nil)
	segment := app.Segment{ID: app.NewID(), TeamID: team.ID, Name: "s"}
	topic := app.Topic{ID: app.NewID(), TeamID: team.ID, Name: "t", Default: app.OptIn, Visibility: app.PublicTopic}
	left := app.Topic{ID: app.NewID(), TeamID: team.ID, Name: "left", Default: app.OptIn, Visibility: app.PublicTopic}
	writeContacts(t, d, func(tx *Tx) error {
		err := errors.Join(tx.InsertSegment(&segment), tx.InsertTopic(&topic), tx.InsertTopic(&left), tx.CountContacts(team.ID, 2), tx.CountMembers(segment.ID, 2))
		for _, c := range []app.Contact{c, stays} {
			_, err2 := tx.AddMember(segment.ID, c.ID)
			_, err3 := tx.SetChoice(topic.ID, c.Hash, app.OptIn)
			_, err4 := tx.SetChoice(left.ID, c.Hash, app.OptOut)
			err = errors.Join(err, tx.InsertContact(&c), err2, err3, err4)
		}
		return err
	})
	writeContacts(t, d, func(tx *Tx) error { return tx.DeleteContact(&c) })
	readContacts(t, d, func(r *Reader) error {
		for address, explicit := range map[app.AddressHash]bool{c.Hash: false, stays.Hash: true} {
			if got, err := r.TopicFor(team.ID, topic.ID, address); err != nil || got.Explicit != explicit {
				t.Errorf("%+v %v", got, err)
			}
			if got, err := r.TopicFor(team.ID, left.ID, address); err != nil || !got.Explicit || got.Subscription != app.OptOut {
				t.Errorf("an opt-out is forgotten: %+v %v", got, err)
			}
		}
		deleted, err := r.SegmentsOf(c.TeamID, c.ID)
		kept, err2 := r.SegmentsOf(stays.TeamID, stays.ID)
		n, err3 := r.ContactCount(team.ID)
		s, err4 := r.Segment(team.ID, segment.ID)
		if len(deleted) != 0 || !slices.Equal(kept, []string{segment.ID}) || n != 1 || s.Members != 1 {
			t.Errorf("segments %v and %v, %d contacts, %d members", deleted, kept, n, s.Members)
		}
		return errors.Join(err, err2, err3, err4)
	})
}

func TestListContactsInBothDirections(t *testing.T) {
	d, team := suppressionStore(t, 0)
	var ids []string
	writeContacts(t, d, func(tx *Tx) error {
		ids = nil
		for i := range 10 {
			c := newContact(team.ID, fmt.Sprintf("u%d@b.example", i), nil)
			ids = append([]string{c.ID}, ids...)
			if err := tx.InsertContact(&c); err != nil {
				return err
			}
		}
		return nil
	})
	for _, c := range []struct {
		page app.Page
		want []string
		more bool
	}{
		{app.Page{Limit: 10}, ids, false},
		{app.Page{Limit: 4}, ids[:4], true},
		{app.Page{Limit: 4, After: ids[3]}, ids[4:8], true},
		{app.Page{Limit: 4, After: ids[7]}, ids[8:], false},
		{app.Page{Limit: 4, Before: ids[9]}, ids[5:9], true},
		{app.Page{Limit: 4, Before: ids[2]}, ids[:2], false},
	} {
		readContacts(t, d, func(r *Reader) error {
			rows, more, err := r.ListContacts(t.Context(), team.ID, c.page)
			var got []string
			for _, row := range rows {
				got = append(got, row.ID)
			}
			if !slices.Equal(got, c.want) || more != c.more {
				t.Errorf("%+v: %q %v", c.page, got, more)
			}
			return err
		})
	}
}

func TestContactTopicsDistinguishChoiceAndDefault(t *testing.T) {
	d, team := suppressionStore(t, 0)
	other := otherTeam(t, d)
	contacts := []app.Contact{newContact(team.ID, "a@b.example", nil), newContact(team.ID, "b@b.example", nil)}
	topics := []app.Topic{
		{ID: app.NewID(), TeamID: team.ID, Name: "in", Default: app.OptIn, Visibility: app.PublicTopic},
		{ID: app.NewID(), TeamID: team.ID, Name: "out", Default: app.OptOut, Visibility: app.PrivateTopic},
		{ID: app.NewID(), TeamID: other.ID, Name: "theirs", Default: app.OptIn, Visibility: app.PublicTopic},
	}
	writeContacts(t, d, func(tx *Tx) (err error) {
		for i := range topics {
			err = errors.Join(err, tx.InsertTopic(&topics[i]))
		}
		_, err2 := tx.SetChoice(topics[0].ID, contacts[0].Hash, app.OptOut)
		_, err3 := tx.SetChoice(topics[1].ID, contacts[0].Hash, app.OptOut)
		_, err4 := tx.SetChoice(topics[2].ID, contacts[0].Hash, app.OptOut)
		return errors.Join(err, err2, err3, err4)
	})
	readContacts(t, d, func(r *Reader) error { return r.AddTopics(team.ID, contacts) })
	want := []string{"out opt_out true, in opt_out true", "out opt_out false, in opt_in false"}
	for i, c := range contacts {
		var got []string
		for _, row := range c.Topics {
			got = append(got, fmt.Sprint(row.Name, " ", row.Subscription, " ", row.Explicit))
		}
		if strings.Join(got, ", ") != want[i] {
			t.Errorf("%s: %q, want %s", c.Email, got, want[i])
		}
	}
}

// oneKB is a memory budget of one kilobyte.
type oneKB struct{}

var errNoMemory = errors.New("no memory")

func (oneKB) Reserve(context.Context, int64) error { return errNoMemory }
func (oneKB) ReserveNow(bytes int64) error {
	if bytes > 1000 {
		return errNoMemory
	}
	return nil
}

// TestContactPropertiesCountInBudget: in every list of contacts.
func TestContactPropertiesCountInBudget(t *testing.T) {
	d, team := suppressionStore(t, 0)
	segment := app.Segment{ID: app.NewID(), TeamID: team.ID, Name: "S", CreatedAt: time.UnixMilli(1)}
	writeContacts(t, d, func(tx *Tx) error {
		err := tx.InsertSegment(&segment)
		for i := range 10 {
			c := newContact(team.ID, fmt.Sprintf("c%d@b.example", i), app.Properties{"p": {Type: app.StringProperty, Text: strings.Repeat("x", membudget.FreeBytes/5)}})
			err = errors.Join(err, tx.InsertContact(&c), errorOf(tx.AddMember(segment.ID, c.ID)))
		}
		return err
	})
	filtered := segment
	filtered.Filter = &app.Filter{Match: app.MatchAll, Conditions: []app.Condition{{Field: "email", Op: app.OpIsSet}}}
	for name, list := range map[string]func(ctx context.Context, r *Reader, page app.Page) error{
		"all": func(ctx context.Context, r *Reader, page app.Page) error {
			_, _, err := r.ListContacts(ctx, team.ID, page)
			return err
		},
		"member": func(ctx context.Context, r *Reader, page app.Page) error {
			_, _, err := r.ListSegmentContacts(ctx, Effort{}, &segment, page)
			return err
		},
		"filter": func(ctx context.Context, r *Reader, page app.Page) error {
			_, _, err := r.ListSegmentContacts(ctx, Effort{}, &filtered, page)
			return err
		},
		"search": func(ctx context.Context, r *Reader, page app.Page) error {
			_, _, err := r.SearchContacts(ctx, Effort{}, &ContactSearch{TeamID: team.ID, Text: "b.example"}, page)
			return err
		},
	} {
		readContacts(t, d, func(r *Reader) error {
			budget := membudget.With(t.Context(), oneKB{})
			if err := list(budget, r, app.Page{Limit: 10}); !errors.Is(err, errNoMemory) {
				t.Errorf("%s: %v", name, err)
			}
			if err := list(budget, r, app.Page{Limit: 2}); err != nil {
				t.Errorf("%s, a small page: %v", name, err)
			}
			return nil
		})
	}
}
