package sdktest

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// The tests of this file have a real certificate authority of the ACME protocol sign for
// the server: Let's Encrypt's pebble, which is built from the module in the folder acme.

const (
	// pebbleBuild bounds the build of pebble, which takes 20 seconds the first time.
	pebbleBuild = 3 * time.Minute
	// certificateLife is the lifetime of pebble's certificates in seconds: they are renewed after
	// two thirds of it.
	certificateLife = 24
	issueTimeout    = time.Minute
)

// pebble is a certificate authority with a name server.
type pebble struct {
	directory string
	names     *nameServer
	roots     *x509.CertPool
	rootFile  string // of its own HTTPS
	tls, http string // addresses where it proves names
	log       string
}

// buildPebble builds the authority, once.
var buildPebble = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "pebble")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "pebble")
	cmd := exec.Command("go", "build", "-C", "acme", "-o", path, "github.com/letsencrypt/pebble/v2/cmd/pebble")
	cmd.Env = append(os.Environ(), "GOWORK=off", "CGO_ENABLED=0")
	cmd.WaitDelay = pebbleBuild
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build pebble: %w\n%s", err, out)
	}
	return path, nil
})

func portOf(t *testing.T, addr string) int {
	t.Helper()
	at, err := net.ResolveTCPAddr("tcp", addr)
	must(t, err)
	return at.Port
}

// newPebble starts an authority that signs for what its name server leads to the loopback.
func newPebble(t *testing.T) *pebble {
	t.Helper()
	path, err := buildPebble()
	need(t, err == nil, fmt.Sprintf("pebble: %v", err))
	dir := t.TempDir()
	ca := newAuthority(t)
	certFile, keyFile := writeCert(t, dir, ca.issue(t))
	listen, manage := freeAddr(t), freeAddr(t)
	p := &pebble{directory: "https://" + listen + "/dir", names: newNameServer(t), rootFile: ca.file, tls: freeAddr(t), http: freeAddr(t), log: filepath.Join(dir, "log")}
	config, err := json.Marshal(map[string]any{"pebble": map[string]any{
		"listenAddress": listen, "managementListenAddress": manage, "certificate": certFile, "privateKey": keyFile,
		"httpPort": portOf(t, p.http), "tlsPort": portOf(t, p.tls), "keyAlgorithm": "ecdsa", "domainBlocklist": []string{"blocked.example"},
		"profiles": map[string]any{"default": map[string]any{"description": "short", "validityPeriod": certificateLife}},
	}})
	must(t, err)
	file := filepath.Join(dir, "config.json")
	must(t, os.WriteFile(file, config, 0o600))
	logs, err := os.Create(p.log)
	must(t, err)
	cmd := exec.Command(path, "-config", file, "-dnsserver", p.names.addr)
	cmd.Env = append(cleanEnv(dir), "PEBBLE_VA_NOSLEEP=1", "PEBBLE_AUTHZREUSE=0")
	cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = logs, logs, endWithParent()
	must(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		_ = logs.Close()
	})
	p.readRoots(t, ca, "https://"+manage+"/roots/0")
	return p
}

// readRoots waits until the authority runs, and reads its root certificates.
func (p *pebble) readRoots(t *testing.T, ca *authority, url string) {
	t.Helper()
	own := x509.NewCertPool()
	own.AddCert(ca.cert)
	client := &http.Client{Timeout: time.Minute, Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: own}, DisableKeepAlives: true}}
	p.roots = x509.NewCertPool()
	eventually(t, startTimeout, "pebble runs", func() (bool, string) {
		res, err := client.Get(url)
		if err != nil {
			return false, err.Error()
		}
		defer res.Body.Close()
		pem, err := io.ReadAll(res.Body)
		return err == nil && p.roots.AppendCertsFromPEM(pem), res.Status
	})
}

// orders is how many certificates it was asked for.
func (p *pebble) orders(t *testing.T) int {
	t.Helper()
	b, err := os.ReadFile(p.log)
	must(t, err)
	return bytes.Count(b, []byte("orders in the db"))
}

