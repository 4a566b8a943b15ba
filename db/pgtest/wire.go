package pgtest

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"net/url"
	"slices"
	"sync"
	"testing"
)

// Wire is the way between a program and its PostgreSQL. It counts how often the program
// waits for an answer, and for which statements.
type Wire struct {
	network, to string
	addr        string
	running     sync.WaitGroup

	mu    sync.Mutex
	conns map[net.Conn]bool
	trips []Trip
}

// Trip is what was asked in one way there and back: the texts of its statements.
type Trip []string

// NewWire returns a way to a server, which ends with the test.
func NewWire(t testing.TB, server string) *Wire {
	t.Helper()
	u, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &Wire{network: "tcp", to: u.Host, addr: l.Addr().String(), conns: map[net.Conn]bool{}}
	if dir := u.Query().Get("host"); dir != "" {
		w.network, w.to = "unix", dir+"/.s.PGSQL."+u.Query().Get("port")
	}
	w.running.Go(func() { w.accept(l) })
	t.Cleanup(func() {
		l.Close()
		w.cut()
		w.running.Wait()
	})
	return w
}

// Through returns the DSN of a database as it is reached over the wire.
func (w *Wire) Through(dsn string) string {
	u, err := url.Parse(dsn)
	if err != nil {
		return err.Error()
	}
	u.Host = w.addr
	q := u.Query()
	q.Del("host")
	q.Del("port")
	u.RawQuery = q.Encode()
	return u.String()
}

// Take returns the trips since it was called last.
func (w *Wire) Take() []Trip {
	w.mu.Lock()
	defer w.mu.Unlock()
	trips := w.trips
	w.trips = nil
	return trips
}

func (w *Wire) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for c := range w.conns {
		c.Close()
	}
}

func (w *Wire) accept(l net.Listener) {
	for {
		down, err := l.Accept()
		if err != nil {
			return
		}
		up, err := net.Dial(w.network, w.to)
		if err != nil {
			down.Close()
			continue
		}
		w.mu.Lock()
		w.conns[down], w.conns[up] = true, true
		w.mu.Unlock()
		c := &wired{wire: w, texts: map[string]string{}}
		w.running.Go(func() { carry(up, io.TeeReader(down, c)) })
		w.running.Go(func() { carry(down, up) })
	}
}

// carry has go on what comes, until either end is gone.
func carry(to net.Conn, from io.Reader) {
	_, _ = io.Copy(to, from) // it ends as the connection does
	to.Close()
}

// wired reads what a program says on one connection.
type wired struct {
	wire   *Wire
	begun  bool // it has said who it is
	unread []byte
	texts  map[string]string // of prepared statements, by name
	trip   Trip
}

// Write implements io.Writer. The first messages have no kind (PostgreSQL's protocol, "Message
// Formats").
func (c *wired) Write(p []byte) (int, error) {
	c.unread = append(c.unread, p...)
	for {
		head := 5
		if !c.begun {
			head = 4
		}
		if len(c.unread) < head {
			return len(p), nil
		}
		size := head - 4 + int(binary.BigEndian.Uint32(c.unread[head-4:]))
		if len(c.unread) < size {
			return len(p), nil
		}
		if c.begun {
			c.read(c.unread[0], c.unread[head:size])
		} else {
			c.begun = binary.BigEndian.Uint32(c.unread[4:]) == 3<<16 // else it asks for TLS
		}
		c.unread = slices.Delete(c.unread, 0, size)
	}
}

// read takes one message: Parse, Bind, Query or Sync, which an answer follows. That a read is
// over is said without waiting.
func (c *wired) read(kind byte, body []byte) {
	words := bytes.SplitN(body, []byte{0}, 3)
	switch {
	case kind == 'P' && len(words) == 3:
		c.texts[string(words[0])] = string(words[1])
	case kind == 'B' && len(words) == 3:
		c.trip = append(c.trip, c.texts[string(words[1])])
	case kind == 'Q' && string(words[0]) != "ROLLBACK":
		c.trip = append(c.trip, string(words[0]))
		c.end()
	case kind == 'S':
		c.end()
	}
}

func (c *wired) end() {
	c.wire.mu.Lock()
	defer c.wire.mu.Unlock()
	c.wire.trips = append(c.wire.trips, c.trip)
	c.trip = nil
}
