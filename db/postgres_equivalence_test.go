package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"mailer/db/dbtest"
	"mailer/db/engine"
)

// enginePair is a SQLite and a PostgreSQL database with the same rows. Columns have few
// distinct values, so that random arguments match some rows.
type enginePair struct {
	*testing.T
	rand     *rand.Rand
	sqlite   *sql.Conn
	postgres *pgx.Conn
	texts    []string
	tables   []pairTable
	words    map[string]string // of PostgreSQL, by statement
	named    map[string]named  // by statement
	prepared map[string]*sql.Stmt
}

// named is what a statement names: its tables, and the columns that are compared with parameters.
type named struct{ tables, columns [][]string }

func (tw *enginePair) namedIn(text string) named {
	found, ok := tw.named[text]
	if !ok {
		found.tables = append(changes.FindAllStringSubmatch(text, -1), tablesRead.FindAllStringSubmatch(text, -1)...)
		found.columns = compared.FindAllStringSubmatch(text, -1)
		tw.named[text] = found
	}
	return found
}

// postgresWords caches engine.ToPostgres for each statement.
func (tw *enginePair) postgresWords(text string) string {
	words, ok := tw.words[text]
	if !ok {
		words = engine.ToPostgres(text)
		tw.words[text] = words
	}
	return words
}

type pairTable struct {
	dbtest.Table
	rows []map[string]any // that were put in, by column
}

var (
	tablesRead  = regexp.MustCompile(`\b(?:FROM|JOIN) ([a-z_]+)`)
	pairTexts   = []string{"", "a", "b", "A", "a@b", "A@B", "É@b", "%", "1"}
	pairNumbers = []int64{0, 1, 2, 3, 32, 256}
	pairBytes   = [][]byte{[]byte("aaaaaaaaaaaaaaaa"), []byte("bbbbbbbbbbbbbbbb"), []byte("cccccccccccccccc")}
	// pairDetails are JSON values that statements look into.
	pairDetails = []string{`{}`, `{"bounce_type":"Permanent"}`, `{"bounce_type":"Transient","to":"a@b"}`}
)

