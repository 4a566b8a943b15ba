package app

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// PropertyType is the type of a contact property's values.
type PropertyType string

// The types.
const (
	StringProperty PropertyType = "string"
	NumberProperty PropertyType = "number"
)

// PropertyValue is a string or a number.
type PropertyValue struct {
	Type   PropertyType
	Text   string
	Number float64
}

// String writes the value as it stands in a mail: a number without exponent and
// needless zeros.
func (v PropertyValue) String() string {
	if v.Type == NumberProperty {
		return strconv.FormatFloat(v.Number, 'f', -1, 64)
	}
	return v.Text
}

// validate checks a value for itself. The error does not name a field.
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

// Properties are a contact's values by key.
type Properties map[string]PropertyValue

// PropertyChanges are values to set by key; nil removes.
type PropertyChanges map[string]*PropertyValue

// Keys returns the keys in order.
func (c PropertyChanges) Keys() []string {
	return slices.Sorted(maps.Keys(c))
}

// Validate checks keys and values by themselves.
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

// Fits checks values against the types of declared properties; a key that is
// not declared takes any.
func (c PropertyChanges) Fits(declared map[string]PropertyType) error {
	for _, key := range c.Keys() {
		want, ok := declared[key]
		if v := c[key]; ok && v != nil && v.Type != want {
			return Invalid("properties."+key, "must be a %s", want)
		}
	}
	return nil
}

// Apply returns old with the changes, nil where nothing is left, and leaves old as
// it is. Errors: CodeValidation for more than MaxProperties keys.
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

// CheckPropertyKey wants 1 to limit characters of [A-Za-z0-9_].
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

// PropertyInput declares a property. Key and type never change afterwards.
type PropertyInput struct {
	Key      string
	Type     PropertyType
	Fallback *PropertyValue // nil or an empty text: none
}

// Validate checks key, type, and that the fallback is of the type. A fallback
// that is an empty text becomes nil, whatever the type. Errors: CodeValidation.
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

// checkFallback checks a fallback_value against its property's type; nil is
// none.
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

// Empty tells a text without characters, which an input takes for no value.
func (v PropertyValue) Empty() bool { return v.Type == StringProperty && v.Text == "" }

// PropertyPatch changes a declared property; key and type stay for ever.
type PropertyPatch struct {
	Fallback Change[PropertyValue] // null removes, an empty text is absent
	Key      string                // empty, or what the property has: nothing else can be asked for
	Type     PropertyType          // likewise
}

// Apply returns the property as the patch leaves it. Errors: CodeValidation.
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
