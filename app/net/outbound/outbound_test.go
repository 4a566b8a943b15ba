package outbound

import (
	"context"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/miekg/dns"
)

// notPublic are literals of every kind of address that must not be reached.
const notPublic = `
0.0.0.0 0.0.0.1 0.1.2.3 0.255.255.255
10.0.0.0 10.0.0.1 10.1.2.3 10.255.255.254 10.255.255.255 10.96.0.1
100.64.0.0 100.64.0.1 100.100.100.200 100.127.255.255
127.0.0.0 127.0.0.1 127.0.0.53 127.1.2.3 127.127.127.127 127.255.255.255
168.63.129.16
169.254.0.1 169.254.169.123 169.254.169.253 169.254.169.254 169.254.170.2 169.254.255.255
172.16.0.0 172.16.0.1 172.17.0.1 172.20.1.1 172.31.255.254 172.31.255.255
192.0.0.1 192.0.0.8 192.0.0.170 192.0.0.192 192.0.0.255
192.0.2.1 192.0.2.255 192.88.99.1
192.168.0.1 192.168.1.1 192.168.99.100 192.168.255.255
198.18.0.1 198.19.255.255 198.51.100.1 203.0.113.1 203.0.113.255
224.0.0.1 224.0.0.251 232.1.1.1 239.255.255.250 240.0.0.1 250.1.2.3 255.255.255.254 255.255.255.255
:: ::1 ::2 ::ffff
::127.0.0.1 ::10.0.0.1 ::169.254.169.254 ::192.168.0.1 ::1.1.1.1 ::7f00:1
::ffff:0.0.0.0 ::ffff:10.0.0.1 ::ffff:127.0.0.1 ::ffff:7f00:1 ::ffff:169.254.169.254 ::ffff:a9fe:a9fe ::ffff:172.16.0.1
::ffff:192.168.1.1 ::ffff:100.64.0.1 ::ffff:224.0.0.1 ::ffff:255.255.255.255
::ffff:0:127.0.0.1 ::ffff:0:10.0.0.1 ::ffff:0:1.1.1.1
64:ff9b::127.0.0.1 64:ff9b::10.0.0.1 64:ff9b::169.254.169.254 64:ff9b::192.168.0.1 64:ff9b::7f00:1 64:ff9b::1.1.1.1
64:ff9b:1::127.0.0.1 64:ff9b:1::1 64:ff9b:1:ffff::10.0.0.1 64:ff9b:1:7f00:0:100::
100::1 100::ffff 100:0:0:1::1
2001::1 2001:0:7f00:1:: 2001:0:4136:e378:8000:63bf:80ff:fffe 2001:0:a00:1::a00:1 2001::7f00:1
2001:2::1 2001:3::1 2001:4:112::1 2001:10::1 2001:1f::1 2001:20::1 2001:2f::1 2001:30::1 2001:1ff::1
2001:db8::1 2001:db8:ffff::1 3fff::1 3fff:fff::1
2002:7f00:1:: 2002:7f00:1::1 2002:a00:1::1 2002:a9fe:a9fe::1 2002:c0a8:101:: 2002:ac10:1::1 2002:101:101::1
4000::1 5f00::1 8000::1 c000::1
fc00::1 fc00:1::1 fd00::1 fd00:ec2::254 fd12:3456:789a::1 fdff::1
fe00::1 fe80::1 fe80::a9fe:a9fe fe80::5efe:7f00:1 febf::1
fec0::1 feff::1 fec0:0:0:ffff::1
ff00::1 ff01::1 ff02::1 ff02::2 ff02::fb ff05::2 ff0e::1 ff3e::1
fe80::1%lo fe80::1%eth0 ::1%lo 2606:4700::1111%eth0
`

// canary is a server on loopback that must not be reached.
type canary struct {
	*httptest.Server
	hits atomic.Int64
	port string
}

