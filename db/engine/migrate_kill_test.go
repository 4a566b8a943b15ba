package engine

import (
	"context"
	"database/sql/driver"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"modernc.org/sqlite"

	"mailer/db/dbtest"
)

// The kill test runs this binary again as the process to be killed, and passes it the database and
// the place at which to die in these variables.
const (
	killPath = "MAILER_TEST_KILL_DB"
	killAt   = "MAILER_TEST_KILL_AT"
)

// killedSteps rebuild a table, fill another and index it.
var killedSteps = map[string]string{
	"002_rebuild.sql": `CREATE TABLE teams_new (id TEXT NOT NULL PRIMARY KEY, name TEXT NOT NULL, created_at INTEGER NOT NULL, note TEXT) STRICT, WITHOUT ROWID;
		INSERT INTO teams_new SELECT id, name, created_at, 'kept' FROM teams;
		DROP TABLE teams;
		ALTER TABLE teams_new RENAME TO teams;`,
	"003_fill.sql": `CREATE TABLE extra (id TEXT NOT NULL PRIMARY KEY, note TEXT NOT NULL) STRICT;
		INSERT INTO extra SELECT id, note FROM teams;
		UPDATE teams SET note = note || '!';
		CREATE INDEX extra_note ON extra (note);`,
}

// TestMigrationSurvivesKillAtEveryStatement kills a migration at each statement, and before the copy
// and each step, runs it again, and compares the result with that of a migration that was not killed.
func TestMigrationSurvivesKillAtEveryStatement(t *testing.T) {
	if path := os.Getenv(killPath); path != "" {
		killedMigration(t, path)
		return
	}
	t.Parallel()
	opts := withSteps(atVersion1(t), killedSteps["002_rebuild.sql"], killedSteps["003_fill.sql"])
	want := migratedContent(t, copyOf(t, opts))
	finished := false
	at := 0
	for !finished {
		at++
		one := copyOf(t, opts)
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$")
		cmd.Env = append(os.Environ(), killPath+"="+one.Path, killAt+"="+strconv.Itoa(at))
		out, err := cmd.CombinedOutput()
		finished = err == nil
		if exit := (*exec.ExitError)(nil); err != nil && (!errors.As(err, &exit) || exit.ExitCode() != -1) {
			t.Fatalf("place %d: %v\n%s", at, err, out)
		}
		if version := ask(t, one.Path, "PRAGMA user_version"); finished != (version == "3") {
			t.Errorf("place %d: version %s, finished: %t", at, version, finished)
		}
		if got := ask(t, one.Path, "PRAGMA integrity_check"); got != "ok" {
			t.Errorf("place %d: integrity: %s", at, got)
		}
		if got := migratedContent(t, one); got != want {
			t.Errorf("place %d: %s\nwant %s", at, got, want)
		}
		kept, err := filepath.Glob(one.Path + ".v1-*Z")
		if err != nil || len(kept) == 0 {
			t.Errorf("place %d: no copy of the old database, %v", at, err)
		}
		for _, name := range kept {
			wantValue(t, name, "SELECT name FROM teams", "Default")
		}
		if left, _ := filepath.Glob(one.Path + "*.partial*"); len(left) > 0 {
			t.Errorf("place %d: left behind: %q", at, left)
		}
	}
	if statements := 2*8 + 3; at != statements+1 { // 8 statements, rehearsed and run, a copy and two steps
		t.Errorf("killed at %d places, want %d", at-1, statements)
	}
}

// copyOf copies a database that nobody has open.
func copyOf(t *testing.T, opts Options) Options {
	t.Helper()
	to := filepath.Join(dbtest.Dir(t), "x.db") // in memory, which outlives a process
	if err := os.WriteFile(to, content(t, opts.Path), 0o600); err != nil {
		t.Fatal(err)
	}
	opts.Path = to
	return opts
}

// migratedContent migrates a database, or resumes that, and returns what is in it.
func migratedContent(t *testing.T, opts Options) string {
	t.Helper()
	if _, err := migrate(t.Context(), opts, Migrating{}, stepFiles(killedSteps)); err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, query := range []string{
		`SELECT group_concat(version || '>=' || min_version) FROM schema_versions`,
		`SELECT group_concat(name || note) FROM teams`,
		`SELECT group_concat(note) FROM extra INDEXED BY extra_note`,
		`SELECT group_concat(name) FROM (SELECT name FROM sqlite_schema ORDER BY name)`,
		`SELECT group_concat(id) FROM keys`,
	} {
		all = append(all, ask(t, opts.Path, query))
	}
	return strings.Join(all, "\n")
}

// killedMigration migrates, and kills this process at the place that the environment names.
func killedMigration(t *testing.T, path string) {
	left, err := strconv.Atoi(os.Getenv(killAt))
	if err != nil {
		t.Fatal(err)
	}
	place := func() {
		if left--; left > 0 {
			return
		}
		if self, err := os.FindProcess(os.Getpid()); err == nil {
			_ = self.Kill()
		}
		select {} // until the signal arrives
	}
	sqlite.MustRegisterScalarFunction("kill_here", 0, func(*sqlite.FunctionContext, []driver.Value) (driver.Value, error) {
		place()
		return int64(0), nil
	})
	steps := fstest.MapFS{}
	for name, text := range killedSteps {
		steps[name] = &fstest.MapFile{Data: []byte(strings.ReplaceAll(text, ";", "; SELECT kill_here();"))}
	}
	opts := withSteps(Options{Path: path, Schema: SmallSchema(t), Lazy: true}, killedSteps["002_rebuild.sql"], killedSteps["003_fill.sql"])
	if _, err := migrate(context.Background(), opts, Migrating{Step: func(string) { place() }}, fs.FS(steps)); err != nil {
		t.Fatal(err)
	}
}
