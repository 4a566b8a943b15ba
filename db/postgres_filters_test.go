package db

import (
	"context"
	"database/sql"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib"

	"mailer/app"
	"mailer/db/engine"
	"mailer/db/pgtest"
)

// filterPair has the contacts of an audience on PostgreSQL too.
type filterPair struct {
	*audience
	postgres *sql.DB
}

func newFilterPair(t *testing.T, n int, contact func(teamID string, i int) app.Contact) *filterPair {
	t.Helper()
	server := pgtest.Server(t)
	pool, err := sql.Open("pgx", pgtest.Database(t, server, pgtest.Template(t, server, engine.PostgresSchema(schemaText(t)))))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { pool.Close() })
	tw := &filterPair{newAudience(t, n, contact), pool}
	exec := func(text string, args ...any) {
		if _, err := pool.ExecContext(t.Context(), engine.ToPostgres(text), args...); err != nil {
			t.Fatal(err)
		}
	}
	exec(`INSERT INTO teams (id, name, created_at) VALUES (?, ?, ?)`, tw.team.ID, "t", int64(0))
	for _, c := range tw.contacts {
		properties, err := writeProperties(c.Properties)
		if err != nil {
			t.Fatal(err)
		}
		unsubscribed := 0
		if c.Unsubscribed {
			unsubscribed = 1
		}
		args := insertedContact(&c, properties)
		args[slices.Index(args, any(c.Unsubscribed))] = unsubscribed
		exec(`INSERT INTO contacts (`+contactInserted+`) VALUES `+contactRow, args...)
	}
	err = tw.addBehaviour(func(text string, args ...any) error {
		exec(text, args...)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return tw
}

const pickedIDs = `SELECT c.id FROM contacts AS c WHERE c.team_id = ? AND ` + filterPlaceholder + ` ORDER BY c.id DESC`

// ids runs a filter on one of the engines.
func (tw *filterPair) ids(f *app.Filter, dialect filterDialect, query func(text string, args ...any) (*sql.Rows, error)) (ids []string) {
	tw.Helper()
	c, err := where(f, dialect)
	if err != nil {
		tw.Fatal(err)
	}
	rows, err := query(strings.Replace(pickedIDs, filterPlaceholder, c.text, 1), append([]any{tw.team.ID}, c.args...)...)
	if err != nil {
		tw.Fatalf("%+v: %v", f, err)
	}
	defer rows.Close()
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			tw.Fatal(err)
		}
		ids = append(ids, id)
	}
	if err := rows.Err(); err != nil {
		tw.Fatalf("%+v: %v", f, err)
	}
	return ids
}

// check compares both engines and package filter, and reports whether the filter matches
// some contacts but not all.
func (tw *filterPair) check(f *app.Filter) bool {
	tw.Helper()
	want := tw.contents(&app.Segment{TeamID: tw.team.ID, Filter: f})
	var onSQLite []string
	tw.read(func(r *Reader) error {
		onSQLite = tw.ids(f, sqliteFilters{}, func(text string, args ...any) (*sql.Rows, error) {
			stmt, err := r.Prepare(text)
			if err != nil {
				return nil, err
			}
			tw.Cleanup(func() { stmt.Close() })
			return stmt.QueryContext(context.Background(), args...)
		})
		return nil
	})
	onPostgres := tw.ids(f, postgresFilters{}, func(text string, args ...any) (*sql.Rows, error) {
		return tw.postgres.QueryContext(context.Background(), engine.ToPostgres(text), args...)
	})
	if !slices.Equal(onPostgres, onSQLite) || !slices.Equal(onPostgres, want) {
		tw.Errorf("PostgreSQL picks %d, SQLite %d, the rules %d: %+v", len(onPostgres), len(onSQLite), len(want), f)
	}
	return len(want) > 0 && len(want) < len(tw.contacts)
}

// filterValues are values for conditions: all values of contacts, parts of them, and
// numbers in other notations.
func filterValues() []string {
	values := append(slices.Clone(textValues), "+5", "5e0", "-", "e", "e+", ".", ".5", "0.", "-0", "0.0000001", "1e-7", "inf", "e+20", "0000", "30", "\u0301", "n", "y", "1", "3")
	values = append(append(values, testBroadcasts...), testTopics...)
	for _, n := range numberValues {
		for _, form := range []byte("fe") {
			values = append(values, strconv.FormatFloat(n, form, -1, 64))
		}
	}
	slices.Sort(values)
	return slices.Compact(values)
}