// serve starts a server that has its certificates from the authority.
func (p *pebble) serve(t *testing.T, host, listenTLS, listenHTTP string, args ...string) *instance {
	t.Helper()
	in := p.instance(t, host, listenTLS, listenHTTP, args...)
	in.serve(t)
	return in
}

// instance is such a server that is not started.
func (p *pebble) instance(t *testing.T, host, listenTLS, listenHTTP string, args ...string) *instance {
	t.Helper()
	p.names.publish(t, dnsRecord{Name: host, Type: "A", Value: "127.0.0.1"})
	in := newInstance(t, append([]string{"--tls", "auto", "--acme-directory", p.directory, "--acme-email", "ops@" + host, "--listen-tls", listenTLS, "--listen-http", listenHTTP,
		"--base-url", fmt.Sprintf("https://%s:%d", host, portOf(t, listenTLS)), "--resolver", p.names.addr}, args...)...)
	in.begin = func(cmd *exec.Cmd) error {
		cmd.Env = append(cmd.Env, "SSL_CERT_FILE="+p.rootFile)
		return cmd.Start()
	}
	return in
}

// certificate is what a server shows for a name, if it is one of the authority's.
func (p *pebble) certificate(addr, name string) (*x509.Certificate, error) {
	conn, err := tls.DialWithDialer(&net.Dialer{Timeout: time.Minute}, "tcp", addr, &tls.Config{RootCAs: p.roots, ServerName: name})
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	return conn.ConnectionState().PeerCertificates[0], nil
}

// awaitCertificate waits for another certificate than the given one.
func (p *pebble) awaitCertificate(t *testing.T, addr, name string, not *x509.Certificate) (c *x509.Certificate) {
	t.Helper()
	eventually(t, issueTimeout, "a certificate for "+name, func() (bool, string) {
		var err error
		if c, err = p.certificate(addr, name); err != nil {
			return false, err.Error()
		}
		return not == nil || not.SerialNumber.Cmp(c.SerialNumber) != 0, "the old one"
	})
	return c
}

func TestCertificatesByACME(t *testing.T) {
	part(t, "tls")
	p := newPebble(t)
	in := p.serve(t, "mail.acme.test", p.tls, "none")
	first := p.awaitCertificate(t, p.tls, "mail.acme.test", nil)
	t.Run("a restart orders nothing", func(t *testing.T) {
		before := p.orders(t)
		in.stop(t)
		in.serve(t)
		if c, err := p.certificate(p.tls, "mail.acme.test"); err != nil || c.SerialNumber.Cmp(first.SerialNumber) != 0 || p.orders(t) != before {
			t.Errorf("%v, orders %d and %d", err, before, p.orders(t))
		}
	})
	t.Run("unknown names order nothing", func(t *testing.T) { p.unknownNames(t) })
	t.Run("a tracking host", func(t *testing.T) { p.trackingHost(t, in) })
	t.Run("nothing is in the clear", func(t *testing.T) {
		for _, file := range []string{in.db, in.db + "-wal"} {
			if b, err := os.ReadFile(file); err == nil && bytes.Contains(b, []byte("PRIVATE KEY")) {
				t.Errorf("%s holds a key", filepath.Base(file))
			}
		}
		cmd := exec.Command(binary.path, "status", "--json", "--db", in.db)
		cmd.Dir, cmd.Env = in.dir, cleanEnv(in.dir)
		if out, _ := cmd.Output(); !strings.Contains(string(out), `"host": "mail.acme.test"`) { // exits 1 if there are findings
			t.Errorf("%s", out)
		}
	})
	t.Run("renewal", func(t *testing.T) {
		next := p.awaitCertificate(t, p.tls, "mail.acme.test", first)
		if !next.NotAfter.After(first.NotAfter) {
			t.Errorf("%s, before %s", next.NotAfter, first.NotAfter)
		}
	})
	if log := in.log(t); bytes.Contains(log, []byte("level=ERROR")) {
		t.Errorf("%s", log)
	}
}

