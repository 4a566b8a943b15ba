package db

import (
	"fmt"
	"regexp"
	"strings"
)

var (
	sqlComment = regexp.MustCompile(`--[^\n]*`)
	integer    = regexp.MustCompile(`\bINTEGER\b`)
	jsonb      = regexp.MustCompile(`\b(properties) +BLOB\b`) // SQLite's; json keeps numbers as they are written, and the order of keys
	blob       = regexp.MustCompile(`\bBLOB\b`)
	options    = regexp.MustCompile(`\)\s*STRICT(, WITHOUT ROWID)?$`)
	reference  = regexp.MustCompile(`^\s*([a-z_]+) .*?(\s+REFERENCES ([a-z_]+) \(([a-z_]+)\)( ON DELETE CASCADE)?)`)
	tableName  = regexp.MustCompile(`^CREATE TABLE ([a-z_]+) \(`)
)

// postgresSchema writes schema.sql as PostgreSQL wants it. Foreign keys come last: some point forward.
func postgresSchema(text string) string {
	out, keys := postgresStatements(text)
	return strings.Join(append(out, keys...), ";\n") + ";\n"
}

// postgresStatements are those of postgresSchema: tables with their indexes, and foreign keys.
func postgresStatements(text string) (out, keys []string) {
	for _, s := range strings.Split(sqlComment.ReplaceAllString(text, ""), ";") {
		s = strings.TrimSpace(s)
		if s == "" {
			continue
		}
		s = jsonb.ReplaceAllString(s, "$1 json")
		s = blob.ReplaceAllString(integer.ReplaceAllString(s, "bigint"), "bytea")
		s = options.ReplaceAllString(s, ")")
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
