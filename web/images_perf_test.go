//go:build perf

package web

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// countedAnswer counts the bytes of an answer.
type countedAnswer struct {
	head   http.Header
	status int
	bytes  int
}

func (a *countedAnswer) Header() http.Header    { return a.head }
func (a *countedAnswer) WriteHeader(status int) { a.status = status }
func (a *countedAnswer) Write(b []byte) (int, error) {
	a.bytes += len(b)
	return len(b), nil
}

// TestPerfMillionRequestsForAnImageNeedNoDatabase fetches an image once, closes the database, and
// fetches the image a million times, within the minute for which it is known.
func TestPerfMillionRequestsForAnImageNeedNoDatabase(t *testing.T) {
	r := newTestAPI(t, captured())
	body, header := form(t, field{"file", aPicture(t, 60, 10)})
	w := r.as(r.full, "POST", "/images", body, header)
	wantStatus(t, w, 201)
	i := decoded[shownImage](t, w)
	q := httptest.NewRequest("GET", strings.TrimPrefix(i.URL, "https://mail.example.com"), nil)
	fetch := func() {
		a := &countedAnswer{head: http.Header{}}
		if r.handler.ServeHTTP(a, q); a.status != 200 || a.bytes != i.Bytes {
			t.Fatalf("%d, %d bytes of %d", a.status, a.bytes, i.Bytes)
		}
	}
	fetch()
	if err := r.store.Close(); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	const n = 1_000_000
	for range n {
		fetch()
	}
	t.Logf("%d requests in %s", n, time.Since(began).Round(time.Second))
}
