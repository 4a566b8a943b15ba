package engine

import (
	"context"
	"database/sql"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A step is compatible if programs that do not know it still work on its result. This is decided
// by its text, and everything that is not surely harmless is incompatible:
//
//   - CREATE TABLE. Its foreign keys must cascade: an older program could not delete the rows that
//     they refer to otherwise. They must refer to ids, which never change.
//   - CREATE INDEX of plain columns. On a table of the same step it may also be unique or have
//     expressions, which on an older table could refuse a row that an older program writes.
//   - ALTER TABLE ADD COLUMN, if a row without the column can be inserted. An older program that
//     names a column of the same name without its table, in a join or a subquery, would find two.
//     So no table that it knows may have a column of that name.

// step is a numbered change of the schema.
type step struct {
	name     string // of its file
	version  int    // of the schema after it
	file     string // its text for a file
	postgres string // its text for PostgreSQL
	breaks   string // why older programs can't work on its result; empty: they can
}

// declaredIncompatible is a line with which a step says that it is incompatible.
var declaredIncompatible = regexp.MustCompile(`(?m)^-- incompatible\b`)

// readSteps reads the steps of dir and decides which are compatible. schema is their result.
func readSteps(ctx context.Context, dir fs.FS, schema string) ([]step, error) {
	names, err := stepNames(dir)
	if err != nil {
		return nil, err
	}
	all := make([]step, len(names))
	own := make([]string, len(names)) // variants for PostgreSQL
	for i, name := range names {
		text, err := fs.ReadFile(dir, name)
		if err != nil {
			return nil, fmt.Errorf("read migration: %w", err)
		}
		all[i] = step{name: name, version: baseVersion + i + 1, file: string(text), postgres: stepToPostgres(string(text), schema)}
		if text, err := fs.ReadFile(dir, strings.TrimSuffix(name, ".sql")+postgresStep); err == nil {
			all[i].postgres, own[i] = string(text), string(text)
		}
	}
	if len(all) == 0 {
		return nil, nil
	}
	columns, err := columnsOf(ctx, schema)
	if err != nil {
		return nil, err
	}
	for i, s := range slices.Backward(all) { // columns are those that programs without the step know
		texts := [][]statement{statementsOf(s.file), statementsOf(own[i])}
		for _, text := range texts {
			columns.forget(text)
		}
		for _, text := range texts {
			if all[i].breaks == "" {
				all[i].breaks = incompatibility(ctx, text, columns)
			}
		}
		if declaredIncompatible.MatchString(s.file + "\n" + own[i]) {
			all[i].breaks = "it says that it is incompatible"
		}
	}
	return all, nil
}

// minVersionOf returns the min_version of a database that is made with all steps.
func minVersionOf(all []step) int {
	oldest := baseVersion
	for _, s := range all {
		oldest = s.minVersion(oldest)
	}
	return oldest
}

// minVersion returns the min_version of a database after the step. before is the one before it.
func (s step) minVersion(before int) int {
	if s.breaks == "" {
		return before
	}
	return s.version
}

// knownColumns are the columns of tables.
type knownColumns map[string][]string

func columnsOf(ctx context.Context, schema string) (knownColumns, error) {
	form, err := formOf(ctx, schema)
	if err != nil {
		return nil, err
	}
	known := knownColumns{}
	for _, o := range form {
		for _, item := range o.items {
			column, _, _ := strings.Cut(item, " ")
			known[o.name] = append(known[o.name], strings.ToLower(column))
		}
	}
	return known, nil
}

// forget removes the tables and columns that statements add.
func (k knownColumns) forget(all []statement) {
	for _, s := range all {
		if table, ok := s.createdTable(); ok {
			delete(k, table)
		}
		if table, column, _, ok := s.addedColumn(); ok {
			k[table] = slices.DeleteFunc(k[table], func(name string) bool { return name == column })
		}
	}
}

func (k knownColumns) has(column string) bool {
	for _, names := range k {
		if slices.Contains(names, column) {
			return true
		}
	}
	return false
}

// statement is a statement of a step.
type statement struct {
	text   string
	tokens []string
}

// statementsOf splits a step. A semicolon in a trigger splits the trigger, whose first part is
// incompatible.
func statementsOf(text string) (all []statement) {
	var s statement
	begin := text
	for text != "" {
		token, rest := cutToken(text)
		text = rest
		if token != "" && token != ";" {
			s.tokens = append(s.tokens, token)
		}
		if token == ";" || text == "" {
			s.text = strings.TrimSuffix(begin[:len(begin)-len(text)], ";")
			if len(s.tokens) > 0 {
				all = append(all, s)
			}
			s, begin = statement{}, text
		}
	}
	return all
}

// at reports whether the tokens from i on are the given words, in any case.
func (s statement) at(i int, words ...string) bool {
	return i+len(words) <= len(s.tokens) && slices.EqualFunc(s.tokens[i:i+len(words)], words, strings.EqualFold)
}

var plainName = regexp.MustCompile(`^[a-z_][a-z0-9_]*$`)

// createdTable returns the table of a CREATE TABLE.
func (s statement) createdTable() (string, bool) {
	if !s.at(0, "CREATE", "TABLE") || len(s.tokens) < 4 || s.tokens[3] != "(" || !plainName.MatchString(s.tokens[2]) {
		return "", false
	}
	return s.tokens[2], true
}

// addedColumn returns the table and the column of an ALTER TABLE ADD COLUMN, and the position of
// the type.
func (s statement) addedColumn() (table, column string, typeAt int, ok bool) {
	if !s.at(0, "ALTER", "TABLE") || !s.at(3, "ADD") {
		return "", "", 0, false
	}
	i := 4
	if s.at(i, "COLUMN") {
		i++
	}
	if len(s.tokens) < i+2 || !plainName.MatchString(s.tokens[2]) || !plainName.MatchString(s.tokens[i]) {
		return "", "", 0, false
	}
	return s.tokens[2], s.tokens[i], i + 1, true
}

// incompatibility returns why programs that do not know a step can't work on its result; empty: they
// can.
func incompatibility(ctx context.Context, all []statement, known knownColumns) string {
	var made []string
	for _, s := range all {
		why := ""
		if table, ok := s.createdTable(); ok {
			made = append(made, table)
			why = s.checkTable()
		} else if _, column, typeAt, ok := s.addedColumn(); ok {
			why = s.checkColumn(ctx, column, typeAt, known)
		} else {
			why = s.checkIndex(made)
		}
		if why != "" {
			return shortened(s.tokens) + " (" + why + ")"
		}
	}
	return ""
}

// shortened returns the beginning of a statement.
func shortened(tokens []string) string {
	const most = 8
	if len(tokens) > most {
		return strings.Join(tokens[:most], " ") + " …"
	}
	return strings.Join(tokens, " ")
}

const notOnlyAdds = "it does more than add a table, a column or an index"

// checkTable returns why a CREATE TABLE is incompatible.
func (s statement) checkTable() string {
	end := closing(s.tokens, 3)
	for _, option := range s.tokens[end+1:] {
		if !slices.Contains([]string{"STRICT", "WITHOUT", "ROWID", ","}, strings.ToUpper(option)) {
			return notOnlyAdds
		}
	}
	for i, token := range s.tokens[:end] {
		if !strings.EqualFold(token, "REFERENCES") {
			continue
		}
		if !s.at(i+2, "(") || !s.at(i+4, ")", "on", "delete", "cascade") || s.at(i+8, "ON") || !isID(s.tokens[i+3]) {
			return "an older program could not change or delete the rows that it refers to; references of a new table are to ids and ON DELETE CASCADE"
		}
	}
	return ""
}

// isID reports whether a column holds an id, which never changes.
func isID(column string) bool { return column == "id" || strings.HasSuffix(column, "_id") }

// closing returns the position of the parenthesis that closes the one at open; if there is none,
// the last position.
func closing(tokens []string, open int) int {
	depth := 0
	for i := open; i < len(tokens); i++ {
		switch tokens[i] {
		case "(":
			depth++
		case ")":
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return len(tokens) - 1
}

// checkIndex returns why a statement is incompatible, unless it creates an index that accepts every
// row of an older program. made are the tables of the same step.
func (s statement) checkIndex(made []string) string {
	i := 1
	unique := s.at(i, "UNIQUE")
	if unique {
		i++
	}
	if !s.at(0, "CREATE") || !s.at(i, "INDEX") || !s.at(i+2, "ON") || !s.at(i+4, "(") {
		return notOnlyAdds
	}
	if slices.Contains(made, s.tokens[i+3]) {
		return ""
	}
	if unique {
		return "an older program may write what it refuses"
	}
	end := closing(s.tokens, i+4)
	for _, token := range s.tokens[i+5 : end] {
		if token != "," && !plainName.MatchString(strings.ToLower(token)) {
			return "an expression may fail on what an older program writes"
		}
	}
	return checkPredicate(s.tokens[end+1:])
}

// checkPredicate returns why an index with the condition is incompatible: a function may fail on what
// an older program writes.
func checkPredicate(tokens []string) string {
	if len(tokens) > 0 && !strings.EqualFold(tokens[0], "WHERE") {
		return notOnlyAdds
	}
	for i, token := range tokens {
		word := plainName.MatchString(strings.ToLower(token))
		call := i > 0 && token == "(" && plainName.MatchString(strings.ToLower(tokens[i-1])) && !slices.Contains([]string{"WHERE", "IN", "AND", "OR", "NOT"}, strings.ToUpper(tokens[i-1]))
		if call || !word && !isConstant(token) && !slices.Contains([]string{"(", ")", ",", "=", "<", ">", "!"}, token) {
			return "its condition may fail on what an older program writes"
		}
	}
	return ""
}

// isConstant reports whether a token is a string or a whole number.
func isConstant(token string) bool {
	_, err := strconv.ParseInt(token, 10, 64)
	return err == nil || strings.HasPrefix(token, "'")
}

var columnTypes = []string{"INTEGER", "TEXT", "BLOB", "REAL", "BIGINT", "BYTEA", "JSON"}

// checkColumn returns why an ALTER TABLE ADD COLUMN is incompatible.
func (s statement) checkColumn(ctx context.Context, column string, typeAt int, known knownColumns) string {
	if known.has(column) {
		return "another table has a column of that name, and an older program may name it without its table"
	}
	if !slices.Contains(columnTypes, strings.ToUpper(s.tokens[typeAt])) {
		return notOnlyAdds
	}
	for i := typeAt + 1; i < len(s.tokens); i++ {
		switch strings.ToUpper(s.tokens[i]) {
		case "NOT", "NULL":
		case "DEFAULT":
			var constant bool
			if i, constant = s.constant(i + 1); !constant {
				return "its default is no constant"
			}
		case "CHECK":
			if !s.at(i+1, "(") {
				return notOnlyAdds
			}
			i = closing(s.tokens, i+1)
		default:
			return notOnlyAdds
		}
	}
	if err := s.tryColumn(ctx); err != nil {
		return "a row of an older program does not fit: " + err.Error()
	}
	return ""
}

// constant reports whether the tokens from i on begin with a constant, and returns the position of its
// last token.
func (s statement) constant(i int) (last int, ok bool) {
	if s.at(i, "-") || s.at(i, "x") {
		i++
	} else if s.at(i, "NULL") {
		return i, true
	}
	return i, i < len(s.tokens) && isConstant(s.tokens[i])
}

// tryColumn adds the column to a table in memory, and inserts a row without it.
func (s statement) tryColumn(ctx context.Context) error {
	pool, err := sql.Open("sqlite", "file::memory:?_dqs=0")
	if err != nil {
		return err
	}
	defer pool.Close()
	pool.SetMaxOpenConns(1) // each connection would have its own database
	_, err = pool.ExecContext(ctx, "CREATE TABLE "+s.tokens[2]+" (older_column INTEGER); "+s.text+"; INSERT INTO "+s.tokens[2]+" (older_column) VALUES (1)")
	return err
}
