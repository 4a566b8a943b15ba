package engine

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// A database is of this version only if its schema equals that of schema.sql. The number in
// user_version alone would accept a database of a build between two releases, and fail at the first
// statement that uses a missing column. Schemas are compared in a normal form without whitespace,
// comments and quotation marks of names. The order of columns does not matter, because a migration
// adds columns at the end.

// schemaObject is a table, an index or a trigger in normal form.
type schemaObject struct {
	kind, name string
	head       string   // of a table: the text before its columns; else the whole text
	items      []string // columns and constraints, sorted
	tail       string
}

// querier is a connection or a pool.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// rowQuerier is a connection, a pool or a transaction.
type rowQuerier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// schemaText is a table, an index or a trigger with the statement that created it.
type schemaText struct{ kind, name, text string }

// readSchemaTexts reads the objects of a schema, without the tables of Litestream, with which a
// server must be able to start.
func readSchemaTexts(ctx context.Context, q querier) (all []schemaText, err error) {
	rows, err := q.QueryContext(ctx, `SELECT type, name, sql FROM sqlite_schema
		WHERE sql IS NOT NULL AND substr(name, 1, 7) <> 'sqlite_' AND substr(tbl_name, 1, 12) <> '_litestream_'`)
	if err != nil {
		return nil, fmt.Errorf("read the schema: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var one schemaText
		if err := rows.Scan(&one.kind, &one.name, &one.text); err != nil {
			return nil, fmt.Errorf("read the schema: %w", err)
		}
		all = append(all, one)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("read the schema: %w", err)
	}
	return all, nil
}

// schemaForm reads the normal form of a schema, tables before indexes.
func schemaForm(ctx context.Context, q querier) ([]schemaObject, error) {
	made, err := readSchemaTexts(ctx, q)
	if err != nil {
		return nil, err
	}
	form := make([]schemaObject, len(made))
	for i, one := range made {
		form[i] = objectForm(one.kind, one.name, one.text)
	}
	slices.SortStableFunc(form, schemaObject.compare)
	return form, nil
}

// formOf returns the normal form of a schema text, such as schema.sql.
func formOf(ctx context.Context, schema string) ([]schemaObject, error) {
	if form, ok := forms.Load(schema); ok {
		return form.([]schemaObject), nil
	}
	pool, err := sql.Open("sqlite", "file::memory:")
	if err != nil {
		return nil, fmt.Errorf("make the schema in memory: %w", err)
	}
	defer pool.Close()
	pool.SetMaxOpenConns(1) // each connection would have its own database
	if _, err := pool.ExecContext(ctx, schema); err != nil {
		return nil, fmt.Errorf("make the schema in memory: %w", err)
	}
	form, err := schemaForm(ctx, pool)
	if err == nil {
		forms.Store(schema, form)
	}
	return form, err
}

// forms caches the normal form of each schema text. A program opens all databases with the same
// text.
var forms sync.Map

func (o schemaObject) compare(other schemaObject) int {
	return cmp.Or(cmp.Compare(other.kind, o.kind), cmp.Compare(o.name, other.name))
}

// schemaTextOf returns the statements that create the schema of a database, tables before
// indexes.
func schemaTextOf(ctx context.Context, q querier) (string, error) {
	made, err := readSchemaTexts(ctx, q)
	if err != nil {
		return "", err
	}
	var tables, others strings.Builder
	for _, one := range made {
		to := &others
		if one.kind == "table" {
			to = &tables
		}
		to.WriteString(one.text + ";\n")
	}
	return tables.String() + others.String(), nil
}

// objectForm returns the normal form of a CREATE statement.
func objectForm(kind, name, text string) schemaObject {
	o := schemaObject{kind: kind, name: name}
	tokens := sqlTokens(text)
	open := slices.Index(tokens, "(")
	if kind != "table" || open < 0 {
		o.head = strings.Join(tokens, " ")
		return o
	}
	o.head = strings.Join(tokens[:open], " ")
	depth, begin := 0, open+1
	for i := open; i < len(tokens); i++ {
		switch tokens[i] {
		case "(":
			depth++
		case ")":
			depth--
		}
		if depth == 0 || depth == 1 && tokens[i] == "," {
			o.items = append(o.items, strings.Join(tokens[begin:i], " "))
			begin = i + 1
		}
		if depth == 0 {
			break
		}
	}
	o.tail = strings.Join(tokens[begin:], " ")
	slices.Sort(o.items)
	return o
}

// sqlTokens splits SQL into tokens, without whitespace, comments and the quotation marks of
// names.
func sqlTokens(text string) (tokens []string) {
	for text != "" {
		var token string
		token, text = cutToken(text)
		if token != "" {
			tokens = append(tokens, token)
		}
	}
	return tokens
}

// cutToken cuts the first token off a text; empty: it was whitespace or a comment.
func cutToken(text string) (token, rest string) {
	end := func(i, width int) (string, string) { // cuts after the terminator at i
		if i < 0 {
			return text, ""
		}
		return text[:i+width], text[i+width:]
	}
	switch {
	case strings.HasPrefix(text, "--"):
		_, rest = end(strings.IndexByte(text, '\n'), 1)
		return "", rest
	case strings.HasPrefix(text, "/*"):
		_, rest = end(strings.Index(text, "*/"), 2)
		return "", rest
	case strings.IndexByte(" \t\r\n", text[0]) >= 0:
		return "", text[1:]
	case text[0] == '\'':
		return cutQuoted(text)
	case text[0] == '"':
		token, rest = cutQuoted(text)
		return strings.Trim(token, `"`), rest
	}
	n := 0
	for n < len(text) && wordByte(text[n]) {
		n++
	}
	n = max(n, 1)
	return text[:n], text[n:]
}

// cutQuoted cuts a quoted string or name off, in which a doubled quotation mark is an escaped
// one.
func cutQuoted(text string) (token, rest string) {
	for i := 1; i < len(text); i++ {
		if text[i] != text[0] {
			continue
		}
		if i+1 == len(text) || text[i+1] != text[0] {
			return text[:i+1], text[i+1:]
		}
		i++
	}
	return text, ""
}

func wordByte(c byte) bool {
	return c == '_' || c >= 0x80 || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// firstDifference describes the first difference between two schemas; empty: they are equal.
func firstDifference(have, want []schemaObject) string {
	for i, w := range want {
		if i == len(have) || have[i].compare(w) > 0 {
			return fmt.Sprintf("the %s %s is missing", w.kind, w.name)
		}
		if h := have[i]; h.compare(w) < 0 {
			return fmt.Sprintf("the %s %s is not of this version", h.kind, h.name)
		}
		if msg := have[i].differs(w); msg != "" {
			return fmt.Sprintf("the %s %s: %s", w.kind, w.name, msg)
		}
	}
	if len(have) > len(want) {
		return fmt.Sprintf("the %s %s is not of this version", have[len(want)].kind, have[len(want)].name)
	}
	return ""
}

// commonForm returns the part of a schema that is also in other: its objects, without the columns
// and constraints that other lacks.
func commonForm(form, other []schemaObject) (common []schemaObject) {
	for _, o := range form {
		i := slices.IndexFunc(other, func(w schemaObject) bool { return o.compare(w) == 0 })
		if i < 0 {
			continue
		}
		o.items = slices.DeleteFunc(slices.Clone(o.items), func(item string) bool { return !slices.Contains(other[i].items, item) })
		common = append(common, o)
	}
	return common
}

// differs describes how an object differs from the expected one; empty: they are equal.
func (o schemaObject) differs(want schemaObject) string {
	if o.head != want.head {
		return fmt.Sprintf("it is %q, must be %q", o.head, want.head)
	}
	for _, item := range want.items {
		if !slices.Contains(o.items, item) {
			return fmt.Sprintf("%q is missing", item)
		}
	}
	for _, item := range o.items {
		if !slices.Contains(want.items, item) {
			return fmt.Sprintf("%q is not of this version", item)
		}
	}
	if o.tail != want.tail {
		return fmt.Sprintf("it ends with %q, must be %q", o.tail, want.tail)
	}
	return ""
}
