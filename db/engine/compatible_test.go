package engine

import (
	"strings"
	"testing"

	"mailer/db/dbtest"
)

// TestStepsAreJudged lists what a step may do so that older programs still work on the database.
func TestStepsAreJudged(t *testing.T) {
	const table = `CREATE TABLE extra (id TEXT NOT NULL PRIMARY KEY, team_id TEXT NOT NULL REFERENCES teams (id) ON DELETE CASCADE, at INTEGER CHECK (at > 0)) STRICT, WITHOUT ROWID;`
	for step, want := range map[string]string{
		"":                          "",
		"-- Only a comment.\n":      "",
		table:                       "",
		"/* new */ " + table + ";;": "",
		table + ` CREATE UNIQUE INDEX extra_at ON extra (lower(id), at);`:                                "",
		`create table extra (id text not null) strict;`:                                                  "",
		`CREATE INDEX emails_extra ON emails (team_id, last_event DESC);`:                                "",
		`CREATE INDEX emails_extra ON emails (team_id) WHERE unsent IS NOT NULL AND (x = 1 OR y <> 'b')`: "",
		`ALTER TABLE teams ADD COLUMN extra TEXT;`:                                                       "",
		`ALTER TABLE teams ADD extra INTEGER NOT NULL DEFAULT 0;`:                                        "",
		`ALTER TABLE teams ADD COLUMN extra INTEGER NOT NULL DEFAULT -1 CHECK (extra IN (-1, 2));`:       "",
		`ALTER TABLE teams ADD COLUMN extra TEXT DEFAULT NULL CHECK (length(extra) < 9);`:                "",
		`ALTER TABLE teams ADD COLUMN extra BLOB NOT NULL DEFAULT x'00';`:                                "",
		`ALTER TABLE teams ADD COLUMN extra TEXT NOT NULL DEFAULT 'it''s; -- so';`:                       "",
		`ALTER TABLE teams ADD COLUMN extra bigint;`:                                                     "",
		`ALTER TABLE teams ADD COLUMN extra TEXT; ALTER TABLE emails ADD COLUMN extra TEXT;`:             "", // older programs name neither
		`ALTER TABLE teams ADD COLUMN extra TEXT; CREATE TABLE more (extra TEXT) STRICT;`:                "",

		// An older program inserts rows without the column.
		`ALTER TABLE teams ADD COLUMN extra TEXT NOT NULL;`:                                          "does not fit",
		`ALTER TABLE teams ADD COLUMN extra TEXT NOT NULL DEFAULT NULL;`:                             "does not fit",
		`ALTER TABLE teams ADD COLUMN extra INTEGER NOT NULL DEFAULT 0 CHECK (extra > 0);`:           "does not fit",
		`ALTER TABLE teams ADD COLUMN extra INTEGER DEFAULT 0 CHECK (extra = 0 OR color = 'green');`: "does not fit",
		`ALTER TABLE teams ADD COLUMN extra INTEGER DEFAULT (unixepoch());`:                          "no constant",
		`ALTER TABLE teams ADD COLUMN extra INTEGER DEFAULT CURRENT_TIMESTAMP;`:                      "no constant",
		`ALTER TABLE teams ADD COLUMN extra bigserial;`:                                              notOnlyAdds,
		`ALTER TABLE teams ADD COLUMN extra NOT NULL;`:                                               notOnlyAdds,
		`ALTER TABLE teams ADD COLUMN extra TEXT UNIQUE;`:                                            notOnlyAdds,
		`ALTER TABLE teams ADD COLUMN extra TEXT REFERENCES users (id);`:                             notOnlyAdds,
		`ALTER TABLE teams ADD COLUMN extra TEXT GENERATED ALWAYS AS (name) STORED;`:                 notOnlyAdds,
		`ALTER TABLE teams ADD COLUMN extra bigint, DROP COLUMN name;`:                               notOnlyAdds,
		// It may name this column in a join or a subquery, without its table.
		`ALTER TABLE teams ADD COLUMN last_event TEXT;`: "of that name",
		// It deletes rows, and sets columns to any value.
		`CREATE TABLE extra (team_id TEXT NOT NULL REFERENCES teams (id)) STRICT;`:                                                          "could not change or delete",
		`CREATE TABLE extra (team_id TEXT NOT NULL REFERENCES teams (id) ON DELETE RESTRICT) STRICT;`:                                       "could not change or delete",
		`CREATE TABLE extra (team_id TEXT NOT NULL REFERENCES teams) STRICT;`:                                                               "could not change or delete",
		`CREATE TABLE extra (name TEXT REFERENCES teams (name) ON DELETE CASCADE) STRICT;`:                                                  "could not change or delete",
		`CREATE TABLE extra (id TEXT PRIMARY KEY) STRICT; CREATE TABLE more (extra_id TEXT, FOREIGN KEY (extra_id) REFERENCES extra (id));`: "could not change or delete",
		`CREATE UNIQUE INDEX emails_extra ON emails (subject);`:                                                                             "may write what it refuses",
		`CREATE INDEX emails_extra ON emails (json_extract(tags, '$.x'));`:                                                                  "may fail",
		`CREATE INDEX emails_extra ON emails (team_id) WHERE json(tags) = '';`:                                                              "may fail",
		`CREATE INDEX emails_extra ON emails (team_id) WHERE 1 / size > 0;`:                                                                 "may fail",
		`CREATE INDEX emails_extra ON emails USING gin (tags);`:                                                                             notOnlyAdds,
		// Anything else.
		`CREATE TABLE extra AS SELECT * FROM teams;`:                                                  notOnlyAdds,
		`CREATE TABLE extra (id TEXT) INHERITS (teams);`:                                              notOnlyAdds,
		`CREATE TABLE IF NOT EXISTS extra (id TEXT) STRICT;`:                                          notOnlyAdds,
		`CREATE TRIGGER extra AFTER INSERT ON teams BEGIN SELECT RAISE(ABORT, 'no'); END;`:            notOnlyAdds,
		`CREATE VIEW extra AS SELECT 1;`:                                                              notOnlyAdds,
		`ALTER TABLE teams RENAME COLUMN name TO title;`:                                              notOnlyAdds,
		`ALTER TABLE teams DROP COLUMN name;`:                                                         notOnlyAdds,
		`ALTER TABLE teams ADD CONSTRAINT extra CHECK (name <> '');`:                                  notOnlyAdds,
		`ALTER TABLE teams ADD CHECK (name <> '');`:                                                   notOnlyAdds,
		`UPDATE teams SET name = '';`:                                                                 notOnlyAdds,
		table + `INSERT INTO extra SELECT id, id, 1 FROM teams;`:                                      notOnlyAdds,
		`DROP INDEX teams_name;`:                                                                      notOnlyAdds,
		`SELECT 1;`:                                                                                   notOnlyAdds,
		`DO $$ BEGIN DROP TABLE teams; END $$;`:                                                       notOnlyAdds,
		`/* /* */ DROP TABLE teams; -- */`:                                                            notOnlyAdds,
		`ALTER TABLE teams ADD COLUMN extra TEXT DEFAULT E'\''; DROP TABLE teams; --';`:               "no constant",
		"-- incompatible: erasures must know the table\n" + table:                                     "says that it is incompatible",
		`ALTER TABLE "teams" ADD COLUMN "NOT" TEXT`:                                                   notOnlyAdds,
		`COMMIT; CREATE INDEX emails_extra ON emails (team_id);`:                                      notOnlyAdds,
		`PRAGMA foreign_keys = 1;`:                                                                    notOnlyAdds,
		`CREATE INDEX CONCURRENTLY emails_extra ON emails (team_id);`:                                 notOnlyAdds,
		`CREATE TABLE extra (id TEXT, CONSTRAINT x EXCLUDE USING gist (id WITH =)) PARTITION BY (id)`: notOnlyAdds,
	} {
		steps, err := readSteps(t.Context(), stepFiles(map[string]string{"002_x.sql": step}), SmallSchema(t))
		if err != nil {
			t.Fatalf("%s: %v", step, err)
		}
		if got := steps[0].breaks; (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%s\n\t%q, want %q", step, got, want)
		}
	}
}

