package engine

import (
	"testing"

	"mailer/db/dbtest"
	"mailer/db/pgtest"
)

// NewFile returns the path of a new database file. It is exported for the tests of package
// engine_test.
func NewFile(t testing.TB) string {
	t.Helper()
	return dbtest.File(t, dbtest.Schema(t), func(path string) error { return makeDatabase(t, path) })
}

// newRemote returns the URL of a new PostgreSQL database with its tables. For one without tables
// use pgtest.Database without a template.
func newRemote(t testing.TB) string {
	t.Helper()
	server := pgtest.Server(t)
	return pgtest.Database(t, server, pgtest.TemplateBy(t, server, pgtest.Build(t)+"opened\n"+dbtest.Schema(t), func(url string) error { return makeDatabase(t, url) }))
}

// makeDatabase creates a database with its tables, and closes it.
func makeDatabase(t testing.TB, name string) error {
	t.Helper()
	d, err := Open(t.Context(), Options{Path: name, Schema: dbtest.Schema(t), Create: true})
	if err != nil {
		return err
	}
	return d.Close()
}
