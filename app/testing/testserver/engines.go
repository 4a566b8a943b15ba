package testserver

import (
	"database/sql"
	"errors"
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

// engineVariable is the environment variable that selects the tests that run on PostgreSQL: those
// marked by BothEngines or PostgresOnly, or all.
const (
	engineVariable = "MAILER_TEST_ENGINE"
	markedTests    = "postgres"
	allTests       = "postgres-all"
)

// IsPostgres reports whether the tests use PostgreSQL, by MAILER_TEST_ENGINE. Tests read the
// variable while they run, so that go test does not use a cached result of the other engine.
func IsPostgres() bool {
	engine := os.Getenv(engineVariable)
	return engine == markedTests || engine == allTests
}

// marked holds the names of tests that called BothEngines.
var marked sync.Map

// BothEngines marks a test and its subtests to run on PostgreSQL too, with
// MAILER_TEST_ENGINE=postgres. It must be the first call of the test. At least one test of each
// use case is marked; package db tests each statement on both engines.
func BothEngines(t testing.TB) {
	marked.Store(t.Name(), true)
}

// skipUnmarked skips a test on PostgreSQL unless it is marked.
func skipUnmarked(t testing.TB) {
	t.Helper()
	if os.Getenv(engineVariable) == markedTests && !isMarked(t.Name()) {
		t.Skip("not one of the tests that run on both engines; " + engineVariable + "=" + allTests + " runs it")
	}
}

// isMarked reports whether a test or one of its parents is marked.
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

// fastHeartbeats holds the tests with FastHeartbeat.
var fastHeartbeats sync.Map

// FastHeartbeat makes servers that t starts from now on notice writes of other processes within a
// second, and run their jobs as often as a server of a user does.
func FastHeartbeat(t testing.TB) {
	fastHeartbeats.Store(t, true)
	t.Cleanup(func() { fastHeartbeats.Delete(t) })
}

// heartbeatOf returns the heartbeat interval of a test's servers.
func heartbeatOf(t testing.TB) time.Duration {
	if _, ok := fastHeartbeats.Load(t); ok {
		return time.Second
	}
	return Heartbeat
}

// deadAfter returns the silence after which servers of a test count as dead; 0: as by default. With FastHeartbeat it
// is long: the database measures it in real time, of which a busy machine takes seconds between two heartbeats.
func deadAfter(t testing.TB) time.Duration {
	if _, ok := fastHeartbeats.Load(t); ok {
		return time.Minute
	}
	return 0
}

// wires holds the proxies of tests that count the traffic to the database.
var wires sync.Map

// UseProxy makes servers that t starts from now on connect to the database through a proxy and
// batch writes as in production.
func UseProxy(t testing.TB, wire *pgtest.Proxy) {
	wires.Store(t, wire)
	t.Cleanup(func() { wires.Delete(t) })
}

// dataSource returns the path or DSN of a test's database, and how long writes are gathered.
func dataSource(t testing.TB, path string) (string, time.Duration) {
	if wire, ok := wires.Load(t); ok {
		return wire.(*pgtest.Proxy).DSN(path), 0
	}
	return path, -1
}

// Heartbeat is the heartbeat interval of servers in tests on PostgreSQL: long, since days pass
// there.
const Heartbeat = 6 * time.Hour

// PostgresOnly skips a test unless it runs on PostgreSQL.
func PostgresOnly(t testing.TB) {
	t.Helper()
	if !IsPostgres() {
		t.Skip("several servers share a database of PostgreSQL alone: MAILER_TEST_ENGINE=postgres runs it")
	}
	BothEngines(t)
}

// AddNode starts another server on the same database with its own relays.
func (w *Server) AddNode(relays ...*FakeRelay) *Server {
	w.T.Helper()
	next := &Server{T: w.T, Path: w.Path, master: w.master, Relays: relays, Key: w.Key, Config: w.Config, Log: &LogBuffer{}, shared: true}
	next.Open()
	next.Start()
	return next
}

// SQLiteOnly skips a test on PostgreSQL.
func SQLiteOnly(t testing.TB) {
	t.Helper()
	if IsPostgres() {
		t.Skip("it looks into the file of the database")
	}
}

// NewDatabase returns the name of a new database: a copy of a template, so that the schema is
// created once in a process.
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

// crashCopy returns the name of a copy of the database as a crash at this moment would leave it.
func (w *Server) crashCopy() string {
	w.T.Helper()
	if IsPostgres() {
		w.closeDirect() // copying ends all connections
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

// openDirect returns separate connections to the database. They are kept until the server stops or
// is opened again, since connecting takes as long as twenty queries.
func (w *Server) openDirect() *sql.DB {
	w.T.Helper()
	w.direct.Lock()
	defer w.direct.Unlock()
	if w.direct.pool == nil {
		driver, source := "sqlite", "file:"+w.Path+"?_pragma=busy_timeout(5000)"
		if IsPostgres() {
			driver, source = "pgx", w.Path
		}
		pool, err := sql.Open(driver, source)
		Must(w.T, err)
		w.direct.pool = pool
		w.T.Cleanup(w.closeDirect)
	}
	return w.direct.pool
}

// directDB are the separate connections.
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

// Tables returns the tables of schema.sql that have a column, or all if column is empty.
func (w *Server) Tables(column string) []string {
	w.T.Helper()
	if IsPostgres() {
		return w.SQL(`SELECT table_name::text FROM information_schema.tables AS m WHERE table_schema = current_schema() AND table_name NOT IN ('schema_versions', 'changes', 'nodes')
			AND (?1 = '' OR EXISTS (SELECT 1 FROM information_schema.columns AS c WHERE c.table_schema = m.table_schema AND c.table_name = m.table_name AND c.column_name = ?1)) ORDER BY 1`, column)
	}
	return w.SQL(`SELECT m.name FROM sqlite_schema AS m WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite_%' AND m.name <> 'schema_versions'
		AND (?1 = '' OR EXISTS (SELECT 1 FROM pragma_table_info(m.name) AS c WHERE c.name = ?1)) ORDER BY m.name`, column)
}

// Columns returns the columns of all tables, as "table.column", that do not hold numbers.
func (w *Server) Columns() (columns []string) {
	w.T.Helper()
	for _, table := range w.Tables("") {
		pool := w.openDirect()
		rows, err := pool.QueryContext(w.T.Context(), `SELECT * FROM `+table+` LIMIT 0`)
		Must(w.T, err)
		types, err := rows.ColumnTypes()
		Must(w.T, errors.Join(err, rows.Close()))
		for _, c := range types {
			if !strings.HasPrefix(c.DatabaseTypeName(), "INT") {
				columns = append(columns, table+"."+c.Name())
			}
		}
	}
	return columns
}

// eachValue calls take with the columns, as "table.column", and values of all rows of all tables.
func (w *Server) eachValue(take func(column string, value any)) {
	w.T.Helper()
	tables := w.Tables("")
	pool := w.openDirect()
	for _, table := range tables {
		rows, err := pool.QueryContext(w.T.Context(), `SELECT * FROM `+table)
		Must(w.T, err)
		columns, err := rows.Columns()
		Must(w.T, err)
		Must(w.T, eachRow(rows, func(values []any) {
			for i, v := range values {
				take(table+"."+columns[i], v)
			}
		}))
	}
}

// eachRow calls take with the columns of each row and closes rows.
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

// WantUndamaged checks the database file for damage. On PostgreSQL it does nothing.
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

// forEngine converts a query to the syntax of the engine.
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