// TestMinVersionFollowsSteps: a compatible step keeps min_version, and the variant for PostgreSQL
// counts too.
func TestMinVersionFollowsSteps(t *testing.T) {
	const adds, changes = `CREATE TABLE extra_%% (id TEXT) STRICT;`, `DROP TABLE caps;`
	named := func(n string) string { return strings.ReplaceAll(adds, "%%", n) }
	for name, c := range map[string]struct {
		steps map[string]string
		want  int
	}{
		"no step":                     {nil, 1},
		"one that adds":               {map[string]string{"002_a.sql": named("a")}, 1},
		"one that changes":            {map[string]string{"002_a.sql": changes}, 2},
		"one that adds after it":      {map[string]string{"002_a.sql": changes, "003_b.sql": named("b")}, 2},
		"one that adds before it":     {map[string]string{"002_a.sql": named("a"), "003_b.sql": changes}, 3},
		"one that changes PostgreSQL": {map[string]string{"002_a.sql": named("a"), "002_a.postgres.sql": changes}, 2},
		"one that adds in both":       {map[string]string{"002_a.sql": named("a"), "002_a.postgres.sql": named("a")}, 1},
		// The second column of that name collides with the first one, which programs of version 2 know.
		"a column of two steps": {map[string]string{"002_a.sql": `ALTER TABLE teams ADD COLUMN extra TEXT;`, "003_b.sql": `ALTER TABLE emails ADD COLUMN extra TEXT;`}, 3},
	} {
		schema := dbtest.Schema(t)
		if name == "a column of two steps" {
			schema += `ALTER TABLE teams ADD COLUMN extra TEXT; ALTER TABLE emails ADD COLUMN extra TEXT;`
		}
		steps, err := readSteps(t.Context(), stepFiles(c.steps), schema)
		if err != nil {
			t.Fatal(err)
		}
		if got := minVersionOf(steps); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}
