package engine

import (
	"bytes"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"testing"

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
	dbtest.Corrupt(t, path, bytes.Repeat([]byte("b"), 1000), func(page []byte) { copy(page, bytes.Repeat([]byte{0xff}, 16)) })
	opts := withSteps(Options{Path: path, Schema: dbtest.Schema(t)}, step2)
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
