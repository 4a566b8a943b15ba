package db

import (
	"strconv"
	"strings"

	"mailer/app"
)

// filterDialect has the SQL of filter conditions that differs between the engines.
type filterDialect interface {
	// end returns the last characters of a text. The next parameter is their number, at least
	// one.
	end(text string) string
	// literal returns the property named by the next parameter as it is stored
	// (writeProperties): a number in its written form, a text in quotation marks.
	literal() string
	// propertyText returns a property as it appears in mail, to search for value.
	propertyText(key, value string) condition
	// between matches numbers from low to high, one of which may be infinite, and no texts.
	between(key string, least, maxRows float64) condition
}

// filterDialect returns the dialect of the engine.
func (r *Reader) filterDialect() filterDialect {
	if r.IsPostgres() {
		return postgresFilters{}
	}
	return sqliteFilters{}
}

// sqliteFilters is the SQLite dialect. On a JSON value, ->> returns a text or a number,
// and -> returns the stored JSON.
type sqliteFilters struct{}

func (sqliteFilters) end(text string) string { return `substr(` + text + `, -?)` }

func (sqliteFilters) literal() string { return `c.properties -> ?` }

func (sqliteFilters) propertyText(key, value string) condition {
	if strings.Trim(value, "0123456789.+-e") != "" { // no part of a number that ->> returns
		return condition{`(c.properties ->> ?)`, []any{key}}
	}
	return condition{`CASE typeof(c.properties ->> ?) WHEN 'text' THEN c.properties ->> ? ELSE c.properties -> ? END`, []any{key, key, key}}
}

// between: SQLite sorts text above all numbers, so no range contains a text.
func (sqliteFilters) between(key string, low, maxRows float64) condition {
	return condition{`c.properties ->> ? BETWEEN ? AND ?`, []any{key, asRead(low), asRead(maxRows)}}
}

// asRead returns a number as SQLite reads its stored form: a whole number that fits 64
// bits is an integer, which may differ from the float in the last digits.
func asRead(n float64) any {
	written := app.PropertyValue{Type: app.NumberProperty, Number: n + 0}.String()
	if i, err := strconv.ParseInt(written, 10, 64); err == nil {
		return i
	}
	return n
}
