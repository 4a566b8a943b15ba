package app

import (
	"bytes"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// PropertyType is the type of a contact property or of a template's variable.
type PropertyType string

// The types of properties and variables.
const (
	StringProperty PropertyType = "string"
	NumberProperty PropertyType = "number"
)

// The types of variables of Liquid templates alone.
const (
	BooleanVariable PropertyType = "boolean"
	ListVariable    PropertyType = "list"
	ObjectVariable  PropertyType = "object"
	HTMLVariable    PropertyType = "html"
)

// PropertyValue is a string or a number, or a value of a Liquid template's variable. It is comparable.
type PropertyValue struct {
	Type   PropertyType
	Text   string // of a boolean, list or object: its JSON
	Number float64
}

// structured reports whether v is a list or an object.
func (v PropertyValue) structured() bool { return v.Type == ListVariable || v.Type == ObjectVariable }

// JSONValue returns the value of a JSON text: a string, number, boolean, list or object. Nested values
// are limited in depth. The error does not name a field.
func JSONValue(raw jsontext.Value) (v PropertyValue, err error) {
	switch raw.Kind() {
	case '"':
		v.Type = StringProperty
		err = json.Unmarshal(raw, &v.Text)
		return v, err
	case '0':
		v.Type = NumberProperty
		if err = json.Unmarshal(raw, &v.Number); err != nil {
			return v, fmt.Errorf("must be a number that a 64-bit float holds")
		}
		return v, nil
	case 't', 'f':
		return PropertyValue{Type: BooleanVariable, Text: raw.String()}, nil
	case '[':
		v.Type = ListVariable
	case '{':
		v.Type = ObjectVariable
	default:
		return v, fmt.Errorf("must be a string, a number, true, false, an array or an object")
	}
	depth := 0
	for d := jsontext.NewDecoder(bytes.NewReader(raw)); ; depth = max(depth, d.StackDepth()) {
		if _, err := d.ReadToken(); err != nil {
			break // the end: raw is valid
		}
	}
	if depth > maxVariableDepth {
		return v, fmt.Errorf("can be nested at most %d deep", maxVariableDepth)
	}
	text := slices.Clone(raw)
	if err := text.Compact(); err != nil {
		return v, fmt.Errorf("must be valid JSON")
	}
	v.Text = string(text)
	return v, nil
}

// Plain returns the value for encoding as JSON.
func (v PropertyValue) Plain() any {
	switch v.Type {
	case NumberProperty:
		return v.Number
	case BooleanVariable, ListVariable, ObjectVariable:
		return jsontext.Value(v.Text)
	}
	return v.Text
}

// String formats the value for a mail: a number without exponent and trailing zeros.
func (v PropertyValue) String() string {
	if v.Type == NumberProperty {
		return strconv.FormatFloat(v.Number, 'f', -1, 64)
	}
	return v.Text
}

// validate checks the value without its declaration. The error does not name a field.
func (v PropertyValue) validate() error {
	switch {
	case v.Type == NumberProperty && (math.IsNaN(v.Number) || math.IsInf(v.Number, 0)):
		return fmt.Errorf("must be a finite number")
	case utf8.RuneCountInString(v.Text) > maxPropertyText:
		return fmt.Errorf("can have at most %d characters", maxPropertyText)
	case !utf8.ValidString(v.Text) || strings.Contains(v.Text, "\x00"):
		return fmt.Errorf("must be valid UTF-8 without the character NUL")
	}
	return nil
}

// Properties holds the values of a contact by key.
type Properties map[string]PropertyValue

// Size returns the bytes of the keys and texts.
func (p Properties) Size() (n int64) {
	for key, v := range p {
		n += int64(len(key) + len(v.Text))
	}
	return n
}

// PropertyChanges holds values to set by key; nil removes a value.
type PropertyChanges map[string]*PropertyValue

// Keys returns the keys in sorted order.
func (c PropertyChanges) Keys() []string {
	return slices.Sorted(maps.Keys(c))
}

// Validate checks keys and values without their declarations.
func (c PropertyChanges) Validate() error {
	if len(c) > MaxProperties {
		return Invalid("properties", "can hold at most %d keys", MaxProperties)
	}
	for _, key := range c.Keys() {
		if err := CheckPropertyKey(key, MaxPropertyKey); err != nil {
			return Invalid("properties", "has a key that %s", err)
		}
		if v := c[key]; v != nil {
			if err := v.validate(); err != nil {
				return Invalid("properties."+key, "%s", err)
			}
		}
	}
	return nil
}

// Fits checks the values against declared types. A key without a declaration accepts any value.
func (c PropertyChanges) Fits(declared map[string]PropertyType) error {
	for _, key := range c.Keys() {
		want, ok := declared[key]
		if v := c[key]; ok && v != nil && v.Type != want {
			return Invalid("properties."+key, "must be a %s", want)
		}
	}
	return nil
}

// Apply returns old with the changes, or nil if no value is left. It does not modify old. Errors:
// CodeValidation for more than MaxProperties keys.
func (c PropertyChanges) Apply(old Properties) (Properties, error) {
	if len(c) == 0 {
		return old, nil
	}
	out := make(Properties, len(old)+len(c))
	maps.Copy(out, old)
	for key, v := range c {
		if v == nil {
			delete(out, key)
			continue
		}
		out[key] = *v
	}
	if len(out) > MaxProperties {
		return nil, Invalid("properties", "can hold at most %d keys", MaxProperties)
	}
	if len(out) == 0 {
		return nil, nil
	}
	return out, nil
}

// CheckPropertyKey checks that key has 1 to limit characters of [A-Za-z0-9_].
func CheckPropertyKey(key string, limit int) error {
	if key == "" || len(key) > limit {
		return fmt.Errorf("is not 1 to %d characters long", limit)
	}
	for i := range len(key) {
		c := key[i]
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_' {
			return fmt.Errorf("has other characters than letters, digits and _")
		}
	}
	return nil
}

