package db

import (
	"strconv"
	"strings"

	"mailer/app"
)

// filterDialect are what the engines say in different words of the conditions of filters.
type filterDialect interface {
	// end is the end of a text, as many characters as the next parameter says: one at
	// least.
	end(text string) string
	// literal is the property that the next parameter names as it was written down
	// (writeProperties): a number in its written form, a text in quotation marks.
	literal() string
	// propertyText is a property as it stands in a mail, to look for value in.
	propertyText(key, value string) condition
	// between takes numbers from least to most, one of which may be infinite, and no
	// texts.
	between(key string, least, maxRows float64) condition
}

// filterDialect are those of the engine.
func (r *Reader) filterDialect() filterDialect {
	if r.IsPostgres() {
		return postgresFilters{}
	}
	return sqliteFilters{}
}

// sqliteFilters are SQLite's words. Of one JSON value, ->> returns a text or a number to
// compute with, and -> what was written down.
type sqliteFilters struct{}

func (sqliteFilters) end(text string) string { return `substr(` + text + `, -?)` }

func (sqliteFilters) literal() string { return `c.properties -> ?` }

func (sqliteFilters) propertyText(key, value string) condition {
	if strings.Trim(value, "0123456789.+-e") != "" { // no part of what ->> may write a number as
		return condition{`(c.properties ->> ?)`, []any{key}}
	}
	return condition{`CASE typeof(c.properties ->> ?) WHEN 'text' THEN c.properties ->> ? ELSE c.properties -> ? END`, []any{key, key, key}}
}

// between: text is more than any number to SQLite, so it is out of every range.
func (sqliteFilters) between(key string, low, maxRows float64) condition {
	return condition{`c.properties ->> ? BETWEEN ? AND ?`, []any{key, asRead(low), asRead(maxRows)}}
}

// asRead returns a number as SQLite reads its written form: a whole number that 64
// bits hold is an integer, of which the float may differ in the digits that it
// can't show.
func asRead(n float64) any {
	written := app.PropertyValue{Type: app.NumberProperty, Number: n + 0}.String()
	if i, err := strconv.ParseInt(written, 10, 64); err == nil {
		return i
	}
	return n
}
