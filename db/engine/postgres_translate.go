package engine

import (
	"regexp"
	"strconv"
	"strings"
)

// ToPostgres writes a statement of this package as PostgreSQL wants it. Statements are
// in words that both engines take, wherever there are such; what is left is done by rules
// on the text outside of quotes.
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

// postgresReplacements are for what has no words that both engines take, and no rule. The
// function that SQLite takes a key out of an object with exists for PostgreSQL's other
// type of JSON alone, which writes numbers in its own way and has its own order of keys.
var postgresReplacements = strings.NewReplacer(
	`nullif(jsonb_remove(properties, '$.' || ?1), jsonb('{}'))`,
	`(SELECT json_object_agg(e.key, e.value ORDER BY e.n) FROM json_each(properties) WITH ORDINALITY AS e (key, value, n) WHERE e.key <> ?1)`,
)

// untilQuoted returns what stands before the first text or name in quotation marks, and that
// with its marks.
func untilQuoted(text string) (plain, quoted string) {
	from := strings.IndexAny(text, `'"`)
	if from < 0 {
		return text, ""
	}
	quoted, _ = cutQuoted(text[from:])
	return text[:from], quoted
}

// translatePlain rewrites what has no quotation marks. greatest is the greatest number of a
// parameter so far.
func translatePlain(text string, greatest *int) string {
	text = parameters.ReplaceAllStringFunc(text, func(p string) string {
		n, err := strconv.Atoi(p[1:])
		if err != nil {
			n = *greatest + 1 // as SQLite counts them
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
	// Which fixes the order of tables for SQLite.
	{regexp.MustCompile(`CROSS JOIN ([a-z_]+(?: AS [a-z_]+)?) ON `), `JOIN $1 ON `},
	// Nothing says the type of a parameter that is asked for NULL. All of them are texts.
	{regexp.MustCompile(`(\$[0-9]+) IS NULL`), `CAST($1 AS text) IS NULL`},
	{regexp.MustCompile(`\binstr\(`), `strpos(`},
	{regexp.MustCompile(`\bsubstr\((lower\([a-z_.]+\)|[a-z_.]+), -`), `right($1, `},
	{regexp.MustCompile(` AS BLOB\)`), ` AS bytea)`},
	// The column of properties is SQLite's JSONB and PostgreSQL's json; details are text.
	{regexp.MustCompile(`\bjsonb\((\$[0-9]+)\)`), `CAST($1 AS json)`},
	{regexp.MustCompile(`\bjson\(([a-z_.]+)\)`), `CAST($1 AS text)`},
	{regexp.MustCompile(`\b((?:[a-z]+\.)?detail) ->> `), `CAST($1 AS json) ->> `},
}
