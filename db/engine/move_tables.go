package engine

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// movedTable is a table of schema.sql.
type movedTable struct {
	name       string
	columns    []movedColumn
	keyColumns []int // indexes of the primary key in columns
}

type movedColumn struct {
	name string
	json bool // SQLite's JSONB, PostgreSQL's json
}

// versionsTable is not moved: it describes one database.
const versionsTable = "schema_versions"

// movedTables returns the tables of schema.sql, without versionsTable.
func movedTables(ctx context.Context, schema string) (tables []*movedTable, err error) {
	pool, err := sql.Open("sqlite", "file::memory:")
	if err != nil {
		return nil, fmt.Errorf("make the schema in memory: %w", err)
	}
	defer pool.Close()
	pool.SetMaxOpenConns(1) // each connection would have its own database
	if _, err := pool.ExecContext(ctx, schema); err != nil {
		return nil, fmt.Errorf("make the schema in memory: %w", err)
	}
	rows, err := pool.QueryContext(ctx, `SELECT t.name, c.name, c.type, c.pk FROM sqlite_schema AS t JOIN pragma_table_info(t.name) AS c
		WHERE t.type = 'table' AND substr(t.name, 1, 7) <> 'sqlite_' AND t.name <> '`+versionsTable+`' ORDER BY t.name, c.cid`)
	if err != nil {
		return nil, fmt.Errorf("read the schema: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var table, column, kind string
		var key int
		if err := rows.Scan(&table, &column, &kind, &key); err != nil {
			return nil, fmt.Errorf("read the schema: %w", err)
		}
		if len(tables) == 0 || tables[len(tables)-1].name != table {
			tables = append(tables, &movedTable{name: table})
		}
		tables[len(tables)-1].add(movedColumn{column, jsonb.MatchString(column + " " + kind)}, key)
	}
	return tables, rows.Err()
}

// add adds a column. key is its position in the primary key, from 1; 0: not part of it.
func (t *movedTable) add(c movedColumn, key int) {
	t.columns = append(t.columns, c)
	for len(t.keyColumns) < key {
		t.keyColumns = append(t.keyColumns, 0)
	}
	if key > 0 {
		t.keyColumns[key-1] = len(t.columns) - 1
	}
}

func (t *movedTable) columnNames() (names []string) {
	for _, c := range t.columns {
		names = append(names, c.name)
	}
	return names
}

// where returns the condition that leaves out rows about a single database.
func (t *movedTable) where() string {
	if t.name == "settings" {
		return ` WHERE name <> '` + movedSetting + `'`
	}
	return ""
}

// keyOf names a row in error messages, by its primary key.
func (t *movedTable) keyOf(values []any) string {
	var out []string
	for _, at := range t.keyColumns {
		out = append(out, fmt.Sprintf("%s %q", t.columns[at].name, fmt.Sprint(values[at])))
	}
	return strings.Join(out, ", ")
}

// moveSide is a connection that reads one of the two databases, in a transaction that sees one
// snapshot.
type moveSide struct {
	Conn
	pool     *sql.DB
	jsonText func(column string) string // expression that reads a JSON column as text
}

func (s *moveSide) close() error {
	_, _ = s.conn.ExecContext(context.Background(), "ROLLBACK") // no effect after a commit
	return errors.Join(s.Conn.close(), s.pool.Close())
}

// mark stores where the source was moved to, and commits its transaction.
func (s *moveSide) mark(ctx context.Context, m movedMark) error {
	value, err := json.Marshal(m)
	if err != nil {
		return err
	}
	_, err = s.Exec(`INSERT INTO settings (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value`, movedSetting, value)
	if err == nil {
		_, err = s.conn.ExecContext(ctx, "COMMIT")
	}
	if err != nil {
		return fmt.Errorf("mark the source as moved: %w", err)
	}
	return nil
}

func (s *moveSide) count(ctx context.Context, t *movedTable) (n int64, err error) {
	if err := s.conn.QueryRowContext(ctx, "/* of any table */ SELECT count(*) FROM "+t.name+t.where()).Scan(&n); err != nil {
		return 0, fmt.Errorf("count the rows of %s: %w", t.name, err)
	}
	return n, nil
}

// rows reads a table; ordered: by its primary key, the order in which SQLite inserts fastest.
func (s *moveSide) rows(ctx context.Context, t *movedTable, ordered bool) (*tableRows, error) {
	names := t.columnNames()
	order := ""
	for i, at := range t.keyColumns {
		order += map[bool]string{true: " ORDER BY ", false: ", "}[i == 0] + names[at]
	}
	if !ordered {
		order = ""
	}
	for i, c := range t.columns {
		if c.json {
			names[i] = s.jsonText(c.name)
		}
	}
	rows, err := s.conn.QueryContext(ctx, "/* of any table */ SELECT "+strings.Join(names, ", ")+" FROM "+t.name+t.where()+order)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", t.name, err)
	}
	r := &tableRows{Rows: rows, values: make([]any, len(names)), dest: make([]any, len(names)), onRow: func() {}}
	for i := range r.values {
		r.dest[i] = &r.values[i]
	}
	return r, nil
}

