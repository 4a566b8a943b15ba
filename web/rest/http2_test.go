package rest

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"io"
	"math/big"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"mailer/web/rest/openapi"
)

// secured is a server by TLS with a client that speaks HTTP/2 on one connection.
type secured struct {
	*fixture
	server *Server
	client *http.Client
	url    string
	dials  atomic.Int32
}

func testCertificate(t *testing.T) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), DNSNames: []string{"mail.test", "links.test"}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

func newSecured(t *testing.T, change ...func(*Config)) *secured {
	t.Helper()
	s := &secured{fixture: newFixture(t, append(change, func(c *Config) { c.BaseURL = "https://mail.test" })...)}
	s.server = NewServer(s.handler)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		ended <- s.server.ServeTLS(l, &tls.Config{Certificates: []tls.Certificate{testCertificate(t)}})
	}()
	transport := &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: true,
		HTTP2: &http.HTTP2Config{StrictMaxConcurrentRequests: true},
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			s.dials.Add(1)
			return (&net.Dialer{}).DialContext(ctx, network, l.Addr().String())
		},
	}
	s.client, s.url = &http.Client{Transport: transport, Timeout: time.Minute}, "https://mail.test"
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		if err := s.server.Shutdown(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return s
}

func (s *secured) get(t *testing.T, url string) (*http.Response, error) {
	t.Helper()
	req, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer a/1")
	return s.client.Do(req)
}

// A thousand streams of one connection are no more than there may be connections.
func TestStreamsCountAsConnections(t *testing.T) {
	const most, streams = 5, 1000
	s := newSecured(t, func(c *Config) { c.Limits.ConnectionsPerAddress = most })
	var at, peak atomic.Int32
	free := make(chan struct{})
	RegisterRaw(s.handler, Route{}, openapi.Operation{OperationID: "wait", Method: "GET", Path: "/wait"},
		func(context.Context, *Exchange, *struct{}) (*struct{}, error) {
			defer at.Add(-1)
			for now, was := at.Add(1), peak.Load(); now > was && !peak.CompareAndSwap(was, now); was = peak.Load() {
			}
			<-free
			return nil, nil
		})
	if res, err := s.get(t, s.url+"/"); err != nil || res.Body.Close() != nil { // the connection that all share
		t.Fatal(err)
	}
	var served, refused atomic.Int32
	var wg sync.WaitGroup
	slots := make(chan struct{}, 90) // the client itself fails with more requests than the server accepts
	for range streams {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			res, err := s.get(t, s.url+"/wait")
			if err != nil {
				t.Error(err)
				return
			}
			defer res.Body.Close()
			_, _ = io.Copy(io.Discard, res.Body) // so that its stream ends
			switch {
			case res.ProtoMajor != 2:
				t.Errorf("by %s", res.Proto)
			case res.StatusCode == http.StatusServiceUnavailable && res.Header.Get("Retry-After") != "" && res.Header.Get("Connection") == "":
				if refused.Add(1) == streams-most {
					close(free)
				}
			case res.StatusCode < 300:
				served.Add(1)
			default:
				t.Errorf("%s", res.Status)
			}
		})
	}
	wg.Wait()
	if peak.Load() != most || served.Load() != most || s.dials.Load() != 1 {
		t.Errorf("%d at once, %d served, %d refused, %d connections", peak.Load(), served.Load(), refused.Load(), s.dials.Load())
	}
	if n := s.server.conns.streams + len(s.server.conns.streamsByPeer); n != 0 {
		t.Errorf("%d are counted still", n)
	}
}

// A connection is not evicted while one of its streams is being served.
func TestBusyHTTP2ConnectionIsKept(t *testing.T) {
	c := &conn{}
	a, b := &Exchange{conn: c, shared: true}, &Exchange{conn: c, shared: true}
	a.setPhase(phaseWorking)
	b.setPhase(phaseWorking)
	b.setPhase(phaseWorking)
	b.setPhase(phaseBody)
	if _, closable := c.idle(time.Now()); closable {
		t.Error("it would be cut")
	}
	a.setPhase(phaseReading)
	if _, closable := c.idle(time.Now()); !closable {
		t.Error("it would not be cut")
	}
}

func TestFollowerOverHTTP2(t *testing.T) {
	s := newSecured(t)
	frames := make(chan []byte)
	ended := make(chan struct{})
	RegisterRaw(s.handler, Route{}, openapi.Operation{OperationID: "follow", Method: "GET", Path: "/follow"},
		func(_ context.Context, x *Exchange, _ *struct{}) (*SelfWritten, error) {
			return &SelfWritten{Body: func() { s.handler.Follow(x, []byte("first\n\n"), frames, func() { close(ended) }) }}, nil
		})
	res, err := s.get(t, s.url+"/follow")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	read := func(want string) {
		t.Helper()
		got := make([]byte, len(want))
		if _, err := io.ReadFull(res.Body, got); err != nil || string(got) != want {
			t.Fatalf("%q, %v; want %q", got, err, want)
		}
	}
	read("first\n\n")
	frames <- []byte("second\n\n")
	read("second\n\n")
	if res.ProtoMajor != 2 || res.Header.Get("Content-Type") != "text/event-stream" {
		t.Errorf("%s %v", res.Proto, res.Header)
	}
	if err := s.server.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	<-ended
	if _, err := io.ReadAll(res.Body); err != nil {
		t.Errorf("the end: %v", err)
	}
}

func TestHSTS(t *testing.T) {
	s := newSecured(t)
	for url, want := range map[string]string{"https://mail.test/": "max-age=31536000", "https://MAIL.test:8443/": "max-age=31536000", "https://links.test/": ""} {
		res, err := s.get(t, url)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if got := res.Header.Get("Strict-Transport-Security"); got != want {
			t.Errorf("%s: %q, want %q", url, got, want)
		}
	}
	if w := get(s.handler, "/"); w.Header().Get("Strict-Transport-Security") != "" {
		t.Error("it is said in the clear")
	}
}
