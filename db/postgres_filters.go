package db

// postgresFilters are PostgreSQL's words. Of one JSON value, ->> returns a text always: a
// number as it was written down.
type postgresFilters struct{}

func (postgresFilters) end(text string) string { return `right(` + text + `, ?)` }

// literal is a text: json can't be compared.
func (postgresFilters) literal() string { return `CAST(c.properties -> ? AS text)` }

func (postgresFilters) propertyText(key, _ string) condition {
	return condition{`(c.properties ->> ?)`, []any{key}}
}

// between asks for the type first: a text can't be read as a number, and must not be where
// it could.
func (postgresFilters) between(key string, low, maxRows float64) condition {
	return condition{`CASE json_typeof(c.properties -> ?) WHEN 'number' THEN CAST(c.properties ->> ? AS double precision) BETWEEN ? AND ? END`,
		[]any{key, key, low, maxRows}}
}
