package engine

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"mailer/db/dbtest"
	"mailer/db/pgtest"
)

// queryPostgres returns the one value of a query.
func queryPostgres(t *testing.T, dsn, query string) (value string) {
	t.Helper()
	c, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(t.Context())
	if err := c.QueryRow(t.Context(), query).Scan(&value); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return value
}

// remoteAtVersion1 returns the URL of a database of the current schema that has version 1.
func remoteAtVersion1(t *testing.T) string {
	t.Helper()
	name := newRemote(t)
	onServer(t, name, versionRow(1, 1, "0.4.0"))
	return name
}

// TestPostgresMigrationSteps runs steps with a table on one line, an index of an existing table,
// and a changed CHECK, for which a file must rebuild the table.
func TestPostgresMigrationSteps(t *testing.T) {
	t.Parallel()
	const (
		table = `CREATE TABLE extra (id TEXT NOT NULL PRIMARY KEY, team_id TEXT NOT NULL REFERENCES teams (id), kind TEXT CHECK (kind IN ('a, b', 'c'))) STRICT, WITHOUT ROWID`
		index = `CREATE INDEX emails_extra ON emails (team_id, last_event)`
		more  = `CHECK (quota_event IN (0, 1, 2, 3))`
	)
	schema := strings.Replace(SmallSchema(t), `quota_event INTEGER NOT NULL DEFAULT 0 CHECK (quota_event IN (0, 1, 2))`, `quota_event INTEGER NOT NULL DEFAULT 0 `+more, 1) + table + ";\n" + index + ";\n"
	steps := map[string]string{"002_extra.sql": table + "; " + index + ";", "003_quota.sql": "SELECT 'of a file alone, which has its table made anew'",
		"003_quota.postgres.sql": `ALTER TABLE team_days DROP CONSTRAINT team_days_quota_event_check, ADD ` + more}
	opts := Options{Path: remoteAtVersion1(t), Schema: schema, Lazy: true}
	m, err := migrate(t.Context(), opts, Migrating{DryRun: true}, stepFiles(steps))
	if err != nil || m.From != 1 || m.To != 3 || len(m.Steps) != 2 {
		t.Fatalf("a dry run: %+v, %v", m, err)
	}
	const version = `SELECT max(version)::text FROM schema_versions`
	if got := queryPostgres(t, opts.Path, version); got != "1" {
		t.Errorf("a dry run leaves version %s", got)
	}
	for range 2 { // the second one finds nothing to do
		if _, err = migrate(t.Context(), opts, Migrating{Dumped: true}, stepFiles(steps)); err != nil {
			t.Fatal(err)
		}
	}
	if got := queryPostgres(t, opts.Path, version); got != "3" {
		t.Errorf("version %s", got)
	}
	if got := queryPostgres(t, opts.Path, `SELECT pg_get_indexdef('emails_extra'::regclass)`); !strings.Contains(got, "(team_id, last_event, id)") {
		t.Errorf("an index of a step is not the one of the schema: %s", got)
	}
}

