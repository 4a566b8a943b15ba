package rest

import (
	"bytes"
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"mailer/app/rules/archive"
)

// column is a member of a list's rows, as a column of the CSV.
type column struct {
	name string // "counts.total" for the member total of the member counts
	at   []int  // field indexes
	omit bool   // empty for the zero value, as in JSON
}

// columnsOf returns the columns of a row type in the order of its fields; nested objects are
// flattened. It panics for two columns of one name, a programming error.
func columnsOf(row reflect.Type) []column {
	columns := appendColumns(nil, row, "", nil)
	for i, c := range columns {
		if slices.ContainsFunc(columns[:i], func(o column) bool { return o.name == c.name }) {
			panic(fmt.Sprintf("%s: two columns %s", row, c.name))
		}
	}
	return columns
}

func appendColumns(columns []column, t reflect.Type, prefix string, at []int) []column {
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "-" || !f.IsExported() && !f.Anonymous {
			continue
		}
		inner, index := f.Type, append(slices.Clone(at), i)
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		switch flat := inner.Kind() == reflect.Struct && !hasCustomJSON(inner); {
		case flat && f.Anonymous && name == "":
			columns = appendColumns(columns, inner, prefix, index)
		case flat:
			columns = appendColumns(columns, inner, prefix+name+".", index)
		default:
			columns = append(columns, column{prefix + name, index, strings.Contains(options, "omit")})
		}
	}
	return columns
}

// hasCustomJSON reports whether a type has its own JSON encoding.
func hasCustomJSON(t reflect.Type) bool {
	return t.Implements(reflect.TypeFor[json.Marshaler]()) || t.Implements(reflect.TypeFor[encoding.TextMarshaler]())
}

// value returns a row's cell in the column.
func (c *column) value(row reflect.Value) (string, error) {
	for _, i := range c.at {
		if row.Kind() == reflect.Pointer {
			if row.IsNil() {
				return "", nil
			}
			row = row.Elem()
		}
		row = row.Field(i)
	}
	if c.omit && row.IsZero() {
		return "", nil
	}
	return cell(row)
}

// cell formats a value as a cell. Strings are kept, except that formulas are disarmed; numbers are
// formatted as in JSON; null and empty values are empty; arrays of simple values are joined with ";
// "; everything else is JSON.
func cell(v reflect.Value) (string, error) {
	for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
		if v.IsNil() {
			return "", nil
		}
		v = v.Elem()
	}
	if !hasCustomJSON(v.Type()) {
		switch v.Kind() {
		case reflect.String:
			return archive.EscapeFormula(v.String()), nil
		case reflect.Bool:
			return strconv.FormatBool(v.Bool()), nil
		case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
			return strconv.FormatInt(v.Int(), 10), nil
		case reflect.Map:
			if v.Len() == 0 {
				return "", nil
			}
		case reflect.Slice:
			if v.Len() == 0 || simple(v.Type().Elem()) {
				return joinCell(v)
			}
		}
	}
	return cellOfJSON(v.Interface())
}

// simple reports whether a value of a type is a cell of its own.
func simple(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.String, reflect.Bool, reflect.Int, reflect.Int32, reflect.Int64, reflect.Float64:
		return true
	}
	return hasCustomJSON(t)
}

func joinCell(list reflect.Value) (string, error) {
	var out strings.Builder
	for i := range list.Len() {
		text, err := cell(list.Index(i))
		if err != nil {
			return "", err
		}
		if i > 0 {
			out.WriteString("; ")
		}
		out.WriteString(text)
	}
	return out.String(), nil
}

func cellOfJSON(v any) (string, error) {
	var out bytes.Buffer
	if err := newJSONEncoder(&out).Encode(v); err != nil {
		return "", fmt.Errorf("encode a cell: %w", err)
	}
	text := bytes.TrimSpace(out.Bytes())
	switch {
	case string(text) == "null":
		return "", nil
	case text[0] == '"':
		var s string
		if err := json.Unmarshal(text, &s); err != nil {
			return "", fmt.Errorf("decode a cell: %w", err)
		}
		return archive.EscapeFormula(s), nil
	}
	return string(text), nil
}