// everyValue returns a contact with one value of the lists in each field.
func everyValue(teamID string, i int) app.Contact {
	c := app.Contact{ID: app.NewID(), TeamID: teamID, Email: strconv.Itoa(i) + "@example.org", CreatedAt: filterEpoch, UpdatedAt: filterEpoch}
	c.Hash, c.Activity = hashOf(c.Email), randomActivity(rand.New(rand.NewPCG(uint64(i), 1)))
	switch i - len(textValues) - len(numberValues) {
	case 0:
		c.Properties = app.Properties{"a": {Type: app.StringProperty}} // an empty text
		return c
	case 1:
		return c
	}
	v := app.PropertyValue{Type: app.NumberProperty}
	if i < len(textValues) {
		c.FirstName, c.LastName = textValues[i], textValues[len(textValues)-1-i]
		v = app.PropertyValue{Type: app.StringProperty, Text: textValues[i]}
	} else {
		v.Number = numberValues[i-len(textValues)]
	}
	c.Properties = app.Properties{"a": v, "other": v}
	if i%2 == 0 {
		c.Properties["0"] = v
	}
	return c
}

func TestConditionsMatchOnBothEngines(t *testing.T) {
	t.Parallel()
	tw := newFilterPair(t, len(textValues)+len(numberValues)+2, everyValue)
	tested := map[string]int{}
	for field, ops := range fieldOps() {
		for _, op := range ops {
			for _, value := range filterValues() {
				f := &app.Filter{Match: app.MatchAll, Conditions: []app.Condition{{Field: field, Op: op, Value: value}}}
				if f.Validate() == nil && tw.check(f) {
					tested[field+" "+op]++
				}
			}
		}
	}
	for _, field := range []string{"first_name", "last_name", "property:a", "property:0", "received", "opened", "clicked", "replied", "topic"} {
		for _, op := range fieldOps()[field] {
			if n := tested[field+" "+op]; n < 1 || n < 5 && !slices.Contains(behaviourOps, op) && field != "topic" {
				t.Errorf("%s %s distinguished contacts in only %d filters", field, op, tested[field+" "+op])
			}
		}
	}
}

func TestFiltersMatchOnBothEngines(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(15, 5))
	tw := newFilterPair(t, 150, func(teamID string, i int) app.Contact { return randomContact(r, teamID, i) })
	some := 0
	for range 400 {
		if f := randomFilter(r, tw.contacts); f.Validate() == nil && tw.check(f) {
			some++
		}
	}
	if some < 120 {
		t.Errorf("only %d filters distinguished contacts", some)
	}
}

// TestPostgreSQLKeepsPropertyText removes a property, as the deletion of a declared
// property does.
func TestPostgreSQLKeepsPropertyText(t *testing.T) {
	t.Parallel()
	tw := newFilterPair(t, 3, func(teamID string, i int) app.Contact {
		c := everyValue(teamID, i)
		c.Properties = []app.Properties{
			{"zz": {Type: app.NumberProperty, Number: 1e21}, "b": {Type: app.NumberProperty, Number: 1e-7}, "gone": {Type: app.StringProperty, Text: "é\"\\"}},
			{"gone": {Type: app.NumberProperty, Number: 5}},
			{"stays": {Type: app.StringProperty, Text: "gone"}},
		}[i]
		return c
	})
	purge := ""
	all := allStatements(t)
	for _, s := range all {
		if s.function == "purgeValues" && strings.HasPrefix(s.text, "UPDATE contacts") {
			purge = s.text
		}
	}
	result, err := tw.postgres.ExecContext(t.Context(), engine.ToPostgres(purge), "gone", tw.team.ID, "", lastID)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := result.RowsAffected(); n != 2 || err != nil {
		t.Errorf("%d contacts changed, %v", n, err)
	}
	var got []string
	rows, err := tw.postgres.QueryContext(t.Context(), engine.ToPostgres(`SELECT `+contactColumns+` FROM contacts AS c ORDER BY c.id`))
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		c, err := scanContact(rows)
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range slices.Sorted(maps.Keys(c.Properties)) {
			got = append(got, c.Email[:1]+key+"="+c.Properties[key].String())
		}
	}
	if want := []string{"0b=0.0000001", "0zz=1000000000000000000000", "2stays=gone"}; !slices.Equal(got, want) {
		t.Errorf("left are %q, want %q", got, want)
	}
}