func newCanary(t *testing.T, host string, answer http.HandlerFunc) *canary {
	t.Helper()
	c := &canary{}
	listener, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		t.Fatal(err)
	}
	_, c.port, _ = net.SplitHostPort(listener.Addr().String())
	c.Server = httptest.NewUnstartedServer(answer)
	c.Listener.Close()
	c.Listener = &counting{listener, &c.hits}
	c.Start()
	t.Cleanup(c.Close)
	return c
}

// counting counts connections, so that a connection without a byte is noticed.
type counting struct {
	net.Listener
	n *atomic.Int64
}

func (l *counting) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err == nil {
		l.n.Add(1)
	}
	return conn, err
}

func ok200(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "fine") }

// get requests a URL and returns status, body and error.
func get(t *testing.T, c *http.Client, target string) (int, string, error) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, target, nil)
	if err != nil {
		return 0, "", err
	}
	answer, err := c.Do(r)
	if err != nil {
		return 0, "", err
	}
	defer answer.Body.Close()
	b, err := io.ReadAll(answer.Body)
	return answer.StatusCode, string(b), err
}

// dnsServer returns a resolver that answers with a function.
func dnsServer(t *testing.T, answer func(name string) []string) *net.Resolver {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &dns.Server{PacketConn: conn, Handler: dns.HandlerFunc(func(w dns.ResponseWriter, q *dns.Msg) {
		m := new(dns.Msg).SetReply(q)
		kind := map[uint16]string{dns.TypeA: "A", dns.TypeAAAA: "AAAA"}[q.Question[0].Qtype]
		for _, address := range answer(strings.ToLower(strings.TrimSuffix(q.Question[0].Name, "."))) {
			if a := netip.MustParseAddr(address); a.Is4() != (kind == "A") {
				continue
			}
			if rr, err := dns.NewRR(q.Question[0].Name + " 0 IN " + kind + " " + address); err == nil {
				m.Answer = append(m.Answer, rr)
			}
		}
		_ = w.WriteMsg(m)
	})}
	done := make(chan struct{})
	go func() { defer close(done); _ = server.ActivateAndServe() }()
	t.Cleanup(func() { conn.Close(); <-done })
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", conn.LocalAddr().String())
	}}
}

func prefixes(list ...string) (out []netip.Prefix) {
	for _, p := range list {
		out = append(out, netip.MustParsePrefix(p))
	}
	return out
}

func TestPrivateAddressesAreNotDialled(t *testing.T) {
	literals := strings.Fields(notPublic)
	if len(literals) < 150 {
		t.Fatalf("only %d literals", len(literals))
	}
	home := newCanary(t, "127.0.0.1", ok200)
	client := Client(Options{})
	for _, literal := range literals {
		for _, g := range []guard{{}, {plain: true}, {allow: prefixes("1.2.3.0/24", "2606:4700::/32")}} {
			if g.check(netip.AddrPortFrom(netip.MustParseAddr(literal), 443)) == nil {
				t.Errorf("%s may be dialled by %+v", literal, g)
			}
		}
		host := net.JoinHostPort(strings.Replace(literal, "%", "%25", 1), home.port)
		for _, scheme := range []string{"http://", "https://"} {
			_, _, err := get(t, client, scheme+host)
			// A machine without IPv6 fails before the guard is called.
			if err == nil || strings.Contains(literal, ".") && !strings.Contains(literal, ":") && !errors.Is(err, errNotPublic) {
				t.Errorf("%s%s: %v", scheme, host, err)
			}
		}
	}
	if n := home.hits.Load(); n > 0 {
		t.Errorf("the canary heard of %d connections", n)
	}
}

