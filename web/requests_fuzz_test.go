package web

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"maps"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"mailer/app/testing/apptest"
	"mailer/web/rest"
)

// wantWellFormedError checks the answer to arbitrary bytes: a success, or a client error in the
// API's JSON.
func wantWellFormedError(t *testing.T, what string, w *httptest.ResponseRecorder) {
	t.Helper()
	if w.Code < 400 {
		return
	}
	var e rest.Error
	if err := json.Unmarshal(w.Body.Bytes(), &e); err != nil || e.StatusCode != w.Code || w.Code > 499 {
		t.Errorf("%s gives %d %s", what, w.Code, w.Body)
	}
}

func quietly(c *Config, _ *rest.Limits) { c.RateLimit, c.Log = 0, slog.New(slog.DiscardHandler) }

// FuzzRequests throws bytes at every operation that reads a JSON body, as
// openapi.json lists them, with a real database behind.
func FuzzRequests(f *testing.F) {
	r := newTestAPI(f, captured(), quietly)
	doc := readDocument(f, document())
	var targets []*apiOperation
	for _, op := range doc.operations() {
		if media, _ := op.body(); media == "application/json" && op.path != "/mcp" {
			targets = append(targets, op)
		}
	}
	slices.SortFunc(targets, func(a, b *apiOperation) int { return strings.Compare(a.String(), b.String()) })
	if len(targets) < 25 {
		f.Fatalf("only %d operations take JSON", len(targets))
	}
	for i := range targets {
		for _, seed := range []string{
			``, `[]`, `null`, `"`, `[{}]`, `{"email":"a@b.example","properties":[],"segments":["x"]}`, `{"name":"n","html":"{{{x}}}","variables":[{"key":"\ud800"}]}`,
			`{"name":"n","filter":{"match":"any","conditions":[{"field":"email","operator":"contains","value":[1]}]}}`, "{\"\xff\":1}",
			`{"topics":[{"id":null,"subscription":"opt_in"}]}`, `{"endpoint":"https://[::1%25x]","events":["*"],"signing_secret":"whsec_"}`, `{"contacts":[{"id":1}],"ids":[[]],"emails":{}}`,
		} {
			f.Add(uint8(i), []byte(seed))
		}
	}
	f.Fuzz(func(t *testing.T, n uint8, body []byte) {
		op := targets[int(n)%len(targets)]
		target := pathParameter.ReplaceAllString(op.path, unknownID)
		req := httptest.NewRequest(op.method, target, bytes.NewReader(body))
		req.Header.Set("Authorization", "Bearer "+r.full)
		req.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		r.handler.ServeHTTP(w, req)
		wantWellFormedError(t, op.String()+" "+string(body), w)
	})
}

// FuzzAddresses asks for any path with any query.
func FuzzAddresses(f *testing.F) {
	apptest.Serial(f)
	r := newTestAPI(f, captured(), quietly)
	doc := readDocument(f, document())
	for _, path := range slices.Sorted(maps.Keys(doc.Paths)) {
		f.Add(path, "limit=1&after=x")
		f.Add("/"+path+"//", "limit=%zz")
	}
	f.Add("/emails/%2e%2e/%00", "a;b=c")
	f.Add("/contacts/\xff@b.example", "segment_id=\x00&include=topics,,properties")
	f.Fuzz(func(t *testing.T, path, query string) {
		req := httptest.NewRequest("GET", "http://mail.example.com/", nil)
		req.URL = &url.URL{Scheme: "http", Host: "mail.example.com", Path: path, RawQuery: query}
		req.Header.Set("Authorization", "Bearer "+r.full)
		w := httptest.NewRecorder()
		r.handler.ServeHTTP(w, req)
		if w.Code > 499 {
			t.Errorf("%q?%q gives %d %s", path, query, w.Code, w.Body)
		}
	})
}