// tableRows iterates over the rows of a table. Each value is nil, an int64, a string or bytes.
type tableRows struct {
	*sql.Rows
	values, dest []any
	onRow        func() // called for each row
	check        func(values []any) error
	err          error
}

// Next reads the next row.
func (r *tableRows) Next() bool {
	if r.err != nil || !r.Rows.Next() {
		return false
	}
	if r.err = r.Scan(r.dest...); r.err != nil {
		return false
	}
	for i, v := range r.values {
		if b, ok := v.([]byte); ok && b == nil { // drivers take a nil slice for NULL
			r.values[i] = []byte{}
		}
	}
	if r.check != nil {
		if r.err = r.check(r.values); r.err != nil {
			return false
		}
	}
	r.onRow()
	return true
}

// Values returns the current row. It is valid until Next is called.
func (r *tableRows) Values() ([]any, error) { return r.values, nil }

// Err returns why Next returned false; nil: there are no more rows.
func (r *tableRows) Err() error {
	if r.err != nil {
		return r.err
	}
	return r.Rows.Err()
}

// sum reads a table and adds up the SHA-256 hashes of its rows, so that their order does not
// matter.
func (s *moveSide) sum(ctx context.Context, t *movedTable, onRow func()) (MovedTable, error) {
	rows, err := s.rows(ctx, t, false)
	if err != nil {
		return MovedTable{}, err
	}
	defer rows.Close()
	rows.onRow = onRow
	var row []byte
	var total [sha256.Size]byte
	n := int64(0)
	for ; rows.Next(); n++ {
		row = row[:0]
		for i, v := range rows.values {
			row = appendValue(row, v, t.columns[i].json)
		}
		one := sha256.Sum256(row)
		for at := 0; at < len(one); at += 8 {
			word := total[at : at+8]
			binary.BigEndian.PutUint64(word, binary.BigEndian.Uint64(word)+binary.BigEndian.Uint64(one[at:]))
		}
	}
	return MovedTable{Table: t.name, Rows: n, Sum: hex.EncodeToString(total[:])}, rows.Err()
}

// appendValue appends a value in a form that is equal for both engines: type, length and bytes.
func appendValue(row []byte, v any, isJSON bool) []byte {
	switch v := v.(type) {
	case nil:
		return append(row, 'n')
	case int64:
		return binary.BigEndian.AppendUint64(append(row, 'i'), uint64(v))
	case string:
		if isJSON {
			v = compact(v)
		}
		return append(binary.BigEndian.AppendUint64(append(row, 't'), uint64(len(v))), v...)
	case []byte:
		return append(binary.BigEndian.AppendUint64(append(row, 'b'), uint64(len(v))), v...)
	}
	return fmt.Appendf(row, "%T %v", v, v) // not of schema.sql
}

// compact removes the whitespace of JSON, which SQLite does not keep.
func compact(text string) string {
	v := jsontext.Value(text)
	if err := v.Compact(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)); err != nil {
		return text
	}
	return string(v)
}
