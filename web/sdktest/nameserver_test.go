package sdktest

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/miekg/dns"
)

// nameServer is a DNS server on the loopback that knows what tests publish, and
// that no other name exists.
type nameServer struct {
	addr string
	url  string // where records are published by POST, for scripts

	mu      sync.Mutex
	records []dns.RR
}

// dnsRecord is a row of the records of a domain.
type dnsRecord struct {
	Record   string `json:"record"`
	Name     string `json:"name"`
	Type     string `json:"type"`
	Status   string `json:"status"`
	Value    string `json:"value"`
	Priority int    `json:"priority"`
	Live     string `json:"live"`
	Detail   string `json:"detail"`
}

func newNameServer(t *testing.T) *nameServer {
	t.Helper()
	conn, stream := dnsPort(t)
	n := &nameServer{addr: conn.LocalAddr().String()}
	var done sync.WaitGroup
	done.Go(func() { _ = (&dns.Server{PacketConn: conn, Handler: n}).ActivateAndServe() })
	done.Go(func() { _ = (&dns.Server{Listener: stream, Handler: n}).ActivateAndServe() })
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var records []dnsRecord
		if err := json.NewDecoder(r.Body).Decode(&records); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		n.publish(t, records...)
	}))
	n.url = web.URL
	t.Cleanup(func() {
		web.Close()
		conn.Close()
		stream.Close()
		done.Wait()
	})
	return n
}

// dnsPort opens a port for both ways of asking.
func dnsPort(t *testing.T) (net.PacketConn, net.Listener) {
	t.Helper()
	for range 100 {
		conn, err := net.ListenPacket("udp", "127.0.0.1:0")
		must(t, err)
		stream, err := net.Listen("tcp", conn.LocalAddr().String())
		if err == nil {
			return conn, stream
		}
		conn.Close() // somebody has it
	}
	t.Fatal("no free port")
	return nil, nil
}

// publish adds records as they are shown.
func (n *nameServer) publish(t *testing.T, records ...dnsRecord) {
	t.Helper()
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, r := range records {
		value := r.Value + "."
		switch r.Type {
		case "TXT": // one string of it holds 255 bytes
			cut := min(200, len(r.Value))
			value = fmt.Sprintf("%q %q", r.Value[:cut], r.Value[cut:])
		case "A":
			value = r.Value
		case "MX":
			value = fmt.Sprintf("%d %s.", r.Priority, r.Value)
		}
		rr, err := dns.NewRR(r.Name + ". 60 IN " + r.Type + " " + value)
		if err != nil {
			t.Errorf("%+v: %v", r, err)
			continue
		}
		n.records = append(n.records, rr)
	}
}

// ServeDNS implements dns.Handler.
func (n *nameServer) ServeDNS(w dns.ResponseWriter, q *dns.Msg) {
	n.mu.Lock()
	defer n.mu.Unlock()
	m := new(dns.Msg).SetRcode(q, dns.RcodeNameError)
	m.Authoritative = true
	asked := strings.ToLower(q.Question[0].Name)
	for _, rr := range n.records {
		if dns.IsSubDomain(asked, rr.Header().Name) {
			m.Rcode = dns.RcodeSuccess
		}
		if rr.Header().Name == asked && rr.Header().Rrtype == q.Question[0].Qtype {
			m.Answer = append(m.Answer, rr)
		}
	}
	_ = w.WriteMsg(m)
}
