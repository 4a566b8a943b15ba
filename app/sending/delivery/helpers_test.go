package delivery

import (
	"path/filepath"
	"testing"
	"testing/synctest"

	"mailer/db"
	"mailer/db/dbtest"
)

// inBubble runs fn in a synctest bubble.
func inBubble(t *testing.T, fn func(t *testing.T)) {
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

// openStore opens a new database, which is closed at the end of the test.
func openStore(t testing.TB) *db.DB {
	t.Helper()
	store, err := db.Open(t.Context(), db.Options{Path: filepath.Join(t.TempDir(), "mailer.db"), Schema: dbtest.Schema(t), Create: true, Gather: -1})
	must(t, err)
	t.Cleanup(func() { must(t, store.Close()) })
	return store
}
