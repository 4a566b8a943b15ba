package engine

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"mailer/db/dbtest"
	"mailer/db/migrations"
)

// newDatabase creates a database, with a team that has a key.
func newDatabase(t *testing.T) Options {
	t.Helper()
	opts := Options{Path: filepath.Join(t.TempDir(), "x.db"), Schema: SmallSchema(t), Lazy: true, Create: true, Lock: true}
	d, err := Open(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	err = d.Write(t.Context(), func(tx *Tx) error {
		_, err := tx.Exec(`INSERT INTO keys (id, team_id, name, permission, role, public, hash, created_at)
			SELECT 'k', id, 'k', 'full_access', 'owner', 'p', x'00', 1 FROM teams`)
		return err
	})
	if err := errors.Join(err, d.Close()); err != nil {
		t.Fatal(err)
	}
	return opts
}

// atVersion1 creates a database of the current schema that has version 1.
func atVersion1(t *testing.T) Options {
	t.Helper()
	opts := newDatabase(t)
	toVersion1(t, opts.Path)
	return opts
}

func toVersion1(t *testing.T, path string) {
	t.Helper()
	onFile(t, path, versionRow(1, 1, "0.4.0"), "PRAGMA user_version = 1")
}

// versionRow is a statement that makes a row the only one of schema_versions.
func versionRow(version, oldest int, program string) string {
	return fmt.Sprintf(`DELETE FROM schema_versions; INSERT INTO schema_versions SELECT %d, %d, '%s', '', 1`, version, oldest, program)
}

// onFile runs statements on a database file.
func onFile(t *testing.T, path string, statements ...string) {
	t.Helper()
	pool, err := sql.Open("sqlite", dsn(path, "_busy_timeout=5000&_auto_vacuum=2"))
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	for _, text := range statements {
		if _, err := pool.ExecContext(t.Context(), text); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
}

func stepFiles(files map[string]string) fstest.MapFS {
	dir := fstest.MapFS{}
	for name, text := range files {
		dir[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return dir
}

// withSteps returns the options of a program whose schema is that of opts after some steps.
func withSteps(opts Options, steps ...string) Options {
	opts.Schema += strings.Join(steps, "\n")
	return opts
}

// ask returns the one value of a query on a database file.
func ask(t *testing.T, path, query string) string {
	t.Helper()
	pool, err := sql.Open("sqlite", dsn(path, "_busy_timeout=5000"))
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	var value string
	if err := pool.QueryRowContext(t.Context(), query).Scan(&value); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return value
}

func wantValue(t *testing.T, path, query, want string) {
	t.Helper()
	if got := ask(t, path, query); got != want {
		t.Errorf("%s: %s, want %s", query, got, want)
	}
}

const (
	step2 = `ALTER TABLE teams ADD COLUMN plan TEXT NOT NULL DEFAULT 'free';`
	step3 = `UPDATE teams SET plan = plan || '!'; CREATE TABLE extra (id TEXT NOT NULL PRIMARY KEY) STRICT;`
)

func TestMigrationRunsStepsInOrder(t *testing.T) {
	opts := withSteps(atVersion1(t), step2, step3)
	m, err := migrate(t.Context(), opts, Migrating{}, stepFiles(map[string]string{"003_extra.sql": step3, "002_plan.sql": step2}))
	if err != nil {
		t.Fatal(err)
	}
	if m.From != 1 || m.To != 3 || !slices.Equal(m.Steps, []string{"002_plan.sql", "003_extra.sql"}) {
		t.Errorf("migration %+v", m)
	}
	wantValue(t, opts.Path, "PRAGMA user_version", "3")
	wantValue(t, opts.Path, "SELECT plan FROM teams", "free!")
	wantValue(t, m.Copy, "PRAGMA user_version", "1")
	wantValue(t, m.Copy, "SELECT count(*) FROM keys", "1")
	wantValue(t, m.Copy, "PRAGMA integrity_check", "ok")
	again, err := migrate(t.Context(), opts, Migrating{}, stepFiles(map[string]string{"003_extra.sql": step3, "002_plan.sql": step2}))
	if err != nil || len(again.Steps) != 0 || again.Copy != "" {
		t.Errorf("a second run: %+v, %v", again, err)
	}
}

func TestMigrationCopyIsPrivate(t *testing.T) {
	opts := withSteps(atVersion1(t), step2)
	m, err := migrate(t.Context(), opts, Migrating{}, stepFiles(map[string]string{"002_plan.sql": step2}))
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(m.Copy)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v", info.Mode())
	}
}

func TestFailedMigrationStepRollsBack(t *testing.T) {
	opts := withSteps(atVersion1(t), step2, step3)
	bad := step3 + ` INSERT INTO teams SELECT * FROM teams;` // fails if there are teams
	_, err := migrate(t.Context(), opts, Migrating{}, stepFiles(map[string]string{"002_plan.sql": step2, "003_extra.sql": bad}))
	if err == nil || !strings.Contains(err.Error(), "003_extra.sql") {
		t.Fatalf("error %v", err)
	}
	wantValue(t, opts.Path, "PRAGMA user_version", "2")
	wantValue(t, opts.Path, "SELECT plan FROM teams", "free")
	wantValue(t, opts.Path, "SELECT count(*) FROM sqlite_schema WHERE name = 'extra'", "0")
	if _, err := os.Stat(opts.Path + ".lock"); err != nil {
		t.Error(err)
	}
	// The second copy may be of the same second, and must not overwrite the first.
	if err := removeCopies(opts.Path); err != nil {
		t.Fatal(err)
	}
	m, err := migrate(t.Context(), opts, Migrating{}, stepFiles(map[string]string{"002_plan.sql": step2, "003_extra.sql": step3}))
	if err != nil || m.From != 2 {
		t.Fatalf("after the repair: %+v, %v", m, err)
	}
	wantValue(t, opts.Path, "SELECT plan FROM teams", "free!")
}

// TestInterruptedMigrationIsResumed cancels a migration before its copy and before each step.
func TestInterruptedMigrationIsResumed(t *testing.T) {
	steps := stepFiles(map[string]string{"002_plan.sql": step2, "003_extra.sql": step3})
	for place, version := range map[string]string{CopyStep: "1", "002_plan.sql": "1", "003_extra.sql": "2"} {
		opts := withSteps(atVersion1(t), step2, step3)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		_, err := migrate(ctx, opts, Migrating{Step: func(name string) {
			if name == place {
				cancel()
			}
		}}, steps)
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", place, err)
		}
		wantValue(t, opts.Path, "PRAGMA user_version", version)
		if _, err := migrate(t.Context(), opts, Migrating{}, steps); err != nil {
			t.Errorf("%s: again: %v", place, err)
		}
		wantValue(t, opts.Path, "SELECT plan FROM teams", "free!")
	}
}

func removeCopies(path string) error {
	names, err := filepath.Glob(path + ".v*")
	for _, name := range names {
		err = errors.Join(err, os.Remove(name))
	}
	return err
}

func TestRebuiltTableKeepsChildRows(t *testing.T) {
	opts := atVersion1(t)
	rebuild := `CREATE TABLE teams_new (id TEXT NOT NULL PRIMARY KEY, name TEXT NOT NULL UNIQUE, created_at INTEGER NOT NULL, note TEXT) STRICT, WITHOUT ROWID;
		INSERT INTO teams_new SELECT id, name, created_at, 'kept' FROM teams;
		DROP TABLE teams;
		ALTER TABLE teams_new RENAME TO teams;`
	if _, err := migrate(t.Context(), withSteps(opts, rebuild), Migrating{}, stepFiles(map[string]string{"002_rebuild.sql": rebuild})); err != nil {
		t.Fatal(err)
	}
	wantValue(t, opts.Path, "SELECT t.note FROM keys AS k JOIN teams AS t ON t.id = k.team_id", "kept")
	wantValue(t, opts.Path, `SELECT "table" FROM pragma_foreign_key_list('keys') WHERE "from" = 'team_id'`, "teams")
}

func TestMigrationChecksForeignKeys(t *testing.T) {
	opts := atVersion1(t)
	_, err := migrate(t.Context(), opts, Migrating{}, stepFiles(map[string]string{"002_orphans.sql": `DELETE FROM teams;`}))
	if err == nil || !strings.Contains(err.Error(), "foreign key") {
		t.Fatalf("error %v", err)
	}
	wantValue(t, opts.Path, "SELECT count(*) FROM teams", "1")
	wantValue(t, opts.Path, "PRAGMA user_version", "1")
}

func TestMigrationNumbersAreChecked(t *testing.T) {
	for _, names := range [][]string{
		{"001_first.sql"}, {"003_gap.sql"}, {"002_a.sql", "004_gap.sql"}, {"002_a.sql", "002_b.sql"}, {"2_short.sql"}, {"readme.sql"},
	} {
		files := map[string]string{}
		for _, name := range names {
			files[name] = "SELECT 1;"
		}
		opts := atVersion1(t)
		if _, err := migrate(t.Context(), opts, Migrating{}, stepFiles(files)); err == nil {
			t.Errorf("%q run", names)
		}
		wantValue(t, opts.Path, "PRAGMA user_version", "1")
	}
}

func TestNewerDatabaseIsRefused(t *testing.T) {
	opts := atVersion1(t)
	onFile(t, opts.Path, "PRAGMA user_version = 1000")
	before := content(t, opts.Path)
	if _, err := migrate(t.Context(), opts, Migrating{}, stepFiles(map[string]string{"002_plan.sql": step2})); !errors.Is(err, ErrNew) {
		t.Errorf("migrate: %v", err)
	}
	if _, err := Open(t.Context(), opts); !errors.Is(err, ErrNew) {
		t.Errorf("open: %v", err)
	}
	if !bytes.Equal(before, content(t, opts.Path)) {
		t.Error("the database was written to")
	}
}

func content(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestMigrationDryRunChangesNothing(t *testing.T) {
	opts := withSteps(atVersion1(t), step2, step3)
	before := content(t, opts.Path)
	m, err := migrate(t.Context(), opts, Migrating{DryRun: true}, stepFiles(map[string]string{"002_plan.sql": step2, "003_extra.sql": step3}))
	if err != nil || m.From != 1 || m.To != 3 || len(m.Steps) != 2 || m.Copy != "" {
		t.Errorf("%+v, %v", m, err)
	}
	if !bytes.Equal(before, content(t, opts.Path)) {
		t.Error("the database changed")
	}
	if copies, _ := filepath.Glob(opts.Path + ".v*"); len(copies) > 0 {
		t.Errorf("copies %q", copies)
	}
	missing := Options{Path: filepath.Join(t.TempDir(), "x.db"), Schema: opts.Schema, Create: true}
	if m, err := migrate(t.Context(), missing, Migrating{DryRun: true}, stepFiles(nil)); err != nil || m.From != 0 || m.To != 1 {
		t.Errorf("%+v, %v", m, err)
	}
	if _, err := os.Stat(missing.Path); !errors.Is(err, os.ErrNotExist) {
		t.Error("a dry run made a database")
	}
}

func TestMigrationRefusesDatabaseInUse(t *testing.T) {
	opts := newDatabase(t)
	d, err := Open(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if _, err := migrate(t.Context(), opts, Migrating{}, stepFiles(map[string]string{"002_plan.sql": step2})); !errors.Is(err, ErrInUse) {
		t.Errorf("error %v", err)
	}
}

func TestOtherProgramsDatabaseIsRefused(t *testing.T) {
	opts := Options{Path: filepath.Join(t.TempDir(), "x.db"), Schema: SmallSchema(t), Lazy: true, Create: true}
	pool, err := sql.Open("sqlite", dsn(opts.Path, ""))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := pool.ExecContext(t.Context(), "CREATE TABLE bookmarks (url TEXT)"); err != nil {
		t.Fatal(err)
	}
	if err := pool.Close(); err != nil {
		t.Fatal(err)
	}
	if d, err := Open(t.Context(), opts); err == nil {
		d.Close()
		t.Error("Open took it")
	}
	if _, err := migrate(t.Context(), opts, Migrating{}, stepFiles(nil)); err == nil {
		t.Error("migrate took it")
	}
	wantValue(t, opts.Path, "SELECT group_concat(name) FROM sqlite_schema", "bookmarks")
}

// TestMigrationDryRunWhileServerRuns: an upgrade checks the migration before it stops the old
// server.
func TestMigrationDryRunWhileServerRuns(t *testing.T) {
	opts := newDatabase(t)
	d, err := Open(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	toVersion1(t, opts.Path)
	for name, c := range map[string]struct {
		schema string
		steps  map[string]string
		want   string // of the refusal; empty: none
	}{
		"nothing to do":              {opts.Schema, nil, ""},
		"a step":                     {opts.Schema + step2, map[string]string{"002_plan.sql": step2}, ""},
		"another schema":             {opts.Schema + step2, nil, "mailer export DIR"},
		"a step to another schema":   {opts.Schema + step2, map[string]string{"002_extra.sql": `CREATE TABLE extra (id TEXT) STRICT;`}, "mailer import mailer"},
		"a step that does not apply": {opts.Schema + step2, map[string]string{"002_plan.sql": `ALTER TABLE plans ADD COLUMN n INTEGER;`}, "no such table: plans"},
	} {
		_, err := migrate(t.Context(), Options{Path: opts.Path, Schema: c.schema}, Migrating{DryRun: true}, stepFiles(c.steps))
		if c.want == "" && err != nil || c.want != "" && (!errors.Is(err, ErrSchema) || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// atBase creates a database of the frozen schema of 0.4.0.
func atBase(t *testing.T) Options {
	t.Helper()
	frozen, err := os.ReadFile("../migrations/base/schema.sql")
	if err != nil {
		t.Fatal(err)
	}
	opts := Options{Path: filepath.Join(t.TempDir(), "x.db"), Schema: dbtest.Schema(t), Lazy: true, Create: true}
	onFile(t, opts.Path, string(frozen), versionRow(1, 1, "0.4.0"), "PRAGMA user_version = 1", "INSERT INTO teams (id, name, created_at) VALUES ('t', 'Default', 1)")
	return opts
}

// TestBaseAndStepsAreSchema migrates a database of 0.4.0: a change of schema.sql needs a step in
// package migrations. The migration compares the result with schema.sql.
func TestBaseAndStepsAreSchema(t *testing.T) {
	opts := atBase(t)
	for _, dryRun := range []bool{true, false} {
		if m, err := Migrate(t.Context(), opts, Migrating{DryRun: dryRun}); err != nil || m.From != 1 {
			t.Fatalf("dry run %t: %+v, %v", dryRun, m, err)
		}
	}
	wantValue(t, opts.Path, "SELECT count(*) FROM teams", "1")
	wantValue(t, opts.Path, "SELECT max(version) = (SELECT user_version FROM pragma_user_version) FROM schema_versions", "1")
	steps, err := readSteps(t.Context(), migrations.Steps, opts.Schema)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range steps {
		t.Logf("%s: incompatible: %q", s.name, s.breaks)
	}
}
