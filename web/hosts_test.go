package web

import (
	"net/http/httptest"
	"strings"
	"testing"

	"mailer/web/rest"
)

// TestOtherHostsServePublicPagesOnly: a tenant who points a host name at the server gets no sign-in
// page under it.
func TestOtherHostsServePublicPagesOnly(t *testing.T) {
	r := newTestAPI(t, captured(), func(cfg *Config, _ *rest.Limits) { cfg.OneHost = true })
	accept := "*/*"
	ask := func(host, method, path string) *httptest.ResponseRecorder {
		q := httptest.NewRequest(method, path, nil)
		q.Host = host
		q.Header.Set("Authorization", "Bearer "+r.full)
		q.Header.Set("Accept", accept)
		w := httptest.NewRecorder()
		r.handler.ServeHTTP(w, q)
		return w
	}
	own := []string{"GET /dashboard/sign-in", "GET /dashboard", "GET /manual", "POST /auth/sign-out", "POST /auth/sign-in", "GET /emails", "GET /users/me", "GET /openapi.json",
		"GET /shared/x", "GET /shared/x/body", "GET /previews/x", "GET /attachments/x", "POST /mcp", "GET /live", "GET /smtp", "POST /ingest/ses"}
	for _, host := range []string{"links.tenant.test", "LINKS.tenant.test.", "links.tenant.test:8443", "mail.example.com.evil.test", "xmail.example.com", "tenant.svc.test"} {
		for _, route := range own {
			method, path, _ := strings.Cut(route, " ")
			if w := ask(host, method, path); w.Code != 404 || w.Header().Get("Set-Cookie") != "" || strings.Contains(w.Body.String(), "<script") {
				t.Errorf("%s under %s: %d %.100s", route, host, w.Code, w.Body)
			}
		}
		for path, mark := range map[string]string{"/unsubscribe/x": "<html", "/preferences/x": "<html", "/view/x": "<html", "/received/x": "requested file", "/f/x": "<html", "/opt-in/x": "<html", "/t/c/x": "<html", "/t/o/x": "", "/healthz": "ok"} {
			if w := ask(host, "GET", path); !strings.Contains(w.Body.String(), mark) || strings.Contains(w.Body.String(), "base URL") {
				t.Errorf("%s under %s: %d %.200s", path, host, w.Code, w.Body)
			}
		}
	}
	accept = "text/html"
	for _, path := range []string{"/", "/dashboard", "/emails", "/nothing"} {
		if w := ask("links.tenant.test", "GET", path); w.Code != 404 || !strings.Contains(w.Body.String(), "<html") {
			t.Errorf("a browser gets at %s: %d %.100s", path, w.Code, w.Body)
		}
	}
	accept = "*/*"
	for _, host := range []string{"mail.example.com", "MAIL.example.com:443", "mail.example.com.", "127.0.0.1:3000", "[::1]:3000", "localhost:3000", "mailer", "mailer.default.svc:80", "mailer.default.svc.cluster.local", "mailer.internal", ""} {
		if w := ask(host, "GET", "/emails"); w.Code != 200 {
			t.Errorf("the API under %q: %d %s", host, w.Code, w.Body)
		}
		if w := ask(host, "GET", "/dashboard/sign-in"); w.Code != 200 {
			t.Errorf("the dashboard under %q: %d", host, w.Code)
		}
	}
}
