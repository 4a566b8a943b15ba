package web

import (
	"encoding/json"
	"log/slog"
	"net/http/httptest"
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
		if got := fieldName(pointer); got != want {
			t.Errorf("%q gives %q, want %q", pointer, got, want)
		}
	}
	long := fieldName(jsontext.Pointer("/" + strings.Repeat("ü", 1000)))
	if len(long) > maxFieldName+len("…") || !utf8.ValidString(long) {
		t.Errorf("%d bytes, %q", len(long), long)
	}
}

// FuzzSend throws bytes at POST /emails: whatever comes, the answer is a
// success or a refusal of the caller's, in JSON of our shape.
func FuzzSend(f *testing.F) {
	for _, seed := range []string{
		goodSend, ``, `{}`, `[]`, `null`, `{"to":["a",{}]}`, `{"attachments":[{"content":{"type":"Buffer","data":[1,2]}}]}`,
		`{"attachments":[{"content":[1,2,]}]}`, `{"attachments":[{"content":"a\u0047k="}]}`, `{"headers":{"a":"b","a":"c"}}`,
		`{"to":"\ud800"}`, `{"a` + "`" + `":1}`, `{"tags":[{"name":null}]}`, `{"path":{"a":[[[[]]]]}}`, "{\"\xff\":1}",
	} {
		f.Add([]byte(seed))
	}
	b := newBench(f, func(c *Config, _ *limits) { c.RateLimit = 0 })
	b.handler.log = slog.New(slog.DiscardHandler)
	f.Fuzz(func(t *testing.T, body []byte) {
		r := httptest.NewRequest("POST", "/emails", strings.NewReader(string(body)))
		r.Header.Set("Authorization", "Bearer full")
		r.Header.Set("Idempotency-Key", "k")
		w := httptest.NewRecorder()
		b.handler.ServeHTTP(w, r)
		if w.Code == 200 {
			return
		}
		var e Error
		if err := json.Unmarshal(w.Body.Bytes(), &e); err != nil || e.StatusCode != w.Code || w.Code < 400 || w.Code > 499 {
			t.Errorf("%q gives %d %s", body, w.Code, w.Body)
		}
	})
}