// TestPostgresStepToOtherSchemaIsRefused checks that steps with another result than the schema
// leave no change, also in a dry run.
func TestPostgresStepToOtherSchemaIsRefused(t *testing.T) {
	t.Parallel()
	schema := SmallSchema(t) + "CREATE TABLE extra (id TEXT NOT NULL PRIMARY KEY, at INTEGER NOT NULL) STRICT;\n"
	opts := Options{Path: remoteAtVersion1(t), Schema: schema, Lazy: true}
	for name, tc := range map[string]struct{ step, want string }{
		"it forgets a NOT NULL":  {`CREATE TABLE extra (id TEXT NOT NULL PRIMARY KEY, at INTEGER) STRICT;`, "it has extra.at bigint"},
		"it makes one more":      {`CREATE TABLE extra (id TEXT NOT NULL PRIMARY KEY, at INTEGER NOT NULL) STRICT; CREATE INDEX extra_at ON extra (at);`, "extra_at"},
		"PostgreSQL refuses it":  {`DROP TABLE teams;`, "depend on it"},
		"it is of another table": {`CREATE TABLE other (id TEXT NOT NULL PRIMARY KEY) STRICT;`, "it lacks extra"},
	} {
		for _, dry := range []bool{true, false} {
			_, err := migrate(t.Context(), opts, Migrating{DryRun: dry, Dumped: true}, stepFiles(map[string]string{"002_x.sql": tc.step}))
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	if got := queryPostgres(t, opts.Path, `SELECT count(*)::text FROM schema_versions`); got != "1" {
		t.Errorf("%s versions", got)
	}
}

// TestMigrateFindsMissingIndex migrates a database that has the version of this program but lacks
// an index.
func TestMigrateFindsMissingIndex(t *testing.T) {
	t.Parallel()
	opts := Options{Path: newRemote(t), Schema: SmallSchema(t), Lazy: true}
	if _, err := Migrate(t.Context(), opts, Migrating{DryRun: true}); err != nil {
		t.Fatal(err)
	}
	onServer(t, opts.Path, `DROP INDEX units_due`)
	if _, err := Migrate(t.Context(), opts, Migrating{DryRun: true}); !errors.Is(err, ErrSchema) || !strings.Contains(err.Error(), "units_due") {
		t.Errorf("an index is gone: %v", err)
	}
}

// TestSchemaSumIgnoresWhitespace opens a database with a schema.sql that differs only in
// whitespace.
func TestSchemaSumIgnoresWhitespace(t *testing.T) {
	t.Parallel()
	dsn, schema := newRemote(t), SmallSchema(t)
	for _, text := range []string{strings.ReplaceAll(schema, "  ", " "), strings.ReplaceAll(schema, ",\n", ",\n\n\t")} {
		d, err := Open(t.Context(), Options{Path: dsn, Schema: text, Lazy: true})
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestTablesOfOtherOwnerAreRefused opens tables of another user than the one of --db, as
// pg_restore --no-owner leaves them.
func TestTablesOfOtherOwnerAreRefused(t *testing.T) {
	t.Parallel()
	dsn := newRemote(t)
	const user = "mailer_test_stranger"
	onServer(t, dsn, `DO $$ BEGIN CREATE ROLE `+user+` LOGIN; EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END $$`, `GRANT CREATE, USAGE ON SCHEMA public TO `+user)
	name := strings.Replace(dsn, "postgres:", "postgresql:", 1)
	name = "postgres://" + user + "@" + name[strings.LastIndex(name, "@")+1:]
	opts := Options{Path: name, Schema: SmallSchema(t), Lazy: true, Create: true}
	d, err := Open(t.Context(), opts)
	if err == nil {
		d.Close()
	}
	_, dry := Migrate(t.Context(), opts, Migrating{DryRun: true})
	for _, err := range []error{err, dry} {
		if !errors.Is(err, ErrSchema) || !strings.Contains(err.Error(), "--role="+user) {
			t.Errorf("error: %v", err)
		}
	}
}

// TestSuggestedCommandHasNoPassword opens an older database and checks the command in the error.
func TestSuggestedCommandHasNoPassword(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"postgres://u:p@h:5433/d":                                 "postgres://u@h:5433/d",
		"postgresql://u:p:q@a:1,b:2/d?sslmode=require&password=x": "postgresql://u@a:1,b:2/d?sslmode=require",
		"postgres://h/d?password=x&sslpassword=y":                 "postgres://h/d",
		"postgres:///d?host=/run/postgresql&user=u":               "postgres:///d?host=/run/postgresql&user=u",
		"mailer.db": "mailer.db",
		"postgres://u@h/d?target_session_attrs=read-write&options=": "postgres://u@h/d?target_session_attrs=read-write&options=",
	} {
		if got := withoutPassword(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	dsn := pgtest.Copy(t, newRemote(t), `UPDATE schema_versions SET version = 0`)
	d, err := Open(t.Context(), Options{Path: dsn, Schema: SmallSchema(t), Lazy: true})
	if err == nil {
		d.Close()
	}
	if !errors.Is(err, ErrOld) || !strings.Contains(err.Error(), "mailer migrate --db "+dsn) {
		t.Errorf("%v", err)
	}
}

// TestBaseAndStepsAreSchemaOnPostgres is TestBaseAndStepsAreSchema on PostgreSQL.
func TestBaseAndStepsAreSchemaOnPostgres(t *testing.T) {
	t.Parallel()
	frozen, err := os.ReadFile("../migrations/base/schema.sql")
	if err != nil {
		t.Fatal(err)
	}
	server := pgtest.Server(t)
	opts := Options{Path: pgtest.Database(t, server, pgtest.Template(t, server, PostgresSchema(string(frozen))+PostgresTables)), Schema: dbtest.Schema(t), Lazy: true}
	onServer(t, opts.Path, versionRow(1, 1, "0.4.0"), `UPDATE schema_versions SET sum = '`+schemaSum(string(frozen))+`'`)
	for _, how := range []Migrating{{DryRun: true}, {Dumped: true}} {
		if m, err := Migrate(t.Context(), opts, how); err != nil || m.From != 1 {
			t.Fatalf("%+v: %+v, %v", how, m, err)
		}
	}
}

// TestDatabaseBeforeFirstReleaseIsRefused opens a PostgreSQL database whose schema_versions has no
// min_version.
func TestDatabaseBeforeFirstReleaseIsRefused(t *testing.T) {
	t.Parallel()
	opts := Options{Path: newRemote(t), Schema: SmallSchema(t), Lazy: true}
	onServer(t, opts.Path, `ALTER TABLE schema_versions DROP COLUMN min_version`)
	d, err := Open(t.Context(), opts)
	if err == nil {
		d.Close()
	}
	_, again := Migrate(t.Context(), opts, Migrating{Dumped: true})
	for _, err := range []error{err, again} {
		if !errors.Is(err, ErrSchema) || !strings.Contains(fmt.Sprint(err), "run mailer export DIR") {
			t.Errorf("%v", err)
		}
	}
}
