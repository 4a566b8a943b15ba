package engine

import (
	"slices"
	"strings"
	"sync"
	"testing"

	"mailer/db/dbtest"
	"mailer/db/pgtest"
)

// smallTables are the tables that the engine and its tests name, without those they refer to.
var smallTables = []string{"settings", "schema_versions", "teams", "team_days", "keys", "emails", "units", "contacts", "suppressions", "relays", "relay_states", "relay_usage", "captures"}

// SmallSchema returns smallTables of schema.sql with the tables that they refer to, and their indexes.
// All other tables would only make each database of a test several times as expensive.
func SmallSchema(t testing.TB) string {
	t.Helper()
	smallSchema.Do(func() {
		all := statementsOf(dbtest.Schema(t))
		want := slices.Clone(smallTables)
		for i := 0; i < len(want); i++ {
			for _, s := range all {
				if table, ok := s.createdTable(); !ok || table != want[i] {
					continue
				}
				for at, token := range s.tokens {
					if token == "REFERENCES" && !slices.Contains(want, s.tokens[at+1]) {
						want = append(want, s.tokens[at+1])
					}
				}
			}
		}
		var text strings.Builder
		for _, s := range all {
			table, ok := s.createdTable()
			if on := slices.Index(s.tokens, "ON"); !ok && on > 0 {
				table = s.tokens[on+1] // of an index
			}
			if slices.Contains(want, table) {
				text.WriteString(s.text + ";\n")
			}
		}
		smallSchema.text = text.String()
	})
	return smallSchema.text
}

var smallSchema struct {
	sync.Once
	text string
}

// NewFile returns the path of a new database file with SmallSchema. It is exported for the tests of package
// engine_test.
func NewFile(t testing.TB) string {
	t.Helper()
	return dbtest.File(t, SmallSchema(t), func(path string) error { return makeDatabase(t, path, SmallSchema(t)) })
}

// newRemote returns the URL of a new PostgreSQL database with SmallSchema. For one without tables
// use pgtest.Database without a template.
func newRemote(t testing.TB) string {
	t.Helper()
	server := pgtest.Server(t)
	return pgtest.Database(t, server, pgtest.TemplateBy(t, server, pgtest.Build(t)+"opened\n"+SmallSchema(t), func(url string) error { return makeDatabase(t, url, SmallSchema(t)) }))
}

// makeDatabase creates a database with its tables, and closes it.
func makeDatabase(t testing.TB, name, schema string) error {
	t.Helper()
	d, err := Open(t.Context(), Options{Path: name, Schema: schema, Lazy: true, Create: true})
	if err != nil {
		return err
	}
	return d.Close()
}
