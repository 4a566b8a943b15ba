package resolver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/miekg/dns"
)

const (
	ednsSize = 1232 // fits every path unfragmented (DNS flag day 2020)
	// readSize is more than was asked for, for servers that don't care.
	readSize = 4096
	// maxStrays is how many datagrams that answer something else are passed over.
	maxStrays = 32
)

// exchange asks one server once: by UDP, and by TCP when the reply did not fit.
// A server that can't read EDNS0 is asked without (RFC 6891 7).
func (r *Resolver) exchange(ctx context.Context, server string, q *dns.Msg) (*dns.Msg, error) {
	m, err := r.overUDPThenTCP(ctx, server, q)
	if err != nil || q.IsEdns0() == nil || (m.Rcode != dns.RcodeFormatError && m.Rcode != dns.RcodeNotImplemented) {
		return m, err
	}
	bare := q.Copy()
	bare.Extra = nil
	return r.overUDPThenTCP(ctx, server, bare)
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

// once sends the question from a fresh socket with a fresh id and waits for the
// reply to it. A reply that is cut off may come with an error.
func (r *Resolver) once(ctx context.Context, network, server string, q *dns.Msg) (*dns.Msg, error) {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	c, err := new(net.Dialer).DialContext(ctx, network, server)
	if err != nil {
		return nil, inWords(err)
	}
	defer c.Close()
	stop := context.AfterFunc(ctx, func() { c.SetDeadline(time.Unix(1, 0)) })
	defer stop()

	q = q.Copy()
	q.Id = dns.Id()
	conn := &dns.Conn{Conn: c, UDPSize: readSize}
	if err := conn.WriteMsg(q); err != nil {
		return nil, inWords(err)
	}
	for range maxStrays {
		m, err := conn.ReadMsg()
		var netErr net.Error
		switch {
		case errors.As(err, &netErr):
			return nil, inWords(err)
		case m != nil && m.Id == q.Id && m.Response && m.Truncated:
			return m, err
		case err == nil && answers(m, q):
			return m, nil
		case network == "tcp" || m != nil && m.Id == q.Id:
			return nil, errors.New("its reply can't be read")
		}
	}
	return nil, errors.New("it sends replies to questions that nobody asked")
}

// answers reports whether m is a reply to q: id, kind and question are its.
func answers(m, q *dns.Msg) bool {
	if m.Id != q.Id || !m.Response || m.Opcode != dns.OpcodeQuery {
		return false
	}
	if len(m.Question) == 0 { // a server may leave it out where it can't read the question
		return m.Rcode == dns.RcodeFormatError || m.Rcode == dns.RcodeNotImplemented
	}
	a, b := m.Question[0], q.Question[0]
	return len(m.Question) == 1 && strings.EqualFold(a.Name, b.Name) && a.Qtype == b.Qtype && a.Qclass == b.Qclass
}

// inWords shortens what the net package says, which names addresses twice.
func inWords(err error) error {
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