// unknownNames opens a thousand handshakes for names that the server does not have.
func (p *pebble) unknownNames(t *testing.T) {
	before := p.orders(t)
	for i := range 1000 {
		if _, err := p.certificate(p.tls, fmt.Sprintf("x%d.acme.test", i)); err == nil {
			t.Fatal("there is a certificate for an unknown name")
		}
	}
	if n := p.orders(t) - before; n != 0 {
		t.Errorf("%d orders", n)
	}
}

// trackingHost gets its certificate once its record is found.
func (p *pebble) trackingHost(t *testing.T, in *instance) {
	var d domainThing
	must(t, json.Unmarshal([]byte(in.run(t, "domains", "add", "acme.example", "--trust", "--json")), &d))
	req, err := http.NewRequest(http.MethodPatch, in.url+"/domains/"+d.ID, strings.NewReader(`{"click_tracking":true,"tracking_subdomain":"links"}`))
	must(t, err)
	req.Header.Set("Authorization", "Bearer "+in.newKey(t))
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	must(t, err)
	res.Body.Close()
	const host = "links.acme.example"
	if _, err := p.certificate(p.tls, host); err == nil {
		t.Fatal("a host has a certificate whose record is not there")
	}
	p.names.publish(t, dnsRecord{Name: host, Type: "CNAME", Value: "mail.acme.test"}, dnsRecord{Name: host, Type: "A", Value: "127.0.0.1"})
	in.run(t, "domains", "verify", "acme.example", "--resolver", p.names.addr)
	p.awaitCertificate(t, p.tls, host, nil)
	res = p.get(t, p.tls, "https://"+host+"/healthz")
	if res.Header.Get("Strict-Transport-Security") != "" || res.StatusCode != http.StatusOK {
		t.Errorf("%s %v", res.Status, res.Header)
	}
}

// get asks a server at an address for a page of any host.
func (p *pebble) get(t *testing.T, addr, url string) *http.Response {
	t.Helper()
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: p.roots}, DisableKeepAlives: true, ForceAttemptHTTP2: true}
	transport.DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, addr)
	}
	client := &http.Client{Transport: transport, Timeout: time.Minute, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := client.Get(url)
	must(t, err)
	res.Body.Close()
	return res
}

// Another server has port 443 of this name, so that the authority uses port 80.
func TestCertificatesByHTTP01AndRefusals(t *testing.T) {
	part(t, "tls")
	p := newPebble(t)
	addr := freeAddr(t)
	in := p.serve(t, "web.acme.test", addr, p.http)
	p.awaitCertificate(t, addr, "web.acme.test", nil)
	for url, want := range map[string]string{
		"http://web.acme.test/a%2Fb/?x=1":                      fmt.Sprintf("https://web.acme.test:%d/a%%2Fb/?x=1", portOf(t, addr)),
		"http://other.test//evil.test/":                        fmt.Sprintf("https://web.acme.test:%d//evil.test/", portOf(t, addr)),
		"http://web.acme.test/.well-known/acme-challenge/none": "",
	} {
		res := p.get(t, p.http, url)
		if got := res.Header.Get("Location"); got != want || (want != "") != (res.StatusCode == http.StatusPermanentRedirect) {
			t.Errorf("%s: %s %q, want %q", url, res.Status, got, want)
		}
	}
	in.stop(t)
	in = p.serve(t, "blocked.example", p.tls, "none")
	eventually(t, issueTimeout, "the status says what the authority refused", func() (bool, string) {
		cmd := exec.Command(binary.path, "status", "--db", in.db)
		cmd.Env = cleanEnv(in.dir)
		out, err := cmd.Output()
		return err != nil && bytes.Contains(out, []byte("blocked.example has no certificate: ")), string(out)
	})
	if !bytes.Contains(in.log(t), []byte(`level=ERROR msg="a certificate could not be had" host=blocked.example`)) {
		t.Errorf("%s", in.log(t))
	}
	orders := p.orders(t)
	in.stop(t)
	in.serve(t)
	if _, err := p.certificate(p.tls, "blocked.example"); err == nil || p.orders(t) != orders {
		t.Errorf("%v; a failure is repeated at a restart: %d orders, then %d", err, orders, p.orders(t))
	}
}
