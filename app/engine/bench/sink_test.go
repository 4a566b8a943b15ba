package bench

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
)

// sink is an SMTP server that takes everything and keeps nothing. It is written
// for little CPU, since it shares the machine with what is measured.
type sink struct {
	listener net.Listener
	messages atomic.Int64
	arrived  chan struct{} // one signal a message, dropped when nobody listens
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
	r := bufio.NewReaderSize(conn, 32<<10)
	if _, err := io.WriteString(conn, "220 sink\r\n"); err != nil {
		return
	}
	for {
		line, err := r.ReadSlice('\n')
		if err != nil {
			return
		}
		reply := "250 2.0.0 ok\r\n"
		switch verb := strings.ToUpper(string(line[:min(4, len(line))])); verb {
		case "EHLO":
			reply = "250-sink\r\n250-8BITMIME\r\n250-SMTPUTF8\r\n250 SIZE 50000000\r\n"
		case "QUIT":
			_, _ = io.WriteString(conn, "221 bye\r\n")
			return
		case "DATA":
			if _, err := io.WriteString(conn, "354 go\r\n"); err != nil || !skipMessage(r) {
				return
			}
			s.messages.Add(1)
			select {
			case s.arrived <- struct{}{}:
			default:
			}
		}
		if _, err := io.WriteString(conn, reply); err != nil {
			return
		}
	}
}

// skipMessage reads up to the final dot.
func skipMessage(r *bufio.Reader) bool {
	for {
		line, err := r.ReadSlice('\n')
		if err != nil && err != bufio.ErrBufferFull {
			return false
		}
		if bytes.Equal(line, []byte(".\r\n")) {
			return true
		}
	}
}

// waitFor blocks until n messages arrived in all.
func (s *sink) waitFor(n int64) {
	for s.messages.Load() < n {
		<-s.arrived
	}
}
