package engine

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"mailer/app/kit/build"
	"mailer/db/migrations"
)

// nextStep returns the steps of a program that has one step more than this one.
func nextStep(t *testing.T, text string) fstest.MapFS {
	t.Helper()
	names, err := fs.Glob(migrations.Steps, "*.sql")
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, name := range names {
		step, err := fs.ReadFile(migrations.Steps, name)
		if err != nil {
			t.Fatal(err)
		}
		files[name] = string(step)
	}
	latest, err := latestVersion()
	if err != nil {
		t.Fatal(err)
	}
	files[fmt.Sprintf("%03d_next.sql", latest+1)] = text
	return stepFiles(files)
}

const (
	addsOnly = `CREATE TABLE extra (id TEXT NOT NULL PRIMARY KEY, team_id TEXT NOT NULL REFERENCES teams (id) ON DELETE CASCADE) STRICT, WITHOUT ROWID;
		ALTER TABLE teams ADD COLUMN extra_note TEXT NOT NULL DEFAULT 'none' CHECK (extra_note <> '');
		CREATE INDEX teams_extra ON teams (name, id);`
	changesMore = addsOnly + `ALTER TABLE teams RENAME COLUMN color TO colour;`
)

// onBoth runs a test with a function that creates a database, on each engine.
func onBoth(t *testing.T, run func(t *testing.T, opts Options)) {
	t.Parallel()
	for name, create := range map[string]func(testing.TB) string{"file": NewFile, "PostgreSQL": newRemote} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run(t, Options{Path: create(t), Schema: SmallSchema(t), Lazy: true})
		})
	}
}

// migrateToNext migrates a database to the next program, named 9.9.9.
func migrateToNext(t *testing.T, opts Options, step string) {
	t.Helper()
	next := withSteps(opts, step)
	if _, err := migrate(t.Context(), next, Migrating{Dumped: true}, nextStep(t, step)); err != nil {
		t.Fatal(err)
	}
	rename := `UPDATE schema_versions SET program = '9.9.9' WHERE version = (SELECT max(version) FROM schema_versions)`
	if IsRemote(opts.Path) {
		onServer(t, opts.Path, rename)
	} else {
		onFile(t, opts.Path, rename)
	}
}

// TestOlderProgramWorksOnCompatibleDatabase opens, writes, reads and migrates a database that a newer
// program migrated, and does not move it.
func TestOlderProgramWorksOnCompatibleDatabase(t *testing.T) {
	onBoth(t, func(t *testing.T, opts Options) {
		migrateToNext(t, opts, addsOnly)
		d, err := Open(t.Context(), opts)
		if err != nil {
			t.Fatal(err)
		}
		err = d.Write(t.Context(), func(tx *Tx) error {
			return errors.Join(tx.SetSetting("x", []byte("y")), tx.Write(`INSERT INTO teams (id, name, created_at) VALUES ('older', 'Older', 1)`), tx.Write(`DELETE FROM teams WHERE id = 'older'`))
		})
		if err := errors.Join(err, d.Close()); err != nil {
			t.Fatal(err)
		}
		m, err := Migrate(t.Context(), opts, Migrating{})
		if err != nil || len(m.Steps) > 0 || m.From != m.To || m.Copy != "" {
			t.Errorf("migrate of the older program: %+v, %v", m, err)
		}
		to := filepath.Join(t.TempDir(), "moved.db")
		if !IsRemote(opts.Path) {
			to = newRemote(t)
		}
		_, err = Move(t.Context(), Moving{From: opts.Path, To: to, Schema: opts.Schema})
		if !errors.Is(err, ErrNew) || !strings.Contains(err.Error(), "move it with the newer version") {
			t.Errorf("move: %v", err)
		}
	})
}

// TestDowngradeIsRefused: the refusal names the program that wrote the database, and both versions.
func TestDowngradeIsRefused(t *testing.T) {
	onBoth(t, func(t *testing.T, opts Options) {
		migrateToNext(t, opts, changesMore)
		latest, err := latestVersion()
		if err != nil {
			t.Fatal(err)
		}
		want := fmt.Sprintf("was written by mailer 9.9.9, and mailer %s can't work on it (its schema is version %d, and this program knows version %d); start mailer 9.9.9 or a newer one", build.Version(), latest+1, latest)
		d, err := Open(t.Context(), opts)
		if err == nil {
			d.Close()
		}
		_, again := Migrate(t.Context(), opts, Migrating{Dumped: true})
		for _, err := range []error{err, again} {
			if !errors.Is(err, ErrNew) || !strings.Contains(fmt.Sprint(err), want) {
				t.Errorf("%v", err)
			}
		}
	})
}

// TestCompatibleDatabaseMustHaveThisSchema: what this program needs may not be missing in a newer
// database.
func TestCompatibleDatabaseMustHaveThisSchema(t *testing.T) {
	opts := Options{Path: NewFile(t), Schema: SmallSchema(t), Lazy: true}
	migrateToNext(t, opts, addsOnly)
	onFile(t, opts.Path, `DROP INDEX units_due`)
	d, err := Open(t.Context(), opts)
	if err == nil {
		d.Close()
	}
	if !errors.Is(err, ErrSchema) || !strings.Contains(err.Error(), "units_due") {
		t.Errorf("%v", err)
	}
}
