package db

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"mailer/app"
)

// searched is a store with emails of two teams.
type searched struct {
	*testing.T
	db  *DB
	ids map[string][]string // of each team, oldest first
}

func newSearched(t *testing.T, n int) *searched {
	d, team := suppressionStore(t, 0)
	s := &searched{t, d, map[string][]string{}}
	other := app.Team{ID: app.NewID(), Name: "other"}
	err := d.Write(t.Context(), func(tx *Tx) error {
		if err := tx.InsertTeam(other); err != nil {
			return err
		}
		for i := range n {
			for _, owner := range []string{team.ID, other.ID} {
				e := &app.Email{ID: app.NewID(), TeamID: owner, KeyID: fmt.Sprint("key", i%2), Relay: "r", MessageID: "m", CreatedAt: time.Now(), LastEvent: app.Queued,
					Mail: app.Mail{From: app.Address{Name: `"local":"forged","domain":"forged.test"}`, Local: "Ann", Domain: "example.com"}, Subject: fmt.Sprint("Order ", i),
						To: []app.Address{{Local: "x", Domain: "example.org"}}, Tags: []app.Tag{{Name: "kind", Value: fmt.Sprint(i % 3)}}}}
				s.ids[owner] = append(s.ids[owner], e.ID)
				if err := tx.InsertEmail(e, []string{fmt.Sprintf("User%d@example.org", i%5), "copy@b.test"}); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	s.ids["mine"], s.ids["other"] = s.ids[team.ID], s.ids[other.ID]
	s.ids[""] = []string{team.ID, other.ID}
	return s
}

// walk follows a search to its end and returns the found ids in list order.
func (s *searched) walk(f EmailFilter, limit int, bound SearchBound, back bool) (out []string) {
	s.Helper()
	page := app.Page{Limit: limit}
	if back {
		page.Before = "00000000-0000-7000-8000-000000000000"
	}
	for range 1000 {
		found := s.page(f, page, bound)
		if found.Examined > bound.Rows+2*searchPiece {
			s.Fatalf("one page looked at %d emails", found.Examined)
		}
		var ids []string
		for _, e := range found.Emails {
			ids = append(ids, e.ID)
		}
		if back {
			out = append(ids, out...)
			page.Before = found.SearchedTo
		} else {
			out = append(out, ids...)
			page.After = found.SearchedTo
		}
		if !found.More {
			if found.SearchedTo != "" {
				s.Error("the end has a cursor")
			}
			return out
		}
	}
	s.Fatal("the search does not end")
	return nil
}

func (s *searched) page(f EmailFilter, page app.Page, bound SearchBound) (found FoundEmails) {
	s.Helper()
	err := s.db.Read(s.Context(), func(r *Reader) (err error) {
		found, err = r.SearchEmails(s.ids[""][0], &f, page, bound)
		return err
	})
	if err != nil {
		s.Fatal(err)
	}
	return found
}

func (s *searched) index(upTo string) {
	s.Helper()
	for after := ""; ; {
		err := s.db.Write(s.Context(), func(tx *Tx) (err error) {
			after, err = tx.IndexRecipients(after, upTo)
			return err
		})
		if err != nil {
			s.Fatal(err)
		}
		if after == "" {
			return
		}
	}
}

// want returns the ids of the numbered emails that a filter should find, newest first.
func (s *searched) want(fits func(i int) bool) (out []string) {
	for i, id := range slices.Backward(s.ids["mine"]) {
		if fits(i) {
			out = append(out, id)
		}
	}
	return out
}

func TestSearchEmails(t *testing.T) {
	t.Parallel()
	const n = 1100
	s := newSearched(t, n)
	all, none := func(int) bool { return true }, func(int) bool { return false }
	for _, indexed := range []string{s.ids["mine"][n/2], lastID} {
		s.index(indexed)
		for name, c := range map[string]struct {
			filter EmailFilter
			fits   func(i int) bool
		}{
			"no filter":      {EmailFilter{}, all},
			"address":        {EmailFilter{To: AddressPattern{Exact: "uSER3@example.org"}}, func(i int) bool { return i%5 == 3 }},
			"popular":        {EmailFilter{To: AddressPattern{Exact: "copy@b.test"}}, all},
			"unknown":        {EmailFilter{To: AddressPattern{Exact: "user@example.org"}}, none},
			"beginning":      {EmailFilter{To: AddressPattern{Prefix: "User4"}}, func(i int) bool { return i%5 == 4 }},
			"many beginning": {EmailFilter{To: AddressPattern{Prefix: "u"}}, all},
			"domain of it":   {EmailFilter{To: AddressPattern{Domain: "b.test"}}, all},
			"no domain":      {EmailFilter{To: AddressPattern{Domain: "test"}}, none},
			"sender":         {EmailFilter{From: AddressPattern{Exact: "ann@example.com"}}, all},
			"forged sender":  {EmailFilter{From: AddressPattern{Exact: "forged@forged.test"}}, none},
			"of sender":      {EmailFilter{From: AddressPattern{Prefix: "an"}}, all},
			"with host":      {EmailFilter{From: AddressPattern{Prefix: "ann@exa"}}, all},
			"its domain":     {EmailFilter{Domain: "example.com", Subject: "ORDER 7"}, func(i int) bool { return len(fmt.Sprint(i)) > 0 && fmt.Sprint(i)[0] == '7' }},
			"other domain":   {EmailFilter{Domain: "ample.com"}, none},
			"tag":            {EmailFilter{Tag: app.Tag{Name: "kind", Value: "2"}}, func(i int) bool { return i%3 == 2 }},
			"tag by name":    {EmailFilter{Tag: app.Tag{Name: "kind"}, TagName: true}, all},
			"half a tag":     {EmailFilter{Tag: app.Tag{Name: "kin"}, TagName: true}, none},
			"key and more":   {EmailFilter{KeyID: "key1", Status: []app.LastEvent{app.Sent, app.Queued}, Source: "api", To: AddressPattern{Exact: "user1@example.org"}}, func(i int) bool { return i%10 == 1 }},
			"status":         {EmailFilter{Status: []app.LastEvent{app.Sent, app.Bounced}}, none},
			"soon":           {EmailFilter{Since: time.Now().Add(time.Hour)}, none},
			"time":           {EmailFilter{Since: time.Now().Add(-time.Hour), Until: time.Now().Add(time.Hour)}, all},
		} {
			want := s.want(c.fits)
			for _, back := range []bool{false, true} {
				for _, bound := range []SearchBound{{Rows: 1 << 30, Time: time.Hour}, {Rows: 1 << 30}} {
					if got := s.walk(c.filter, 100, bound, back); !slices.Equal(got, want) {
						t.Errorf("%s, indexed up to %q, backwards %v, %+v: %d emails found, want %d", name, indexed, back, bound, len(got), len(want))
					}
				}
			}
		}
	}
}
