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

// Proxy forwards connections of a program to a PostgreSQL server. It records the round trips and
// their statements.
type Proxy struct {
	network, to string
	addr        string
	goroutines  sync.WaitGroup

	mu    sync.Mutex
	conns map[net.Conn]bool
	trips []RoundTrip
}

// RoundTrip is the texts of the statements that were sent in one round trip.
type RoundTrip []string

// NewProxy returns a proxy to a server, which is closed when the test ends.
func NewProxy(t testing.TB, server string) *Proxy {
	t.Helper()
	u, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &Proxy{network: "tcp", to: u.Host, addr: l.Addr().String(), conns: map[net.Conn]bool{}}
	if dir := u.Query().Get("host"); dir != "" {
		w.network, w.to = "unix", dir+"/.s.PGSQL."+u.Query().Get("port")
	}
	w.goroutines.Go(func() { w.accept(l) })
	t.Cleanup(func() {
		l.Close()
		w.cut()
		w.goroutines.Wait()
	})
	return w
}

// DSN returns the DSN of a database through the proxy.
func (w *Proxy) DSN(dsn string) string {
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

// RoundTrips returns the round trips since its last call.
func (w *Proxy) RoundTrips() []RoundTrip {
	w.mu.Lock()
	defer w.mu.Unlock()
	trips := w.trips
	w.trips = nil
	return trips
}

func (w *Proxy) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for c := range w.conns {
		c.Close()
	}
}

func (w *Proxy) accept(l net.Listener) {
	for {
		client, err := l.Accept()
		if err != nil {
			return
		}
		upstream, err := net.Dial(w.network, w.to)
		if err != nil {
			client.Close()
			continue
		}
		w.mu.Lock()
		w.conns[client], w.conns[upstream] = true, true
		w.mu.Unlock()
		c := &recorder{proxy: w, texts: map[string]string{}}
		w.goroutines.Go(func() { forward(upstream, io.TeeReader(client, c)) })
		w.goroutines.Go(func() { forward(client, upstream) })
	}
}

// forward copies data until either connection is closed.
func forward(to net.Conn, from io.Reader) {
	_, _ = io.Copy(to, from) // ends with the connection
	to.Close()
}

// recorder parses what a program sends on one connection.
type recorder struct {
	proxy   *Proxy
	started bool // the startup message was sent
	unread  []byte
	texts   map[string]string // of prepared statements, by name
	trip    RoundTrip
}

// Write implements io.Writer. The first messages have no type byte (PostgreSQL protocol, "Message
// Formats").
func (c *recorder) Write(p []byte) (int, error) {
	c.unread = append(c.unread, p...)
	for {
		head := 5
		if !c.started {
			head = 4
		}
		if len(c.unread) < head {
			return len(p), nil
		}
		size := head - 4 + int(binary.BigEndian.Uint32(c.unread[head-4:]))
		if len(c.unread) < size {
			return len(p), nil
		}
		if c.started {
			c.read(c.unread[0], c.unread[head:size])
		} else {
			c.started = binary.BigEndian.Uint32(c.unread[4:]) == 3<<16 // otherwise it is a request for TLS
		}
		c.unread = slices.Delete(c.unread, 0, size)
	}
}

// read handles one message: Parse and Bind, or Query and Sync, which end a round trip. The
// ROLLBACK of a read is not counted, because the program does not wait for its result.
func (c *recorder) read(kind byte, body []byte) {
	fields := bytes.SplitN(body, []byte{0}, 3)
	switch {
	case kind == 'P' && len(fields) == 3:
		c.texts[string(fields[0])] = string(fields[1])
	case kind == 'B' && len(fields) == 3:
		c.trip = append(c.trip, c.texts[string(fields[1])])
	case kind == 'Q' && string(fields[0]) != "ROLLBACK":
		c.trip = append(c.trip, string(fields[0]))
		c.end()
	case kind == 'S':
		c.end()
	}
}

func (c *recorder) end() {
	c.proxy.mu.Lock()
	defer c.proxy.mu.Unlock()
	c.proxy.trips = append(c.proxy.trips, c.trip)
	c.trip = nil
}