// Property is a contact property that a team declared.
type Property struct {
	ID        string
	TeamID    string
	Key       string
	Type      PropertyType
	Fallback  *PropertyValue // nil: none
	CreatedAt time.Time
}

// PropertyInput declares a property. Key and type can't be changed later.
type PropertyInput struct {
	Key      string
	Type     PropertyType
	Fallback *PropertyValue // nil or an empty text: none
}

// Validate checks key, type, and the type of the fallback. An empty string as fallback becomes nil
// for any type. Errors: CodeValidation.
func (in *PropertyInput) Validate() error {
	if in.Fallback != nil && in.Fallback.Empty() {
		in.Fallback = nil
	}
	if in.Key == "" {
		return Invalid("key", "is required")
	}
	if err := CheckPropertyKey(in.Key, MaxPropertyKey); err != nil {
		return Invalid("key", "%s", err)
	}
	if in.Type == "" {
		return Invalid("type", "is required")
	}
	if in.Type != StringProperty && in.Type != NumberProperty {
		return Invalid("type", "must be string or number")
	}
	return checkFallback(in.Type, in.Fallback)
}

// checkFallback checks a fallback_value against the property's type; nil is valid.
func checkFallback(t PropertyType, v *PropertyValue) error {
	if v == nil {
		return nil
	}
	if v.Type != t {
		return Invalid("fallback_value", "must be a %s", t)
	}
	if err := v.validate(); err != nil {
		return Invalid("fallback_value", "%s", err)
	}
	return nil
}

// Empty reports whether v is an empty string, which inputs treat as absent.
func (v PropertyValue) Empty() bool { return v.Type == StringProperty && v.Text == "" }

// PropertyPatch changes a declared property. Key and type can't be changed.
type PropertyPatch struct {
	Fallback Change[PropertyValue] // null removes, an empty text means absent
	Key      string                // empty, or the current value
	Type     PropertyType          // empty, or the current value
}

// Apply returns the property with the patch applied. Errors: CodeValidation.
func (p *PropertyPatch) Apply(old Property) (Property, error) {
	switch {
	case p.Key != "" && p.Key != old.Key:
		return old, Invalid("key", "is fixed when the property is created and can't be changed")
	case p.Type != "" && p.Type != old.Type:
		return old, Invalid("type", "is fixed when the property is created and can't be changed")
	case p.Fallback.Null:
		old.Fallback = nil
	case p.Fallback.Set && !p.Fallback.Value.Empty():
		old.Fallback = &p.Fallback.Value
	}
	return old, checkFallback(old.Type, old.Fallback)
}
