package rest

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"mailer/app"
)

// serve runs a server on loopback until the test ends and returns its address.
func serve(t *testing.T, b *sender) (addr string, s *Server) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s = NewServer(b.handler)
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := s.Shutdown(ctx); err != nil {
			t.Error(err)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return l.Addr().String(), s
}

// dial opens a connection that gives up after a minute.
func dial(t *testing.T, addr string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if err := c.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	return c
}

// readAnswer reads one response into a recorder.
func readAnswer(t *testing.T, c net.Conn) *httptest.ResponseRecorder {
	t.Helper()
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	w := httptest.NewRecorder()
	for name, values := range resp.Header {
		w.Header()[name] = values
	}
	w.WriteHeader(resp.StatusCode)
	if _, err := io.Copy(w, resp.Body); err != nil {
		t.Fatal(err)
	}
	return w
}

const sendHead = "POST /emails HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer full\r\n"

func TestSlowHeaderIsCut(t *testing.T) {
	b := newSender(t, func(c *Config) { c.Limits.Header = 50 * time.Millisecond })
	addr, _ := serve(t, b)
	c := dial(t, addr)
	fmt.Fprint(c, "POST /emails HTTP/1.1\r\nHost: x\r\nX-Slow: ")
	if _, err := io.ReadAll(c); err != nil { // ends only when the server closes
		t.Errorf("the connection was not closed: %v", err)
	}
}

func TestSlowBodyTimesOut(t *testing.T) {
	for _, framing := range []string{"Content-Length: 100\r\n\r\n{", "Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n"} {
		b := newSender(t, func(c *Config) { c.Limits.SmallTime = 50 * time.Millisecond })
		addr, _ := serve(t, b)
		c := dial(t, addr)
		fmt.Fprint(c, sendHead+framing)
		w := readAnswer(t, c)
		wantError(t, w, 408, app.CodeInvalidPayload, "in time")
		if _, err := io.ReadAll(c); err != nil {
			t.Errorf("the connection stays open: %v", err)
		}
	}
}

// deadlineRecorder notes the read deadlines that the handler sets.
type deadlineRecorder struct {
	*httptest.ResponseRecorder
	set []time.Time
}

func (d *deadlineRecorder) SetReadDeadline(at time.Time) error {
	d.set = append(d.set, at)
	return nil
}

// TestDeadlineEndsWithTheBody: a deadline that outlives the body would cancel a
// request that is at work for longer.
func TestDeadlineEndsWithTheBody(t *testing.T) {
	b := newSender(t)
	w := &deadlineRecorder{ResponseRecorder: httptest.NewRecorder()}
	r := httptest.NewRequest("POST", "/emails", strings.NewReader(goodSend))
	r.Header.Set("Authorization", "Bearer full")
	b.handler.ServeHTTP(w, r)
	wantStatus(t, w.ResponseRecorder, 200)
	if n := len(w.set); n < 2 || w.set[0].IsZero() || !w.set[n-1].IsZero() {
		t.Errorf("deadlines: %v", w.set)
	}
}

// TestUnwantedBody: a client without a key can't hold a connection by announcing a body.
func TestUnwantedBody(t *testing.T) {
	for _, head := range []string{
		"POST /emails HTTP/1.1\r\nHost: x\r\n", "GET /healthz HTTP/1.1\r\nHost: x\r\n", "POST /nothing HTTP/1.1\r\nHost: x\r\n",
	} {
		b := newSender(t, func(c *Config) { c.Limits.SmallTime = 50 * time.Millisecond })
		addr, _ := serve(t, b)
		c := dial(t, addr)
		fmt.Fprint(c, head+"Content-Length: 100\r\n\r\n{")
		if _, err := io.ReadAll(c); err != nil { // ends only when the server closes
			t.Errorf("%q: %v", head, err)
		}
	}
}

func TestTruncatedBody(t *testing.T) {
	b := newSender(t)
	addr, _ := serve(t, b)
	c := dial(t, addr)
	fmt.Fprint(c, sendHead+"Content-Length: 100\r\n\r\n{")
	if err := c.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	wantError(t, readAnswer(t, c), 400, app.CodeInvalidPayload, "end")
}

func TestBodyLimit(t *testing.T) {
	small := func(c *Config) { c.Limits.Body, c.Limits.SmallBody = 1000, 100 }
	fits := fmt.Sprintf(`{"text":%q}`, strings.Repeat("x", 1000-11))
	for _, tt := range []struct {
		name, framing string
		status        int
	}{
		// No byte of the body is sent: the answer must not wait for it.
		{"by Content-Length", "Content-Length: 1001\r\n\r\n", 413},
		{"by Content-Length, huge", "Content-Length: 9223372036854775807\r\n\r\n", 413},
		{"chunked", "Transfer-Encoding: chunked\r\n\r\n3e9\r\n" + strings.Repeat(" ", 1001) + "\r\n0\r\n\r\n", 413},
		{"chunked without end", "Transfer-Encoding: chunked\r\n\r\nffffffff\r\n" + strings.Repeat(" ", 1100), 413},
		{"fits", "Content-Length: 1000\r\n\r\n" + fits, 200},
		{"fits chunked", "Transfer-Encoding: chunked\r\n\r\n3e8\r\n" + fits + "\r\n0\r\n\r\n", 200},
		{"small chunked", "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n", 200},
		{"no body", "Content-Length: 0\r\n\r\n", 400},
		{"no body chunked", "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newSender(t, small)
			addr, _ := serve(t, b)
			c := dial(t, addr)
			fmt.Fprint(c, sendHead+tt.framing)
			w := readAnswer(t, c)
			wantStatus(t, w, tt.status)
			if tt.status == 413 {
				wantError(t, w, 413, app.CodePayloadTooLarge, "1000 bytes")
			}
			if w.Header().Get("X-Request-Id") == "" || w.Header().Get("Ratelimit-Limit") == "" {
				t.Errorf("headers: %v", w.Header())
			}
		})
	}
}

