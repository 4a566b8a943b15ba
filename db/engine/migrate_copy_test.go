package engine

import (
	"bytes"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mailer/db/dbtest"
)

// copiesOf returns the files beside a database that are copies of a migration.
func copiesOf(t *testing.T, path string) []string {
	t.Helper()
	names, err := filepath.Glob(path + ".v*")
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func TestFailedMigrationCopyIsRemoved(t *testing.T) {
	path := stored(t, 'a', 'b')
	toVersion1(t, path)
	dbtest.Corrupt(t, path, bytes.Repeat([]byte("b"), 1000), func(page []byte) { copy(page, bytes.Repeat([]byte{0xff}, 16)) })
	opts := withSteps(Options{Path: path, Schema: SmallSchema(t), Lazy: true}, step2)
	for _, torn := range []string{".v1-20260101T000000Z.partial", ".v1-20260101T000000Z.partial-journal"} { // left by a killed process
		if err := os.WriteFile(path+torn, []byte("torn"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := migrate(t.Context(), opts, Migrating{}, stepFiles(map[string]string{"002_plan.sql": step2})); err == nil {
		t.Fatal("a damaged database was copied")
	}
	if left := copiesOf(t, path); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
	wantValue(t, path, "PRAGMA user_version", "1")
}

func TestMigrationCopyNeedsDiskSpace(t *testing.T) {
	pool, err := sql.Open("sqlite", dsn(stored(t, 'a'), "mode=ro"))
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	conn, err := pool.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	r := migration{conn: conn, opts: Options{Path: "x.db"}}
	size, err := r.size(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for free, want := range map[int64]error{spareDiskSpace: ErrFull, 2 * spareDiskSpace: nil} {
		if err := r.checkDiskSpace(size, func(string) (int64, error) { return free, nil }); !errors.Is(err, want) {
			t.Errorf("%d bytes free: %v", free, err)
		}
	}
}

// TestOldCopiesAreRemoved: nothing else beside the database is removed, and the copy from before a
// migration that was killed repeatedly stays.
func TestOldCopiesAreRemoved(t *testing.T) {
	const others = "x.db x.db-wal x.db.lock x.db.v1-20250101T000000Z.partial x.db.v1-20250101T000000Z.txt x.db.v1-20251399T000000Z x.db.backup-20250101T000000Z x.db.before-restore-20250101T000000Z y.db.v1-20250101T000000Z xx.db.v1-20250101T000000Z"
	before := time.Date(2026, 1, 10, 0, 0, 0, 0, time.UTC)
	for copies, want := range map[string]string{
		"":                    "",
		"v1-20260111T000000Z": "v1-20260111T000000Z",
		"v1-20260109T235959Z": "",
		"v1-20260111T000000Z v2-20260112T000000Z v3-20260113T000000Z":                     "v2-20260112T000000Z v3-20260113T000000Z",
		"v3-20260111T000000Z v3-20260112T000000Z v3-20260113T000000Z":                     "v3-20260112T000000Z v3-20260113T000000Z",
		"v1-20260111T000000Z v2-20260112T000000Z v2-20260113T000000Z v2-20260114T000000Z": "v1-20260111T000000Z v2-20260114T000000Z",
		"v9-20260109T000000Z v10-20260112T000000Z":                                        "v10-20260112T000000Z",
		"v1-20260101T000000Z v2-20260102T000000Z":                                         "",
	} {
		dir := t.TempDir()
		for _, name := range append(strings.Fields(others), strings.Fields(copies)...) {
			if strings.HasPrefix(name, "v") {
				name = "x.db." + name
			}
			if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Mkdir(filepath.Join(dir, "x.db.v1-20250202T000000Z"), 0o700); err != nil {
			t.Fatal(err)
		}
		removed, err := RemoveOldCopies(filepath.Join(dir, "x.db"), before)
		if err != nil || len(removed) != len(strings.Fields(copies))-len(strings.Fields(want)) {
			t.Errorf("%s: removed %q, %v", copies, removed, err)
		}
		for _, name := range append(strings.Fields(others), "x.db.v1-20250202T000000Z") {
			if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
				t.Error(err)
			}
		}
		for _, name := range strings.Fields(want) {
			if _, err := os.Stat(filepath.Join(dir, "x.db."+name)); err != nil {
				t.Errorf("%s: %v", copies, err)
			}
		}
	}
}
