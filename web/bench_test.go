package web

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"mailer/web/rest"
)

// discard is a writer that keeps nothing, so that only the handler is measured.
type discard struct{ head http.Header }

func (d *discard) Header() http.Header         { return d.head }
func (d *discard) Write(b []byte) (int, error) { return len(b), nil }
func (d *discard) WriteHeader(int)             {}

func sendBodies() map[string]string {
	html := strings.Repeat("<p>Hello, \\\"world\\\"</p>\\n", 200)
	octets := strings.TrimSuffix(strings.Repeat("104,", 1<<20), ",")
	return map[string]string{
		"5KB html":      fmt.Sprintf(`{"from":"a@example.com","to":["b@example.org"],"subject":"Hi","html":"%s"}`, html),
		"1.4MB base64":  fmt.Sprintf(`{"from":"a@example.com","to":"b@example.org","subject":"Hi","attachments":[{"filename":"a","content":"%s"}]}`, strings.Repeat("aGkh", 350000)),
		"4MB of octets": fmt.Sprintf(`{"from":"a@example.com","to":"b@example.org","subject":"Hi","attachments":[{"filename":"a","content":[%s]}]}`, octets),
	}
}

func benchHandler(b *testing.B) *rest.Handler {
	return newBench(b, func(c *Config, _ *rest.Limits) {
		c.RateLimit, c.Log = 1<<30, slog.New(slog.NewJSONHandler(&discardWriter{}, nil))
	}).handler
}

type discardWriter struct{}

func (discardWriter) Write(b []byte) (int, error) { return len(b), nil }

func run(b *testing.B, h http.Handler, path, body string) {
	b.Helper()
	b.ReportAllocs()
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		r := httptest.NewRequest("POST", path, strings.NewReader(body))
		r.Header.Set("Authorization", "Bearer full")
		h.ServeHTTP(&discard{http.Header{}}, r)
	}
}

// BenchmarkSend is a whole request through the handler as it is.
func BenchmarkSend(b *testing.B) {
	for name, body := range sendBodies() {
		b.Run(name, func(b *testing.B) { run(b, benchHandler(b), "/emails", body) })
	}
}

func BenchmarkGetEmail(b *testing.B) {
	h := benchHandler(b)
	b.ReportAllocs()
	for b.Loop() {
		r := httptest.NewRequest("GET", "/emails/"+emailID, nil)
		r.Header.Set("Authorization", "Bearer full")
		h.ServeHTTP(&discard{http.Header{}}, r)
	}
}
