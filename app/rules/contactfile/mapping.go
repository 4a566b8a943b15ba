package contactfile

import (
	"maps"
	"slices"
	"strings"

	"mailer/app"
)

// mapped returns the columns that a map names.
func (h headingSet) mapped(m *ColumnMap, declared map[string]app.PropertyType) ([]Column, error) {
	email := m.Email
	for i := 0; email == "" && i < len(h); i++ {
		if h.field(i) == app.EmailField {
			email = h[i]
		}
	}
	if email == "" {
		return nil, app.Invalid("column_map.email", "is required: the file has no column named email")
	}
	var out []Column
	for _, f := range []struct{ field, heading string }{
		{app.EmailField, email}, {app.FirstNameField, m.FirstName}, {app.LastNameField, m.LastName}, {unsubscribedField, m.Unsubscribed},
	} {
		if f.heading == "" {
			continue
		}
		i, err := h.find("column_map."+f.field, f.heading)
		if err != nil {
			return nil, err
		}
		out = append(out, h.column(i, f.field, "", ""))
	}
	if len(m.Properties) > app.MaxProperties {
		return nil, app.Invalid("column_map.properties", "can hold at most %d keys", app.MaxProperties)
	}
	for _, key := range slices.Sorted(maps.Keys(m.Properties)) {
		c, err := h.property(key, m.Properties[key], declared[key])
		if err != nil {
			return nil, err
		}
		out = append(out, c)
	}
	return out, nil
}

// property returns the column of a property in a map.
func (h headingSet) property(key string, c PropertyColumn, declared app.PropertyType) (Column, error) {
	if err := app.CheckPropertyKey(key, app.MaxPropertyKey); err != nil {
		return Column{}, app.Invalid("column_map.properties", "has a key that %s", err)
	}
	field := "column_map.properties." + key
	switch c.Type {
	case "":
		c.Type = columnType(declared)
	case string(app.StringProperty), string(app.NumberProperty), decimalPoint, decimalComma, booleanColumn, dayFirst, monthFirst, yearFirst:
	default:
		return Column{}, app.Invalid(field+".type", "must be string, number, number_point, number_comma, boolean, date_dmy, date_mdy or date_ymd")
	}
	if c.Column == "" {
		return Column{}, app.Invalid(field+".column", "is required")
	}
	i, err := h.find(field+".column", c.Column)
	if err != nil {
		return Column{}, err
	}
	column := h.column(i, propertyField, key, c.Type)
	if declared != "" && column.propertyType() != declared {
		return Column{}, app.Invalid(field+".type", "must be %s, as the property is declared", declared)
	}
	return column, nil
}

// find returns the column with a heading, exactly or ignoring case.
func (h headingSet) find(field, heading string) (int, error) {
	heading = strings.TrimSpace(heading)
	for _, same := range []func(a, b string) bool{func(a, b string) bool { return a == b }, strings.EqualFold} {
		for i := range h {
			if same(strings.TrimSpace(h[i]), heading) {
				return i, nil
			}
		}
	}
	return 0, app.Invalid(field, "names a column that the file does not have")
}
