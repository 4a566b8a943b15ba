package dnstest

import (
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/miekg/dns"

	"mailer/app/rules/dnsplan"
)

// Key is the TSIG key of the name server.
const Key = "hmac-sha256:updates.test:c2VjcmV0IG9mIHRoZSB0ZXN0cw=="

// Serve is Listen until the test ends.
func (z *Zone) Serve(t testing.TB) (address string) {
	t.Helper()
	address, stop, err := z.Listen()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	return address
}

// Listen starts a name server of the zone on a loopback address, over TCP and UDP. It takes updates
// that are signed with Key.
func (z *Zone) Listen() (address string, stop func(), err error) {
	var l net.Listener
	var pc net.PacketConn
	for range 20 { // until a port is free for both
		if l, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
			return "", nil, err
		}
		if pc, err = net.ListenPacket("udp", l.Addr().String()); err == nil {
			break
		}
		l.Close()
	}
	if err != nil {
		return "", nil, err
	}
	parts := strings.Split(Key, ":")
	secrets := map[string]string{dns.Fqdn(parts[1]): parts[2]}
	var stops []func()
	for _, s := range []*dns.Server{{Listener: l}, {PacketConn: pc}} {
		s.Handler, s.TsigSecret = nameServer{z}, secrets
		s.MsgAcceptFunc = func(dns.Header) dns.MsgAcceptAction { return dns.MsgAccept }
		started, done := make(chan struct{}), make(chan struct{})
		s.NotifyStartedFunc = func() { close(started) }
		go func() { defer close(done); s.ActivateAndServe() }()
		<-started
		stops = append(stops, func() { s.Shutdown(); <-done })
	}
	return l.Addr().String(), func() {
		for _, stop := range stops {
			stop()
		}
	}, nil
}

// nameServer answers queries, and updates that are signed with the key.
type nameServer struct{ z *Zone }

func (s nameServer) ServeDNS(w dns.ResponseWriter, q *dns.Msg) {
	m := new(dns.Msg).SetReply(q)
	signed := q.IsTsig()
	defer func() { w.WriteMsg(m) }()
	switch {
	case signed == nil && q.Opcode == dns.OpcodeUpdate:
		m.Rcode = dns.RcodeRefused
		return
	case signed == nil:
	case w.TsigStatus() != nil:
		m.Rcode = dns.RcodeNotAuth
		m.Extra = append(m.Extra, &dns.TSIG{Hdr: dns.RR_Header{Name: signed.Hdr.Name, Rrtype: dns.TypeTSIG, Class: dns.ClassANY}, Algorithm: signed.Algorithm, Error: dns.RcodeBadSig})
		return
	default:
		m.SetTsig(signed.Hdr.Name, signed.Algorithm, 300, int64(signed.TimeSigned))
	}
	s.z.mu.Lock()
	defer s.z.mu.Unlock()
	apex := dns.Fqdn(s.z.name)
	name := dns.CanonicalName(q.Question[0].Name)
	switch {
	case !dns.IsSubDomain(apex, name):
		m.Rcode = dns.RcodeRefused
	case q.Opcode == dns.OpcodeUpdate:
		m.Rcode = s.z.update(q)
	default:
		m.Authoritative = true
		s.z.answer(m, name, q.Question[0].Qtype)
	}
}

func (z *Zone) answer(m *dns.Msg, name string, kind uint16) {
	for _, r := range z.records {
		rr := rrOf(r)
		if rr.Header().Name == name && (rr.Header().Rrtype == kind || r.Type == "CNAME") {
			m.Answer = append(m.Answer, rr)
		}
	}
	if len(m.Answer) == 0 {
		m.Ns = []dns.RR{&dns.SOA{Hdr: dns.RR_Header{Name: dns.Fqdn(z.name), Rrtype: dns.TypeSOA, Class: dns.ClassINET}, Ns: ".", Mbox: "."}}
	}
}

func rrOf(r dnsplan.Record) dns.RR {
	value := r.Value + "."
	switch r.Type {
	case "TXT":
		var parts []string
		for chunk := range slices.Chunk([]byte(r.Value), 200) {
			parts = append(parts, `"`+strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(string(chunk))+`"`)
		}
		value = strings.Join(parts, " ")
	case "MX":
		value = fmt.Sprintf("%d %s.", r.Priority, r.Value)
	case "A":
		value = r.Value
	}
	rr, err := dns.NewRR(fmt.Sprintf("%s. 300 IN %s %s", r.Name, r.Type, value))
	if err != nil {
		panic(err)
	}
	return rr
}

func recordOf(rr dns.RR) dnsplan.Record {
	out := dnsplan.Record{Name: strings.TrimSuffix(rr.Header().Name, "."), Type: dns.TypeToString[rr.Header().Rrtype]}
	switch v := rr.(type) {
	case *dns.TXT:
		out.Value = strings.NewReplacer(`\"`, `"`, `\\`, `\`).Replace(strings.Join(v.Txt, ""))
	case *dns.MX:
		out.Value, out.Priority = strings.TrimSuffix(v.Mx, "."), int(v.Preference)
	case *dns.CNAME:
		out.Value = strings.TrimSuffix(v.Target, ".")
	}
	return out
}

// update checks the prerequisites of an update and makes its changes (RFC 2136 3.2, 3.4).
func (z *Zone) update(q *dns.Msg) (rcode int) {
	same := func(a, b dnsplan.Record) bool {
		return a.Name == b.Name && a.Type == b.Type && a.Value == b.Value && a.Priority == b.Priority
	}
	required := map[string]int{}
	for _, rr := range q.Answer {
		h, r := rr.Header(), recordOf(rr)
		exists := slices.ContainsFunc(z.records, func(e dnsplan.Record) bool {
			return e.Name == r.Name && (h.Rrtype == dns.TypeANY || e.Type == r.Type)
		})
		switch {
		case h.Class == dns.ClassNONE && h.Rrtype == dns.TypeANY && exists:
			return dns.RcodeYXDomain
		case h.Class == dns.ClassNONE && exists:
			return dns.RcodeYXRrset
		case h.Class != dns.ClassINET:
		case !slices.ContainsFunc(z.records, func(e dnsplan.Record) bool { return same(e, r) }):
			return dns.RcodeNXRrset
		default:
			required[r.Name+" "+r.Type]++
		}
	}
	for set, n := range required {
		if have := slices.DeleteFunc(slices.Clone(z.records), func(e dnsplan.Record) bool { return e.Name+" "+e.Type != set }); len(have) != n {
			return dns.RcodeNXRrset
		}
	}
	if !z.mayWrite() {
		return dns.RcodeServerFailure
	}
	for _, rr := range q.Ns {
		r := recordOf(rr)
		if rr.Header().Class == dns.ClassNONE {
			z.records = slices.DeleteFunc(z.records, func(e dnsplan.Record) bool { return same(e, r) })
		} else {
			z.add(r)
		}
	}
	return dns.RcodeSuccess
}