func TestHeaderLimit(t *testing.T) {
	b := newSender(t)
	addr, _ := serve(t, b)
	c := dial(t, addr)
	fmt.Fprint(c, "GET /healthz HTTP/1.1\r\nHost: x\r\nX-Big: ")
	go func() { _, _ = io.CopyN(c, endless{}, 1<<20) }() // ends when the server has had enough
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("status %d", resp.StatusCode)
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

// TestBudget fills the memory for large bodies with one request: another large one is refused, a
// small one is served, and everything is free at the end.
func TestBudget(t *testing.T) {
	b := newSender(t, func(c *Config) {
		l := &c.Limits
		l.SmallBody, l.LargeBudget, l.LargeWait = 200, 1000, 20*time.Millisecond
	})
	b.blocking = make(chan struct{})
	b.entered = make(chan struct{}, 3)
	addr, _ := serve(t, b)
	large := fmt.Sprintf(`{"text":%q}`, strings.Repeat("x", 300))
	post := func(body string) net.Conn {
		c := dial(t, addr)
		fmt.Fprintf(c, sendHead+"Content-Length: %d\r\n\r\n%s", len(body), body)
		return c
	}
	first := post(large)
	<-b.entered
	w := readAnswer(t, post(large))
	wantError(t, w, 503, app.CodeServiceUnavailable, "large bodies")
	if w.Header().Get("Retry-After") == "" {
		t.Error("no retry-after")
	}
	second := post(goodSend)
	<-b.entered
	close(b.blocking)
	wantStatus(t, readAnswer(t, first), 200)
	wantStatus(t, readAnswer(t, second), 200)
	wantStatus(t, readAnswer(t, post(large)), 200)
}

func TestBudgetIsReleased(t *testing.T) {
	b := newSender(t, func(c *Config) {
		l := &c.Limits
		l.SmallBody, l.Body, l.SmallBudget, l.LargeBudget, l.SmallWait, l.LargeWait = 10, 1000, 8, 1000, time.Millisecond, time.Millisecond
	})
	for _, body := range []string{goodSend, "{", strings.Repeat(" ", 2000), ""} {
		for _, chunked := range []bool{false, true} {
			r := httptest.NewRequest("POST", "/emails", strings.NewReader(body))
			if chunked {
				r = httptest.NewRequest("POST", "/emails", iotest.OneByteReader(strings.NewReader(body)))
			}
			r.Header.Set("Authorization", "Bearer full")
			b.handler.ServeHTTP(httptest.NewRecorder(), r)
		}
	}
	b.panicky = true
	r := httptest.NewRequest("POST", "/emails", strings.NewReader(goodSend))
	r.Header.Set("Authorization", "Bearer full")
	b.handler.ServeHTTP(httptest.NewRecorder(), r)
	b.panicky = false
	for _, body := range []string{"{}", strings.Repeat(" ", 900)} { // each takes all memory of its kind
		r := httptest.NewRequest("POST", "/emails", strings.NewReader(body))
		r.Header.Set("Authorization", "Bearer full")
		w := httptest.NewRecorder()
		b.handler.ServeHTTP(w, r)
		if w.Code == 503 {
			t.Error("a part of the budget was not given back")
		}
	}
}

func TestShutdownWaitsForOpenRequests(t *testing.T) {
	b := newSender(t)
	b.blocking = make(chan struct{})
	b.entered = make(chan struct{}, 1)
	addr, s := serve(t, b)
	c := dial(t, addr)
	fmt.Fprintf(c, sendHead+"Content-Length: %d\r\n\r\n%s", len(goodSend), goodSend)
	<-b.entered

	ctx, cancel := context.WithCancel(context.Background())
	stopped := make(chan error, 1)
	go func() { stopped <- s.Shutdown(ctx) }()
	for !b.handler.Draining() { // set before anything else
		select {
		case err := <-stopped:
			t.Fatalf("did not wait: %v", err)
		default:
		}
	}
	close(b.blocking)
	wantStatus(t, readAnswer(t, c), 200)
	if err := <-stopped; err != nil {
		t.Error(err)
	}
	cancel()
}

func TestShutdownEndsWithItsContext(t *testing.T) {
	b := newSender(t)
	b.blocking = make(chan struct{})
	b.entered = make(chan struct{}, 1)
	addr, s := serve(t, b)
	c := dial(t, addr)
	fmt.Fprintf(c, sendHead+"Content-Length: %d\r\n\r\n%s", len(goodSend), goodSend)
	<-b.entered
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := s.Shutdown(ctx); err == nil {
		t.Error("no error though a request was cut")
	}
	close(b.blocking)
}