func TestPublicAddressesNeedHTTPS(t *testing.T) {
	for _, literal := range []string{"1.1.1.1", "8.8.8.8", "172.32.0.1", "223.255.255.255", "2606:4700::1111", "2a00:1450::1", "::ffff:1.1.1.1"} {
		a := netip.MustParseAddr(literal)
		if err := (guard{}).check(netip.AddrPortFrom(a, 443)); err != nil {
			t.Errorf("%s: %v", literal, err)
		}
		if err := (guard{plain: true}).check(netip.AddrPortFrom(a, 443)); !errors.Is(err, errPlain) {
			t.Errorf("%s by http: %v", literal, err)
		}
		if err := (guard{plain: true, allow: prefixes("0.0.0.0/0", "::/0")}).check(netip.AddrPortFrom(a, 443)); err != nil {
			t.Errorf("%s allowed: %v", literal, err)
		}
	}
	for _, network := range []string{"udp4", "tcp", "unix", "ip4:1"} {
		if (guard{}).control(t.Context(), network, "1.1.1.1:443", nil) == nil {
			t.Errorf("network %s may be dialled", network)
		}
	}
	for _, address := range []string{"", "1.1.1.1", "host:443", "/run/x.sock"} {
		if (guard{}).control(t.Context(), "tcp4", address, nil) == nil {
			t.Errorf("%q may be dialled", address)
		}
	}
}

func TestLoopbackSpellingsAreRefused(t *testing.T) {
	home := newCanary(t, "127.0.0.1", ok200)
	r := dnsServer(t, func(string) []string { return []string{"127.0.0.1", "::1", "::ffff:127.0.0.1"} })
	client := Client(Options{Resolver: r})
	for _, host := range []string{
		"2130706433", "0x7f000001", "0x7F.0.0.1", "0177.0.0.1", "017700000001", "127.1", "127.0.1", "0x7f.1", "00127.0.0.1", "127.0.0.1.",
		"localhost", "LOCALHOST.", "localhost.localdomain", "x.localhost", "①②⑦.⓪.⓪.①", "１２７.０.０.１", "127。0。0。1", "inside.example",
		"[::ffff:7f00:1]", "[0:0:0:0:0:ffff:127.0.0.1]", "[::]", "0", "metadata.google.internal",
	} {
		for _, scheme := range []string{"http://", "https://"} {
			if status, _, err := get(t, client, scheme+host+":"+home.port+"/"); err == nil {
				t.Errorf("%s%s answers %d", scheme, host, status)
			}
		}
	}
	if n := home.hits.Load(); n > 0 {
		t.Errorf("the canary heard of %d connections", n)
	}
}

func TestAllowedRangesAreReachableByHTTP(t *testing.T) {
	home := newCanary(t, "127.0.0.1", ok200)
	client := Client(Options{Allow: prefixes("127.0.0.1/32")})
	for _, host := range []string{"127.0.0.1", "[::ffff:127.0.0.1]"} {
		if status, body, err := get(t, client, "http://"+host+":"+home.port); status != 200 || body != "fine" {
			t.Errorf("%s: %d %q %v", host, status, body, err)
		}
	}
	near := newCanary(t, "127.0.0.2", ok200)
	if _, _, err := get(t, client, "http://127.0.0.2:"+near.port); !errors.Is(err, errNotPublic) || near.hits.Load() > 0 {
		t.Errorf("outside the range: %v, %d connections", err, near.hits.Load())
	}
}