func newEnginePair(t *testing.T) *enginePair {
	t.Helper()
	pool, err := sql.Open("sqlite", "file::memory:?_dqs=0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { pool.Close() })
	conn, err := pool.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	tw := &enginePair{T: t, rand: rand.New(rand.NewPCG(4, 2)), sqlite: conn, postgres: postgresConn(t),
		texts: slices.Clone(pairTexts), words: map[string]string{}, named: map[string]named{}, prepared: map[string]*sql.Stmt{}}
	if _, err := conn.ExecContext(t.Context(), schemaText(t)); err != nil {
		t.Fatal(err)
	}
	// Rows of each table are made without regard to foreign keys.
	if _, err := tw.postgres.Exec(t.Context(), `SET session_replication_role = replica`); err != nil {
		t.Fatal(err)
	}
	tw.readTables()
	for i := range tw.tables {
		for range 60 {
			tw.addRow(&tw.tables[i])
		}
	}
	return tw
}

func (tw *enginePair) readTables() {
	for _, table := range dbtest.Tables(tw, tw.sqlite) {
		for _, c := range table.Columns {
			if c.Kind == "TEXT" {
				tw.texts = append(tw.texts, c.Allowed...)
			}
		}
		tw.tables = append(tw.tables, pairTable{Table: table})
	}
	slices.Sort(tw.texts)
	tw.texts = slices.Compact(tw.texts)
}

// value returns a random value for a column.
func (tw *enginePair) value(c *dbtest.Column) any {
	switch {
	case c.Optional && tw.rand.IntN(3) == 0:
		return nil
	case c.Name == "properties":
		return pick(tw.rand, []string{`{"a":1}`, `{"b":"x@y","a":"1"}`, `{"B":-2.50}`})
	case c.Name == "detail":
		return pick(tw.rand, pairDetails)
	case c.Kind == "TEXT" && c.Allowed != nil:
		return pick(tw.rand, c.Allowed)
	case c.Kind == "TEXT":
		return pick(tw.rand, pairTexts)
	case c.Kind == "BLOB":
		return pick(tw.rand, pairBytes)
	case c.Allowed != nil:
		return tw.rand.Int64N(int64(len(c.Allowed)))
	}
	return pick(tw.rand, pairNumbers)
}

// addRow adds a row to both databases or to none: both must refuse the same rows.
func (tw *enginePair) addRow(table *pairTable) {
	names, places, args := []string{}, []string{}, []any{}
	for i := range table.Columns {
		c := &table.Columns[i]
		v, cursorSeq := tw.value(c), `?`
		switch {
		case c.Name == "properties":
			cursorSeq = `jsonb(?)`
		case c.Name == "id" && (table.Name == "webhook_attempts" || table.Name == "import_errors"):
			v = fmt.Sprint("a", len(table.rows)) // a key with two more columns, but one is enough
		}
		names, places, args = append(names, c.Name), append(places, cursorSeq), append(args, v)
	}
	dbtest.FixRow(table.Name, names, places, args)
	text := `INSERT INTO ` + table.Name + ` (` + strings.Join(names, `, `) + `) VALUES (` + strings.Join(places, `, `) + `) ON CONFLICT DO NOTHING`
	_, onSQLite := tw.sqlite.ExecContext(tw.Context(), text, args...)
	_, onPostgres := tw.postgres.Exec(tw.Context(), tw.postgresWords(text), args...)
	if (onSQLite == nil) != (onPostgres == nil) {
		tw.Fatalf("%s %q: SQLite %v, PostgreSQL %v", text, args, onSQLite, onPostgres)
	}
	row := map[string]any{}
	for i, name := range names {
		row[name] = args[i]
	}
	table.rows = append(table.rows, row)
}

// arguments returns values for the parameters of a statement, mostly from an existing row
// for those that are compared with a column.
func (tw *enginePair) arguments(text string, types []uint32) []any {
	row := map[string]any{}
	named := tw.namedIn(text)
	for _, m := range slices.Backward(named.tables) { // columns of the first row win
		for _, table := range tw.tables {
			if table.Name == m[1] && len(table.rows) > 0 {
				maps.Copy(row, pick(tw.rand, table.rows))
			}
		}
	}
	args := make([]any, len(types))
	for i, oid := range types {
		args[i] = tw.argument(oid)
	}
	n := 0
	for _, m := range named.columns {
		i := n
		if k, err := strconv.Atoi(m[2]); err == nil {
			i = k - 1
		}
		n = max(n, i+1)
		if v := row[m[1]]; v != nil && tw.rand.IntN(8) > 0 && (args[i] == nil || sameKind(v, args[i])) {
			args[i] = v
		}
	}
	return args
}

func sameKind(a, b any) bool { return fmt.Sprintf("%T", a) == fmt.Sprintf("%T", b) }

func (tw *enginePair) argument(oid uint32) any {
	switch oid {
	case pgtype.Int8OID:
		return pick(tw.rand, pairNumbers)
	case pgtype.Int4OID:
		return pick(tw.rand, pairNumbers[1:])
	case pgtype.ByteaOID:
		return pick(tw.rand, pairBytes)
	case pgtype.JSONOID:
		return `{"a":1}`
	}
	if tw.rand.IntN(16) == 0 {
		return nil
	}
	return pick(tw.rand, tw.texts)
}

// pairResult is the result of a statement: its rows, or the number of changed rows and the
// table's contents afterwards.
type pairResult struct {
	rows []string
	err  error
}

var (
	compared  = regexp.MustCompile(`(?:(\w+)(?: & \?\d*)? (?:=|<>|<|>|<=|>=) (?:CAST\()?)?\?(\d*)`)
	changes   = regexp.MustCompile(`^\s*(?:UPDATE|INSERT INTO|DELETE FROM) (\w+)`)
	nested    = regexp.MustCompile(`\([^()]*\)`)
	anyOf     = regexp.MustCompile(`LIMIT (?:\?\d*|\d+)\)*$`)
	orderedIn = regexp.MustCompile(`ORDER BY [^()]*LIMIT`)
)

// rowOf formats a row in the same way for both engines.
func rowOf(values []any) string {
	out := make([]string, len(values))
	for i, v := range values {
		switch v := v.(type) {
		case bool:
			out[i] = "0"
			if v {
				out[i] = "1"
			}
		case []byte:
			out[i] = string(v)
		case pgtype.Numeric:
			n, err := v.Int64Value()
			if out[i] = fmt.Sprint(n.Int64); err != nil {
				out[i] = err.Error()
			}
		default:
			out[i] = fmt.Sprint(v)
		}
	}
	return strings.Join(out, "|")
}

// all reads a table.
func (tw *enginePair) all(table string) string {
	at := slices.IndexFunc(tw.tables, func(t pairTable) bool { return t.Name == table })
	var names []string
	for _, c := range tw.tables[at].Columns {
		if c.Name == "properties" {
			c.Name = `properties ->> 'a', properties ->> 'b'`
		}
		names = append(names, c.Name)
	}
	return `SELECT ` + strings.Join(names, `, `) + ` FROM ` + table
}

// isQuery reports whether a statement changes nothing, so that it needs no transaction that is
// rolled back.
func isQuery(text string) bool { return strings.HasPrefix(strings.TrimSpace(text), "SELECT") }

// answerOf runs a statement with functions of an engine.
func (tw *enginePair) answerOf(text string, args []any, exec func(string, ...any) (int64, error), query func(string, ...any) ([]string, error)) (a pairResult) {
	table, changed := changes.FindStringSubmatch(text), false
	if table == nil || strings.Contains(text, "RETURNING") {
		a.rows, a.err = query(text, args...)
		changed = len(a.rows) > 0
	} else {
		n, err := exec(text, args...)
		a.rows, a.err = []string{fmt.Sprint(n, " rows")}, err
		changed = n > 0
	}
	if table == nil || a.err != nil || !changed {
		return a
	}
	rows, err := query(tw.all(table[1]))
	if a.err = err; anyOf.MatchString(text) && !orderedIn.MatchString(text) {
		rows = []string{fmt.Sprint(len(rows), " rows are there")} // any of them may have been chosen
	}
	a.rows = append(a.rows, rows...)
	return a
}

// preparedSQLite prepares a statement once.
func (tw *enginePair) preparedSQLite(text string) *sql.Stmt {
	tw.Helper()
	s, ok := tw.prepared[text]
	if !ok {
		var err error
		if s, err = tw.sqlite.PrepareContext(tw.Context(), text); err != nil {
			tw.Fatalf("%s: %v", text, err)
		}
		tw.prepared[text] = s
	}
	return s
}

func (tw *enginePair) runSQLite(text string) {
	tw.Helper()
	if _, err := tw.preparedSQLite(text).ExecContext(tw.Context()); err != nil {
		tw.Fatalf("%s: %v", text, err)
	}
}

func (tw *enginePair) askSQLite(text string, args []any) pairResult {
	if !isQuery(text) {
		tw.runSQLite(`BEGIN`)
		defer tw.runSQLite(`ROLLBACK`)
	}
	exec := func(text string, args ...any) (int64, error) {
		result, err := tw.preparedSQLite(text).ExecContext(tw.Context(), args...)
		if err != nil {
			return 0, err
		}
		return result.RowsAffected()
	}
	return tw.answerOf(text, args, exec, func(text string, args ...any) (out []string, err error) {
		rows, err := tw.preparedSQLite(text).QueryContext(tw.Context(), args...)
		if err != nil {
			return nil, err
		}
		defer rows.Close()
		columns, err := rows.Columns()
		for err == nil && rows.Next() {
			values, places := make([]any, len(columns)), make([]any, len(columns))
			for i := range values {
				places[i] = &values[i]
			}
			err = rows.Scan(places...)
			out = append(out, rowOf(values))
		}
		return out, errors.Join(err, rows.Err())
	})
}

func (tw *enginePair) askPostgres(text string, args []any) pairResult {
	var on interface {
		Exec(ctx context.Context, text string, args ...any) (pgconn.CommandTag, error)
		Query(ctx context.Context, text string, args ...any) (pgx.Rows, error)
	} = tw.postgres
	if !isQuery(text) {
		tx, err := tw.postgres.Begin(tw.Context())
		if err != nil {
			tw.Fatal(err)
		}
		defer tx.Rollback(context.WithoutCancel(tw.Context()))
		on = tx
	}
	exec := func(text string, args ...any) (int64, error) {
		tag, err := on.Exec(tw.Context(), tw.postgresWords(text), args...)
		return tag.RowsAffected(), err
	}
	return tw.answerOf(text, args, exec, func(text string, args ...any) (out []string, err error) {
		rows, err := on.Query(tw.Context(), tw.postgresWords(text), args...)
		if err != nil {
			return nil, err
		}
		defer rows.Close()
		for err == nil && rows.Next() {
			var values []any
			values, err = rows.Values()
			out = append(out, rowOf(values))
		}
		return out, errors.Join(err, rows.Err())
	})
}

// isOrdered reports whether a statement has an order of rows.
func isOrdered(text string) bool {
	for inner := nested.ReplaceAllString(text, ""); inner != text; inner = nested.ReplaceAllString(text, "") {
		text = inner
	}
	return strings.Contains(text, "ORDER BY") && !changes.MatchString(text)
}

// takesAny are statements that return any matching rows up to a limit.
var takesAny = []string{"OnlyMembership", "QueuedDomains", "WaitingUnits", "prefixed", "NextImportOver", "purgeLeftoversOf", "PurgeOptIns"}

func TestStatementsGiveSameResultOnBothEngines(t *testing.T) {
	t.Parallel()
	tw := newEnginePair(t)
	all := allStatements(t)
	seen, idle := map[string]bool{}, 0
	for _, s := range all {
		if s.foreign {
			continue
		}
		if seen[s.text] || strings.Contains(s.text, "sqlite_") {
			continue
		}
		seen[s.text] = true
		if !tw.compare(s) {
			idle++
			t.Logf("%s met no row: %s", s.function, s.text)
		}
	}
	if idle > len(seen)/6 {
		t.Errorf("%d of %d statements met no row", idle, len(seen))
	}
}

// comparisons is the maximum number of times that compare runs a statement. compare stops after
// enoughMet times that matched a row: 25 of them found a planted fault in the same statements.
const (
	comparisons = 25
	enoughMet   = 6
)

// compare runs a statement repeatedly on both engines and reports whether it ever matched
// a row.
func (tw *enginePair) compare(s statement) bool {
	tw.Helper()
	d, err := tw.postgres.Prepare(tw.Context(), "", engine.ToPostgres(s.text))
	if err != nil {
		tw.Fatal(err)
	}
	ordered := isOrdered(s.text)
	met := 0
	for n := 0; n < comparisons && met < enoughMet; n++ {
		args := tw.arguments(s.text, d.ParamOIDs)
		a, b := tw.askSQLite(s.text, args), tw.askPostgres(s.text, args)
		if len(a.rows) > 0 && a.rows[0] != "0 rows" {
			met++
		}
		if !ordered {
			slices.Sort(a.rows)
			slices.Sort(b.rows)
		}
		if slices.Contains(takesAny, s.function) {
			a.rows, b.rows = nil, nil
		}
		if (a.err == nil) != (b.err == nil) || a.err == nil && !slices.Equal(a.rows, b.rows) {
			tw.Errorf("%s\n%s\nwith %q:\nSQLite     %q %v\nPostgreSQL %q %v", s.function, s.text, args, a.rows, a.err, b.rows, b.err)
			return true
		}
	}
	return met > 0
}
