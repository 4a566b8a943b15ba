package resolver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/miekg/dns"
)

const (
	ednsSize = 1232 // fits every path unfragmented (DNS flag day 2020)
	// readSize is larger than what was requested, for servers that ignore the limit.
	readSize = 4096
	// maxStrayAnswers is how many datagrams that answer other queries are ignored.
	maxStrayAnswers = 32
)

// query returns a query with EDNS0 (RFC 6891) for a canonical name.
func query(name string, kind uint16, recursive bool) *dns.Msg {
	q := new(dns.Msg).SetQuestion(name, kind)
	q.RecursionDesired = recursive
	return q.SetEdns0(ednsSize, false)
}

// exchange queries one server once: over UDP, and over TCP if the reply was truncated. A server
// that can't read EDNS0 is queried without it (RFC 6891 7).
func (r *Resolver) exchange(ctx context.Context, server string, q *dns.Msg) (*dns.Msg, error) {
	m, err := r.overUDPThenTCP(ctx, server, q)
	if err != nil || !unread(m) {
		return m, err
	}
	bare := q.Copy()
	bare.Extra = nil
	return r.overUDPThenTCP(ctx, server, bare)
}

// unread reports whether a server replied that it can't read the query.
func unread(m *dns.Msg) bool {
	return m.Rcode == dns.RcodeFormatError || m.Rcode == dns.RcodeNotImplemented
}

func (r *Resolver) overUDPThenTCP(ctx context.Context, server string, q *dns.Msg) (*dns.Msg, error) {
	m, err := r.once(ctx, "udp", server, q)
	if m == nil || !m.Truncated {
		return m, err
	}
	m, err = r.once(ctx, "tcp", server, q)
	if err == nil && m.Truncated {
		return nil, errors.New("its reply is cut off even over TCP")
	}
	return m, err
}

// once sends the query from a new socket with a new id and waits for its reply. A truncated reply
// may be returned with an error. The library's Client is not used: it ends with the deadline of
// ctx, but not when ctx is canceled.
func (r *Resolver) once(ctx context.Context, network, server string, q *dns.Msg) (*dns.Msg, error) {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	dialed, err := new(net.Dialer).DialContext(ctx, network, server)
	if err != nil {
		return nil, describe(err)
	}
	c := &dns.Conn{Conn: dialed, UDPSize: readSize}
	defer c.Close()
	stop := context.AfterFunc(ctx, func() { c.SetDeadline(time.Unix(1, 0)) })
	defer stop()

	q.Id = dns.Id()
	if err := c.WriteMsg(q); err != nil {
		return nil, describe(err)
	}
	for range maxStrayAnswers {
		m, err := receive(c)
		var netErr net.Error
		switch {
		case errors.As(err, &netErr):
			return nil, describe(err)
		case m != nil && m.Id == q.Id && m.Response && m.Truncated:
			return m, err
		case err == nil && m.Id == q.Id && answers(m, q):
			return m, nil
		case network == "tcp" || m != nil && m.Id == q.Id:
			return nil, errors.New("its reply can't be read")
		}
	}
	return nil, errors.New("it sends replies to questions that nobody asked")
}

// receive reads a message. With an error, m is nil or contains only the header.
func receive(c *dns.Conn) (m *dns.Msg, err error) {
	b, err := c.ReadMsgHeader(nil)
	if err != nil {
		return nil, err
	}
	return parse(b)
}

// parse decodes a message. The library takes a message that ends before all of its records for one
// with fewer records, which would make them missing: that is an error.
func parse(b []byte) (*dns.Msg, error) {
	m := new(dns.Msg)
	if err := m.Unpack(b); err != nil {
		return m, err
	}
	var announced [4]int
	for i := range announced {
		announced[i] = int(b[4+2*i])<<8 | int(b[5+2*i])
	}
	if announced != [4]int{len(m.Question), len(m.Answer), len(m.Ns), len(m.Extra)} {
		return m, errors.New("it ends before its last record")
	}
	return m, nil
}

// answers reports whether m is a reply to q.
func answers(m, q *dns.Msg) bool {
	if !m.Response || m.Opcode != dns.OpcodeQuery {
		return false
	}
	if len(m.Question) == 0 { // a server may omit it if it can't read the query
		return unread(m)
	}
	got, want := m.Question[0], q.Question[0]
	return len(m.Question) == 1 && dns.CanonicalName(got.Name) == want.Name && got.Qtype == want.Qtype && got.Qclass == want.Qclass
}

// describe shortens an error of package net, which contains addresses twice.
func describe(err error) error {
	var netErr net.Error
	if errors.Is(err, context.DeadlineExceeded) || errors.As(err, &netErr) && netErr.Timeout() {
		return errors.New("no answer in time")
	}
	var op *net.OpError
	if errors.As(err, &op) {
		return fmt.Errorf("no connection: %w", op.Err)
	}
	return err
}
