package rest

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"mailer/app"
)

func TestKeys(t *testing.T) {
	b := newSender(t)
	for _, header := range []string{"", "Bearer", "Bearer  ", "Basic Zm9v", "full", "Bearerfull", "Token full"} {
		w := b.do("GET", "/emails", "", "Authorization: "+header)
		wantError(t, w, 401, app.CodeMissingAPIKey)
		if w.Header().Get("Www-Authenticate") != "Bearer" {
			t.Errorf("%q: no WWW-Authenticate", header)
		}
	}
	wantError(t, b.do("GET", "/emails", ""), 401, app.CodeMissingAPIKey)
	wantError(t, b.do("GET", "/emails", "", "Authorization: Bearer nope"), 401, app.CodeInvalidAPIKey)
	for _, header := range []string{"Bearer full", "bearer full", "BEARER   full "} {
		wantStatus(t, b.do("GET", "/emails", "", "Authorization: "+header), 200)
	}
}

// untouchedBody fails the test when it is read.
type untouchedBody struct{ t *testing.T }

func (u untouchedBody) Read([]byte) (int, error) {
	u.t.Error("the body was read")
	return 0, fmt.Errorf("no")
}

func TestBodyIsNotReadWithoutKey(t *testing.T) {
	b := newSender(t)
	for _, header := range []string{"", "Bearer nope"} {
		r := httptest.NewRequest("POST", "/emails", untouchedBody{t})
		r.Header.Set("Authorization", header)
		w := httptest.NewRecorder()
		b.handler.ServeHTTP(w, r)
		wantStatus(t, w, 401)
	}
}

// wrongKey asks with a key that does not exist.
func (b *sender) wrongKey(from string) *httptest.ResponseRecorder { return b.from(from, "nope") }

func (b *sender) from(addr, token string) *httptest.ResponseRecorder {
	r := httptest.NewRequest("GET", "/emails", nil)
	r.RemoteAddr = addr
	r.Header.Set("Authorization", "Bearer "+token)
	w := httptest.NewRecorder()
	b.handler.ServeHTTP(w, r)
	return w
}

func TestFailedAuthenticationsAreLimited(t *testing.T) {
	b := newSender(t)
	wantError(t, b.wrongKey("203.0.113.99:1"), 401, app.CodeInvalidAPIKey)
	b.clock = b.clock.Add(55 * time.Second) // a window is each client's own
	for i := range 20 {
		wantError(t, b.wrongKey(fmt.Sprintf("203.0.113.7:%d", 1000+i)), 401, app.CodeInvalidAPIKey)
	}
	b.clock = b.clock.Add(10 * time.Second)
	w := b.wrongKey("203.0.113.7:1")
	wantError(t, w, 429, app.CodeRateLimitExceeded)
	if head := w.Header(); head.Get("Retry-After") != "50" || head.Get("Www-Authenticate") != "" {
		t.Errorf("headers %v", head)
	}
	wantError(t, b.wrongKey("203.0.113.8:1"), 401, app.CodeInvalidAPIKey)
	b.clock = b.clock.Add(50*time.Second - time.Nanosecond)
	w = b.wrongKey("203.0.113.7:1")
	wantError(t, w, 429, app.CodeRateLimitExceeded)
	if got := w.Header().Get("Retry-After"); got != "1" {
		t.Errorf("retry-after %q in the last moment", got)
	}
	b.clock = b.clock.Add(time.Nanosecond)
	wantError(t, b.wrongKey("203.0.113.7:1"), 401, app.CodeInvalidAPIKey)
}

func TestRightKeyPassesAfterFailures(t *testing.T) {
	b := newSender(t)
	const addr = "203.0.113.7:1"
	for range 25 {
		b.wrongKey(addr)
		wantStatus(t, b.from(addr, fullToken), 200)
	}
	wantError(t, b.wrongKey(addr), 429, app.CodeRateLimitExceeded)
}

func TestOnlyWrongKeysCountAsFailures(t *testing.T) {
	b := newSender(t)
	const addr = "203.0.113.7:1"
	for range 50 {
		wantError(t, b.from(addr, ""), 401, app.CodeMissingAPIKey)
		wantStatus(t, b.from(addr, fullToken), 200)
		wantError(t, b.from(addr, "broken"), 500, app.CodeInternal) // the database failed, not the client
	}
	wantError(t, b.wrongKey(addr), 401, app.CodeInvalidAPIKey)
}

func TestIPv6PrefixIsOneClient(t *testing.T) {
	b := newSender(t)
	for i := range 20 {
		wantError(t, b.wrongKey(fmt.Sprintf("[2001:db8:0:1:%x::%x]:%d", i, i, i+1)), 401, app.CodeInvalidAPIKey)
	}
	wantError(t, b.wrongKey("[2001:db8:0:1:ffff:ffff:ffff:ffff]:1"), 429, app.CodeRateLimitExceeded)
	wantError(t, b.wrongKey("[2001:db8:0:2::]:1"), 401, app.CodeInvalidAPIKey)
	wantError(t, b.wrongKey("[2001:db8:0:0:ffff::]:1"), 401, app.CodeInvalidAPIKey)
}

func TestRateLimit(t *testing.T) {
	b := newSender(t, func(c *Config) { c.RateLimit = 3 })
	for i := range 3 {
		w := b.auth("GET", "/emails", "")
		wantStatus(t, w, 200)
		head := w.Header()
		if head.Get("Ratelimit-Limit") != "3" || head.Get("Ratelimit-Remaining") != itoa(2-i) || head.Get("Ratelimit-Policy") != "3;w=1" {
			t.Errorf("headers: %v", head)
		}
		if head.Get("Retry-After") != "" {
			t.Error("retry-after on a success")
		}
	}
	w := b.auth("POST", "/emails", goodSend)
	wantError(t, w, 429, app.CodeRateLimitExceeded, "3 requests per second")
	if w.Header().Get("Retry-After") != "1" || w.Header().Get("Ratelimit-Remaining") != "0" {
		t.Errorf("headers: %v", w.Header())
	}
	wantStatus(t, b.do("POST", "/emails", goodSend, "Authorization: Bearer "+sendingToken), 200) // another key
	wantStatus(t, b.do("GET", "/healthz", ""), 200)
	b.clock = b.clock.Add(time.Second)
	wantStatus(t, b.auth("GET", "/emails", ""), 200)
}

func TestRateLimitOff(t *testing.T) {
	b := newSender(t, func(c *Config) { c.RateLimit = 0 })
	for range 300 {
		w := b.auth("GET", "/emails", "")
		wantStatus(t, w, 200)
		for name := range w.Header() {
			if strings.HasPrefix(name, "Ratelimit") {
				t.Fatalf("header %s", name)
			}
		}
	}
}
