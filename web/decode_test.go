package web

import (
	"encoding/json"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"

	"mailer/web/rest"
)

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
	b := newBench(f, func(c *Config, _ *rest.Limits) { c.RateLimit, c.Log = 0, slog.New(slog.DiscardHandler) })
	f.Fuzz(func(t *testing.T, body []byte) {
		r := httptest.NewRequest("POST", "/emails", strings.NewReader(string(body)))
		r.Header.Set("Authorization", "Bearer full")
		r.Header.Set("Idempotency-Key", "k")
		w := httptest.NewRecorder()
		b.handler.ServeHTTP(w, r)
		if w.Code == 200 {
			return
		}
		var e rest.Error
		if err := json.Unmarshal(w.Body.Bytes(), &e); err != nil || e.StatusCode != w.Code || w.Code < 400 || w.Code > 499 {
			t.Errorf("%q gives %d %s", body, w.Code, w.Body)
		}
	})
}
