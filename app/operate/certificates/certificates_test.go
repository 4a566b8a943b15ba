package certificates

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"mailer/db"
)

// configOf returns the configuration of flags.
func configOf(t *testing.T, args ...string) *Config {
	t.Helper()
	c, flags := &Config{}, pflag.NewFlagSet("test", pflag.ContinueOnError)
	c.Bind(flags)
	if err := flags.Parse(args); err != nil {
		t.Fatal(err)
	}
	return c
}

// writePair writes a certificate and its key to files.
func writePair(t *testing.T, dir string, serial int64) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: "mail.example.com"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(90 * 24 * time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for name, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "PRIVATE KEY", Bytes: secret}} {
		if err := os.WriteFile(name, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert, key
}

// TestContradictorySettingsAreRefused: each error names its flag.
func TestContradictorySettingsAreRefused(t *testing.T) {
	cert, key := writePair(t, t.TempDir(), 1)
	for _, c := range []struct {
		base, want string // want: part of the error; empty: no error
		args       []string
	}{
		{"https://mail.example.com", "", nil},
		{"https://mail.example.com", "", []string{"--tls=auto"}},
		{"https://mail.example.com", "", []string{"--tls=auto", "--acme-email=a@example.com"}},
		{"http://127.0.0.1:3000", "", []string{"--tls-cert=" + cert, "--tls-key=" + key}},
		{"https://mail.example.com", "--tls must be auto", []string{"--tls=on"}},
		{"https://mail.example.com", "--tls-cert and --tls-key", []string{"--tls-cert=" + cert}},
		{"https://mail.example.com", "--tls-cert and --tls-key", []string{"--tls-key=" + key}},
		{"https://mail.example.com", "exclude each other", []string{"--tls=auto", "--tls-cert=" + cert, "--tls-key=" + key}},
		{"https://mail.example.com", "--acme-email", []string{"--acme-email=a@example.com"}},
		{"http://mail.example.com", "--base-url https://", []string{"--tls=auto"}},
		{"https://192.0.2.1", "--base-url", []string{"--tls=auto"}},
		{"https://localhost", "--base-url", []string{"--tls=auto"}},
		{"https://mail.example.com", "--acme-directory", []string{"--tls=auto", "--acme-directory=http://ca.example"}},
		{"https://mail.example.com", "--tls-cert", []string{"--tls-cert=" + key, "--tls-key=" + cert}},
	} {
		err := configOf(t, c.args...).Check(c.base)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s with %q: %v, want %q", c.base, c.args, err, c.want)
		}
	}
}

// TestCertificatesNeedHostNames: names that an authority can't reach are ignored.
func TestCertificatesNeedHostNames(t *testing.T) {
	for in, want := range map[string]string{"Mail.Example.com.": "mail.example.com", "bücher.example": "xn--bcher-kva.example", "localhost": "", "192.0.2.1": "", "": "", "a b.example": ""} {
		if got, ok := hostName(in); got != want || ok != (want != "") {
			t.Errorf("hostName(%q) = %q, %v, want %q", in, got, ok, want)
		}
	}
	c := configOf(t, "--tls=auto")
	if err := c.Check("https://mail.example.com"); err != nil {
		t.Fatal(err)
	}
	c.Add("smtp.example.com")
	c.Add("localhost")
	if len(c.hosts) != 2 || c.hosts[1] != "smtp.example.com" {
		t.Errorf("hosts %q", c.hosts)
	}
}

// TestACMEProblemIsFound in an answer or a failed challenge. An outdated nonce is not a problem:
// the library retries.
func TestACMEProblemIsFound(t *testing.T) {
	for body, want := range map[string]string{
		`{"type":"urn:ietf:params:acme:error:rateLimited","detail":"too many certificates"}`:                                    "too many certificates",
		`{"status":"invalid","challenges":[{"type":"http-01"},{"type":"tls-alpn-01","error":{"detail":"connection refused"}}]}`: "tls-alpn-01: connection refused",
		`{"type":"urn:ietf:params:acme:error:badNonce","detail":"JWS has an invalid anti-replay nonce"}`:                        "",
		`{"status":"valid"}`: "",
		`not JSON`:           "",
	} {
		if got := problemIn([]byte(body)); got != want {
			t.Errorf("of %s it says %q, want %q", body, got, want)
		}
	}
}

// TestExpiryIsLoggedOncePerDay: not before the warning period.
func TestExpiryIsLoggedOncePerDay(t *testing.T) {
	now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	until := now.Add(14 * 24 * time.Hour)
	s := &Service{states: map[string]*state{
		"soon.example":  {CertificateState: db.CertificateState{Host: "soon.example", ExpiresAt: until, LookAt: now}},
		"later.example": {CertificateState: db.CertificateState{Host: "later.example", ExpiresAt: until, LookAt: now.Add(2 * time.Hour)}},
		"none.example":  {CertificateState: db.CertificateState{Host: "none.example"}},
	}}
	for _, step := range []struct {
		after time.Duration
		want  int
	}{{-time.Second, 0}, {0, 1}, {time.Hour, 0}, {3 * time.Hour, 1}, {24 * time.Hour, 1}, {27 * time.Hour, 1}} {
		if got := s.ending(now.Add(step.after)); len(got) != step.want {
			t.Errorf("%v later %d are reported, want %d: %+v", step.after, len(got), step.want, got)
		}
	}
}

// TestFailedHostBacksOff: an authority is not asked again immediately after a failure.
func TestFailedHostBacksOff(t *testing.T) {
	for failures, want := range []time.Duration{0, 5 * time.Minute, 15 * time.Minute, 45 * time.Minute, time.Hour, time.Hour} {
		if got := delay(failures); got != want {
			t.Errorf("after %d failures %v, want %v", failures, got, want)
		}
	}
}

// TestChangedFilesAreReloaded: replaced and removed files.
func TestChangedFilesAreReloaded(t *testing.T) {
	dir := t.TempDir()
	cert, key := writePair(t, dir, 1)
	c := configOf(t, "--tls-cert="+cert, "--tls-key="+key)
	if err := c.Check("http://127.0.0.1"); err != nil {
		t.Fatal(err)
	}
	if !c.seen.same(c.stampOf()) {
		t.Error("files that did not change have changed")
	}
	other := t.TempDir()
	newCert, newKey := writePair(t, other, 2)
	for from, to := range map[string]string{newCert: cert, newKey: key} {
		if err := os.Rename(from, to); err != nil {
			t.Fatal(err)
		}
	}
	if c.seen.same(c.stampOf()) {
		t.Error("other files are not seen")
	}
	if err := c.read(); err != nil || c.pair.Load().Leaf.SerialNumber.Int64() != 2 {
		t.Errorf("took up %v: %v", c.pair.Load().Leaf.SerialNumber, err)
	}
	if err := os.Remove(key); err != nil {
		t.Fatal(err)
	}
	if c.seen.same(c.stampOf()) || c.read() == nil || c.pair.Load() == nil {
		t.Error("a key that is gone is not seen, or takes the pair with it")
	}
}
