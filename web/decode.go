package web

import (
	"errors"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"mailer/app"
)

// shapeError is a refusal of a decoder of ours: the place and what is wrong
// there, in words that follow the field's name.
type shapeError struct {
	at    jsontext.Pointer
	words string
}

// Error implements error.
func (e *shapeError) Error() string { return e.words }

// decodeBody reads a JSON object into v in one pass, refusing unknown members.
// Errors: CodeInvalidPayload for what is no JSON (duplicate names and invalid
// UTF-8 included), CodeValidation naming the field for all else.
func decodeBody(body []byte, v any) error {
	if len(body) == 0 {
		return app.Errorf(app.CodeInvalidPayload, "The request needs a body of JSON")
	}
	err := json.Unmarshal(body, v, json.RejectUnknownMembers(true))
	if err == nil {
		return nil
	}
	return bodyError(err)
}

func bodyError(err error) error {
	var shape *shapeError
	if errors.As(err, &shape) {
		return app.Invalid(fieldName(shape.at), "%s", shape.words)
	}
	var syntax *jsontext.SyntacticError
	if errors.As(err, &syntax) {
		if errors.Is(syntax, jsontext.ErrDuplicateName) {
			return app.Errorf(app.CodeInvalidPayload, "The request body has `%s` more than once", fieldName(syntax.JSONPointer))
		}
		return app.Errorf(app.CodeInvalidPayload, "The request body is not valid JSON (at byte %d)", syntax.ByteOffset)
	}
	var semantic *json.SemanticError
	if !errors.As(err, &semantic) {
		return app.Errorf(app.CodeInvalidPayload, "The request body could not be read")
	}
	field := fieldName(semantic.JSONPointer)
	if errors.Is(semantic, json.ErrUnknownName) {
		return app.Errorf(app.CodeValidation, "%s", unknownField(field))
	}
	return app.Invalid(field, "must be %s", kindWords(semantic.GoType))
}

// kindWords says what JSON value fits a Go type.
func kindWords(t reflect.Type) string {
	if t == nil {
		return "of another type"
	}
	switch t.Kind() {
	case reflect.Pointer:
		return kindWords(t.Elem())
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

// maxFieldName bounds how much of a caller's own member names comes back, in
// bytes.
const maxFieldName = 100

// fieldName writes a JSON pointer as callers write fields:
// "attachments[0].content". The whole body is "body".
func fieldName(p jsontext.Pointer) string {
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
	return cut(strings.Map(printable, b.String()))
}

// printable drops what would disturb a message: control characters, and the
// backtick that ends a name.
func printable(r rune) rune {
	if r < ' ' || r == 0x7f || r == '`' || r == utf8.RuneError {
		return -1
	}
	return r
}

func cut(s string) string {
	if len(s) <= maxFieldName {
		return s
	}
	n := maxFieldName
	for !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}

// change is a member of a PATCH body: absent, null or a value.
type change[T any] app.Change[T]

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (c *change[T]) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	c.Set = true
	if d.PeekKind() == 'n' {
		c.Null = true
		return d.SkipValue()
	}
	return json.UnmarshalDecode(d, &c.Value)
}

// Schema implements huma.SchemaProvider.
func (change[T]) Schema(r huma.Registry) *huma.Schema {
	value := *huma.SchemaFromType(r, reflect.TypeFor[T]())
	if value.Type == "" { // one of several, and null is one more
		value.AnyOf = append(slices.Clip(value.AnyOf), &huma.Schema{Type: "null"})
		return &value
	}
	value.Nullable = true
	return &value
}
