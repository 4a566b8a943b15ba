package engine

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"mailer/db/dbtest"
	"mailer/db/pgtest"
)

// movedRows is how many rows fillFile puts into each table.
const movedRows = 4

var (
	// movedTexts are the texts of the rows, including keys, so that a foreign key refers to the
	// row of the same number.
	movedTexts   = []string{"a", "É ✓ 😀 \u2028 'x' \\ \"", strings.Repeat("long ", 30), "A\t\r\n%_"}
	movedNumbers = []int64{0, -1, math.MaxInt64, math.MinInt64}
	movedObjects = []any{`{"a":1,"B":-2.50,"c":1e400,"d":"\u00e9\n"}`, nil, `{}`, `{"z":"É","a":12345678901234567890}`}
	movedPieces  = [][]byte{{}, bytes.Repeat([]byte{0, 0xff, 'x', 7}, 64<<10), {0}, []byte("\\x00")}
	numberedKeys = regexp.MustCompile(`^(n|seq)$`)
	shortBytes   = regexp.MustCompile(`^(address|id|hash|person|credential_id|digest|effect)$`) // indexed
)

// fillFile returns a database with SmallSchema and rows of edge-case values in every table.
func fillFile(t *testing.T) string {
	t.Helper()
	return fillFileOf(t, SmallSchema(t))
}

func fillFileOf(t *testing.T, schema string) string {
	t.Helper()
	return dbtest.File(t, "rows in every table\n"+schema, func(path string) error {
		if err := makeDatabase(t, path, schema); err != nil {
			return err
		}
		return fillTables(t, path)
	})
}

func fillTables(t *testing.T, path string) error {
	t.Helper()
	pool, err := sql.Open("sqlite", dsn(path, "_foreign_keys=0&_dqs=0"))
	if err != nil {
		return err
	}
	defer pool.Close()
	if _, err := pool.Exec(`DELETE FROM teams`); err != nil {
		return err
	}
	conn := connOf(t, pool)
	for _, table := range dbtest.Tables(t, conn) {
		if len(table.Columns) == 0 { // not one of this database
			continue
		}
		for n := range movedRows {
			edgeRow(t, conn, &table, n)
		}
	}
	rows, err := conn.QueryContext(t.Context(), `PRAGMA foreign_key_check`)
	if err != nil || rows.Next() {
		return fmt.Errorf("a foreign key leads nowhere: %w", err)
	}
	return errors.Join(rows.Close(), conn.Close(), pool.Close()) // the last connection truncates the log
}

// newMoved returns a PostgreSQL database to which the database of fillFile was moved.
func newMoved(t *testing.T) string {
	t.Helper()
	server := pgtest.Server(t)
	return pgtest.Database(t, server, pgtest.TemplateBy(t, server, pgtest.Build(t)+"moved\n"+SmallSchema(t), func(url string) error {
		_, err := Move(t.Context(), moving(t, fillFile(t), url))
		return err
	}))
}

