package openapi

import (
	"cmp"
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// SchemaProvider is implemented by types that make their schema themselves. Schema is called for a
// zero value, and returns a new schema each time.
type SchemaProvider interface{ Schema(r *Registry) *Schema }

var (
	timeType         = reflect.TypeFor[time.Time]()
	providerType     = reflect.TypeFor[SchemaProvider]()
	textDecodingType = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// Schema returns a new schema of a type: for a struct with a name, a reference to its component.
func (r *Registry) Schema(t reflect.Type) *Schema {
	base := t
	if t.Kind() == reflect.Pointer {
		base = t.Elem()
	}
	if base.Kind() == reflect.Struct && base.Name() != "" && base != timeType &&
		!reflect.PointerTo(base).Implements(providerType) && !reflect.PointerTo(base).Implements(textDecodingType) {
		return r.Component(base)
	}
	return r.Inline(t)
}

// Inline returns a new schema of a type that is no reference itself. A pointer to a simple value
// may be null.
func (r *Registry) Inline(t reflect.Type) *Schema {
	pointer := t.Kind() == reflect.Pointer
	if pointer {
		t = t.Elem()
	}
	if p, ok := reflect.New(t).Interface().(SchemaProvider); ok {
		return p.Schema(r)
	}
	s := r.ofKind(t)
	if pointer && s.Type != TypeArray && s.Type != TypeObject {
		s.Nullable = true
	}
	return s
}

// ofKind returns the schema of a type that is neither a pointer nor a SchemaProvider.
func (r *Registry) ofKind(t reflect.Type) *Schema {
	if t == timeType {
		return &Schema{Type: TypeString, Format: "date-time"}
	}
	if reflect.PointerTo(t).Implements(textDecodingType) {
		return &Schema{Type: TypeString}
	}
	switch t.Kind() {
	case reflect.Bool:
		return &Schema{Type: TypeBoolean}
	case reflect.Int, reflect.Int64:
		return &Schema{Type: TypeInteger, Format: "int64"}
	case reflect.Float64:
		return &Schema{Type: TypeNumber, Format: "double"}
	case reflect.String:
		return &Schema{Type: TypeString}
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return &Schema{Type: TypeString, ContentEncoding: "base64"}
		}
		return &Schema{Type: TypeArray, Items: r.Schema(t.Elem())}
	case reflect.Map:
		return &Schema{Type: TypeObject, AdditionalProperties: r.Schema(t.Elem())}
	case reflect.Struct:
		return r.object(t)
	case reflect.Interface:
		return &Schema{}
	}
	panic(fmt.Sprintf("openapi: %s has no schema", t))
}

// object returns the schema of a struct. Its members are required unless their JSON omits them when
// they are empty, and no others are allowed. A blank field with nullable:"true" allows null.
func (r *Registry) object(t reflect.Type) *Schema {
	s := &Schema{Type: TypeObject, AdditionalProperties: false, Properties: map[string]*Schema{}, Nullable: blankTag(t, "nullable") == "true"}
	seen := map[string]bool{}
	for _, f := range members(t) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		name = cmp.Or(name, f.Name)
		if seen[name] {
			continue // hidden by a member of an outer struct
		}
		seen[name] = true
		if boolTag(f, "hidden", false) {
			continue
		}
		member := r.Field(f)
		omitted := strings.Contains(options, "omitempty") || strings.Contains(options, "omitzero")
		if omitted && f.Type.Kind() == reflect.Pointer && !f.Type.Implements(providerType) {
			member.Nullable = boolTag(f, "nullable", false) // nil is omitted
		}
		s.Properties[name] = member
		if boolTag(f, "required", !omitted) {
			s.Required = append(s.Required, name)
		}
	}
	return s
}

// members returns the fields of a struct's JSON: its own, and then those of embedded structs.
func members(t reflect.Type) (own []reflect.StructField) {
	var promoted []reflect.StructField
	for i := range t.NumField() {
		f := t.Field(i)
		embedded := f.Type
		if embedded.Kind() == reflect.Pointer {
			embedded = embedded.Elem()
		}
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "" && embedded.Kind() == reflect.Struct:
			promoted = append(promoted, members(embedded)...)
		case f.IsExported() && name != "-":
			own = append(own, f)
		}
	}
	return append(own, promoted...)
}

// Field returns a new schema of a struct's field, or of a parameter, header or body that the field
// stands for. These tags of the field are read:
//
//   - doc: the description
//   - format, pattern, minLength, maxLength, minimum, maximum, enum (with commas between the
//     values): of the value, or of the items of an array
//   - minItems, maxItems: of an array
//   - default, example: a text, or for other types than strings JSON
//   - nullable: true or false
//
// In a struct of JSON, required overrides whether a member must be present, and hidden leaves it
// out of the schema.
func (r *Registry) Field(f reflect.StructField) *Schema {
	s := r.Schema(f.Type)
	s.Description = cmp.Or(f.Tag.Get("doc"), s.Description)
	s.Nullable = boolTag(f, "nullable", s.Nullable)
	s.MinItems = cmp.Or(numberTag(f, "minItems", strconv.Atoi), s.MinItems)
	s.MaxItems = cmp.Or(numberTag(f, "maxItems", strconv.Atoi), s.MaxItems)
	if text := f.Tag.Get("default"); text != "" {
		s.Default = tagValue(f, s, text)
	}
	if text := f.Tag.Get("example"); text != "" {
		s.Examples = []any{tagValue(f, s, text)}
	}
	value := s
	if s.Type == TypeArray {
		value = s.Items
	}
	value.Format = cmp.Or(f.Tag.Get("format"), value.Format)
	value.Pattern = cmp.Or(f.Tag.Get("pattern"), value.Pattern)
	value.MinLength = cmp.Or(numberTag(f, "minLength", strconv.Atoi), value.MinLength)
	value.MaxLength = cmp.Or(numberTag(f, "maxLength", strconv.Atoi), value.MaxLength)
	value.Minimum = cmp.Or(numberTag(f, "minimum", parseFloat), value.Minimum)
	value.Maximum = cmp.Or(numberTag(f, "maximum", parseFloat), value.Maximum)
	if list := f.Tag.Get("enum"); list != "" {
		value.Enum = nil
		for text := range strings.SplitSeq(list, ",") {
			value.Enum = append(value.Enum, tagValue(f, value, text))
		}
	}
	return s
}

// tagValue returns a value in a tag of a field with the schema s.
func tagValue(f reflect.StructField, s *Schema, text string) (v any) {
	if s.Type == TypeString {
		return text
	}
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		panic(fmt.Sprintf("openapi: the value %q of the field %s: %v", text, f.Name, err))
	}
	return v
}

func boolTag(f reflect.StructField, key string, otherwise bool) bool {
	text, ok := f.Tag.Lookup(key)
	if !ok {
		return otherwise
	}
	b, err := strconv.ParseBool(text)
	if err != nil {
		panic(fmt.Sprintf("openapi: the tag %s of the field %s: %v", key, f.Name, err))
	}
	return b
}

// numberTag returns a tag's number; nil if the field has no such tag.
func numberTag[T int | float64](f reflect.StructField, key string, parse func(string) (T, error)) *T {
	text, ok := f.Tag.Lookup(key)
	if !ok {
		return nil
	}
	n, err := parse(text)
	if err != nil {
		panic(fmt.Sprintf("openapi: the tag %s of the field %s: %v", key, f.Name, err))
	}
	return &n
}

func parseFloat(text string) (float64, error) { return strconv.ParseFloat(text, 64) }
