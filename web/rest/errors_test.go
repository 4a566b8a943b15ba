package rest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"mailer/app"
)

func TestOptionsStar(t *testing.T) {
	b := newSender(t)
	r := httptest.NewRequest("OPTIONS", "/", nil)
	r.URL = &url.URL{Path: "*"}
	w := httptest.NewRecorder()
	b.handler.ServeHTTP(w, r)
	wantError(t, w, 404, app.CodeNotFound)
}

func TestPanicIsLoggedAndHidden(t *testing.T) {
	b := newSender(t)
	b.panicky = true
	w := b.auth("POST", "/emails", goodSend)
	wantError(t, w, 500, app.CodeInternal)
	if strings.Contains(w.Body.String(), "cheese") {
		t.Error("the answer tells of the panic")
	}
	log := b.log.String()
	if !strings.Contains(log, "out of cheese") || !strings.Contains(log, w.Header().Get("X-Request-Id")) {
		t.Errorf("log: %s", log)
	}
	b.panicky = false
	wantStatus(t, b.auth("POST", "/emails", goodSend), 200)
}

func TestUnknownErrorIsLoggedAndHidden(t *testing.T) {
	b := newSender(t)
	b.err = errors.New("disk on fire")
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
	b := newSender(t)
	b.err = fmt.Errorf("sending: %w", &app.Error{Code: app.CodeServiceUnavailable, Message: "Later", Err: errors.New("disk on fire")})
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
		b := newSender(t)
		b.err = app.Errorf(code, "no")
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
	b := newSender(t)
	b.handler.log = slog.New(slog.NewTextHandler(&b.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	w := b.auth("GET", "/emails/01920000?token=s3cret", "")
	log := b.log.String()
	if strings.Count(log, "\n") != 1 {
		t.Fatalf("log: %s", log)
	}
	for _, want := range []string{"level=DEBUG", "method=GET", "route=/emails/{a}", "status=200", "duration=", "key_id=k-full",
		"request_id=" + w.Header().Get("X-Request-Id")} {
		if !strings.Contains(log, want) {
			t.Errorf("log lacks %s: %s", want, log)
		}
	}
	for _, bad := range []string{fullToken + " ", "Bearer", "s3cret", "192.0.2.1", "01920000"} {
		if strings.Contains(log, bad) {
			t.Errorf("log holds %s: %s", bad, log)
		}
	}
}

func TestCanceledRequest(t *testing.T) {
	b := newSender(t)
	b.handler.log = slog.New(slog.NewTextHandler(&b.log, &slog.HandlerOptions{Level: slog.LevelError}))
	b.err = fmt.Errorf("reading: %w", context.Canceled)
	r := httptest.NewRequest("GET", "/emails", nil)
	r.Header.Set("Authorization", "Bearer full")
	b.handler.ServeHTTP(httptest.NewRecorder(), r)
	if b.log.Len() > 0 {
		t.Errorf("log: %s", b.log.String())
	}
}

// TestTrailingSlash: some clients add a slash to every path, and a redirect would turn their POST
// into a GET.
func TestTrailingSlash(t *testing.T) {
	b := newSender(t)
	for _, tt := range []struct{ method, path, body string }{
		{"GET", "/emails/", ""},
		{"POST", "/emails/", goodSend},
		{"POST", "/emails//", goodSend},
		{"GET", "/emails/x/", ""},
		{"GET", "/emails/x/?limit=2", ""},
		{"GET", "/healthz/", ""},
	} {
		wantStatus(t, b.auth(tt.method, tt.path, tt.body), 200)
	}
	for _, path := range []string{"/", "//", "/nothing/"} {
		wantError(t, b.auth("GET", path, ""), 404, app.CodeNotFound)
	}
	if w := b.auth("PUT", "/emails/", ""); w.Code != 405 || w.Header().Get("Location") != "" {
		t.Errorf("another method: %d %v", w.Code, w.Header())
	}
}

func TestContentTypeIsIgnored(t *testing.T) {
	b := newSender(t)
	for _, ct := range []string{"", "application/x-www-form-urlencoded", "text/plain; charset=x+y", "application/json; charset=utf-8"} {
		wantStatus(t, b.auth("POST", "//emails", goodSend, "Content-Type: "+ct, "Accept: text/html"), 200)
	}
}