func connOf(t *testing.T, pool *sql.DB) *sql.Conn {
	t.Helper()
	conn, err := pool.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

// edgeRow adds the n-th row of a table.
func edgeRow(t *testing.T, conn *sql.Conn, table *dbtest.Table, n int) {
	t.Helper()
	names, placeholders, args := []string{}, []string{}, []any{}
	for _, c := range table.Columns {
		v, placeholder := edgeValue(&c, n), "?"
		if c.Name == "properties" {
			placeholder = "jsonb(?)"
		}
		names, placeholders, args = append(names, c.Name), append(placeholders, placeholder), append(args, v)
	}
	dbtest.FixRow(table.Name, names, placeholders, args)
	text := `INSERT INTO ` + table.Name + ` (` + strings.Join(names, `, `) + `) VALUES (` + strings.Join(placeholders, `, `) + `)`
	if _, err := conn.ExecContext(t.Context(), text, args...); err != nil {
		t.Fatalf("%s %q: %v", text, args, err)
	}
}

func edgeValue(c *dbtest.Column, n int) any {
	switch {
	case c.Name == "properties":
		return movedObjects[n]
	case c.Optional && n == 1:
		return nil
	case c.Kind == "TEXT" && c.Allowed != nil:
		return c.Allowed[n%len(c.Allowed)]
	case c.Kind == "TEXT" && (c.Name == "html" || c.Name == "text"):
		return strings.Repeat(movedTexts[n], 5_000)
	case c.Kind == "TEXT":
		return movedTexts[n]
	case c.Kind == "BLOB" && shortBytes.MatchString(c.Name):
		return bytes.Repeat([]byte{byte(n)}, 16)
	case c.Kind == "BLOB":
		return movedPieces[n]
	case c.Allowed != nil:
		return int64(n % len(c.Allowed))
	case numberedKeys.MatchString(c.Name):
		return int64(n)
	}
	return movedNumbers[n]
}

// dump returns every row of a database, by table.
func dump(t *testing.T, s *moveSide, schema string) map[string][]string {
	t.Helper()
	tables, err := movedTables(t.Context(), schema)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]string{}
	for _, table := range tables {
		rows, err := s.rows(t.Context(), table, true)
		if err != nil {
			t.Fatal(err)
		}
		for rows.Next() {
			out[table.name] = append(out[table.name], fmt.Sprintf("%T %#v", rows.values[0], rows.values))
		}
		if err := errors.Join(rows.Err(), rows.Close()); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.close(); err != nil {
		t.Fatal(err)
	}
	return out
}

func dumpFile(t *testing.T, path, schema string) map[string][]string {
	t.Helper()
	s, err := fileSide(t.Context(), path, "mode=ro&_query_only=1")
	if err != nil {
		t.Fatal(err)
	}
	return dump(t, s, schema)
}

func dumpPostgres(t *testing.T, url, schema string) map[string][]string {
	t.Helper()
	s, err := postgresSide(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	return dump(t, s, schema)
}

func wantDump(t *testing.T, got, want map[string][]string) {
	t.Helper()
	for table, rows := range want {
		if len(rows) < movedRows {
			t.Errorf("%s has only %d rows", table, len(rows))
		}
		for i, row := range rows {
			if i >= len(got[table]) || got[table][i] != row {
				t.Errorf("%s: row %d of %d differs:\n%.400s\nmust be\n%.400s", table, i, len(got[table]), slices.Concat(got[table], make([]string, len(rows)))[i], row)
			}
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d tables, not %d", len(got), len(want))
	}
}

// moving returns the parameters of a move.
func moving(t *testing.T, from, to string) Moving {
	t.Helper()
	return Moving{From: from, To: to, Schema: SmallSchema(t)}
}

func mustMove(t *testing.T, from, to string) Moved {
	t.Helper()
	return mustMoveOf(t, from, to, SmallSchema(t))
}

func mustMoveOf(t *testing.T, from, to, schema string) Moved {
	t.Helper()
	done, err := Move(t.Context(), Moving{From: from, To: to, Schema: schema})
	if err != nil {
		t.Fatalf("move %s to %s: %v", from, to, err)
	}
	return done
}

// tablesOf returns the number of tables in a PostgreSQL database.
func tablesOf(t *testing.T, url string) (n int) {
	t.Helper()
	c, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(t.Context())
	if err := c.QueryRow(t.Context(), `SELECT count(*) FROM information_schema.tables WHERE table_schema = 'public'`).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// openAsServer opens a database as a server does.
func openAsServer(t *testing.T, name string) error {
	t.Helper()
	return openAsServerOf(t, name, SmallSchema(t))
}

func openAsServerOf(t *testing.T, name, schema string) error {
	t.Helper()
	d, err := Open(t.Context(), Options{Path: name, Schema: schema, Lazy: true, Lock: true})
	if err != nil {
		return err
	}
	err = d.Write(t.Context(), func(tx *Tx) error { return tx.SetSetting("started", []byte{1}) })
	if err == nil {
		err = d.Write(t.Context(), func(tx *Tx) error { return tx.Write(`DELETE FROM settings WHERE name = 'started'`) })
	}
	return errors.Join(err, d.Close())
}

func TestMoveToPostgresAndBack(t *testing.T) {
	t.Parallel()
	server, schema := pgtest.Server(t), dbtest.Schema(t) // no other test moves each table
	file, remote := fillFileOf(t, schema), pgtest.Database(t, server, "")
	want := dumpFile(t, file, schema)
	done := mustMoveOf(t, file, remote, schema)
	if n := int64(len(done.Tables) * movedRows); done.Rows != n || done.To != Name(remote) {
		t.Errorf("moved %d rows to %s, not %d to %s", done.Rows, done.To, n, Name(remote))
	}
	wantDump(t, dumpPostgres(t, remote, schema), want)
	if err := openAsServerOf(t, remote, schema); err != nil {
		t.Errorf("the target does not start: %v", err)
	}
	if err := openAsServerOf(t, file, schema); !errors.Is(err, ErrMoved) || !strings.Contains(err.Error(), Name(remote)) {
		t.Errorf("the source starts: %v", err)
	}
	back := filepath.Join(dbtest.Dir(t), "back.db")
	if again := mustMoveOf(t, remote, back, schema); !slices.Equal(again.Tables, done.Tables) {
		t.Errorf("moved %v, moved back %v", done.Tables, again.Tables)
	}
	wantDump(t, dumpFile(t, back, schema), want)
	if err := openAsServerOf(t, back, schema); err != nil {
		t.Errorf("the file does not start: %v", err)
	}
	if err := openAsServerOf(t, remote, schema); !errors.Is(err, ErrMoved) {
		t.Errorf("the database that was left starts: %v", err)
	}
	if info, err := os.Stat(back); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

// errKilled simulates the end of the process.
var errKilled = errors.New("killed")

func killedAt(step string) func(string) error {
	return func(at string) error {
		if at == step {
			return errKilled
		}
		return nil
	}
}

func TestInterruptedMoveLeavesTargetEmpty(t *testing.T) {
	t.Parallel()
	server := pgtest.Server(t)
	for _, step := range []string{"finish", "mark", "commit"} {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			file, remote := fillFile(t), pgtest.Database(t, server, "")
			in := moving(t, file, remote)
			in.before = killedAt(step)
			if _, err := Move(t.Context(), in); !errors.Is(err, errKilled) {
				t.Fatal(err)
			}
			if n := tablesOf(t, remote); n > 0 {
				t.Errorf("%d tables are there", n)
			}
			if err := openAsServer(t, file); errors.Is(err, ErrMoved) != (step == "commit") {
				t.Errorf("the source: %v", err)
			}
			mustMove(t, file, remote)

			back := filepath.Join(dbtest.Dir(t), "back.db")
			in = moving(t, remote, back)
			in.before = killedAt(step)
			if _, err := Move(t.Context(), in); !errors.Is(err, errKilled) {
				t.Fatal(err)
			}
			if left, err := filepath.Glob(back + "*"); len(left) != 1 || err != nil { // its lock
				t.Errorf("%q is there, %v", left, err)
			}
			if err := openAsServer(t, remote); errors.Is(err, ErrMoved) != (step == "commit") {
				t.Errorf("the source: %v", err)
			}
			if err := os.WriteFile(back+movingSuffix, []byte("what a kill left"), 0o600); err != nil {
				t.Fatal(err)
			}
			mustMove(t, remote, back)
		})
	}
}

func wantRefusal(t *testing.T, from, to string, kind error, text string) {
	t.Helper()
	if _, err := Move(t.Context(), moving(t, from, to)); !errors.Is(err, kind) || !strings.Contains(err.Error(), text) {
		t.Errorf("move %s to %s: %v, must say %q", Name(from), Name(to), err, text)
	}
}

func TestMoveRefusals(t *testing.T) {
	t.Parallel()
	server := pgtest.Server(t)
	file, empty := fillFile(t), pgtest.Database(t, server, "")
	wantRefusal(t, file, file+"2", ErrNotDatabase, "of one kind")
	wantRefusal(t, empty, empty, ErrNotDatabase, "of one kind")
	wantRefusal(t, empty, file+"2", ErrNotFound, "is empty")
	wantRefusal(t, file+"2", empty, ErrNotFound, "there is no database")

	foreign := pgtest.Database(t, server, pgtest.Template(t, server, `CREATE TABLE words (word text)`))
	wantRefusal(t, file, foreign, ErrConflict, "another program")

	d, err := Open(t.Context(), Options{Path: file, Schema: SmallSchema(t), Lazy: true, Lock: true})
	if err != nil {
		t.Fatal(err)
	}
	wantRefusal(t, file, empty, ErrInUse, "in use")
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	mustMove(t, file, empty)
	wantRefusal(t, file, empty, ErrMoved, "was moved to")
	wantRefusal(t, file, pgtest.Database(t, server, ""), ErrMoved, "was moved to")
	full := fillFile(t)
	wantRefusal(t, full, empty, ErrConflict, "is not empty")
	wantRefusal(t, empty, full, ErrConflict, "is there already")
	if err := openAsServer(t, full); err != nil {
		t.Errorf("a move that was refused marked its source: %v", err)
	}

	d, err = Open(t.Context(), Options{Path: empty, Schema: SmallSchema(t), Lazy: true, Lock: true, Heartbeat: slowHeartbeat})
	if err != nil {
		t.Fatal(err)
	}
	wantRefusal(t, empty, file+"2", ErrInUse, "another mailer serve")
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestMoveToMigratedEmptyDatabase(t *testing.T) {
	t.Parallel()
	file, remote := fillFile(t), pgtest.Database(t, pgtest.Server(t), "")
	if _, err := Migrate(t.Context(), Options{Path: remote, Schema: SmallSchema(t), Lazy: true, Create: true}, Migrating{}); err != nil {
		t.Fatal(err)
	}
	d, err := Open(t.Context(), Options{Path: remote, Schema: SmallSchema(t), Lazy: true, Lock: true})
	if err != nil {
		t.Fatal(err)
	}
	wantRefusal(t, file, remote, ErrInUse, "is worked on by")
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	want := dumpFile(t, file, SmallSchema(t))
	mustMove(t, file, remote)
	wantDump(t, dumpPostgres(t, remote, SmallSchema(t)), want)
}

func TestMoveNamesInvalidText(t *testing.T) {
	t.Parallel()
	remote := pgtest.Database(t, pgtest.Server(t), "")
	for words, change := range map[string]string{
		`subject of emails (id "a"), in which there is a character NUL`:                         `UPDATE emails SET subject = 'a' || char(0) WHERE id = 'a'`,
		`email of contacts (team_id "a", id "a"), in which there is bytes that are no UTF-8`:    `UPDATE contacts SET email = CAST(x'ff' AS TEXT) WHERE id = 'a'`,
		`properties of contacts (team_id "a", id "a"), in which there is a character NUL`:       `UPDATE contacts SET properties = jsonb('{"x":"a\u0000"}') WHERE id = 'a'`,
		`properties of contacts (team_id "a", id "a"), in which there is bytes that are no UTF`: `UPDATE contacts SET properties = jsonb('{"x":"' || CAST(x'ff' AS TEXT) || '"}') WHERE id = 'a'`,
	} {
		file := fillFile(t)
		pool, err := sql.Open("sqlite", dsn(file, ""))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := pool.Exec(change); err != nil {
			t.Fatal(err)
		}
		pool.Close()
		wantRefusal(t, file, remote, errInvalidText, words)
		if n := tablesOf(t, remote); n > 0 {
			t.Errorf("%d tables are there", n)
		}
		if err := openAsServer(t, file); err != nil {
			t.Error(err)
		}
	}
}

func TestUnmove(t *testing.T) {
	t.Parallel()
	file, remote := fillFile(t), pgtest.Database(t, pgtest.Server(t), "")
	if _, err := Unmove(t.Context(), file, SmallSchema(t)); !errors.Is(err, ErrNotFound) {
		t.Errorf("of what was not moved: %v", err)
	}
	want := dumpFile(t, file, SmallSchema(t))
	mustMove(t, file, remote)
	if to, err := Unmove(t.Context(), file, SmallSchema(t)); err != nil || to != Name(remote) {
		t.Errorf("%q, %v", to, err)
	}
	if err := openAsServer(t, file); err != nil {
		t.Error(err)
	}
	wantDump(t, dumpFile(t, file, SmallSchema(t)), want)
}

func TestMoveBlocksWrites(t *testing.T) {
	t.Parallel()
	remote := newMoved(t)
	second, err := Open(t.Context(), Options{Path: remote, Schema: SmallSchema(t), Lazy: true})
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	wrote := make(chan error, 1)
	in := moving(t, remote, filepath.Join(dbtest.Dir(t), "back.db"))
	in.before = func(step string) error {
		if step != "finish" {
			return nil
		}
		go func() {
			wrote <- second.Write(context.WithoutCancel(t.Context()), func(tx *Tx) error { return tx.SetSetting("late", []byte{1}) })
		}()
		select {
		case err := <-wrote:
			return fmt.Errorf("a write ended: %w", err)
		case <-time.After(200 * time.Millisecond):
			return errKilled
		}
	}
	if _, err := Move(t.Context(), in); !errors.Is(err, errKilled) {
		t.Fatal(err)
	}
	if err := <-wrote; err != nil {
		t.Errorf("a write after the move: %v", err)
	}
	if _, err := os.Stat(in.To); !errors.Is(err, fs.ErrNotExist) {
		t.Error("the file is there")
	}
}

func TestStandbyRefusesMovedDatabase(t *testing.T) {
	t.Parallel()
	remote := newMoved(t)
	ended := make(chan error, 1)
	in := moving(t, remote, filepath.Join(dbtest.Dir(t), "back.db"))
	in.before = func(step string) error {
		if step != "mark" {
			return nil
		}
		waits := make(chan struct{})
		go func() {
			d, err := Open(t.Context(), Options{Path: remote, Schema: SmallSchema(t), Lazy: true, Lock: true, Standby: true, Waiting: func() error {
				close(waits)
				return nil
			}, Log: slog.New(slog.DiscardHandler)})
			if err == nil {
				err = d.Close()
			}
			ended <- err
		}()
		<-waits
		return nil
	}
	if _, err := Move(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; !errors.Is(err, ErrMoved) {
		t.Errorf("the standby: %v", err)
	}
}
