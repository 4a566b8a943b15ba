package resolver

import (
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"
)

// zoneData is the zone of a test server: records in text form by name and type. A name above a
// known one exists too.
type zoneData struct {
	apex    string
	records []dns.RR
	cuts    []string // delegated names
}

func parseZone(t *testing.T, apex string, lines ...string) *zoneData {
	t.Helper()
	z := &zoneData{apex: apex}
	for _, line := range lines {
		rr, err := dns.NewRR(line)
		if err != nil {
			t.Fatal(err)
		}
		z.records = append(z.records, rr)
		if ns, ok := rr.(*dns.NS); ok && ns.Hdr.Name != apex {
			z.cuts = append(z.cuts, ns.Hdr.Name)
		}
	}
	return z
}

// ServeDNS answers as an authoritative server: with the AA bit, an SOA for missing names,
// referrals at cuts, REFUSED outside of the zone. It follows no CNAME.
func (z *zoneData) ServeDNS(w dns.ResponseWriter, q *dns.Msg) {
	m := new(dns.Msg).SetReply(q)
	name, qtype := strings.ToLower(q.Question[0].Name), q.Question[0].Qtype
	defer func() { w.WriteMsg(m) }()
	if q.RecursionDesired || !dns.IsSubDomain(z.apex, name) {
		m.Rcode = dns.RcodeRefused
		return
	}
	for _, cut := range z.cuts {
		if dns.IsSubDomain(cut, name) {
			m.Ns = z.of(cut, dns.TypeNS)
			return
		}
	}
	z.answer(m, name, qtype)
	m.Authoritative = true
	if _, udp := w.RemoteAddr().(*net.UDPAddr); udp {
		m.Truncate(int(q.IsEdns0().UDPSize()))
	}
}

func (z *zoneData) answer(m *dns.Msg, name string, qtype uint16) {
	if m.Answer = z.of(name, qtype); len(m.Answer) == 0 {
		m.Answer = z.of(name, dns.TypeCNAME)
	}
	if len(m.Answer) > 0 {
		return
	}
	m.Ns = []dns.RR{&dns.SOA{Hdr: dns.RR_Header{Name: z.apex, Rrtype: dns.TypeSOA, Class: dns.ClassINET}, Ns: ".", Mbox: "."}}
	for _, rr := range z.records {
		if dns.IsSubDomain(name, strings.ToLower(rr.Header().Name)) {
			return
		}
	}
	m.Rcode = dns.RcodeNameError
}

func (z *zoneData) of(name string, qtype uint16) (out []dns.RR) {
	for _, rr := range z.records {
		if strings.EqualFold(rr.Header().Name, name) && rr.Header().Rrtype == qtype {
			out = append(out, rr)
		}
	}
	return out
}

// recursive answers for several zones as a recursive resolver: without the AA bit, following
// CNAMEs.
type recursive []*zoneData

func (zones recursive) ServeDNS(w dns.ResponseWriter, q *dns.Msg) {
	m := new(dns.Msg).SetReply(q)
	m.RecursionAvailable = true
	defer func() { w.WriteMsg(m) }()
	name, qtype := strings.ToLower(q.Question[0].Name), q.Question[0].Qtype
	var chain []dns.RR
	for range 20 {
		z := zones.of(name, qtype)
		if z == nil {
			m.Rcode = dns.RcodeServerFailure
			return
		}
		part := new(dns.Msg)
		z.answer(part, name, qtype)
		chain = append(chain, part.Answer...)
		m.Answer, m.Ns, m.Rcode = chain, part.Ns, part.Rcode
		if len(part.Answer) == 0 || part.Answer[0].Header().Rrtype == qtype {
			return
		}
		name = strings.ToLower(part.Answer[0].(*dns.CNAME).Target)
	}
}

// of returns the longest matching zone.
func (zones recursive) of(name string, qtype uint16) (best *zoneData) {
	for _, z := range zones {
		if dns.IsSubDomain(z.apex, name) && (best == nil || dns.IsSubDomain(best.apex, z.apex)) {
			best = z
		}
	}
	return best
}

// serve starts servers on the same port of several loopback addresses, over UDP and TCP, and
// returns the port.
func serve(t *testing.T, handlers map[string]dns.Handler) string {
	t.Helper()
	for range 20 {
		if port, ok := tryServe(t, handlers); ok {
			return port
		}
	}
	t.Fatal("no port is free on all addresses")
	return ""
}

func tryServe(t *testing.T, handlers map[string]dns.Handler) (port string, ok bool) {
	port = "0"
	var servers []*dns.Server
	for ip, h := range handlers {
		pc, err := net.ListenPacket("udp", net.JoinHostPort(ip, port))
		if err == nil {
			_, port, _ = net.SplitHostPort(pc.LocalAddr().String())
			servers = append(servers, &dns.Server{PacketConn: pc, Handler: h})
			var l net.Listener
			if l, err = net.Listen("tcp", net.JoinHostPort(ip, port)); err == nil {
				servers = append(servers, &dns.Server{Listener: l, Handler: h})
			}
		}
		if err != nil {
			closeAll(servers)
			return "", false
		}
	}
	for _, s := range servers {
		started := make(chan struct{})
		s.NotifyStartedFunc = func() { close(started) }
		done := make(chan struct{})
		go func() { defer close(done); s.ActivateAndServe() }()
		<-started
		t.Cleanup(func() { s.Shutdown(); <-done })
	}
	return port, true
}

func closeAll(servers []*dns.Server) {
	for _, s := range servers {
		if s.PacketConn != nil {
			s.PacketConn.Close()
		} else {
			s.Listener.Close()
		}
	}
}

// direct returns a Resolver that uses one server.
func direct(t *testing.T, h dns.Handler) *Resolver {
	t.Helper()
	r := New("127.0.0.1:" + serve(t, map[string]dns.Handler{"127.0.0.1": h}))
	r.timeout = time.Second
	return r
}

// authoritative returns a Resolver whose system resolver is 127.0.0.1.
func authoritative(t *testing.T, handlers map[string]dns.Handler) *Resolver {
	t.Helper()
	r := New("")
	r.port = serve(t, handlers)
	r.timeout = time.Second
	r.allowed = func(a netip.Addr) bool { return a.IsLoopback() }
	r.system = func() ([]string, error) { return []string{"127.0.0.1:" + r.port}, nil }
	return r
}
