package web

import (
	"database/sql"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mailer/app"
	"mailer/app/testing/testserver"
	"mailer/db"
	"mailer/web/rest"
)

func TestUnknownPaths(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	for _, path := range []string{"/", "//", "/nothing", "/nothing/", "/emails%2F", "/emails/x/y/z", "/EMAILS", "/openapi.yaml",
		"/docs", "/schemas/Error.json"} {
		wantError(t, b.do("GET", path, ""), 404, app.CodeNotFound)
	}
}

// Browsers, which ask for HTML, are led from / to the dashboard and get a page where there is
// nothing, in their language.
func TestHTMLForVisitors(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	browser := http.Header{"Accept": {"text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}, "Accept-Language": {"de"}}
	get := func(method, path string, header http.Header) *httptest.ResponseRecorder {
		r := httptest.NewRequest(method, path, nil)
		r.Header = header
		w := httptest.NewRecorder()
		b.handler.ServeHTTP(w, r)
		return w
	}
	for _, tt := range []struct {
		method, path string
		status       int
		html         bool
	}{
		{"GET", "/", 302, false},
		{"HEAD", "/", 302, false},
		{"GET", "/nothing", 404, true},
		{"GET", "/emails/x/y/z", 404, true},
		{"POST", "/nothing", 404, false},
	} {
		w := get(tt.method, tt.path, browser)
		if w.Code != tt.status || strings.Contains(w.Body.String(), "<!doctype html>") != tt.html {
			t.Errorf("%s %s: %d %s", tt.method, tt.path, w.Code, w.Header().Get("Content-Type"))
		}
		if to := w.Header().Get("Location"); tt.status == 302 && to != "/dashboard/" {
			t.Errorf("%s %s leads to %q", tt.method, tt.path, to)
		}
		if tt.html && !strings.Contains(w.Body.String(), "Seite nicht gefunden") {
			t.Errorf("%s: %s", tt.path, w.Body)
		}
		if api := get(tt.method, tt.path, http.Header{"Accept": {"*/*"}}); api.Code != 404 || api.Header().Get("Content-Type") != "application/json" {
			t.Errorf("%s %s of a program: %d %s", tt.method, tt.path, api.Code, api.Header().Get("Content-Type"))
		}
	}
}

func TestMethodNotAllowed(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	for _, tt := range []struct{ method, path, allow string }{
		{"DELETE", "/emails", "GET, POST"},
		{"PUT", "//emails", "GET, POST"},
		{"OPTIONS", "/emails", "GET, POST"},
		{"HEAD", "/emails", "GET, POST"},
		{"DELETE", "/healthz", "GET, HEAD"},
		{"POST", "/emails/" + emailID, "DELETE, GET, PATCH"},
		{"POST", "/emails/" + emailID + "/events", "GET"},
		{"PROPFIND", "/attachments/tok", "GET, HEAD"},
	} {
		w := b.do(tt.method, tt.path, "")
		if got := w.Header().Get("Allow"); got != tt.allow {
			t.Errorf("%s %s: allow %q, want %q", tt.method, tt.path, got, tt.allow)
		}
		if tt.method != "HEAD" {
			wantError(t, w, 405, app.CodeMethodNotAllowed)
		}
	}
}

func TestHealth(t *testing.T) {
	t.Parallel()
	r := newTestAPI(t, relayed())
	wantJSON(t, r.do("GET", "/healthz", ""), `{"compat":"strict","status":"ok"}`)
	wantJSON(t, r.do("GET", "/readyz", ""), `{"status":"ready","relay":"configured"}`)
	for _, path := range []string{"/healthz", "/readyz"} {
		wantStatus(t, r.do("HEAD", path, ""), 200)
	}
	if strings.Contains(r.log.String(), "level=INFO") {
		t.Errorf("health checks fill the log: %s", r.log.String())
	}
	if err := rest.NewServer(r.handler).Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantError(t, r.do("GET", "/readyz", ""), 503, app.CodeServiceUnavailable, "shutting down")
	wantJSON(t, r.do("GET", "/healthz", ""), `{"compat":"strict","status":"ok"}`)
}

func TestFailedDiskIsNotReady(t *testing.T) {
	t.Parallel()
	testserver.SQLiteOnly(t)
	pool, err := sql.Open("sqlite", "file:"+filepath.Join(t.TempDir(), "none", "x.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	r := newTestAPI(t, relayed())
	if err := r.store.Write(t.Context(), func(*db.Tx) error { return pool.Ping() }); err == nil {
		t.Fatal("a write that failed succeeded")
	}
	wantError(t, r.do("GET", "/readyz", ""), 503, app.CodeServiceUnavailable)
	wantError(t, r.as(r.full, "POST", "/emails", validSend), 503, app.CodeServiceUnavailable)
	wantJSON(t, r.do("GET", "/healthz", ""), `{"compat":"strict","status":"ok"}`)
}

// TestReadinessNamesShortage: /readyz fails if mail can't be accepted, and only reports a shortage
// of public pages.
func TestReadinessNamesShortage(t *testing.T) {
	t.Parallel()
	r := newTestAPI(t, relayed())
	for _, tt := range []struct {
		withKey, others []string
		status          int
		body            string
	}{
		{nil, nil, 200, `{"status":"ready","relay":"configured"}`},
		{nil, []string{"public bodies"}, 200, `{"status":"ready","starved":["public bodies"],"relay":"configured"}`},
		{[]string{"small bodies"}, []string{"public bodies"}, 503, "small bodies"},
	} {
		h := rest.New(rest.Config{Log: slog.New(slog.DiscardHandler), Limits: rest.DefaultLimits(), Now: time.Now})
		healthRoutes{r.server, h.Draining, func() ([]string, []string) { return tt.withKey, tt.others }}.Add(h)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("GET", "/readyz", nil))
		if w.Code != tt.status || !strings.Contains(w.Body.String(), tt.body) {
			t.Errorf("%v and %v: %d %s", tt.withKey, tt.others, w.Code, w.Body)
		}
	}
}

func TestNewNeedsOnlyServer(t *testing.T) {
	t.Parallel()
	h := New(Config{Server: nothing(), Log: slog.New(slog.DiscardHandler), Bounds: Bounds{RateLimit: DefaultRateLimit}})
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", "/healthz", http.NoBody))
	wantJSON(t, w, `{"compat":"strict","status":"ok"}`)
	if w.Header().Get("Ratelimit-Policy") != "100;w=1" {
		t.Errorf("headers: %v", w.Header())
	}
}

// untouchedBody fails the test when it is read.
type untouchedBody struct{ t *testing.T }

func (u untouchedBody) Read([]byte) (int, error) {
	u.t.Error("the body was read")
	return 0, http.ErrBodyNotAllowed
}

// TestBodyIsNotReadWithoutKey: a token, a secret or the list of topics is asked
// before a body is.
func TestBodyIsNotReadWithoutKey(t *testing.T) {
	t.Parallel()
	r := newTestAPI(t, captured())
	for path, status := range map[string]int{
		"/unsubscribe/stranger": 404, "/preferences/stranger": 404, "/f/stranger": 404, "/ingest/generic/stranger": 404, "/ingest/nothing/x": 404, "/ingest/ses": 403,
	} {
		req := httptest.NewRequest("POST", path, untouchedBody{t})
		req.ContentLength = 60 << 10
		w := httptest.NewRecorder()
		r.handler.ServeHTTP(w, req)
		if w.Code != status {
			t.Errorf("%s: %d, want %d", path, w.Code, status)
		}
	}
}

func TestDraining(t *testing.T) {
	t.Parallel()
	r := newTestAPI(t, captured())
	id := r.send(r.full, validSend)
	wantStatus(t, r.do("GET", "/readyz", ""), 200)
	r.server.Drain()
	wantError(t, r.as(r.full, "POST", "/emails", validSend), 503, app.CodeServiceUnavailable, "shutting down")
	wantError(t, r.do("GET", "/readyz", ""), 503, app.CodeServiceUnavailable)
	wantStatus(t, r.as(r.full, "GET", "/emails/"+id, ""), 200)
	wantStatus(t, r.do("GET", "/healthz", ""), 200)
}
