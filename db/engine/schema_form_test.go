package engine

import (
	"database/sql"
	"strings"
	"testing"

	"mailer/db/dbtest"
)

const plainSchema = `-- A comment.
CREATE TABLE teams (
  id   TEXT NOT NULL PRIMARY KEY, -- a, comment
  name TEXT NOT NULL DEFAULT 'it''s -- no comment' CHECK (name IN ('a', 'b')),
  UNIQUE (id, name)
) STRICT, WITHOUT ROWID;
CREATE TABLE keys (id TEXT NOT NULL PRIMARY KEY, team_id TEXT NOT NULL REFERENCES teams (id)) STRICT;
CREATE INDEX keys_team ON keys (team_id, id) WHERE team_id > '';
`

// differenceOf compares the schemas of two texts.
func differenceOf(t *testing.T, have, want string) string {
	t.Helper()
	h, err := formOf(t.Context(), have)
	if err != nil {
		t.Fatal(err)
	}
	w, err := formOf(t.Context(), want)
	if err != nil {
		t.Fatal(err)
	}
	return firstDifference(h, w)
}

func TestEquivalentSchemas(t *testing.T) {
	const short = `CREATE TABLE keys (id TEXT NOT NULL PRIMARY KEY, UNIQUE (id)) STRICT;`
	for name, texts := range map[string][2]string{
		"the same":         {plainSchema, plainSchema},
		"blanks, comments": {strings.NewReplacer("  ", "\t", "-- a, comment", "/* another, ( one */", " (", "(").Replace(plainSchema), plainSchema},
		"of Litestream":    {plainSchema + `CREATE TABLE _litestream_seq (id INTEGER PRIMARY KEY, seq INTEGER); CREATE INDEX seqs ON _litestream_seq (seq);`, plainSchema},
		"an added column":  {short + `ALTER TABLE keys ADD COLUMN "n" INTEGER NOT NULL DEFAULT 0;`, strings.Replace(short, ", UNIQUE", ", n INTEGER NOT NULL DEFAULT 0, UNIQUE", 1)},
		"a rebuilt table": {plainSchema + `CREATE TABLE keys_new (id TEXT NOT NULL PRIMARY KEY, team_id TEXT NOT NULL REFERENCES teams (id)) STRICT;
			DROP TABLE keys; ALTER TABLE keys_new RENAME TO keys; CREATE INDEX keys_team ON keys (team_id, id) WHERE team_id > '';`, plainSchema},
	} {
		if got := differenceOf(t, texts[0], texts[1]); got != "" {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func TestFirstDifference(t *testing.T) {
	for _, c := range []struct{ from, to, want string }{
		{"team_id TEXT NOT NULL REFERENCES teams (id)", "team TEXT, team_id TEXT NOT NULL REFERENCES teams (id)", `the table keys: "team TEXT" is not of this version`},
		{", team_id TEXT NOT NULL REFERENCES teams (id)", ", team_id TEXT NOT NULL", `the table keys: "team_id TEXT NOT NULL REFERENCES teams ( id )" is missing`},
		{"'b')", "'B')", `the table teams: "name TEXT NOT NULL DEFAULT 'it''s -- no comment' CHECK ( name IN ( 'a' , 'b' ) )" is missing`},
		{"it''s", "it''z", `the table teams: "name TEXT`},
		{"STRICT, WITHOUT ROWID", "STRICT", `the table teams: it ends with "STRICT", must be "STRICT , WITHOUT ROWID"`},
		{"team_id > ''", "team_id > 'a'", `the index keys_team: it is "CREATE INDEX keys_team ON keys ( team_id , id ) WHERE team_id > 'a'", must be`},
		{"CREATE INDEX keys_team", "CREATE INDEX keys_teams", `the index keys_team is missing`},
		{"-- A comment.", "CREATE TABLE extra (x);", `the table extra is not of this version`},
		{"-- A comment.", "CREATE TABLE _litestreams (x);", `the table _litestreams is not of this version`},
		{"-- A comment.", "CREATE TABLE zebra (x);", `the table zebra is not of this version`},
	} {
		have := strings.Replace(plainSchema, c.from, c.to, 1)
		if have == plainSchema {
			t.Fatalf("no %q", c.from)
		}
		if got := differenceOf(t, have, plainSchema); !strings.HasPrefix(got, c.want) {
			t.Errorf("%q for %q: %s, want %s", c.to, c.from, got, c.want)
		}
	}
}

func BenchmarkSchemaForm(b *testing.B) {
	text := dbtest.Schema(b)
	for b.Loop() {
		if _, err := formOf(b.Context(), text); err != nil {
			b.Fatal(err)
		}
	}
}

// TestPrimaryKeysComeFirst: PRAGMA integrity_check of SQLite 3.40, which Debian 12 has, reports a
// table WITHOUT ROWID as damaged if a column that must not be NULL stands before one of the key.
func TestPrimaryKeysComeFirst(t *testing.T) {
	pool, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	conn := connOf(t, pool)
	defer conn.Close()
	if _, err := conn.ExecContext(t.Context(), dbtest.Schema(t)); err != nil {
		t.Fatal(err)
	}
	rows, err := conn.QueryContext(t.Context(), `SELECT m.name, c.name FROM pragma_table_list AS m, pragma_table_info(m.name) AS c
		WHERE m.wr = 1 AND c.pk > 0 AND EXISTS (SELECT 1 FROM pragma_table_info(m.name) AS b WHERE b.pk = 0 AND b.cid < c.cid)`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var table, column string
		if err := rows.Scan(&table, &column); err != nil {
			t.Fatal(err)
		}
		t.Errorf("the primary key of %s has the column %s after another column", table, column)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
}
