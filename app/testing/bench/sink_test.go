package bench

import (
	"bufio"
	"bytes"
	"net"
	"strings"
	"sync/atomic"
	"testing"
)

// sinkBuffer is the buffer size of the sink. A usual mail fits in and is never copied.
const sinkBuffer = 64 << 10

// sink is an SMTP server that accepts and discards everything. It uses little processor time,
// since it shares the machine with the measured servers. It offers PIPELINING (RFC 2920), as real
// relays do.
type sink struct {
	listener net.Listener
	messages atomic.Int64
	arrived  chan struct{}         // one signal for each message, dropped if nobody receives
	watch    atomic.Pointer[marks] // gets each message; nil: none
}

func newSink(tb testing.TB) *sink {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	s := &sink{listener: l, arrived: make(chan struct{}, 1)}
	tb.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go s.serve(conn)
		}
	}()
	return s
}

func (s *sink) addr() string { return s.listener.Addr().String() }

func (s *sink) serve(conn net.Conn) {
	defer conn.Close()
	session := &sinkSession{sink: s, r: bufio.NewReaderSize(conn, sinkBuffer), w: bufio.NewWriter(conn)}
	session.say("220 sink ESMTP\r\n")
	for session.step() {
	}
	session.w.Flush()
}

// sinkSession is a connection.
type sinkSession struct {
	sink *sink
	r    *bufio.Reader
	w    *bufio.Writer
}

// say buffers a reply. Replies of a group of commands are sent together, those to EHLO and DATA
// immediately, and all before the session waits for more (RFC 2920 3.2).
func (c *sinkSession) say(reply string) { _, _ = c.w.WriteString(reply) } // Flush returns the error

// step executes one command; false ends the session.
func (c *sinkSession) step() bool {
	if !c.holdsLine() && c.w.Flush() != nil {
		return false
	}
	line, err := c.r.ReadSlice('\n')
	if err != nil {
		return false
	}
	switch strings.ToUpper(string(line[:min(4, len(line))])) {
	case "EHLO":
		c.say("250-sink\r\n250-PIPELINING\r\n250-8BITMIME\r\n250-SMTPUTF8\r\n250-ENHANCEDSTATUSCODES\r\n250 SIZE 50000000\r\n")
		return c.w.Flush() == nil
	case "QUIT":
		c.say("221 2.0.0 bye\r\n")
		return false
	case "DATA":
		return c.data()
	}
	c.say("250 2.0.0 ok\r\n")
	return true
}

// holdsLine reports whether the buffer contains the whole next command.
func (c *sinkSession) holdsLine() bool {
	waiting, err := c.r.Peek(c.r.Buffered())
	return err == nil && bytes.IndexByte(waiting, '\n') >= 0
}

func (c *sinkSession) data() bool {
	c.say("354 go\r\n")
	if c.w.Flush() != nil || !c.message() {
		return false
	}
	c.sink.messages.Add(1)
	select {
	case c.sink.arrived <- struct{}{}:
	default:
	}
	c.say("250 2.0.0 ok\r\n")
	return true
}

var finalDot = []byte("\r\n.\r\n")

// message reads up to the final dot and passes the message to the watcher; of a message larger
// than the buffer only its first part.
func (c *sinkSession) message() bool {
	seen, shown := 0, false
	for {
		data, err := c.r.Peek(c.r.Buffered())
		if err != nil {
			return false
		}
		if seen == 0 && bytes.HasPrefix(data, finalDot[2:]) { // a message without a line
			c.show(nil, &shown)
			_, err = c.r.Discard(len(finalDot) - 2)
			return err == nil
		}
		if from := max(0, seen-len(finalDot)+1); len(data) >= len(finalDot) {
			if at := bytes.Index(data[from:], finalDot); at >= 0 {
				c.show(data[:from+at+2], &shown)
				_, err = c.r.Discard(from + at + len(finalDot))
				return err == nil
			}
		}
		if seen = len(data); seen == sinkBuffer {
			c.show(data, &shown)
			seen = len(finalDot) - 1
			if _, err := c.r.Discard(sinkBuffer - seen); err != nil {
				return false
			}
		}
		if _, err := c.r.Peek(seen + 1); err != nil { // waits for more
			return false
		}
	}
}

func (c *sinkSession) show(message []byte, shown *bool) {
	if m := c.sink.watch.Load(); m != nil && !*shown {
		m.received(message)
	}
	*shown = true
}

// expect records the next n messages with a mark.
func (s *sink) expect(n int) *marks {
	m := newMarks(n)
	s.watch.Store(m)
	return m
}

// waitFor waits until n messages have arrived in total.
func (s *sink) waitFor(n int64) {
	for s.messages.Load() < n {
		<-s.arrived
	}
}
