package engine

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
)

var (
	sqlComment = regexp.MustCompile(`--[^\n]*`)
	integer    = regexp.MustCompile(`\bINTEGER\b`)
	jsonb      = regexp.MustCompile(`\b(properties) +BLOB\b`) // JSONB in SQLite; PostgreSQL's json keeps the form of numbers and the order of keys
	blob       = regexp.MustCompile(`\bBLOB\b`)
	options    = regexp.MustCompile(`\)\s*STRICT(, WITHOUT ROWID)?$`)
	reference  = regexp.MustCompile(`^\s*([a-z_]+) .*?(\s+REFERENCES ([a-z_]+) \(([a-z_]+)\)( ON DELETE CASCADE)?)`)
	tableName  = regexp.MustCompile(`^CREATE TABLE ([a-z_]+) \(`)
	primaryKey = regexp.MustCompile(`\bPRIMARY KEY \(([a-z_, ]+)\)|(?m)^\s*([a-z_]+) .*PRIMARY KEY`)
	indexOn    = regexp.MustCompile(`(?s)^CREATE INDEX [a-z_]+ ON ([a-z_]+) \((.*?)\)( WHERE .*)?$`)
)

// postgresSchemas holds the results of PostgresSchema, by schema: a process has one or two, and
// translating takes long enough to matter inside a transaction, which must not be idle.
var postgresSchemas sync.Map

// PostgresSchema translates schema.sql for PostgreSQL. Foreign keys come last, since some refer
// to later tables.
func PostgresSchema(text string) string {
	if known, ok := postgresSchemas.Load(text); ok {
		return known.(string)
	}
	out, keys := postgresStatements(text, map[string][]string{})
	translated := strings.Join(append(out, keys...), ";\n") + ";\n"
	postgresSchemas.Store(text, translated)
	return translated
}

// clusteredKeys holds the keys that postgresStatements finds in a schema, by schema, because finding
// them takes as long as translating all of the schema, and each step needs them.
var clusteredKeys sync.Map

// stepToPostgres translates a migration step for PostgreSQL. schema is the result of all steps,
// which defines the primary keys that end the indexes.
func stepToPostgres(text, schema string) string {
	known, ok := clusteredKeys.Load(schema)
	if !ok {
		all := map[string][]string{}
		postgresStatements(schema, all)
		known, _ = clusteredKeys.LoadOrStore(schema, all)
	}
	out, keys := postgresStatements(text, maps.Clone(known.(map[string][]string))) // a step may add keys
	return strings.Join(append(out, keys...), ";\n") + ";\n"
}

// postgresStatements returns the translated statements: tables with their indexes, and foreign
// keys. clustered receives, and provides, the primary keys of tables that SQLite stores in their
// order.
func postgresStatements(text string, clustered map[string][]string) (out, keys []string) {
	for _, s := range strings.Split(sqlComment.ReplaceAllString(text, ""), ";") {
		s = oneColumnPerLine(strings.TrimSpace(s))
		if s == "" {
			continue
		}
		s = jsonb.ReplaceAllString(s, "$1 json")
		s = blob.ReplaceAllString(integer.ReplaceAllString(s, "bigint"), "bytea")
		if m := tableName.FindStringSubmatch(s); m != nil && strings.HasSuffix(s, "WITHOUT ROWID") {
			if key := primaryKey.FindStringSubmatch(s); key != nil {
				clustered[m[1]] = strings.Split(cmp.Or(key[1], key[2]), ", ")
			}
		}
		s = options.ReplaceAllString(withKey(s, clustered), ")")
		if m := tableName.FindStringSubmatch(s); m != nil {
			lines := strings.Split(s, "\n")
			for i, line := range lines {
				if r := reference.FindStringSubmatch(line); r != nil {
					lines[i] = strings.Replace(line, r[2], "", 1)
					keys = append(keys, fmt.Sprintf("ALTER TABLE %s ADD FOREIGN KEY (%s)%s", m[1], r[1], r[2]))
				}
			}
			s = strings.Join(lines, "\n")
		}
		out = append(out, s)
	}
	return out, keys
}

// withKey appends the primary key of the table to the columns of an index, as SQLite does
// implicitly: lists are sorted by an index and, among equal values, by the primary key.
func withKey(text string, clustered map[string][]string) string {
	m := indexOn.FindStringSubmatch(text)
	if m == nil {
		return text
	}
	columns := strings.Split(m[2], ", ")
	for _, c := range clustered[m[1]] {
		if !slices.Contains(columns, c) {
			columns = append(columns, c)
		}
	}
	return strings.Replace(text, "("+m[2]+")", "("+strings.Join(columns, ", ")+")", 1)
}
