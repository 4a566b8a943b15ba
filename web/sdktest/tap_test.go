package sdktest

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
)

// tap is a proxy between the clients and a server. It forwards every byte unchanged in both
// directions, and parses a copy.
type tap struct {
	listener net.Listener
	server   string
	seen     func(exchange)
	broke    func(error) // called for what is no HTTP
	group    sync.WaitGroup

	mu    sync.Mutex
	conns map[net.Conn]bool
}

// exchange is one request and its answer, as they went over the wire.
type exchange struct {
	request  *http.Request
	sent     []byte // body of the request
	response *http.Response
	got      []byte // body of the answer
}

// newTap listens for connections to server. seen is called for every complete exchange, from many
// goroutines, and broke for unreadable ones.
func newTap(t *testing.T, server string, seen func(exchange), broke func(error)) *tap {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	p := &tap{listener: l, server: server, seen: seen, broke: broke, conns: map[net.Conn]bool{}}
	p.group.Go(p.accept)
	return p
}

func (p *tap) url() string { return "http://" + p.listener.Addr().String() }

// close ends all connections and waits until everything is read.
func (p *tap) close() {
	p.listener.Close()
	p.mu.Lock()
	for c := range p.conns {
		c.Close()
	}
	p.conns = nil
	p.mu.Unlock()
	p.group.Wait()
}

// keep registers a connection to close at the end; false after the end.
func (p *tap) keep(c net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.conns == nil {
		c.Close()
		return false
	}
	p.conns[c] = true
	return true
}

func (p *tap) drop(c net.Conn) {
	c.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, c)
}

func (p *tap) accept() {
	for {
		c, err := p.listener.Accept()
		if err != nil {
			return
		}
		if p.keep(c) {
			p.group.Go(func() { p.pass(c) })
		}
	}
}

// pass serves one connection; where the server can't be reached it just closes it.
func (p *tap) pass(client net.Conn) {
	defer p.drop(client)
	server, err := net.Dial("tcp", p.server)
	if err != nil || !p.keep(server) {
		return
	}
	defer p.drop(server)
	asked, answered := newStream(), newStream()
	p.group.Go(func() { p.read(asked, answered) })
	var both sync.WaitGroup
	both.Go(func() { pump(server, client, asked) })
	both.Go(func() { pump(client, server, answered) })
	both.Wait()
}

// pump copies one direction to its end, and the end too.
func pump(to, from net.Conn, copied *stream) {
	_, _ = io.Copy(to, io.TeeReader(from, copied))
	copied.close()
	_ = to.(*net.TCPConn).CloseWrite()
}

// read parses the exchanges of one connection.
func (p *tap) read(asked, answered *stream) {
	requests, responses := bufio.NewReader(asked), bufio.NewReader(answered)
	for {
		x, err := readExchange(requests, responses)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return // the end, or one of the two went away in the middle
		}
		if err != nil {
			p.broke(err)
			return
		}
		p.seen(x)
	}
}

func readExchange(requests, responses *bufio.Reader) (x exchange, err error) {
	if x.request, err = http.ReadRequest(requests); err != nil {
		return x, err
	}
	if x.sent, err = io.ReadAll(x.request.Body); err != nil {
		return x, err
	}
	if x.response, err = finalResponse(responses, x.request); err != nil {
		return x, err
	}
	x.got, err = io.ReadAll(x.response.Body)
	return x, err
}

// finalResponse skips interim responses (RFC 9110 15.2).
func finalResponse(r *bufio.Reader, req *http.Request) (*http.Response, error) {
	for {
		res, err := http.ReadResponse(r, req)
		if err != nil || res.StatusCode >= 200 {
			return res, err
		}
	}
}

// stream buffers what was written until it is read. Writing never blocks: a server may answer
// before it has read the request, and the reader must delay neither side.
type stream struct {
	mu     sync.Mutex
	more   *sync.Cond
	buffer bytes.Buffer
	closed bool
}

func newStream() *stream {
	s := &stream{}
	s.more = sync.NewCond(&s.mu)
	return s
}

func (s *stream) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.more.Signal()
	return s.buffer.Write(b)
}

func (s *stream) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.more.Signal()
}

// Read waits for bytes, or for the end.
func (s *stream) Read(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.buffer.Len() == 0 && !s.closed {
		s.more.Wait()
	}
	n, err := s.buffer.Read(b)
	if errors.Is(err, io.EOF) && !s.closed {
		err = nil
	}
	return n, err
}
