package rest

import (
	"bytes"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// fakeConn is a connection from an address whose reads the test controls.
type fakeConn struct {
	net.Conn
	from   string
	closed bool
}

// RemoteAddr implements net.Conn.
func (e *fakeConn) RemoteAddr() net.Addr {
	return net.TCPAddrFromAddrPort(netip.AddrPortFrom(netip.MustParseAddr(e.from), 4711))
}

// Read implements net.Conn.
func (e *fakeConn) Read(p []byte) (int, error) { return len(p), nil }

// Close implements net.Conn.
func (e *fakeConn) Close() error {
	e.closed = true
	return nil
}

// testConnections are at most 4, 3 of one address.
func testConnections(free ...netip.Prefix) (*connections, *bytes.Buffer) {
	var log bytes.Buffer
	return newConnections(4, 3, free, slog.New(slog.NewTextHandler(&log, nil))), &log
}

func openOf(s *connections) int {
	open, _ := s.open.Open()
	return open
}

// addConn adds a connection, a second after the one before.
func addConn(s *connections, from string) (*conn, *fakeConn) {
	time.Sleep(2 * time.Second)
	e := &fakeConn{from: from}
	return s.add(e), e
}

func (e *fakeConn) wantClosed(t *testing.T, want bool, what string) {
	t.Helper()
	if e.closed != want {
		t.Errorf("%s: closed %v, want %v", what, e.closed, want)
	}
}

func TestLongestStalledConnectionIsEvicted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, log := testConnections()
		idle, idleEnd := addConn(s, "10.0.0.1")
		s.stateChanged(idle, http.StateIdle)
		work, workEnd := addConn(s, "10.0.0.1")
		work.setPhase(phaseBody) // its body waits for us
		stuck, stuckEnd := addConn(s, "10.0.0.1")
		stuck.setPhase(phaseBody)
		stuck.waiting.Store(true)
		_, otherEnd := addConn(s, "10.0.0.2") // older than the next connection
		fourth, _ := addConn(s, "10.0.0.1")
		if fourth == nil {
			t.Fatal("one that could make room did not")
		}
		stuckEnd.wantClosed(t, true, "one in the midst of a body")
		idleEnd.wantClosed(t, false, "one that waits for a request, though it is older")
		fourth.setPhase(phaseWorking)
		fifth, _ := addConn(s, "10.0.0.1")
		idleEnd.wantClosed(t, true, "an idle one where no other can")
		fifth.setPhase(phaseWorking)
		if c, _ := addConn(s, "10.0.0.1"); c != nil {
			t.Error("more than an address may have")
		}
		workEnd.wantClosed(t, false, "one at work")
		otherEnd.wantClosed(t, false, "another address's")
		time.Sleep(logEvery)
		_, _ = addConn(s, "10.0.0.1")
		if n := strings.Count(log.String(), "level=WARN"); n != 2 || !strings.Contains(log.String(), "refused=2") || !strings.Contains(log.String(), "cut=1") {
			t.Errorf("%d lines: %s", n, log)
		}
		s.stateChanged(fifth, http.StateClosed)
		s.stateChanged(fifth, http.StateClosed)
		s.stateChanged(idle, http.StateClosed) // was cut
		if openOf(s) != 3 {
			t.Errorf("%d are open", openOf(s))
		}
		if c, _ := addConn(s, "10.0.0.1"); c == nil {
			t.Error("none is taken though one ended")
		}
	})
}

func TestBusiestAddressIsEvictedFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := testConnections()
		_, single := addConn(s, "10.0.0.1")
		_, first := addConn(s, "10.0.0.2")
		moving, second := addConn(s, "10.0.0.2")
		_, _ = addConn(s, "10.0.0.2")
		if c, _ := addConn(s, "10.0.0.3"); c == nil {
			t.Fatal("no room was made")
		}
		single.wantClosed(t, false, "the oldest, of an address with one")
		first.wantClosed(t, true, "the oldest of the address with most")
		if _, err := moving.Read(make([]byte, 1)); err != nil { // sends something
			t.Fatal(err)
		}
		_, _ = addConn(s, "10.0.0.2")
		second.wantClosed(t, false, "one that sent something lately")
		if openOf(s) != 4 {
			t.Errorf("%d are open", openOf(s))
		}
	})
}

func TestTrustedProxyIsUnbounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := testConnections(netip.MustParsePrefix("10.0.0.9/32"))
		for range 4 {
			c, _ := addConn(s, "10.0.0.9")
			if c == nil {
				t.Fatal("it is bound like a client")
			}
			c.setPhase(phaseWorking)
		}
		if c, _ := addConn(s, "10.0.0.9"); c != nil {
			t.Error("the bound of all does not hold for it")
		}
	})
}

func TestDescriptorExhaustionIsLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, log := testConnections()
		_, stuck := addConn(s, "10.0.0.1")
		none := &net.OpError{Op: "accept", Err: os.NewSyscallError("accept4", syscall.EMFILE)}
		time.Sleep(5 * time.Second)
		for range 20 {
			s.acceptFailed(none)
		}
		stuck.wantClosed(t, true, "one that stalled")
		if n := strings.Count(log.String(), "level=ERROR"); n != 1 || !strings.Contains(log.String(), "LimitNOFILE") {
			t.Errorf("%d lines: %s", n, log)
		}
		time.Sleep(logEvery)
		s.acceptFailed(none)
		s.acceptFailed(net.ErrClosed)
		if n := strings.Count(log.String(), "level=ERROR"); n != 2 {
			t.Errorf("%d lines: %s", n, log)
		}
		_, _ = addConn(s, "10.0.0.1")
		_, _ = addConn(s, "10.0.0.1")
		if n := strings.Count(log.String(), "connections are taken again"); n != 1 {
			t.Errorf("recovery is said %d times: %s", n, log)
		}
		s.acceptFailed(errors.New("another one"))
	})
}

func TestNetHTTPLogLevels(t *testing.T) {
	var log bytes.Buffer
	n := httpLog{slog.New(slog.NewTextHandler(&log, nil))}
	for _, line := range []string{"http: TLS handshake error from 10.0.0.1: EOF\n", "http: panic serving 10.0.0.1: out of cheese\n"} {
		if _, err := n.Write([]byte(line)); err != nil {
			t.Error(err)
		}
	}
	if got := log.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "level=ERROR") || !strings.Contains(got, "out of cheese") {
		t.Errorf("log: %s", got)
	}
}

// bufferedConn records the size of the send buffer.
type bufferedConn struct {
	net.Conn
	buffer int
}

// SetWriteBuffer has the signature of net.TCPConn's method.
func (c *bufferedConn) SetWriteBuffer(n int) error {
	c.buffer = n
	return nil
}

func TestSendBufferIsBounded(t *testing.T) {
	raw := &bufferedConn{}
	c := &conn{Conn: raw}
	if ctx := connContext(t.Context(), c); connOf(ctx) != c || raw.buffer != sendBuffer {
		t.Errorf("the buffer is %d, the connection %v", raw.buffer, connOf(ctx))
	}
}