// TestNameIsCheckedWhenDialled: the name first resolves to an allowed address, then to another
// (DNS rebinding).
func TestNameIsCheckedWhenDialled(t *testing.T) {
	good := newCanary(t, "127.0.0.2", func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Connection", "close") })
	var mu sync.Mutex
	leads := []string{"127.0.0.2"}
	r := dnsServer(t, func(string) []string { mu.Lock(); defer mu.Unlock(); return leads })
	client := Client(Options{Resolver: r, Allow: prefixes("127.0.0.2/32")})
	if status, _, err := get(t, client, "http://rebound.example:"+good.port); status != 200 {
		t.Fatalf("before: %d %v", status, err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:"+good.port)
	if err != nil {
		t.Fatal(err)
	}
	bad := &canary{Server: httptest.NewUnstartedServer(http.HandlerFunc(ok200))}
	bad.Listener.Close()
	bad.Listener = &counting{listener, &bad.hits}
	bad.Start()
	defer bad.Close()
	mu.Lock()
	leads = []string{"127.0.0.1"}
	mu.Unlock()
	if _, _, err := get(t, client, "http://rebound.example:"+good.port); !errors.Is(err, errNotPublic) {
		t.Errorf("after: %v", err)
	}
	mu.Lock()
	leads = []string{"127.0.0.1", "127.0.0.2"}
	mu.Unlock()
	if status, _, err := get(t, client, "http://rebound.example:"+good.port); status != 200 {
		t.Errorf("with both: %d %v", status, err)
	}
	if n := bad.hits.Load(); n > 0 {
		t.Errorf("the canary heard of %d connections", n)
	}
}

func TestRedirectsAndProxiesAreNotFollowed(t *testing.T) {
	bad := newCanary(t, "127.0.0.1", ok200)
	for _, variable := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy"} {
		t.Setenv(variable, bad.URL)
	}
	for _, status := range []int{301, 302, 303, 307, 308} {
		good := newCanary(t, "127.0.0.2", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, bad.URL, status) })
		client := Client(Options{Allow: prefixes("127.0.0.0/8")})
		if got, _, err := get(t, client, "http://127.0.0.2:"+good.port); got != status {
			t.Errorf("%d: %d %v", status, got, err)
		}
	}
	if n := bad.hits.Load(); n > 0 {
		t.Errorf("the canary heard of %d connections", n)
	}
}

func TestBodyLimit(t *testing.T) {
	home := newCanary(t, "127.0.0.1", func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			if _, err := w.Write(make([]byte, 64<<10)); err != nil {
				return
			}
		}
	})
	_, body, err := get(t, Client(Options{Allow: prefixes("127.0.0.0/8")}), home.URL)
	if err != nil || len(body) != maxResponse {
		t.Errorf("%d bytes, %v", len(body), err)
	}
}

func TestErrorsRevealNothingOfTheNetwork(t *testing.T) {
	secure := httptest.NewTLSServer(http.HandlerFunc(ok200))
	defer secure.Close()
	plain := newCanary(t, "127.0.0.1", ok200)
	hangs, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := hangs.Addr().String()
	hangs.Close()
	allowed := Options{Allow: prefixes("127.0.0.0/8"), Resolver: dnsServer(t, func(string) []string { return nil })}
	for _, tt := range []struct {
		options       Options
		target, words string
	}{
		{Options{}, "https://127.0.0.1:1/", "not public"},
		{Options{}, "http://1.1.1.1/", "https"},
		{allowed, "https://nowhere.example/", "resolved"},
		{allowed, "http://" + closed, "refused"},
		{allowed, secure.URL, "certificate"},
		{allowed, "https://127.0.0.1:" + plain.port, "TLS"},
	} {
		_, _, err := get(t, Client(tt.options), tt.target)
		var own *Error
		if !errors.As(err, &own) || !strings.Contains(own.Error(), tt.words) || strings.ContainsAny(own.Error(), "0123456789") {
			t.Errorf("%s: %v", tt.target, err)
		}
	}
}

func TestTrustedCertificateIsAccepted(t *testing.T) {
	secure := httptest.NewTLSServer(http.HandlerFunc(ok200))
	defer secure.Close()
	client := Client(Options{Allow: prefixes("127.0.0.0/8")})
	roots := x509.NewCertPool()
	roots.AddCert(secure.Certificate())
	client.Transport.(*transport).secure.TLSClientConfig.RootCAs = roots
	if status, body, err := get(t, client, secure.URL); status != 200 || body != "fine" {
		t.Errorf("%d %q %v", status, body, err)
	}
	client.CloseIdleConnections()
}
