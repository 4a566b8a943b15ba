package db

import (
	"database/sql"
	"testing"

	"github.com/jackc/pgx/v5"

	"mailer/db/dbtest"
	"mailer/db/pgtest"
)

// NewFile returns the path of a new database file. It is exported for package db_test.
func NewFile(t testing.TB) string {
	t.Helper()
	return dbtest.File(t, schemaText(t), func(path string) error { return makeDatabase(t, path) })
}

// newRemote returns the URL of a new PostgreSQL database.
func newRemote(t testing.TB) string {
	t.Helper()
	server := pgtest.Server(t)
	return pgtest.Database(t, server, pgtest.TemplateBy(t, server, pgtest.Build(t)+"opened\n"+schemaText(t), func(url string) error { return makeDatabase(t, url) }))
}

// makeDatabase creates a database with its tables.
func makeDatabase(t testing.TB, name string) error {
	t.Helper()
	d, err := Open(t.Context(), Options{Path: name, Schema: schemaText(t), Lazy: true, Create: true})
	if err != nil {
		return err
	}
	return d.Close()
}

// onServer runs statements on a PostgreSQL database.
func onServer(t *testing.T, dsn string, statements ...string) {
	t.Helper()
	c, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(t.Context())
	for _, text := range statements {
		if _, err := c.Exec(t.Context(), text); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
}

// ask returns the single value of a query.
func ask(t *testing.T, path, query string) (value string) {
	t.Helper()
	pool, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(5000)")
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	if err := pool.QueryRowContext(t.Context(), query).Scan(&value); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return value
}
