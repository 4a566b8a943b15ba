package testserver

import (
	"bytes"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"

	"mailer/db"
	"mailer/db/dbtest"
	"mailer/db/pgtest"
)

// engineVariable is the environment variable that says which tests have their databases on
// PostgreSQL: those that are marked by BothEngines or Elsewhere, or all.
const (
	engineVariable = "MAILER_TEST_ENGINE"
	markedTests    = "postgres"
	allTests       = "postgres-all"
)

// IsPostgres reports whether the databases of this run's tests are those of PostgreSQL, by the
// environment variable MAILER_TEST_ENGINE. It is read by the tests, not before them, so that go test does
// not take what one engine answered for the other's answer.
func IsPostgres() bool {
	engine := os.Getenv(engineVariable)
	return engine == markedTests || engine == allTests
}

// marked holds the names of tests that called BothEngines.
var marked sync.Map

// BothEngines marks a test, with its subtests, as one that also runs on PostgreSQL with
// MAILER_TEST_ENGINE=postgres. It is the first call of the test. At least one test of each use
// case is marked; db has tests of each statement on both engines.
func BothEngines(t testing.TB) {
	marked.Store(t.Name(), true)
}

// skipUnmarked skips a test on PostgreSQL that is not marked.
func skipUnmarked(t testing.TB) {
	t.Helper()
	if os.Getenv(engineVariable) == markedTests && !isMarked(t.Name()) {
		t.Skip("not one of the tests that run on both engines; " + engineVariable + "=" + allTests + " runs it")
	}
}

// isMarked reports whether the test of that name or a test around it is marked.
func isMarked(name string) bool {
	for {
		if _, ok := marked.Load(name); ok {
			return true
		}
		at := strings.LastIndexByte(name, '/')
		if at < 0 {
			return false
		}
		name = name[:at]
	}
}

// fastHeartbeats are the tests in which several processes work on a database.
var fastHeartbeats sync.Map

// FastHeartbeat has a server see within a second what other processes write, in worlds that t
// makes from now on.
func FastHeartbeat(t testing.TB) {
	fastHeartbeats.Store(t, true)
	t.Cleanup(func() { fastHeartbeats.Delete(t) })
}

// heartbeatOf is how often a server of t tells its database that it works.
func heartbeatOf(t testing.TB) time.Duration {
	if _, ok := fastHeartbeats.Load(t); ok {
		return time.Second
	}
	return Heartbeat
}

// wires are the ways to their databases of tests that count what goes over them.
var wires sync.Map

// Stopped has the databases of worlds that t makes from now on be reached over a wire, by stores
// that gather writes as those of servers do.
func UseWire(t testing.TB, wire *pgtest.Proxy) {
	wires.Store(t, wire)
	t.Cleanup(func() { wires.Delete(t) })
}

// dataSource is how a store of t reaches its database, and for how long it gathers writes.
func dataSource(t testing.TB, path string) (string, time.Duration) {
	if wire, ok := wires.Load(t); ok {
		return wire.(*pgtest.Proxy).DSN(path), 0
	}
	return path, -1
}

// Heartbeat is how often a server of a test tells a database elsewhere that it works: seldom,
// since days pass there.
const Heartbeat = 6 * time.Hour

// PostgresOnly skips a test of what only a database elsewhere has.
func PostgresOnly(t testing.TB) {
	t.Helper()
	if !IsPostgres() {
		t.Skip("several servers share a database of PostgreSQL alone: MAILER_TEST_ENGINE=postgres runs it")
	}
	BothEngines(t)
}

// AddNode is another server on the same database, with relays of its own, which answers
// beside the first.
func (w *Server) AddNode(relays ...*FakeRelay) *Server {
	w.T.Helper()
	next := &Server{T: w.T, Path: w.Path, master: w.master, Relays: relays, Key: w.Key, Config: w.Config, Log: &LogBuffer{}, shared: true}
	next.Open()
	next.Start()
	return next
}

// SQLiteOnly skips a test of what only a database in a file has.
func SQLiteOnly(t testing.TB) {
	t.Helper()
	if IsPostgres() {
		t.Skip("it looks into the file of the database")
	}
}

// NewDatabase returns the name of a database of the test's own: a copy of one that db.Open made,
// so that the schema is made once a process and not in every test.
func NewDatabase(t testing.TB, schema string) string {
	t.Helper()
	open := func(name string) error {
		store, err := db.Open(t.Context(), db.Options{Path: name, Schema: schema, Create: true})
		if err != nil {
			return err
		}
		return store.Close()
	}
	if !IsPostgres() {
		return dbtest.File(t, schema, open)
	}
	skipUnmarked(t)
	server := pgtest.Server(t)
	return pgtest.Database(t, server, pgtest.TemplateBy(t, server, pgtest.Build(t)+schema, open))
}

