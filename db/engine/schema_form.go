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

// A database is of this version only where its schema is what schema.sql makes: the
// number in user_version alone would take one that a build between two releases
// made, and fail at the first statement that misses a column. Both are compared in a
// normal form, in which blanks, comments, quotation marks of names and the order of
// columns do not count: a column that a migration added stands last.

// schemaObject is a table, an index or a trigger in normal form.
type schemaObject struct {
	kind, name string
	head       string   // of a table: what stands before its columns; else the whole
	items      []string // columns and constraints, sorted
	tail       string
}

// querier is a connection or a pool.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// asker is a connection, a pool or a transaction.
type rowQuerier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// made is a table, an index or a trigger with the text that made it.
type schemaText struct{ kind, name, text string }

// readSchemaTexts reads of what a schema consists, without what Litestream keeps in a database
// that it copies: a server beside it must start again.
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

// formOf returns the normal form of what a text like schema.sql makes.
func formOf(ctx context.Context, schema string) ([]schemaObject, error) {
	if form, ok := forms.Load(schema); ok {
		return form.([]schemaObject), nil
	}
	pool, err := sql.Open("sqlite", "file::memory:")
	if err != nil {
		return nil, fmt.Errorf("make the schema in memory: %w", err)
	}
	defer pool.Close()
	pool.SetMaxOpenConns(1) // Each connection would have a memory of its own
	if _, err := pool.ExecContext(ctx, schema); err != nil {
		return nil, fmt.Errorf("make the schema in memory: %w", err)
	}
	form, err := schemaForm(ctx, pool)
	if err == nil {
		forms.Store(schema, form)
	}
	return form, err
}

// forms holds the form of each schema text that formOf was asked for: one in a program,
// since every database of it is opened with the same text.
var forms sync.Map

func (o schemaObject) compare(other schemaObject) int {
	return cmp.Or(cmp.Compare(other.kind, o.kind), cmp.Compare(o.name, other.name))
}

// schemaTextOf returns the text that makes the schema of a database anew, tables before indexes.
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

// objectForm brings the text of one CREATE into normal form.
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

// sqlTokens cuts SQL into words, without blanks, comments and the quotation marks
// of names.
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

// cutToken takes the first token off a text; empty: a blank or a comment.
func cutToken(text string) (token, rest string) {
	end := func(i, width int) (string, string) { // of what ends with a sign
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

// cutQuoted takes a string or a quoted name off, in which a doubled quotation mark
// stands for itself.
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

// firstDifference says in words where a schema is first another one than it should
// be; empty: nowhere.
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

// differs says how an object is another one than it should be.
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
