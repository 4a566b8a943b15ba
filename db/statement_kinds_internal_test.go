package db

import (
	"testing"
	"time"

	"mailer/app"
	"mailer/db/engine"
)

// writtenTables returns the tables that SQLite's program of a statement writes to,
// including foreign key actions.
func writtenTables(t *testing.T, d *DB, text string) map[string]bool {
	t.Helper()
	out := map[string]bool{}
	err := d.Read(t.Context(), func(r *Reader) error {
		tables := map[int]string{}
		err := r.Each("SELECT rootpage, tbl_name FROM sqlite_schema WHERE rootpage > 0", nil, func(s scanner) error {
			var page int
			var name string
			err := s.Scan(&page, &name)
			tables[page] = name
			return err
		})
		if err != nil {
			return err
		}
		return r.Each("EXPLAIN "+text, nulls(text), func(s scanner) error {
			var address, p1, p2, p3, p5 int
			var opcode string
			var p4, comment any
			err := s.Scan(&address, &opcode, &p1, &p2, &p3, &p4, &p5, &comment)
			if opcode == "OpenWrite" {
				out[tables[p2]] = true
			}
			return err
		})
	})
	if err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return out
}

func suppressionVersionStore(t *testing.T) *DB {
	t.Helper()
	d, err := Open(t.Context(), Options{Path: NewFile(t), Schema: schemaText(t), Create: true, Gather: -1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

func TestStatementsThatChangeSuppressionVersion(t *testing.T) {
	t.Parallel()
	d := suppressionVersionStore(t)
	all := allStatements(t)
	found := 0
	for _, s := range all {
		if s.foreign {
			continue
		}
		if !beginsSQL.MatchString(s.text) || s.function == "dirtyPages" || s.function == "wipeWith" || s.function == "pointers" {
			continue
		}
		written := writtenTables(t, d, s.text)
		for _, table := range []string{"suppressions", "contacts", "choices", "topics"} {
			if written[table] && !engine.ChangesSuppressions.MatchString(s.text) {
				t.Errorf("%s writes to %s without a new suppression version: %s", s.function, table, s.text)
			}
			if written[table] {
				found++
			}
		}
	}
	if found < 20 {
		t.Errorf("only %d statements write to these tables", found)
	}
}

func TestSuppressionVersionChanges(t *testing.T) {
	t.Parallel()
	d := suppressionVersionStore(t)
	versions := func(fn func(tx *Tx) error) (mark uint64) {
		t.Helper()
		if err := d.Write(t.Context(), func(tx *Tx) error {
			err := fn(tx)
			mark = tx.SuppressionVersion()
			return err
		}); err != nil {
			t.Fatal(err)
		}
		return mark
	}
	nothing := func(*Tx) error { return nil }
	before := versions(nothing)
	if before == 0 {
		t.Error("the first version is 0")
	}
	if got := versions(func(tx *Tx) error { return tx.SetSetting("a", []byte("x")) }); got != before {
		t.Error("a setting changes the version")
	}
	team := app.Team{ID: app.NewID(), Name: "a", CreatedAt: time.Now()}
	versions(func(tx *Tx) error { return tx.InsertTeam(team) })
	optOut := app.Suppression{ID: app.NewID(), TeamID: team.ID, Email: "a@example.com", Hash: app.AddressHash{1}, CreatedAt: time.Now()}
	within := versions(func(tx *Tx) error { _, err := tx.InsertOptOut(&optOut); return err })
	if within == before {
		t.Error("an opt-out does not change the version")
	}
	other, err := Open(t.Context(), Options{Path: d.Path(), Schema: schemaText(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { other.Close() })
	if err := other.Write(t.Context(), func(tx *Tx) error { return tx.DeleteSuppression(team.ID, optOut.ID) }); err != nil {
		t.Fatal(err)
	}
	if versions(nothing) == within {
		t.Error("a write of another process does not change the version")
	}
}

func TestActivityDoesNotInvalidateCaches(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]engine.Kind{
		`UPDATE contacts SET last_sent_at = ?1 WHERE team_id = ?2 AND address = ?3`:                 {},
		`UPDATE contacts SET last_opened_at = ?1 WHERE team_id = ?2`:                                {},
		`UPDATE contacts SET unsubscribed = 1, last_sent_at = ?1 WHERE team_id = ?2`:                {Suppressions: true, Rules: true},
		`UPDATE contacts SET last_sent_at = ?1 WHERE id = ?2; UPDATE contacts SET unsubscribed = 1`: {Suppressions: true, Rules: true},
		`INSERT INTO contacts (team_id, last_sent_at) VALUES (?, ?)`:                                {Suppressions: true, Rules: true},
	} {
		if got := engine.KindOf(query); got != want {
			t.Errorf("%s: %+v, want %+v", query, got, want)
		}
	}
}
