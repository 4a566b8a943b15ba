package rest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"mailer/app"
	"mailer/web/rest/openapi"
)

// shapeError is an error of a custom decoder: a position, and a text that follows the field's name.
type shapeError struct {
	at   jsontext.Pointer
	text string
}

// NewShapeError refuses the value at a position of the body, with a text that follows the field's
// name. Custom decoders return it.
func NewShapeError(at jsontext.Pointer, text string) error { return &shapeError{at, text} }

// Error implements error.
func (e *shapeError) Error() string { return e.text }

// DecodeBody decodes a JSON object into v in one pass and refuses unknown members. Errors:
// CodeInvalidPayload for invalid JSON, duplicate names and invalid UTF-8 included; CodeValidation,
// naming the field, for everything else.
func DecodeBody(body []byte, v any) error {
	if len(body) == 0 {
		return app.Errorf(app.CodeInvalidPayload, "The request needs a body of JSON")
	}
	err := json.Unmarshal(body, v, json.RejectUnknownMembers(true))
	if err == nil {
		return rejectNUL(body)
	}
	return BodyError(err)
}

// rejectNUL refuses strings and names that contain NUL, which not every database stores. In JSON a
// NUL is always escaped.
func rejectNUL(body []byte) error {
	if !bytes.Contains(body, []byte(`\u0000`)) {
		return nil
	}
	d := jsontext.NewDecoder(bytes.NewReader(body))
	for {
		token, err := d.ReadToken()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return BodyError(err)
		}
		if token.Kind() == '"' && strings.ContainsRune(token.String(), 0) {
			return app.Invalid(FieldName(d.StackPointer()), "must not contain NUL")
		}
	}
}

// BodyError turns an error of the JSON decoder into an *app.Error: CodeInvalidPayload for invalid
// JSON, otherwise CodeValidation naming the field.
func BodyError(err error) error {
	var shape *shapeError
	if errors.As(err, &shape) {
		return app.Invalid(FieldName(shape.at), "%s", shape.text)
	}
	var syntax *jsontext.SyntacticError
	if errors.As(err, &syntax) {
		if errors.Is(syntax, jsontext.ErrDuplicateName) {
			return app.Errorf(app.CodeInvalidPayload, "The request body has `%s` more than once", FieldName(syntax.JSONPointer))
		}
		return app.Errorf(app.CodeInvalidPayload, "The request body is not valid JSON (at byte %d)", syntax.ByteOffset)
	}
	var semantic *json.SemanticError
	if !errors.As(err, &semantic) {
		return app.Errorf(app.CodeInvalidPayload, "The request body could not be read")
	}
	field := FieldName(semantic.JSONPointer)
	if errors.Is(semantic, json.ErrUnknownName) {
		return app.Errorf(app.CodeValidation, "%s", UnknownField(field))
	}
	return app.Invalid(field, "must be %s", kindName(semantic.GoType))
}

// kindName describes the JSON value that a Go type takes.
func kindName(t reflect.Type) string {
	if t == nil {
		return "of another type"
	}
	switch t.Kind() {
	case reflect.Pointer:
		return kindName(t.Elem())
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice, reflect.Array:
		return "an array"
	case reflect.Struct, reflect.Map:
		return "an object"
	}
	return "a number"
}

// maxFieldName bounds, in bytes, how much of a caller's member name a refusal repeats.
const maxFieldName = 100

// FieldName formats a JSON pointer as callers write fields: "attachments[0].content". The whole
// body is "body".
func FieldName(p jsontext.Pointer) string {
	var b strings.Builder
	for token := range p.Tokens() {
		if _, err := strconv.ParseUint(token, 10, 32); err == nil && b.Len() > 0 {
			b.WriteString("[" + token + "]")
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('.')
		}
		b.WriteString(token)
	}
	if b.Len() == 0 {
		return "body"
	}
	return MemberName(b.String())
}

// MemberName is a caller's member name in the form that a refusal may repeat.
func MemberName(s string) string { return truncate(strings.Map(printable, s)) }

// printable drops control characters, and the backtick that ends a name.
func printable(r rune) rune {
	if r < ' ' || r == 0x7f || r == '`' || r == utf8.RuneError {
		return -1
	}
	return r
}

func truncate(s string) string {
	if len(s) <= maxFieldName {
		return s
	}
	n := maxFieldName
	for !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}

// DecodeList reads an array of at most limit items, or null.
func DecodeList[T any](d *jsontext.Decoder, out *[]T, limit int, shape string) error {
	*out = nil
	switch kind := d.PeekKind(); kind {
	case 'n':
		return d.SkipValue()
	case '[':
	default:
		return WrongShape(d, shape)
	}
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	at := d.StackPointer()
	for d.PeekKind() != ']' {
		if len(*out) == limit {
			return &shapeError{at, fmt.Sprintf("can hold at most %d items", limit)}
		}
		var item T
		if err := json.UnmarshalDecode(d, &item); err != nil {
			return err
		}
		*out = append(*out, item)
	}
	_, err := d.ReadToken()
	return err
}

// BeginObject reads the opening brace of an object. open is false for null, and for the empty array
// that PHP makes of an empty map; the value is consumed then. Any other value is refused with the
// text shape.
func BeginObject(d *jsontext.Decoder, shape string) (open bool, err error) {
	switch d.PeekKind() {
	case 'n':
		return false, d.SkipValue()
	case '{':
		_, err := d.ReadToken()
		return err == nil, err
	case '[':
		v, err := d.ReadValue()
		if err == nil && !IsEmptyArray(v) {
			err = &shapeError{d.StackPointer(), "must be " + shape}
		}
		return false, err
	}
	return false, WrongShape(d, shape)
}

// IsEmptyArray reports whether a JSON text is an array without items.
func IsEmptyArray(v []byte) bool {
	v = bytes.TrimSpace(v)
	return len(v) > 1 && v[0] == '[' && v[len(v)-1] == ']' && len(bytes.TrimSpace(v[1:len(v)-1])) == 0
}

// WrongShape consumes the next value and refuses it, or returns its syntax error.
func WrongShape(d *jsontext.Decoder, shape string) error {
	if err := d.SkipValue(); err != nil {
		return err
	}
	return &shapeError{d.StackPointer(), "must be " + shape}
}

// EmptyOnly consumes an empty value, and refuses any other with the given text.
func EmptyOnly(d *jsontext.Decoder, text string) error {
	v, err := d.ReadValue()
	if err != nil {
		return err
	}
	switch string(v) {
	case `null`, `""`, `{}`:
		return nil
	}
	if IsEmptyArray(v) {
		return nil
	}
	return &shapeError{d.StackPointer(), text}
}

// Change is a member of a PATCH body: absent, null or a value.
type Change[T any] app.Change[T]

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (c *Change[T]) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	c.Set = true
	if d.PeekKind() == 'n' {
		c.Null = true
		return d.SkipValue()
	}
	return json.UnmarshalDecode(d, &c.Value)
}

// Schema implements openapi.SchemaProvider.
func (Change[T]) Schema(r *openapi.Registry) *openapi.Schema {
	value := *r.Inline(reflect.TypeFor[T]())
	if value.Type == "" { // a choice of several types: null is one more
		value.AnyOf = append(slices.Clip(value.AnyOf), &openapi.Schema{Type: "null"})
		return &value
	}
	value.Nullable = true
	return &value
}
