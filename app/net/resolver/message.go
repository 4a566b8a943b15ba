package resolver

import (
	"errors"
	"strings"

	"golang.org/x/net/dns/dnsmessage"
)

// question is a query. The name is canonical.
type question struct {
	name      string
	kind      dnsmessage.Type
	recursive bool
	bare      bool // without EDNS (RFC 6891), for servers that don't know it
}

// pack encodes a query. Error: the name is invalid.
func (q question) pack(id uint16) ([]byte, error) {
	name, err := dnsmessage.NewName(q.name)
	if err != nil {
		return nil, err
	}
	m := dnsmessage.Message{
		Header:    dnsmessage.Header{ID: id, RecursionDesired: q.recursive},
		Questions: []dnsmessage.Question{{Name: name, Type: q.kind, Class: dnsmessage.ClassINET}},
	}
	if !q.bare {
		var h dnsmessage.ResourceHeader
		if err := h.SetEDNS0(ednsSize, dnsmessage.RCodeSuccess, false); err != nil {
			return nil, err
		}
		m.Additionals = []dnsmessage.Resource{{Header: h, Body: &dnsmessage.OPTResource{}}}
	}
	return m.Pack()
}

// message is the part of a reply that is used.
type message struct {
	dnsmessage.Header
	questions []dnsmessage.Question
	answers   []record
	authority []record
}

// record is a record of a reply. Its body is nil for types that are not used.
type record struct {
	owner string // canonical
	kind  dnsmessage.Type
	ttl   uint32
	body  dnsmessage.ResourceBody
}

// parse decodes a reply. m is nil if its header can't be decoded. With another error m contains
// only the header.
func parse(b []byte) (m *message, err error) {
	var p dnsmessage.Parser
	m = &message{}
	if m.Header, err = p.Start(b); err != nil {
		return nil, err
	}
	if m.questions, err = p.AllQuestions(); err != nil {
		return m, err
	}
	if m.answers, err = records(&p, p.AnswerHeader); err != nil {
		return m, err
	}
	if m.authority, err = records(&p, p.AuthorityHeader); err != nil {
		return m, err
	}
	return m, m.extend(&p)
}

// extend adds the upper bits of an extended response code (RFC 6891 6.1.3).
func (m *message) extend(p *dnsmessage.Parser) error {
	for {
		h, err := p.AdditionalHeader()
		if errors.Is(err, dnsmessage.ErrSectionDone) {
			return nil
		}
		if err != nil {
			return err
		}
		if h.Type == dnsmessage.TypeOPT {
			m.RCode = h.ExtendedRCode(m.RCode)
		}
		if err := p.SkipAdditional(); err != nil {
			return err
		}
	}
}

// records decodes a section, without records of other classes than IN.
func records(p *dnsmessage.Parser, next func() (dnsmessage.ResourceHeader, error)) (all []record, err error) {
	for {
		h, err := next()
		if errors.Is(err, dnsmessage.ErrSectionDone) {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		body, err := bodyOf(p, h)
		if err != nil {
			return nil, err
		}
		if h.Class == dnsmessage.ClassINET {
			all = append(all, record{canonical(h.Name.String()), h.Type, h.TTL, body})
		}
	}
}

// bodyOf decodes the body of a record, nil for unused types: the mailbox in an SOA may contain a
// dot, which the library refuses.
func bodyOf(p *dnsmessage.Parser, h dnsmessage.ResourceHeader) (dnsmessage.ResourceBody, error) {
	kind := h.Type
	if h.Length == 0 { // as in updates (RFC 2136 2.4)
		kind = 0
	}
	switch kind {
	case dnsmessage.TypeTXT:
		r, err := p.TXTResource()
		return &r, err
	case dnsmessage.TypeMX:
		r, err := p.MXResource()
		return &r, err
	case dnsmessage.TypeCNAME:
		r, err := p.CNAMEResource()
		return &r, err
	case dnsmessage.TypeA:
		r, err := p.AResource()
		return &r, err
	case dnsmessage.TypeAAAA:
		r, err := p.AAAAResource()
		return &r, err
	case dnsmessage.TypeNS:
		r, err := p.NSResource()
		return &r, err
	}
	_, err := p.UnknownResource()
	return nil, err
}

// target returns the target of a CNAME; empty: another type.
func (r *record) target() string {
	if c, ok := r.body.(*dnsmessage.CNAMEResource); ok {
		return canonical(c.CNAME.String())
	}
	return ""
}

// server returns the host of an NS record; empty: another type.
func (r *record) server() string {
	if ns, ok := r.body.(*dnsmessage.NSResource); ok {
		return canonical(ns.NS.String())
	}
	return ""
}

// canonical returns a name in lower case of ASCII (RFC 4343), with the final dot.
func canonical(name string) string {
	b := []byte(name)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	if !strings.HasSuffix(name, ".") {
		b = append(b, '.')
	}
	return string(b)
}

// plain returns a name in lower case without the final dot; the root is empty.
func plain(name string) string { return strings.TrimSuffix(canonical(name), ".") }

// isWithin reports whether a canonical name is in a zone.
func isWithin(zone, name string) bool {
	return zone == "." || name == zone || strings.HasSuffix(name, "."+zone)
}
