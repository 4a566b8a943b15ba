package delivery

import (
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"

	"mailer/db"
)

// bubble runs fn with a fake clock, which stands still while anything runs.
func bubble(t *testing.T, fn func(t *testing.T)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, fn)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// openStore opens a fresh database; the test's end closes it.
func openStore(t testing.TB) *db.DB {
	t.Helper()
	schema, err := os.ReadFile("../../schema.sql")
	must(t, err)
	store, err := db.Open(t.Context(), db.Options{Path: filepath.Join(t.TempDir(), "mailer.db"), Schema: string(schema), Create: true, Gather: -1})
	must(t, err)
	t.Cleanup(func() { must(t, store.Close()) })
	return store
}
