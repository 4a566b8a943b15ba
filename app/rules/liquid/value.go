package liquid

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"mailer/app"
)

// Value is a value of a document. The zero value is nil.
type Value struct {
	kind valueKind
	text string // of a string
	bits uint64 // of a boolean, an integer or a float
	list *list  // of a list or an object
}

type valueKind uint8

const (
	nilKind valueKind = iota
	boolKind
	intKind
	floatKind
	stringKind
	listKind
	objectKind
)

// list holds the values of a list, or of an object with its keys.
type list struct {
	values []Value
	keys   []string // of an object, in order
	index  map[string]int
}

// The limits of FromJSON.
const (
	maxJSON      = 64 << 10
	maxJSONDepth = 5
)

// maxExact limits the integers that floats represent exactly.
const maxExact = 1 << 53

// String returns a string.
func String(s string) Value { return Value{kind: stringKind, text: s} }

// Number returns a number. A whole one counts as an integer.
func Number(f float64) Value {
	if f == math.Trunc(f) && math.Abs(f) < maxExact {
		return integer(int64(f))
	}
	return float(f)
}

// Bool returns a boolean.
func Bool(b bool) Value {
	v := Value{kind: boolKind}
	if b {
		v.bits = 1
	}
	return v
}

func integer(n int64) Value { return Value{kind: intKind, bits: uint64(n)} }

// number returns the value of a number in decimal.
func number(s string) Value {
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return integer(n)
	}
	f, _ := strconv.ParseFloat(s, 64)
	return float(f)
}

// float returns a number that is no integer for arithmetic; nil if f is not finite.
func float(f float64) Value {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return Value{}
	}
	return Value{kind: floatKind, bits: math.Float64bits(f)}
}

func listOf(values []Value) Value { return Value{kind: listKind, list: &list{values: values}} }

// FromProperty returns the value of a contact property or of a template's variable. Types other
// than string and number hold JSON; what is no JSON becomes nil.
func FromProperty(p app.PropertyValue) Value {
	switch p.Type {
	case app.NumberProperty:
		return Number(p.Number)
	case app.BooleanVariable, app.ListVariable, app.ObjectVariable:
		v, _ := FromJSON([]byte(p.Text))
		return v
	}
	return String(p.Text)
}

// FromJSON returns the value of a JSON text of at most 64 KiB, with lists and objects at most 5
// deep. The errors follow the name of a field.
func FromJSON(data []byte) (Value, error) {
	if len(data) > maxJSON {
		return Value{}, fmt.Errorf("must not be longer than %d bytes", maxJSON)
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	v, err := decode(d, 0)
	if err == nil && d.More() {
		err = errors.New("must be one JSON value")
	}
	return v, err
}

// decode decodes the next value.
func decode(d *json.Decoder, depth int) (Value, error) {
	t, err := d.Token()
	if err != nil {
		return Value{}, errors.New("must be valid JSON")
	}
	switch t := t.(type) {
	case bool:
		return Bool(t), nil
	case string:
		return String(t), nil
	case json.Number:
		return number(t.String()), nil
	case json.Delim:
		if depth == maxJSONDepth {
			return Value{}, fmt.Errorf("must not nest lists and objects more than %d deep", maxJSONDepth)
		}
		return decodeList(d, t == '{', depth+1)
	}
	return Value{}, nil
}

// decodeList decodes a list or an object after its first sign.
func decodeList(d *json.Decoder, object bool, depth int) (Value, error) {
	v := listOf(nil)
	l := v.list
	if object {
		v.kind, l.index = objectKind, map[string]int{}
	}
	for d.More() {
		key := ""
		if object {
			t, err := d.Token()
			if err != nil {
				return Value{}, errors.New("must be valid JSON")
			}
			key, _ = t.(string)
		}
		item, err := decode(d, depth)
		if err != nil {
			return Value{}, err
		}
		if at, known := l.index[key]; object && known {
			l.values[at] = item
			continue
		}
		if object {
			l.index[key] = len(l.keys)
			l.keys = append(l.keys, key)
		}
		l.values = append(l.values, item)
	}
	if _, err := d.Token(); err != nil {
		return Value{}, errors.New("must be valid JSON")
	}
	return v, nil
}

func (v Value) isTrue() bool { return v.kind != nilKind && (v.kind != boolKind || v.bits == 1) }

// items returns the values of a list; nil for others.
func (v Value) items() []Value {
	if v.kind != listKind {
		return nil
	}
	return v.list.values
}

// isEmpty reports whether v equals the literal empty.
func (v Value) isEmpty() bool {
	switch v.kind {
	case stringKind:
		return v.text == ""
	case listKind, objectKind:
		return len(v.list.values) == 0
	}
	return false
}

// isBlank reports whether v equals the literal blank.
func (v Value) isBlank() bool {
	if v.kind == stringKind {
		return strings.TrimSpace(v.text) == ""
	}
	return !v.isTrue() || v.isEmpty()
}

func (v Value) isNumber() bool { return v.kind == intKind || v.kind == floatKind }

// float returns the number as a float.
func (v Value) float() float64 {
	if v.kind == intKind {
		return float64(int64(v.bits))
	}
	return math.Float64frombits(v.bits)
}

// plain returns the text of a value that is no list. Objects have none.
func (v Value) plain() string {
	switch v.kind {
	case stringKind:
		return v.text
	case boolKind:
		return strconv.FormatBool(v.bits == 1)
	case intKind:
		return strconv.FormatInt(int64(v.bits), 10)
	case floatKind:
		return strconv.FormatFloat(v.float(), 'f', -1, 64)
	}
	return ""
}

// size returns the number of values or characters; ok is false for values that have none.
func (v Value) size() (n int, ok bool) {
	switch v.kind {
	case stringKind:
		return utf8.RuneCountInString(v.text), true
	case listKind, objectKind:
		return len(v.list.values), true
	}
	return 0, false
}

// member returns what follows a dot: the value of an object's key, or size, first and last.
func (v Value) member(key string) Value {
	if v.kind == objectKind {
		if at, ok := v.list.index[key]; ok {
			return v.list.values[at]
		}
	}
	switch items := v.items(); {
	case key == "size":
		if n, ok := v.size(); ok {
			return integer(int64(n))
		}
	case key == "first" && len(items) > 0:
		return items[0]
	case key == "last" && len(items) > 0:
		return items[len(items)-1]
	}
	return Value{}
}

// at returns what an index in brackets selects.
func (v Value) at(index Value) Value {
	if index.kind == stringKind && v.kind == objectKind {
		if at, ok := v.list.index[index.text]; ok {
			return v.list.values[at]
		}
		return Value{}
	}
	items := v.items()
	if index.kind != intKind {
		return Value{}
	}
	n := int64(index.bits)
	if n < 0 {
		n += int64(len(items))
	}
	if n < 0 || n >= int64(len(items)) {
		return Value{}
	}
	return items[n]
}

// compare compares two numbers or two strings; ok is false for other values.
func compare(a, b Value) (c int, ok bool) {
	switch {
	case a.kind == intKind && b.kind == intKind:
		x, y := int64(a.bits), int64(b.bits)
		return boolInt(x > y) - boolInt(x < y), true
	case a.isNumber() && b.isNumber():
		x, y := a.float(), b.float()
		return boolInt(x > y) - boolInt(x < y), true
	case a.kind == stringKind && b.kind == stringKind:
		return strings.Compare(a.text, b.text), true
	}
	return 0, false
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}
