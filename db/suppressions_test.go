package db

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mailer/app"
)

// suppressionStore is a store with a team, and n suppressions of it named
// u0@example.org and so on, every third a bounce.
func suppressionStore(t testing.TB, n int) (*DB, app.Team) {
	t.Helper()
	schema, err := os.ReadFile("../schema.sql")
	if err != nil {
		t.Fatal(err)
	}
	d, err := Open(t.Context(), Options{Path: filepath.Join(t.TempDir(), "x.db"), Schema: string(schema), Create: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	var team app.Team
	err = d.Write(t.Context(), func(tx *Tx) (err error) {
		if team, err = tx.FindTeam(""); err != nil {
			return err
		}
		for i := range n {
			origin := app.OriginManual
			if i%3 == 0 {
				origin = app.OriginBounce
			}
			address := fmt.Sprintf("u%d@example.org", i)
			if _, err := tx.AddSuppression(app.Suppression{ID: app.NewID(), TeamID: team.ID, Email: address, Address: address, Origin: origin, CreatedAt: tx.Now}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return d, team
}

// plansOf runs fn and gives the plans of the statements that it ran.
func plansOf(t *testing.T, d *DB, fn func(*Tx) error) string {
	t.Helper()
	var out strings.Builder
	err := d.Write(context.Background(), func(tx *Tx) error {
		before := maps.Clone(tx.stmts)
		if err := fn(tx); err != nil {
			return err
		}
		for text := range tx.stmts {
			if before[text] != nil {
				continue
			}
			rows, err := tx.conn.QueryContext(context.Background(), "EXPLAIN QUERY PLAN "+text, make([]any, strings.Count(text, "?"))...)
			if err != nil {
				return err
			}
			for rows.Next() {
				var id, parent, unused int
				var detail string
				if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
					return err
				}
				out.WriteString(detail + "\n")
			}
			if err := rows.Close(); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestSuppressionsAreFoundByTheirIndexes(t *testing.T) {
	d, team := suppressionStore(t, 10)
	id := app.NewID()
	ignore := func(err error) error {
		if errors.Is(err, ErrNotFound) {
			return nil
		}
		return err
	}
	list := func(origin app.SuppressionOrigin, page app.Page) func(*Tx) error {
		return func(tx *Tx) error {
			var known []app.Suppression
			known, _, err := tx.ListSuppressions(team.ID, origin, app.Page{Limit: 1})
			if err != nil {
				return err
			}
			if page.After != "" {
				page.After = known[0].ID
			}
			if page.Before != "" {
				page.Before = known[0].ID
			}
			_, _, err = tx.ListSuppressions(team.ID, origin, page)
			return err
		}
	}
	for _, c := range []struct {
		name string
		run  func(*Tx) error
		plan string
	}{
		{"one recipient", func(tx *Tx) error { _, err := tx.Suppressions(team.ID, []string{"a"}); return err },
			"SEARCH suppressions USING INDEX sqlite_autoindex_suppressions_2 (team_id=? AND address=?)"},
		{"more recipients", func(tx *Tx) error { _, err := tx.Suppressions(team.ID, []string{"a", "b"}); return err },
			"SEARCH suppressions USING INDEX sqlite_autoindex_suppressions_2 (team_id=? AND address=?)"},
		{"many recipients", func(tx *Tx) error {
			_, err := tx.Suppressions(team.ID, []string{"a", "b", "c", "d", "e", "f"})
			return err
		}, "SEARCH suppressions USING INDEX sqlite_autoindex_suppressions_2 (team_id=? AND address=?)"},
		{"by id", func(tx *Tx) error { _, err := tx.Suppression(team.ID, id); return ignore(err) },
			"SEARCH suppressions USING PRIMARY KEY (id=?)"},
		{"delete", func(tx *Tx) error { return ignore(tx.DeleteSuppression(team.ID, id)) },
			"SEARCH suppressions USING PRIMARY KEY (id=?)"},
		{"unit", func(tx *Tx) error { return ignore(tx.InAttempt(id, 1)) },
			"SEARCH units USING PRIMARY KEY (email_id=?)"},
		{"list", list("", app.Page{Limit: 5}), "suppressions_team (team_id=?)"},
		{"list after", list("", app.Page{Limit: 5, After: "x"}), "suppressions_team (team_id=? AND id<?)"},
		{"list before", list("", app.Page{Limit: 5, Before: "x"}), "suppressions_team (team_id=? AND id>?)"},
		{"origin", list(app.OriginManual, app.Page{Limit: 5}), "suppressions_origin (team_id=? AND origin=?)"},
		{"origin after", list(app.OriginManual, app.Page{Limit: 5, After: "x"}), "suppressions_origin (team_id=? AND origin=? AND id<?)"},
		{"origin before", list(app.OriginManual, app.Page{Limit: 5, Before: "x"}), "suppressions_origin (team_id=? AND origin=? AND id>?)"},
	} {
		plans := plansOf(t, d, c.run)
		if !strings.Contains(plans, c.plan) || strings.Contains(plans, "SCAN") || strings.Contains(plans, "TEMP B-TREE") {
			t.Errorf("%s: want %s, got\n%s", c.name, c.plan, plans)
		}
	}
}

func TestSuppressionsOfManyAddresses(t *testing.T) {
	d, team := suppressionStore(t, 100)
	for _, c := range []struct{ n, hits int }{{0, 0}, {1, 1}, {2, 1}, {3, 2}, {5, 3}, {6, 3}, {49, 25}, {50, 25}} {
		var addresses []string
		for i := range c.n { // every other one is unknown
			addresses = append(addresses, fmt.Sprintf("u%d@example.%s", i, []string{"org", "net"}[i%2]))
		}
		err := d.Read(t.Context(), func(r *Reader) error {
			found, err := r.Suppressions(team.ID, addresses)
			if len(found) != c.hits {
				t.Errorf("%d of %d addresses found, want %d", len(found), c.n, c.hits)
			}
			foreign, err2 := r.Suppressions(app.NewID(), addresses)
			if len(foreign) != 0 {
				t.Error("another team finds them")
			}
			return errors.Join(err, err2)
		})
		if err != nil {
			t.Error(err)
		}
	}
	err := d.Read(t.Context(), func(r *Reader) error {
		_, err := r.Suppressions(team.ID, make([]string, app.MaxRecipients+1))
		return err
	})
	if err == nil {
		t.Error("more addresses than the query can hold went through")
	}
}

func TestAnOriginOutsideTheListIsRefused(t *testing.T) {
	d, team := suppressionStore(t, 0)
	err := d.Write(t.Context(), func(tx *Tx) error {
		_, err := tx.AddSuppression(app.Suppression{ID: app.NewID(), TeamID: team.ID, Email: "a@b.c", Address: "a@b.c", Origin: "spam", CreatedAt: tx.Now})
		return err
	})
	if err == nil || !strings.Contains(err.Error(), "CHECK") {
		t.Error(err)
	}
}

// BenchmarkSuppressions is what the look-up costs a send of one and of 50
// recipients, none of them on a list of 100,000.
func BenchmarkSuppressions(b *testing.B) {
	d, team := suppressionStore(b, 100_000)
	for _, n := range []int{1, 3, 50} {
		var addresses []string
		for i := range n {
			addresses = append(addresses, fmt.Sprintf("u%d@example.net", i))
		}
		b.Run(fmt.Sprint("recipients=", n), func(b *testing.B) {
			err := d.Write(b.Context(), func(tx *Tx) error {
				for b.Loop() {
					if found, err := tx.Suppressions(team.ID, addresses); err != nil || len(found) > 0 {
						return fmt.Errorf("found %d: %w", len(found), err)
					}
				}
				return nil
			})
			if err != nil {
				b.Fatal(err)
			}
		})
	}
}
