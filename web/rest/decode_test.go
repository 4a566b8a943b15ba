package rest

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"mailer/app"
)

func TestFieldName(t *testing.T) {
	for pointer, want := range map[jsontext.Pointer]string{
		"":                       "body",
		"/subject":               "subject",
		"/attachments/0/content": "attachments[0].content",
		"/headers/X-A":           "headers.X-A",
		"/a~1b~0c":               "a/b~c",
		"/5":                     "5",
		"/a`b\n\u2028\x7f":       "ab\u2028",
	} {
		if got := FieldName(pointer); got != want {
			t.Errorf("%q gives %q, want %q", pointer, got, want)
		}
	}
	long := FieldName(jsontext.Pointer("/" + strings.Repeat("ü", 1000)))
	if len(long) > maxFieldName+len("…") || !utf8.ValidString(long) {
		t.Errorf("%d bytes, %q", len(long), long)
	}
}

func TestNULIsRefused(t *testing.T) {
	for body, want := range map[string]string{
		`{"a":"x","b":"\\u0000"}`:      "",
		`{"a":"\u0000"}`:               "a",
		`{"a":"x","b":"\\\u0000y"}`:    "b",
		`{"a":"x","b\u0000":"y"}`:      "b",
		`{"a":"\\u0000","b":"\u0000"}`: "b",
	} {
		var v map[string]string
		err := DecodeBody([]byte(body), &v)
		if want == "" {
			if err != nil {
				t.Errorf("%s: %v", body, err)
			}
			continue
		}
		var refused *app.Error
		if !errors.As(err, &refused) || refused.Code != app.CodeValidation || !strings.Contains(refused.Message, "`"+want+"` must not contain NUL") {
			t.Errorf("%s: %v", body, err)
		}
	}
}

// emptyable is a map that is read as BeginObject says.
type emptyable map[string]string

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (o *emptyable) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	open, err := BeginObject(d, "an object")
	if !open {
		return err
	}
	*o = emptyable{}
	for d.PeekKind() != '}' {
		var name, value string
		if err := json.UnmarshalDecode(d, &name); err != nil {
			return err
		}
		if err := json.UnmarshalDecode(d, &value); err != nil {
			return err
		}
		(*o)[name] = value
	}
	_, err = d.ReadToken()
	return err
}

func TestEmptyArrayAsObject(t *testing.T) {
	for body, want := range map[string]string{
		`{"a":[],"b":"x"}`:                "",
		`{"a": [ ` + "\n" + ` ],"b":"x"}`: "",
		`{"a":null,"b":"x"}`:              "",
		`{"a":{},"b":"x"}`:                "",
		`{"a":{"k":"v"},"b":"x"}`:         "v",
		`{"a":[1],"b":"x"}`:               "`a` must be an object",
		`{"a":[[]],"b":"x"}`:              "`a` must be an object",
		`{"a":7,"b":"x"}`:                 "`a` must be an object",
		`{"a":"","b":"x"}`:                "`a` must be an object",
		`{"a":[,"b":"x"}`:                 "not valid JSON",
		`{"a":{"k":[]},"b":"x"}`:          "`a.k` must be a string",
	} {
		var v struct {
			A emptyable `json:"a"`
			B string    `json:"b"`
		}
		err := DecodeBody([]byte(body), &v)
		if err == nil && (v.A["k"] != want || v.B != "x") || err != nil && (want == "" || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %+v, %v", body, v, err)
		}
	}
}

func TestOptionalBodyAsEmptyArray(t *testing.T) {
	var v struct{}
	if err := decodeInto(t.Context(), &Exchange{Body: []byte(" [] ")}, &Route{Optional: true}, &v); err != nil {
		t.Error(err)
	}
	if err := decodeInto(t.Context(), &Exchange{Body: []byte("[]")}, &Route{}, &v); app.CodeOf(err) != app.CodeValidation {
		t.Error(err)
	}
}
