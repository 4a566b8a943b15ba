package resolver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/miekg/dns"
	"go.uber.org/goleak"

	"mailer/app"
	"mailer/app/kit/publicip"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func exampleZone(t *testing.T) *zoneData {
	return parseZone(t, "example.com.",
		"example.com. 60 IN NS ns1.example.net.",
		"example.com. 60 IN NS ns2.example.net.",
		`txt.example.com. 300 IN TXT "v=spf1 " "a \"b\" \\c \255"`,
		"txt.example.com. 300 IN TXT two",
		"Mx.Example.com. 60 IN MX 10 Feedback.Example.NET.",
		"null.example.com. 60 IN MX 0 .",
		"a.example.com. 60 IN A 192.0.2.1",
		"a.example.com. 60 IN AAAA 2001:db8::1",
		"alias.example.com. 60 IN CNAME Txt.example.com.",
		"far.example.com. 60 IN CNAME there.other.test.",
		"nowhere.example.com. 60 IN CNAME gone.other.test.",
		"loop.example.com. 60 IN CNAME loop2.example.com.",
		"loop2.example.com. 60 IN CNAME loop.example.com.",
		"self.example.com. 60 IN CNAME self.example.com.",
		"a.b.empty.example.com. 60 IN A 192.0.2.1",
		"sub.example.com. 60 IN NS ns.sub.example.com.",
	)
}

func otherZone(t *testing.T) *zoneData {
	return parseZone(t, "other.test.", "other.test. 60 IN NS ns.other.test.", "ns.other.test. 60 IN A 127.0.0.3", "there.other.test. 60 IN TXT there")
}

// namesZone has the addresses of the name servers.
func namesZone(t *testing.T) *zoneData {
	return parseZone(t, ".",
		". 60 IN NS root.invalid.",
		"ns1.example.net. 60 IN A 127.0.0.2",
		"ns2.example.net. 60 IN A 127.0.0.3",
		"ns.sub.example.com. 60 IN A 127.0.0.4",
		"root.invalid. 60 IN A 127.0.0.2",
	)
}

func dnsWorld(t *testing.T) map[string]dns.Handler {
	// The system's resolver has cached that the sub zone is not delegated, and that no record
	// exists.
	stale := parseZone(t, "example.com.", "example.com. 60 IN NS ns1.example.net.", "example.com. 60 IN NS ns2.example.net.")
	return map[string]dns.Handler{
		"127.0.0.1": recursive{stale, otherZone(t), namesZone(t), parseZone(t, "sub.example.com.", "ns.sub.example.com. 60 IN A 127.0.0.4")},
		"127.0.0.2": exampleZone(t),
		"127.0.0.3": otherZone(t),
		"127.0.0.4": parseZone(t, "sub.example.com.", "deep.sub.example.com. 60 IN TXT deep"),
	}
}

