package engine

import (
	"regexp"
	"strconv"
	"strings"
)

// ToPostgres translates a statement for PostgreSQL. Statements use SQL that both engines accept
// as far as possible; the differences are rewritten by rules that apply outside of quotes.
func ToPostgres(text string) string {
	var b strings.Builder
	b.Grow(len(text) + 64)
	text, greatest := postgresReplacements.Replace(text), 0
	for text != "" {
		plain, quoted := untilQuoted(text)
		b.WriteString(translatePlain(plain, &greatest))
		b.WriteString(quoted)
		text = text[len(plain)+len(quoted):]
	}
	return b.String()
}

// postgresReplacements replace expressions for which there is no common SQL and no rule. The
// function that corresponds to jsonb_remove exists only for PostgreSQL's jsonb, which changes the
// form of numbers and the order of keys.
var postgresReplacements = strings.NewReplacer(
	`nullif(jsonb_remove(properties, '$.' || ?1), jsonb('{}'))`,
	`(SELECT json_object_agg(e.key, e.value ORDER BY e.n) FROM json_each(properties) WITH ORDINALITY AS e (key, value, n) WHERE e.key <> ?1)`,
)

// untilQuoted returns the text before the first quoted string or name, and that string or name
// with its quotation marks.
func untilQuoted(text string) (plain, quoted string) {
	from := strings.IndexAny(text, `'"`)
	if from < 0 {
		return text, ""
	}
	quoted, _ = cutQuoted(text[from:])
	return text[:from], quoted
}

// translatePlain translates text without quotes. greatest is the greatest parameter number so
// far.
func translatePlain(text string, greatest *int) string {
	text = parameters.ReplaceAllStringFunc(text, func(p string) string {
		n, err := strconv.Atoi(p[1:])
		if err != nil {
			n = *greatest + 1 // as SQLite numbers them
		}
		*greatest = max(*greatest, n)
		return "$" + strconv.Itoa(n)
	})
	for _, rule := range postgresRules {
		text = rule.from.ReplaceAllString(text, rule.to)
	}
	return text
}

var parameters = regexp.MustCompile(`\?[0-9]*`)

var postgresRules = []struct {
	from *regexp.Regexp
	to   string
}{
	// CROSS JOIN fixes the order of tables in SQLite.
	{regexp.MustCompile(`CROSS JOIN ([a-z_]+(?: AS [a-z_]+)?) ON `), `JOIN $1 ON `},
	// PostgreSQL cannot infer the type of such a parameter. All of them are texts.
	{regexp.MustCompile(`(\$[0-9]+) IS NULL`), `CAST($1 AS text) IS NULL`},
	{regexp.MustCompile(`\binstr\(`), `strpos(`},
	{regexp.MustCompile(`\bsubstr\((lower\([a-z_.]+\)|[a-z_.]+), -`), `right($1, `},
	{regexp.MustCompile(` AS BLOB\)`), ` AS bytea)`},
	// Column properties is JSONB in SQLite and json in PostgreSQL; column detail is text.
	{regexp.MustCompile(`\bjsonb\((\$[0-9]+)\)`), `CAST($1 AS json)`},
	{regexp.MustCompile(`\bjson\(([a-z_.]+)\)`), `CAST($1 AS text)`},
	{regexp.MustCompile(`\b((?:[a-z]+\.)?detail) ->> `), `CAST($1 AS json) ->> `},
}
