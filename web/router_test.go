package web

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"mailer/app"
	domainservice "mailer/app/domains"
	"mailer/app/server"
	"mailer/app/service"
	"mailer/web/rest"
)

func TestUnknownPathsNeedNoKey(t *testing.T) {
	b := newBench(t)
	for _, path := range []string{"/", "/nothing", "/emails%2F", "/emails/x/y/z", "/EMAILS", "/openapi.yaml",
		"/docs", "/schemas/Error.json"} {
		wantError(t, b.do("GET", path, ""), 404, app.CodeNotFound)
	}
}

func TestMethodNotAllowed(t *testing.T) {
	b := newBench(t)
	for _, tt := range []struct{ method, path, allow string }{
		{"DELETE", "/emails", "GET, POST"},
		{"PUT", "//emails", "GET, POST"},
		{"OPTIONS", "/emails", "GET, POST"},
		{"HEAD", "/healthz", "GET"},
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

// get asks without the checks that only routes of the document can pass.
func get(h http.Handler, target string) *httptest.ResponseRecorder {
	r := httptest.NewRequest("GET", "/", nil)
	path, query, _ := strings.Cut(target, "?")
	decoded, err := url.PathUnescape(path)
	if err != nil {
		panic(err)
	}
	r.URL = &url.URL{Path: decoded, RawPath: path, RawQuery: query}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestOptionsStar(t *testing.T) {
	b := newBench(t)
	r := httptest.NewRequest("OPTIONS", "/", nil)
	r.URL = &url.URL{Path: "*"}
	w := httptest.NewRecorder()
	b.handler.ServeHTTP(w, r)
	wantError(t, w, 404, app.CodeNotFound)
}

func TestPanicIsLoggedAndHidden(t *testing.T) {
	b := newBench(t)
	b.service.panicky = true
	w := b.auth("POST", "/emails", goodSend)
	wantError(t, w, 500, app.CodeInternal)
	if strings.Contains(w.Body.String(), "cheese") {
		t.Error("the answer tells of the panic")
	}
	log := b.log.String()
	if !strings.Contains(log, "out of cheese") || !strings.Contains(log, w.Header().Get("X-Request-Id")) {
		t.Errorf("log: %s", log)
	}
	b.service.panicky = false
	wantStatus(t, b.auth("POST", "/emails", goodSend), 200)
}

func TestUnknownErrorIsLoggedAndHidden(t *testing.T) {
	b := newBench(t)
	b.service.err = errors.New("disk on fire")
	w := b.auth("GET", "/emails", "")
	wantError(t, w, 500, app.CodeInternal)
	if strings.Contains(w.Body.String(), "fire") {
		t.Error("the answer tells of the cause")
	}
	if log := b.log.String(); !strings.Contains(log, "disk on fire") || !strings.Contains(log, w.Header().Get("X-Request-Id")) {
		t.Errorf("log: %s", log)
	}
	wantError(t, b.do("GET", "/emails", "", "Authorization: Bearer broken"), 500, app.CodeInternal)
}

func TestCauseOfAnAppErrorIsLogged(t *testing.T) {
	b := newBench(t)
	b.service.err = fmt.Errorf("sending: %w", &app.Error{Code: app.CodeServiceUnavailable, Message: "Later", Err: errors.New("disk on fire")})
	w := b.auth("POST", "/emails", goodSend)
	wantError(t, w, 503, app.CodeServiceUnavailable, "Later")
	if strings.Contains(w.Body.String(), "fire") || !strings.Contains(b.log.String(), "disk on fire") {
		t.Errorf("answer %s, log %s", w.Body, b.log.String())
	}
}

func TestNamesUnknownToResendAreRepeated(t *testing.T) {
	for code, want := range map[app.Code]bool{
		app.CodeAllRecipientsSuppressed: true, app.CodeSendingPaused: true, app.CodeForbidden: true, app.CodeConflict: true,
		app.CodeInvalidPayload: true, app.CodePayloadTooLarge: true, app.CodeValidation: false, app.CodeNotFound: false,
		app.CodeRateLimitExceeded: false, app.CodeRestrictedAPIKey: false,
	} {
		b := newBench(t)
		b.service.err = app.Errorf(code, "no")
		r := httptest.NewRequest("POST", "/emails", strings.NewReader(goodSend))
		r.Header.Set("Authorization", "Bearer "+fullToken)
		w := httptest.NewRecorder()
		b.handler.ServeHTTP(w, r)
		if got := strings.Contains(w.Body.String(), fmt.Sprintf(`"error":{"name":%q,"message":"no","statusCode":`, code)); got != want {
			t.Errorf("%s: %s", code, w.Body)
		}
	}
}

func TestOneLogLineWithoutSecrets(t *testing.T) {
	b := newBench(t)
	w := b.auth("GET", "/emails/"+emailID+"?token=s3cret", "")
	log := b.log.String()
	if strings.Count(log, "\n") != 1 {
		t.Fatalf("log: %s", log)
	}
	for _, want := range []string{"level=DEBUG", "method=GET", "route=/emails/{id}", "status=200", "duration=", "key_id=k-full",
		"request_id=" + w.Header().Get("X-Request-Id")} {
		if !strings.Contains(log, want) {
			t.Errorf("log lacks %s: %s", want, log)
		}
	}
	for _, bad := range []string{fullToken + " ", "Bearer", "s3cret", "192.0.2.1", emailID} {
		if strings.Contains(log, bad) {
			t.Errorf("log holds %s: %s", bad, log)
		}
	}
}

func TestHealth(t *testing.T) {
	b := newBench(t)
	wantJSON(t, b.do("GET", "/healthz", ""), `{"compat":"strict","status":"ok"}`)
	wantJSON(t, b.do("GET", "/readyz", ""), `{"status":"ready","relay":"configured"}`)
	if strings.Contains(b.log.String(), "level=INFO") {
		t.Errorf("health checks fill the log: %s", b.log.String())
	}
	b.service.ready = app.Errorf(app.CodeServiceUnavailable, "The disk is full")
	wantError(t, b.do("GET", "/readyz", ""), 503, app.CodeServiceUnavailable, "disk is full")
	wantJSON(t, b.do("GET", "/healthz", ""), `{"compat":"strict","status":"ok"}`)
	b.service.ready = nil
	if err := rest.NewServer(b.handler).Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantError(t, b.do("GET", "/readyz", ""), 503, app.CodeServiceUnavailable, "shutting down")
	wantJSON(t, b.do("GET", "/healthz", ""), `{"compat":"strict","status":"ok"}`)
}

func TestNewNeedsNothingButAnEngine(t *testing.T) {
	h := New(Config{Server: nothing(), Log: slog.New(slog.DiscardHandler), Bounds: Bounds{RateLimit: DefaultRateLimit}})
	w := get(h, "/healthz")
	wantJSON(t, w, `{"compat":"strict","status":"ok"}`)
	if w.Header().Get("Ratelimit-Policy") != "100;w=1" {
		t.Errorf("headers: %v", w.Header())
	}
}

func TestCanceledRequestIsNoError(t *testing.T) {
	b := newBench(t)
	b.cfg.Log = slog.New(slog.NewTextHandler(&b.log, &slog.HandlerOptions{Level: slog.LevelError}))
	b.behind(servicesOf(b.service))
	b.service.err = fmt.Errorf("reading: %w", context.Canceled)
	r := httptest.NewRequest("GET", "/emails", nil)
	r.Header.Set("Authorization", "Bearer full")
	b.handler.ServeHTTP(httptest.NewRecorder(), r)
	if b.log.Len() > 0 {
		t.Errorf("log: %s", b.log.String())
	}
}

// nothing is a server that has no parts to answer with.
func nothing() *server.Server {
	base := &service.Base{}
	return &server.Server{Base: base, Domains: &domainservice.Service{Base: base}}
}
