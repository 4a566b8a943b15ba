package web

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"mailer/app"
	"mailer/web/rest"
)

// liveListener is a client of GET /live.
type liveListener struct {
	t      *testing.T
	conn   net.Conn
	status int
	in     *bufio.Reader
}

// served is a real server on loopback.
type served struct {
	*testAPI
	server  *rest.Server
	address string
}

func newServed(t *testing.T) *served {
	r := newTestAPI(t, captured())
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &served{r, rest.NewServer(r.handler), l.Addr().String()}
	done := make(chan error, 1)
	go func() { done <- s.server.Serve(l) }()
	t.Cleanup(func() {
		if err := s.server.Shutdown(t.Context()); err != nil && t.Context().Err() == nil {
			t.Error(err)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return s
}

func (s *served) listen(t *testing.T, key string, header ...string) *liveListener {
	t.Helper()
	c, err := net.Dial("tcp", s.address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	fmt.Fprintf(c, "GET /live HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n%s\r\n", key, strings.Join(append(header, ""), "\r\n"))
	e := &liveListener{t: t, conn: c, in: bufio.NewReader(c)}
	response, err := http.ReadResponse(e.in, nil)
	if err != nil {
		t.Fatal(err)
	}
	e.status = response.StatusCode
	return e
}

// readUntil reads lines until one holds a text, and returns them.
func (e *liveListener) readUntil(text string) string {
	e.t.Helper()
	_ = e.conn.SetReadDeadline(time.Now().Add(time.Minute))
	var out strings.Builder
	for {
		line, err := e.in.ReadString('\n')
		out.WriteString(line)
		if err != nil {
			e.t.Fatalf("no %q came: %v, but %q", text, err, out.String())
		}
		if strings.Contains(line, text) {
			return out.String()
		}
	}
}

func TestLiveEvents(t *testing.T) {
	t.Parallel()
	s := newServed(t)
	_, foreignKey := s.newTeam("theirs")
	ours, other := s.listen(t, s.full), s.listen(t, foreignKey)
	ours.readUntil("retry: 2000")
	id := s.send(s.full, validSend)
	received := ours.readUntil(fmt.Sprintf(`{"id":%q,"event":"sent"}`, id))
	received += ours.readUntil("event: queue")
	foreignID := s.send(foreignKey, validSend)
	seen := other.readUntil(foreignID)
	if strings.Contains(seen, id) {
		t.Errorf("the other team hears %q", seen)
	}
	segment := made(t, s.as(s.full, "POST", "/segments", `{"name":"all"}`))
	s.as(s.full, "POST", "/contacts", fmt.Sprintf(`{"email":"a@example.org","segments":[{"id":%q}]}`, segment))
	broadcast := made(t, s.as(s.full, "POST", "/broadcasts", fmt.Sprintf(`{"from":"a@example.com","subject":"s","text":"x","segment_id":%q,"send":true}`, segment)))
	received += ours.readUntil(fmt.Sprintf(`{"id":%q,"status":"sent","done":1,"total":1}`, broadcast))
	body, header := form(t, csvFile("email", "i@example.org", "no address"))
	imported := made(t, s.as(s.full, "POST", "/contacts/imports", body, header))
	received += ours.readUntil(fmt.Sprintf(`{"id":%q,"status":"completed","created":1,"updated":0,"skipped":0,"failed":1}`, imported))
	if strings.Contains(received, foreignID) {
		t.Errorf("it hears of another team's: %q", received)
	}
	back := s.listen(t, s.full, "Last-Event-ID: 7")
	back.readUntil("event: reset")
	if e := s.listen(t, s.key(s.team.ID, app.KeyInput{Permission: app.SendingAccess})); e.status != http.StatusForbidden {
		t.Errorf("a key that may only send: %d", e.status)
	}
}

// made is the id that an answer has.
func made(t *testing.T, w *httptest.ResponseRecorder) string {
	t.Helper()
	return decoded[struct{ ID string }](t, w).ID
}