// crashCopy is the name of a database as the process leaves it that ends at this moment.
func (w *Server) crashCopy() string {
	w.T.Helper()
	if IsPostgres() {
		w.closeDirect() // the copy ends all connections
		return pgtest.Copy(w.T, w.Path, `UPDATE nodes SET dead = seen_at WHERE dead IS NULL`, `DELETE FROM origin`)
	}
	path := filepath.Join(dbtest.Dir(w.T), "mailer.db")
	for _, end := range []string{"", "-wal"} {
		b, err := os.ReadFile(w.Path + end)
		Must(w.T, err)
		Must(w.T, os.WriteFile(path+end, b, 0o600))
	}
	return path
}

// openDirect is a way to the world's database past the server, to be closed by done: a database
// elsewhere keeps it until the end of the test, since to connect costs as much as twenty
// questions.
func (w *Server) openDirect() (pool *sql.DB, done func()) {
	w.T.Helper()
	if !IsPostgres() {
		pool, err := sql.Open("sqlite", "file:"+w.Path+"?_pragma=busy_timeout(5000)")
		Must(w.T, err)
		return pool, func() { pool.Close() }
	}
	w.direct.Lock()
	defer w.direct.Unlock()
	if w.direct.pool == nil {
		pool, err := sql.Open("pgx", w.Path)
		Must(w.T, err)
		w.direct.pool = pool
		w.T.Cleanup(w.closeDirect)
	}
	return w.direct.pool, func() {}
}

// directDB is the way past the server that is kept.
type directDB struct {
	sync.Mutex
	pool *sql.DB
}

func (w *Server) closeDirect() {
	w.direct.Lock()
	defer w.direct.Unlock()
	if w.direct.pool != nil {
		w.direct.pool.Close()
		w.direct.pool = nil
	}
}

// Tables are the names of the tables of schema.sql that have a column; empty: of all.
func (w *Server) Tables(column string) []string {
	w.T.Helper()
	if IsPostgres() {
		return w.SQL(`SELECT table_name::text FROM information_schema.tables AS m WHERE table_schema = current_schema() AND table_name NOT IN ('schema_versions', 'changes', 'nodes')
			AND (?1 = '' OR EXISTS (SELECT 1 FROM information_schema.columns AS c WHERE c.table_schema = m.table_schema AND c.table_name = m.table_name AND c.column_name = ?1)) ORDER BY 1`, column)
	}
	return w.SQL(`SELECT m.name FROM sqlite_schema AS m WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite_%'
		AND (?1 = '' OR EXISTS (SELECT 1 FROM pragma_table_info(m.name) AS c WHERE c.name = ?1)) ORDER BY m.name`, column)
}

// allRows is what the columns of all tables hold, row after row.
func (w *Server) allRows() []byte {
	w.T.Helper()
	tables := w.Tables("")
	pool, done := w.openDirect()
	defer done()
	var all bytes.Buffer
	for _, table := range tables {
		rows, err := pool.QueryContext(w.T.Context(), `SELECT * FROM `+table)
		Must(w.T, err)
		Must(w.T, eachRow(rows, func(values []any) {
			for _, v := range values {
				fmt.Fprintln(&all, v)
			}
		}))
	}
	return all.Bytes()
}

// eachRow hands the columns of each row to take, and closes rows.
func eachRow(rows *sql.Rows, take func(values []any)) error {
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return err
	}
	for rows.Next() {
		values, dest := make([]any, len(columns)), make([]any, len(columns))
		for i := range values {
			dest[i] = &values[i]
		}
		if err := rows.Scan(dest...); err != nil {
			return err
		}
		for i := range values {
			if b, ok := values[i].([]byte); ok {
				values[i] = string(b)
			}
		}
		take(values)
	}
	return rows.Err()
}

// WantUndamaged checks that nothing is damaged in the file of the database; one elsewhere keeps
// its foreign keys with every statement, and its pages are its own.
func (w *Server) WantUndamaged() {
	w.T.Helper()
	if IsPostgres() {
		return
	}
	found, err := db.Check(w.T.Context(), w.Path)
	Must(w.T, err)
	for _, f := range found {
		if !f.OK {
			w.T.Errorf("%+v", f)
		}
	}
}

// forEngine has a query of a test be one that the database takes.
func forEngine(query string) string {
	if IsPostgres() {
		query = strings.ReplaceAll(query, " AS BLOB)", " AS bytea)")
		for n := range 10 {
			query = strings.ReplaceAll(query, fmt.Sprint("?", n), fmt.Sprint("$", n))
		}
		for n := 1; strings.Contains(query, "?"); n++ {
			query = strings.Replace(query, "?", "$"+string(rune('0'+n)), 1)
		}
	}
	return query
}
