package rest

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
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