func lookup(t *testing.T, r *Resolver, name string, kind app.DNSType) app.DNSAnswer {
	t.Helper()
	answer, err := r.Lookup(context.Background(), name, kind)
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

func TestLookup(t *testing.T) {
	txt := []app.DNSValue{
		{Text: "v=spf1 a \"b\" \\c \xff", Strings: []string{"v=spf1 ", "a \"b\" \\c \xff"}, TTL: 300},
		{Text: "two", Strings: []string{"two"}, TTL: 300},
	}
	resolvers := map[string]*Resolver{
		"one server":  direct(t, recursive{exampleZone(t), otherZone(t)}),
		"authorities": authoritative(t, dnsWorld(t)),
	}
	for name, test := range map[string]struct {
		name string
		kind app.DNSType
		want app.DNSAnswer
	}{
		"TXT":                    {"txt.example.com", "TXT", app.DNSAnswer{NameExists: true, Records: txt}},
		"TXT, upper case":        {"TXT.Example.COM.", "TXT", app.DNSAnswer{NameExists: true, Records: txt}},
		"MX":                     {"mx.example.com", "MX", app.DNSAnswer{NameExists: true, Records: []app.DNSValue{{Text: "feedback.example.net", Priority: 10, TTL: 60}}}},
		"null MX":                {"null.example.com", "MX", app.DNSAnswer{NameExists: true, Records: []app.DNSValue{{TTL: 60}}}},
		"A":                      {"a.example.com", "A", app.DNSAnswer{NameExists: true, Records: []app.DNSValue{{Text: "192.0.2.1", TTL: 60}}}},
		"AAAA":                   {"a.example.com", "AAAA", app.DNSAnswer{NameExists: true, Records: []app.DNSValue{{Text: "2001:db8::1", TTL: 60}}}},
		"CNAME":                  {"alias.example.com", "CNAME", app.DNSAnswer{NameExists: true, CNAME: "txt.example.com", Records: []app.DNSValue{{Text: "txt.example.com", TTL: 60}}}},
		"TXT by CNAME":           {"alias.example.com", "TXT", app.DNSAnswer{NameExists: true, CNAME: "txt.example.com", Records: txt}},
		"CNAME to another zone":  {"far.example.com", "TXT", app.DNSAnswer{NameExists: true, CNAME: "there.other.test", Records: []app.DNSValue{{Text: "there", Strings: []string{"there"}, TTL: 60}}}},
		"CNAME to nothing":       {"nowhere.example.com", "TXT", app.DNSAnswer{NameExists: true, CNAME: "gone.other.test"}},
		"no such name":           {"no.example.com", "TXT", app.DNSAnswer{}},
		"no record of the type":  {"a.example.com", "TXT", app.DNSAnswer{NameExists: true}},
		"UTF-8":                  {"b\u00fccher.example.com", "TXT", app.DNSAnswer{}},
		"an empty name in a way": {"b.empty.example.com", "TXT", app.DNSAnswer{NameExists: true}},
	} {
		for kind, r := range resolvers {
			t.Run(name+", "+kind, func(t *testing.T) {
				got := lookup(t, r, test.name, test.kind)
				if got.Server == "" {
					t.Error("the server is not named")
				}
				got.Server = ""
				if diff := cmp.Diff(test.want, got); diff != "" {
					t.Error(diff)
				}
			})
		}
	}
}

func TestReferralsAreFollowed(t *testing.T) {
	r := authoritative(t, dnsWorld(t))
	got := lookup(t, r, "deep.sub.example.com", app.DNSText)
	if len(got.Records) != 1 || got.Records[0].Text != "deep" || got.Server != "127.0.0.4:"+r.port {
		t.Errorf("%+v", got)
	}
}

func TestUnknownZonesAreAskedAtTheRoot(t *testing.T) {
	handlers := dnsWorld(t)
	handlers["127.0.0.2"] = parseZone(t, ".", ". 60 IN NS root.invalid.")
	if got := lookup(t, authoritative(t, handlers), "nosuch", app.DNSText); got.NameExists {
		t.Errorf("%+v", got)
	}
}

func TestCNAMELoopIsAnError(t *testing.T) {
	for kind, r := range map[string]*Resolver{"one server": direct(t, recursive{exampleZone(t)}), "authorities": authoritative(t, dnsWorld(t))} {
		for _, name := range []string{"loop.example.com", "self.example.com"} {
			if got, err := r.Lookup(context.Background(), name, app.DNSText); err == nil || !strings.Contains(err.Error(), "circle") {
				t.Errorf("%s, %s: %+v, %v", kind, name, got, err)
			}
		}
	}
}

func TestLongCNAMEChainIsAnError(t *testing.T) {
	var lines []string
	for i := range 9 {
		lines = append(lines, fmt.Sprintf("c%d.example.com. 60 IN CNAME c%d.example.com.", i, i+1))
	}
	z := parseZone(t, "example.com.", append(lines, "c9.example.com. 60 IN TXT end")...)
	r := direct(t, recursive{z})
	if got := lookup(t, r, "c1.example.com", app.DNSText); len(got.Records) != 1 {
		t.Errorf("8 CNAMEs: %+v", got)
	}
	if got, err := r.Lookup(context.Background(), "c0.example.com", app.DNSText); err == nil {
		t.Errorf("9 CNAMEs: %+v", got)
	}
}

func TestTruncatedAnswersUseTCP(t *testing.T) {
	var lines []string
	for i := range 500 {
		lines = append(lines, fmt.Sprintf(`many.example.com. 60 IN TXT "%d %s"`, i, strings.Repeat("x", 80)))
	}
	lines = append(lines, "example.com. 60 IN NS ns1.example.net.")
	handlers := dnsWorld(t)
	handlers["127.0.0.2"] = parseZone(t, "example.com.", lines...)
	if got := lookup(t, authoritative(t, handlers), "many.example.com", app.DNSText); len(got.Records) != 500 {
		t.Errorf("%d records", len(got.Records))
	}
}

func TestFailover(t *testing.T) {
	t.Parallel()
	for name, bad := range map[string]dns.HandlerFunc{
		"refuses":  func(w dns.ResponseWriter, q *dns.Msg) { w.WriteMsg(new(dns.Msg).SetRcode(q, dns.RcodeRefused)) },
		"fails":    func(w dns.ResponseWriter, q *dns.Msg) { w.WriteMsg(new(dns.Msg).SetRcode(q, dns.RcodeServerFailure)) },
		"is lame":  func(w dns.ResponseWriter, q *dns.Msg) { w.WriteMsg(new(dns.Msg).SetReply(q)) },
		"is silly": func(w dns.ResponseWriter, q *dns.Msg) { w.Write([]byte{byte(q.Id >> 8), byte(q.Id), 1}) },
		"refers up": func(w dns.ResponseWriter, q *dns.Msg) {
			m := new(dns.Msg).SetReply(q)
			m.Ns = []dns.RR{&dns.NS{Hdr: dns.RR_Header{Name: ".", Rrtype: dns.TypeNS, Class: dns.ClassINET}, Ns: "root.invalid."}}
			w.WriteMsg(m)
		},
		"is silent": func(dns.ResponseWriter, *dns.Msg) {},
	} {
		t.Run(name, func(t *testing.T) {
			handlers := dnsWorld(t)
			handlers["127.0.0.3"] = handlers["127.0.0.2"]
			handlers["127.0.0.2"] = bad
			r := authoritative(t, handlers)
			r.timeout = 200 * time.Millisecond
			got := lookup(t, r, "a.example.com", app.DNSA)
			if got.Server != "127.0.0.3:"+r.port || len(got.Records) != 1 {
				t.Errorf("%+v", got)
			}
		})
	}
}

func TestFailureIsNotNXDOMAIN(t *testing.T) {
	t.Parallel()
	for name, h := range map[string]dns.HandlerFunc{
		"REFUSED":  func(w dns.ResponseWriter, q *dns.Msg) { w.WriteMsg(new(dns.Msg).SetRcode(q, dns.RcodeRefused)) },
		"SERVFAIL": func(w dns.ResponseWriter, q *dns.Msg) { w.WriteMsg(new(dns.Msg).SetRcode(q, dns.RcodeServerFailure)) },
		"in time":  func(dns.ResponseWriter, *dns.Msg) {},
		"cut off": func(w dns.ResponseWriter, q *dns.Msg) {
			m := new(dns.Msg).SetReply(q)
			m.Truncated = true
			w.WriteMsg(m)
		},
		"can't be read": func(w dns.ResponseWriter, q *dns.Msg) {
			b, err := new(dns.Msg).SetReply(q).Pack()
			if err != nil {
				t.Error(err)
			}
			b[7] = 1 // announces an answer, and ends before it
			w.Write(b)
		},
		"refers to other servers": func(w dns.ResponseWriter, q *dns.Msg) {
			m := new(dns.Msg).SetReply(q)
			m.Ns = []dns.RR{&dns.NS{Hdr: dns.RR_Header{Name: "com.", Rrtype: dns.TypeNS, Class: dns.ClassINET}, Ns: "a.test."}}
			w.WriteMsg(m)
		},
		"nobody asked": func(w dns.ResponseWriter, q *dns.Msg) {
			other := q.Copy()
			other.Question[0].Name = "evil.test."
			for range 2 * maxStrayAnswers {
				w.WriteMsg(new(dns.Msg).SetRcode(other, dns.RcodeNameError))
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := direct(t, h)
			r.timeout = 200 * time.Millisecond
			got, err := r.Lookup(context.Background(), "a.example.com", app.DNSText)
			if name == "nobody asked" {
				name = "can't be read" // the same id: the reply is unusable
			}
			if err == nil || !strings.Contains(err.Error(), name) {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
}

func TestForgedIDsAreIgnored(t *testing.T) {
	r := direct(t, dns.HandlerFunc(func(w dns.ResponseWriter, q *dns.Msg) {
		m := new(dns.Msg).SetRcode(q, dns.RcodeNameError)
		m.Id ^= 1
		w.WriteMsg(m)
		rr, _ := dns.NewRR("a.example.com. 60 IN A 192.0.2.1")
		m = new(dns.Msg).SetReply(q)
		m.Answer = []dns.RR{rr}
		w.WriteMsg(m)
	}))
	if got := lookup(t, r, "a.example.com", app.DNSA); len(got.Records) != 1 {
		t.Errorf("%+v", got)
	}
}

func TestServersWithoutEDNS(t *testing.T) {
	r := direct(t, dns.HandlerFunc(func(w dns.ResponseWriter, q *dns.Msg) {
		if q.IsEdns0() != nil {
			w.WriteMsg(new(dns.Msg).SetRcode(q, dns.RcodeFormatError))
			return
		}
		w.WriteMsg(new(dns.Msg).SetReply(q))
	}))
	if got := lookup(t, r, "a.example.com", app.DNSA); !got.NameExists {
		t.Errorf("%+v", got)
	}
}

func TestOutOfZoneRecordsAreIgnored(t *testing.T) {
	liar := func(w dns.ResponseWriter, q *dns.Msg) {
		m := new(dns.Msg).SetReply(q)
		m.Authoritative = true
		c, _ := dns.NewRR("far.example.com. 60 IN CNAME there.other.test.")
		outOfZone, _ := dns.NewRR("there.other.test. 60 IN TXT lie")
		m.Answer = []dns.RR{c, outOfZone}
		w.WriteMsg(m)
	}
	handlers := dnsWorld(t)
	handlers["127.0.0.2"] = dns.HandlerFunc(liar)
	got := lookup(t, authoritative(t, handlers), "far.example.com", app.DNSText)
	if len(got.Records) != 1 || got.Records[0].Text != "there" {
		t.Errorf("%+v", got)
	}
}

func TestPrivateNameServersAreSkipped(t *testing.T) {
	var asked atomic.Int32
	handlers := dnsWorld(t)
	handlers["127.0.0.2"] = dns.HandlerFunc(func(dns.ResponseWriter, *dns.Msg) { asked.Add(1) })
	r := authoritative(t, handlers)
	r.allowed = publicip.Is
	_, err := r.Lookup(context.Background(), "a.example.com", app.DNSA)
	if err == nil || !strings.Contains(err.Error(), "private addresses") || asked.Load() != 0 {
		t.Errorf("%v, asked %d times", err, asked.Load())
	}
}

func TestGarbageNeverPanics(t *testing.T) {
	t.Parallel()
	pc, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	replies := [][]byte{
		{}, {0}, make([]byte, 12), []byte(strings.Repeat("\xff", 600)),
		[]byte("\x81\x80\x00\x01\x00\x01\x00\x00\x00\x00\x01a\x07example\x03com\x00\x00\x01\x00\x01\xc0\x0c\x00\x01\x00\x01\x00\x00\x00\x00\x00\xff"),
		[]byte("\x81\x80\x00\x01\xff\xff\x00\x00\x00\x00\x01a\x07example\x03com\x00\x00\x01\x00\x01\xc0\x1d"),
		[]byte("\x81\x80\x00\x01\x00\x01\x00\x00\x00\x00\x01a\x07example\x03com\x00\x00\x01\x00\x01\xc0\x0c\x00\x01\x00\x01\x00\x00\x00\x00\x00\x00"),
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		buf := make([]byte, 512)
		for i := 0; ; i++ {
			_, from, err := pc.ReadFrom(buf)
			if err != nil {
				return
			}
			pc.WriteTo(append([]byte{buf[0], buf[1]}, replies[i%len(replies)]...), from)
		}
	}()
	t.Cleanup(func() { pc.Close(); <-done })
	r := New(pc.LocalAddr().String())
	r.timeout = 50 * time.Millisecond
	for range len(replies) {
		if got, err := r.Lookup(context.Background(), "a.example.com", app.DNSA); err == nil && len(got.Records) > 0 {
			t.Errorf("%+v", got)
		}
	}
}

func TestLookupEndsWithContext(t *testing.T) {
	asked := make(chan struct{}, 1)
	r := direct(t, dns.HandlerFunc(func(dns.ResponseWriter, *dns.Msg) { asked <- struct{}{} }))
	r.timeout = time.Hour // longer than a test may take
	ctx, cancel := context.WithCancel(context.Background())
	go func() { <-asked; cancel() }()
	if _, err := r.Lookup(ctx, "a.example.com", app.DNSA); err == nil {
		t.Error("it found an answer that nobody gave")
	}
}

func TestInvalidQuestionsAreRefused(t *testing.T) {
	r := New("127.0.0.1:1")
	for name, kind := range map[string]app.DNSType{"": "A", "a..b": "A", strings.Repeat("a", 64) + ".com": "A", "a.com": "WHAT"} {
		if _, err := r.Lookup(context.Background(), name, kind); err == nil || !strings.Contains(err.Error(), "can't ask") {
			t.Errorf("%q %s: %v", name, kind, err)
		}
	}
}

func TestServerWithoutPort(t *testing.T) {
	for in, want := range map[string]string{"9.9.9.9": "9.9.9.9:53", "9.9.9.9:54": "9.9.9.9:54", "2620:fe::fe": "[2620:fe::fe]:53", "[2620:fe::fe]": "[2620:fe::fe]:53", "dns.test": "dns.test:53"} {
		if got := New(in).server; got != want {
			t.Errorf("%s: %s", in, got)
		}
	}
}

func TestSystemServers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "resolv.conf")
	for content, want := range map[string]string{"nameserver 192.0.2.1\nnameserver 2001:db8::1\nsearch x.test\n": "192.0.2.1:53 [2001:db8::1]:53", "# none\n": ""} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := systemServers(path)
		if strings.Join(got, " ") != want || (err != nil) != (want == "") {
			t.Errorf("%q: %v, %v", content, got, err)
		}
	}
	if _, err := systemServers(path + ".gone"); err == nil || !strings.Contains(err.Error(), "--resolver") {
		t.Error(err)
	}
}

func TestLookupFailsWithoutSystemServers(t *testing.T) {
	r := New("")
	r.system = func() ([]string, error) { return nil, errors.New("none here") }
	if _, err := r.Lookup(context.Background(), "example.com", app.DNSA); err == nil || !strings.Contains(err.Error(), "none here") {
		t.Error(err)
	}
}

func TestZoneIsLookedUpOnce(t *testing.T) {
	var asked atomic.Int32
	handlers := dnsWorld(t)
	system := handlers["127.0.0.1"]
	handlers["127.0.0.1"] = dns.HandlerFunc(func(w dns.ResponseWriter, q *dns.Msg) { asked.Add(1); system.ServeDNS(w, q) })
	r := authoritative(t, handlers)
	lookup(t, r, "a.example.com", app.DNSA)
	before := asked.Load()
	lookup(t, r, "a.example.com", app.DNSText)
	if asked.Load() != before || before == 0 {
		t.Errorf("asked %d times, then %d", before, asked.Load())
	}
}

// FuzzParse checks that any reply is decoded or refused, and that the names in it can be looked up.
func FuzzParse(f *testing.F) {
	soa, _ := dns.NewRR(`example.com. 60 IN SOA ns.example.com. jane\.doe.example.com. 1 1 1 1 1`)
	m := new(dns.Msg).SetQuestion("example.com.", dns.TypeA)
	m.Ns = []dns.RR{soa}
	packed, err := m.Pack()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(packed)
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := parse(b)
		if err != nil {
			return
		}
		for _, rr := range append(m.Answer, m.Ns...) {
			value(rr)
			if name, err := canonical(owner(rr)); name != owner(rr) {
				t.Errorf("%q: %q, %v", owner(rr), name, err)
			}
		}
	})
}

