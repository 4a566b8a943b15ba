package dbtest

import (
	"database/sql"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	_ "modernc.org/sqlite"
)

// DumpRows returns the rows of a database file as SQL text: an INSERT for each row, in the order of
// the tables in sqlite_schema and of their primary keys, and the version of the schema. DumpRows
// returns the names of the tables without rows too.
func DumpRows(t testing.TB, path string) (text string, empty []string) {
	t.Helper()
	pool, err := sql.Open("sqlite", "file:"+path+"?mode=ro")
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	var b strings.Builder
	for _, table := range texts(t, pool, `SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY rowid`) {
		rows := tableRows(t, pool, table)
		if len(rows) == 0 {
			empty = append(empty, table)
		}
		for _, row := range rows {
			fmt.Fprintf(&b, "INSERT INTO %s VALUES(%s);\n", table, row)
		}
	}
	fmt.Fprintf(&b, "PRAGMA user_version=%s;\n", texts(t, pool, `PRAGMA user_version`)[0])
	return b.String(), empty
}

// literal is the expression for the SQL literal of the column $. Texts with control characters, of
// which line breaks could change in the working copy, are casts of bytes.
const literal = `CASE WHEN typeof("$") = 'text' AND "$" GLOB '*[' || char(1) || '-' || char(31) || ']*' THEN 'CAST(' || quote(CAST("$" AS BLOB)) || ' AS TEXT)' ELSE quote("$") END`

// tableRows returns the rows of a table in the order of its primary key, each as SQL literals with
// commas between them.
func tableRows(t testing.TB, pool *sql.DB, table string) []string {
	t.Helper()
	columns := texts(t, pool, `SELECT name FROM pragma_table_info(?) ORDER BY cid`, table)
	for i, c := range columns {
		columns[i] = strings.ReplaceAll(literal, "$", c)
	}
	key := texts(t, pool, `SELECT '"' || name || '"' FROM pragma_table_info(?) WHERE pk > 0 ORDER BY pk`, table)
	return texts(t, pool, `SELECT `+strings.Join(columns, ` || ',' || `)+` FROM `+table+` ORDER BY `+strings.Join(key, ", "))
}

// texts returns the first column of a query.
func texts(t testing.TB, pool *sql.DB, query string, args ...any) (out []string) {
	t.Helper()
	rows, err := pool.QueryContext(t.Context(), query, args...)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer rows.Close()
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			t.Fatal(err)
		}
		out = append(out, s)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

// LoadRows creates a database file with a schema and the rows of a DumpRows.
func LoadRows(t testing.TB, path, schema, text string) {
	t.Helper()
	pool, err := sql.Open("sqlite", "file:"+path+"?_pragma=foreign_keys(0)")
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	pool.SetMaxOpenConns(1)
	for _, s := range []string{`PRAGMA auto_vacuum = incremental`, `BEGIN`, schema, text, `COMMIT`} {
		if _, err := pool.ExecContext(t.Context(), s); err != nil {
			t.Fatalf("%.100s: %v", s, err)
		}
	}
	if broken := texts(t, pool, `SELECT "table" FROM pragma_foreign_key_check`); len(broken) > 0 {
		slices.Sort(broken)
		t.Fatalf("foreign keys of %v lead nowhere", slices.Compact(broken))
	}
}
