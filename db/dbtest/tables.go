package dbtest

import (
	"database/sql"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Table is a table of schema.sql.
type Table struct {
	Name    string
	Columns []Column
}

// Column is a column of a table.
type Column struct {
	Name, Kind string
	Optional   bool
	Allowed    []string // values listed in a CHECK
}

var (
	sqlComment = regexp.MustCompile(`--[^\n]*`)
	tableName  = regexp.MustCompile(`^CREATE TABLE (\w+)`)
	checkIn    = regexp.MustCompile(`CHECK \((\w+) IN \(([^)]*)\)`)
)

// Tables returns the tables of schema.sql. conn is a connection to a SQLite database with that
// schema.
func Tables(t testing.TB, conn *sql.Conn) (tables []Table) {
	t.Helper()
	for _, s := range strings.Split(sqlComment.ReplaceAllString(Schema(t), ""), ";") {
		m := tableName.FindStringSubmatch(strings.TrimSpace(s))
		if m == nil {
			continue
		}
		allowed := map[string][]string{}
		for _, check := range checkIn.FindAllStringSubmatch(s, -1) {
			for _, word := range strings.Split(check[2], ",") {
				allowed[check[1]] = append(allowed[check[1]], strings.Trim(strings.TrimSpace(word), "'"))
			}
		}
		tables = append(tables, Table{m[1], columns(t, conn, m[1], allowed)})
	}
	return tables
}

func columns(t testing.TB, conn *sql.Conn, table string, allowed map[string][]string) (out []Column) {
	t.Helper()
	rows, err := conn.QueryContext(t.Context(), `SELECT name, type, "notnull" FROM pragma_table_info(?) ORDER BY cid`, table)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var c Column
		var notNull bool
		if err := rows.Scan(&c.Name, &c.Kind, &notNull); err != nil {
			t.Fatal(err)
		}
		c.Optional, c.Allowed = !notNull, allowed[c.Name]
		out = append(out, c)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

// FixRow makes the columns of a row of units or attachments consistent. names, placeholders and
// args are those of an INSERT.
func FixRow(table string, names, placeholders []string, args []any) {
	at := func(name string) int { return slices.Index(names, name) }
	switch table {
	case "attachments": // of an email or of a broadcast
		switch {
		case args[at("email_id")] != nil:
			args[at("broadcast_id")] = nil
		case args[at("broadcast_id")] == nil:
			args[at("broadcast_id")] = args[at("id")] // texts of the same row number are equal
		}
	case "units":
		placeholders[at("bulk")], args[at("bulk")] = `?`, int64(1)
		if args[at("broadcast_id")] == nil {
			args[at("bulk")] = int64(0)
		}
		args[at("held")] = nil
		if args[at("state")] == "held" {
			args[at("held")] = "manual"
		}
	}
}
