package db

// postgresFilters is the PostgreSQL dialect. ->> on a JSON value always returns text: a
// number as it was written.
type postgresFilters struct{}

func (postgresFilters) end(text string) string { return `right(` + text + `, ?)` }

// literal casts to text, because json has no equality.
func (postgresFilters) literal() string { return `CAST(c.properties -> ? AS text)` }

func (postgresFilters) propertyText(key, _ string) condition {
	return condition{`(c.properties ->> ?)`, []any{key}}
}

// between checks the type first, because reading a text as a number fails, and a numeric
// text must not match.
func (postgresFilters) between(key string, low, maxRows float64) condition {
	return condition{`CASE json_typeof(c.properties -> ?) WHEN 'number' THEN CAST(c.properties ->> ? AS double precision) BETWEEN ? AND ? END`,
		[]any{key, key, low, maxRows}}
}
