package engine

import (
	"strconv"
	"strings"
)

// differences are the phrases in which the SQL of the engines differs: SQLite's, and PostgreSQL's
// for the same. Everything else is SQL that both take.
var differences = strings.NewReplacer(
	`CROSS JOIN `, `JOIN `, // in SQLite it fixes the order of the tables
	`instr(`, `strpos(`,
	`substr(lower(p.address), -length(?13))`, `right(lower(p.address), length(?13))`,
	`substr(p.address, -?10)`, `right(p.address, ?10)`,
	`substr(b.email, -?10)`, `right(b.email, ?10)`,
	` AS BLOB)`, ` AS bytea)`,
	// Column properties is JSONB in SQLite and json in PostgreSQL; column detail is text.
	`jsonb(?)`, `CAST(? AS json)`,
	`json(c.properties)`, `CAST(c.properties AS text)`,
	`v.detail ->> `, `CAST(v.detail AS json) ->> `,
	`(detail ->> `, `(CAST(detail AS json) ->> `,
	// The function that corresponds to jsonb_remove exists only for PostgreSQL's jsonb, which
	// changes the form of numbers and the order of keys.
	`nullif(jsonb_remove(properties, '$.' || ?1), jsonb('{}'))`,
	`(SELECT json_object_agg(e.key, e.value ORDER BY e.n) FROM json_each(properties) WITH ORDINALITY AS e (key, value, n) WHERE e.key <> ?1)`,
)

// ToPostgres translates a statement for PostgreSQL: differences, and parameters outside of quotes,
// which are numbered as SQLite does.
func ToPostgres(text string) string {
	text = differences.Replace(text)
	b, greatest, quote := make([]byte, 0, len(text)+64), 0, byte(0)
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '\'' || c == '"':
			quote = c
		case c == '?':
			end := i + 1
			for end < len(text) && text[end] >= '0' && text[end] <= '9' {
				end++
			}
			n, err := strconv.Atoi(text[i+1 : end])
			if err != nil {
				n = greatest + 1
			}
			greatest = max(greatest, n)
			b = strconv.AppendInt(append(b, '$'), int64(n), 10)
			i = end - 1
			continue
		}
		b = append(b, c)
	}
	return string(b)
}
