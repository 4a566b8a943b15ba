package web

import (
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"mailer/web/rest"
)

// TestStrangersBodiesAreNotRead: a token, a secret or the list of topics is asked
// before a body is.
func TestStrangersBodiesAreNotRead(t *testing.T) {
	r := newReal(t, captured())
	for path, status := range map[string]int{
		"/unsubscribe/stranger": 404, "/preferences/stranger": 404, "/ingest/generic/stranger": 404, "/ingest/nothing/x": 404, "/ingest/ses": 403,
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

// TestReadinessTellsWhatIsShort: mail that can't be accepted is no readiness; pages
// that have no room are shown.
func TestReadinessTellsWhatIsShort(t *testing.T) {
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
		service := &fakeService{}
		healthRoutes{service, h.Draining, func() ([]string, []string) { return tt.withKey, tt.others }}.Add(h)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("GET", "/readyz", nil))
		if w.Code != tt.status || !strings.Contains(w.Body.String(), tt.body) {
			t.Errorf("%v and %v: %d %s", tt.withKey, tt.others, w.Code, w.Body)
		}
	}
}
