package web

import (
	"testing"

	"mailer/app"
)

// TestASlashAtTheEndIsTheSameRoute: some clients end every path with one, and a
// redirect would turn their POST into a GET.
func TestASlashAtTheEndIsTheSameRoute(t *testing.T) {
	b := newBench(t)
	for _, tt := range []struct {
		method, path, body string
		status             int
	}{
		{"GET", "/emails/", "", 200},
		{"POST", "/emails/", goodSend, 200},
		{"POST", "/emails//", goodSend, 200},
		{"GET", "/emails/" + emailID + "/", "", 200},
		{"GET", "/emails/" + emailID + "/events/?limit=2", "", 200},
		{"GET", "/healthz/", "", 200},
	} {
		wantStatus(t, b.auth(tt.method, tt.path, tt.body), tt.status)
	}
	for _, path := range []string{"/", "//", "/emails/" + emailID + "%2F", "/nothing/"} {
		wantError(t, b.auth("GET", path, ""), 404, app.CodeNotFound)
	}
	if w := b.auth("PUT", "/emails/", ""); w.Code != 405 || w.Header().Get("Location") != "" {
		t.Errorf("another method: %d %v", w.Code, w.Header())
	}
}
