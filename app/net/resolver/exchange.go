package resolver

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

const (
	ednsSize = 1232 // fits every path unfragmented (DNS flag day 2020)
	// readSize is larger than what was requested, for servers that ignore the limit.
	readSize = 4096
	// maxStrayAnswers is how many datagrams that answer other queries are ignored.
	maxStrayAnswers = 32
)

// exchange queries one server once: over UDP, and over TCP if the reply was truncated. A server
// that can't read EDNS0 is queried without it (RFC 6891 7).
func (r *Resolver) exchange(ctx context.Context, server string, q question) (*message, error) {
	m, err := r.overUDPThenTCP(ctx, server, q)
	if err != nil || !m.unread() {
		return m, err
	}
	q.bare = true
	return r.overUDPThenTCP(ctx, server, q)
}

// unread reports whether a server replied that it can't read the query.
func (m *message) unread() bool {
	return m.RCode == dnsmessage.RCodeFormatError || m.RCode == dnsmessage.RCodeNotImplemented
}

func (r *Resolver) overUDPThenTCP(ctx context.Context, server string, q question) (*message, error) {
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
// may be returned with an error.
func (r *Resolver) once(ctx context.Context, network, server string, q question) (*message, error) {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	c, err := new(net.Dialer).DialContext(ctx, network, server)
	if err != nil {
		return nil, describe(err)
	}
	defer c.Close()
	stop := context.AfterFunc(ctx, func() { c.SetDeadline(time.Unix(1, 0)) })
	defer stop()

	var random [2]byte
	_, _ = rand.Read(random[:]) // never fails
	id := binary.BigEndian.Uint16(random[:])
	packed, err := q.pack(id)
	if err != nil {
		return nil, fmt.Errorf("write the question: %w", err)
	}
	if err := send(c, network, packed); err != nil {
		return nil, describe(err)
	}
	for range maxStrayAnswers {
		m, err := receive(c, network)
		var netErr net.Error
		switch {
		case errors.As(err, &netErr):
			return nil, describe(err)
		case m != nil && m.ID == id && m.Response && m.Truncated:
			return m, err
		case err == nil && m.ID == id && m.answersTo(q):
			return m, nil
		case network == "tcp" || m != nil && m.ID == id:
			return nil, errors.New("its reply can't be read")
		}
	}
	return nil, errors.New("it sends replies to questions that nobody asked")
}

// send writes a message, over TCP with its length before it (RFC 1035 4.2.2).
func send(c net.Conn, network string, packed []byte) error {
	if network == "tcp" {
		packed = append(binary.BigEndian.AppendUint16(nil, uint16(len(packed))), packed...)
	}
	_, err := c.Write(packed)
	return err
}

// receive reads a message. m is as in parse.
func receive(c net.Conn, network string) (m *message, err error) {
	b := make([]byte, readSize)
	n := 0
	if network == "tcp" {
		if _, err = io.ReadFull(c, b[:2]); err == nil {
			b = make([]byte, binary.BigEndian.Uint16(b))
			n, err = io.ReadFull(c, b)
		}
	} else {
		n, err = c.Read(b)
	}
	if err != nil {
		return nil, err
	}
	return parse(b[:n])
}

// answersTo reports whether m is a reply to q.
func (m *message) answersTo(q question) bool {
	if !m.Response || m.OpCode != 0 {
		return false
	}
	if len(m.questions) == 0 { // a server may omit it if it can't read the query
		return m.unread()
	}
	a := m.questions[0]
	return len(m.questions) == 1 && canonical(a.Name.String()) == q.name && a.Type == q.kind && a.Class == dnsmessage.ClassINET
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