// TestEscapedDotInMailboxName: an SOA with a mailbox like jane\.doe.example.com is part of each
// negative answer.
func TestEscapedDotInMailboxName(t *testing.T) {
	r := direct(t, dns.HandlerFunc(func(w dns.ResponseWriter, q *dns.Msg) {
		m := new(dns.Msg).SetRcode(q, dns.RcodeNameError)
		m.RecursionAvailable = true
		soa, _ := dns.NewRR(`example.com. 60 IN SOA ns.example.com. jane\.doe.example.com. 1 1 1 1 1`)
		m.Ns = []dns.RR{soa}
		w.WriteMsg(m)
	}))
	if got := lookup(t, r, "a.example.com", app.DNSA); got.NameExists || len(got.Records) > 0 {
		t.Errorf("%+v", got)
	}
}

// TestExtendedResponseCodes: a server that does not support our EDNS version has said nothing
// about the name.
func TestExtendedResponseCodes(t *testing.T) {
	r := direct(t, dns.HandlerFunc(func(w dns.ResponseWriter, q *dns.Msg) {
		m := new(dns.Msg).SetRcode(q, dns.RcodeBadVers)
		w.WriteMsg(m.SetEdns0(ednsSize, false))
	}))
	if got, err := r.Lookup(t.Context(), "a.example.com", app.DNSA); err == nil || !strings.Contains(err.Error(), "code 16") {
		t.Errorf("%+v, %v", got, err)
	}
}
