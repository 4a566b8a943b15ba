package engine

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// wantRefused checks that a database is not opened, and that the error contains words.
func wantRefused(t *testing.T, opts Options, kind error, words ...string) {
	t.Helper()
	d, err := Open(t.Context(), opts)
	if err == nil {
		err = d.Close()
		t.Errorf("%s was opened (close: %v)", opts.Path, err)
		return
	}
	if !errors.Is(err, kind) {
		t.Errorf("%s: %v is not %v", opts.Path, err, kind)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%q does not say %q", err, w)
		}
	}
}

func TestOpenRefusals(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) Options {
		return Options{Path: filepath.Join(dir, name), Schema: SmallSchema(t), Lazy: true, Create: true, Lock: true}
	}
	wantRefused(t, at("no/where.db"), ErrNotFound, at("no/where.db").Path, "folder", "mkdir -p "+filepath.Join(dir, "no"))
	text := []byte(strings.Repeat("notes ", 50))
	for _, content := range [][]byte{text, []byte("x")} {
		must(t, os.WriteFile(at("text.db").Path, content, 0o600))
		wantRefused(t, at("text.db"), ErrNotDatabase, "text.db is not a database", "--db")
		if got, err := os.ReadFile(at("text.db").Path); err != nil || !bytes.Equal(got, content) {
			t.Errorf("it was changed, %v", err)
		}
	}
	wantRefused(t, at(""), ErrNotDatabase, "is a folder", "mailer.db")
	must(t, os.Symlink(at("unmounted.db").Path, at("link.db").Path))
	wantRefused(t, at("link.db"), ErrNotFound, "link.db is a link to "+at("unmounted.db").Path)
	missing := at("missing.db")
	missing.Create = false
	wantRefused(t, missing, ErrNotFound, "missing.db", "mailer migrate --db")
}

func TestHardLinkedDatabaseIsRefused(t *testing.T) {
	opts := newDatabase(t)
	other := opts
	other.Path = filepath.Join(t.TempDir(), "y.db")
	must(t, os.Link(opts.Path, other.Path))
	wantRefused(t, opts, ErrNotDatabase, "has 2 names", "-samefile "+opts.Path)
	wantRefused(t, other, ErrNotDatabase, "has 2 names", "-samefile "+other.Path)
	must(t, os.Remove(other.Path))
	d, err := Open(t.Context(), opts)
	must(t, err)
	must(t, d.Close())
}

func TestOtherSchemaOfSameVersionIsRefused(t *testing.T) {
	for statement, words := range map[string]string{
		"ALTER TABLE relay_usage DROP COLUMN bulk": `the table relay_usage: "bulk INTEGER NOT NULL" is missing`,
		"DROP INDEX units_due":                     "the index units_due is missing",
		"CREATE TABLE mine (x)":                    "the table mine is not of this version",
		"PRAGMA auto_vacuum = 0; VACUUM":           "auto_vacuum is 0, must be 2",
	} {
		opts := newDatabase(t)
		pool, err := sql.Open("sqlite", dsn(opts.Path, ""))
		must(t, err)
		_, err = pool.ExecContext(t.Context(), statement)
		must(t, errors.Join(err, pool.Close()))
		wantRefused(t, opts, ErrSchema, opts.Path+" does not have the schema of its version: "+words, "before the first release", "mailer export DIR --db "+opts.Path, "mailer import mailer DIR --apply", "a new file (--db NAME)")
		if _, err := Migrate(t.Context(), opts, Migrating{}); !errors.Is(err, ErrSchema) {
			t.Errorf("migrate after %s: %v", statement, err)
		}
	}
}

func TestCopiesHaveIncrementalVacuum(t *testing.T) {
	opts := atVersion1(t)
	wantValue(t, opts.Path, "PRAGMA auto_vacuum", "2")
	m, err := migrate(t.Context(), withSteps(opts, step2), Migrating{}, stepFiles(map[string]string{"002_plan.sql": step2}))
	must(t, err)
	wantValue(t, m.Copy, "PRAGMA auto_vacuum", "2")
}

func TestSymlinksShareOneLock(t *testing.T) {
	t.Parallel()
	opts := newDatabase(t)
	dir := t.TempDir()
	file, folder := filepath.Join(dir, "link.db"), filepath.Join(dir, "link")
	must(t, os.Symlink(opts.Path, file))
	must(t, os.Symlink(filepath.Dir(opts.Path), folder))
	d, err := Open(t.Context(), opts)
	must(t, err)
	for _, name := range []string{file, filepath.Join(folder, filepath.Base(opts.Path))} {
		second := opts
		second.Path = name
		wantRefused(t, second, ErrInUse, name+" is in use by another mailer serve or migrate (process "+fmt.Sprint(os.Getpid())+")")
		if !InUse(name) {
			t.Errorf("%s is not in use", name)
		}
		if _, err := Migrate(t.Context(), second, Migrating{}); !errors.Is(err, ErrInUse) {
			t.Errorf("migrate %s: %v", name, err)
		}
	}
	must(t, d.Close())
	linked := opts
	linked.Path = file
	d, err = Open(t.Context(), linked)
	must(t, err)
	defer d.Close()
	for _, end := range []string{"-wal", ".lock", ".reserve"} {
		if _, err := os.Stat(opts.Path + end); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(file + end); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s beside the link: %v", end, err)
		}
	}
}

func TestKeyPath(t *testing.T) {
	dir := t.TempDir()
	file, link := filepath.Join(dir, "real.db"), filepath.Join(dir, "link.db")
	if got := KeyPath(file); got != file+".key" {
		t.Errorf("of a new database: %s", got)
	}
	must(t, os.WriteFile(file, nil, 0o600))
	must(t, os.Symlink(file, link))
	if got := KeyPath(link); got != file+".key" {
		t.Errorf("through a link: %s", got)
	}
	must(t, os.WriteFile(link+".key", nil, 0o600))
	if got := KeyPath(link); got != link+".key" {
		t.Errorf("with a key beside the link: %s", got)
	}
}

func TestNewDatabaseIsLogged(t *testing.T) {
	var log strings.Builder
	opts := Options{Path: filepath.Join(t.TempDir(), "x.db"), Schema: SmallSchema(t), Lazy: true, Create: true, Log: slog.New(slog.NewTextHandler(&log, nil))}
	for _, want := range []bool{true, false} {
		log.Reset()
		d, err := Open(t.Context(), opts)
		must(t, err)
		if d.Made() != want || strings.Contains(log.String(), `msg="made a new database" path=`+opts.Path) != want {
			t.Errorf("made %v, log %q, want %v", d.Made(), log.String(), want)
		}
		must(t, d.Close())
	}
}

func TestIsPointerMap(t *testing.T) {
	for number, want := range map[int64]bool{1: false, 2: true, 3: false, 821: false, 822: true, 823: false, 1642: true} {
		if got := isPointerMap(number, 4096); got != want {
			t.Errorf("page %d: %v", number, got)
		}
	}
}
