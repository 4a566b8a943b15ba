package emails

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
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

// BenchmarkSend is a whole request through the handler, to where a service would have it.
func BenchmarkSend(b *testing.B) {
	for name, body := range sendBodies() {
		b.Run(name, func(b *testing.B) {
			s := newSends()
			b.ReportAllocs()
			b.SetBytes(int64(len(body)))
			for b.Loop() {
				s.log.Reset()
				r := httptest.NewRequest("POST", "/emails", strings.NewReader(body))
				r.Header.Set("Authorization", "Bearer x")
				s.handler.ServeHTTP(&discard{http.Header{}}, r)
			}
		})
	}
}
