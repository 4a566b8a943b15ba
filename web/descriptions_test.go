package web

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestDroppedDescriptionsAreRebuilt: a running server drops the descriptions of its operations, and
// still answers with the same document and tools.
func TestDroppedDescriptionsAreRebuilt(t *testing.T) {
	t.Parallel()
	r := newTestAPI(t, captured())
	served := New(r.cfg)
	ask := func(h http.Handler, method, path, body string) string {
		t.Helper()
		q := httptest.NewRequest(method, path, strings.NewReader(body))
		q.Header.Set("Authorization", "Bearer "+r.full)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, q)
		wantStatus(t, w, 200)
		return w.Body.String()
	}
	for id, op := range served.Operations() {
		if op.Responses != nil || op.Parameters != nil || op.RequestBody != nil {
			t.Fatalf("the server keeps what describes %s", id)
		}
	}
	for _, path := range []string{"/openapi.json", "/openapi-3.0.json", "/openapi.json"} {
		if got, want := ask(served, "GET", path, ""), ask(r.handler, "GET", path, ""); got != want || len(got) < 100_000 {
			t.Errorf("%s has %d bytes, and had %d", path, len(got), len(want))
		}
	}
	id := r.send(r.full, strings.Replace(validSend, "{", `{"scheduled_at":"in 20 days",`, 1)) // scheduled, so that it does not change
	for _, body := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`,
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"get_email","arguments":{"id":"` + id + `"}}}`,
	} {
		if got, want := ask(served, "POST", "/mcp", body), ask(r.handler, "POST", "/mcp", body); got != want || !strings.Contains(got, "get_email") && !strings.Contains(got, id) {
			t.Errorf("%s:\n%.300s\nwant\n%.300s", body, got, want)
		}
	}
}
