// Package certificates manages TLS certificates of the server's listeners: from files, or by ACME
// (RFC 8555) for the server's host names.
//
// Failure policy: a valid certificate stays in use, whatever happens to its successor. Failures
// are logged and shown in the status. A handshake uses memory only: it never waits for an
// authority or a file, and an unknown name orders nothing.
package certificates

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"sync/atomic"

	"github.com/spf13/pflag"
	"golang.org/x/crypto/acme"
	"golang.org/x/crypto/acme/autocert"
	"golang.org/x/net/idna"
)

// auto is the mode with ACME.
const auto = "auto"

// Config is the source of certificates. The zero value means no TLS.
type Config struct {
	mode, certFile, keyFile string
	email, directory        string

	hosts   []string // hosts with a certificate by ACME; the first is for clients without SNI
	base    *url.URL
	pair    atomic.Pointer[tls.Certificate] // from files; nil: by ACME
	seen    stamp                           // state of the files when pair was read
	service atomic.Pointer[Service]         // nil: not started
}

// Bind adds the flags to those of a command.
func (c *Config) Bind(f *pflag.FlagSet) {
	f.StringVar(&c.mode, "tls", "", "auto: certificates by ACME for the hosts of the base URL, SMTP and verified tracking domains; none: no TLS, or the certificate of --tls-cert")
	f.StringVar(&c.certFile, "tls-cert", "", "certificate file with its chain (PEM); reloaded when it changes")
	f.StringVar(&c.keyFile, "tls-key", "", "private key file of the certificate (PEM); reloaded when it changes")
	f.StringVar(&c.email, "acme-email", "", "contact email address for the certificate authority")
	f.StringVar(&c.directory, "acme-directory", autocert.DefaultACMEDirectory, "directory URL of the certificate authority, with --tls auto")
}

// Asked reports whether TLS is enabled.
func (c *Config) Asked() bool { return c.mode == auto || c.certFile != "" }

// Auto reports whether certificates are obtained by ACME.
func (c *Config) Auto() bool { return c.mode == auto }

// Check validates the flags and reads the files, before anything is opened. Errors name the flag.
func (c *Config) Check(baseURL string) error {
	switch {
	case c.mode != "" && c.mode != auto:
		return fmt.Errorf("--tls must be auto or left out, is %q", c.mode)
	case (c.certFile == "") != (c.keyFile == ""):
		return errors.New("--tls-cert and --tls-key go together")
	case c.mode == auto && c.certFile != "":
		return errors.New("--tls auto and --tls-cert exclude each other: certificates come by ACME, or from files")
	case c.mode != auto && c.email != "":
		return errors.New("--acme-email is of no use without --tls auto")
	}
	c.base, _ = url.Parse(baseURL) // main refuses an invalid URL
	if c.mode == auto {
		return c.checkAuto()
	}
	if c.certFile == "" {
		return nil
	}
	if err := c.read(); err != nil {
		return fmt.Errorf("--tls-cert: %w", err)
	}
	return nil
}

// checkAuto sets the first host, which an authority must be able to reach by name.
func (c *Config) checkAuto() error {
	if c.base == nil || c.base.Scheme != "https" {
		return errors.New("--tls auto needs --base-url https://HOST: that is the first name to have a certificate")
	}
	host, ok := hostName(c.base.Hostname())
	if !ok {
		return fmt.Errorf("--tls auto can't have a certificate for %q, which is no public host name; give --base-url one", c.base.Hostname())
	}
	if u, err := url.Parse(c.directory); err != nil || u.Scheme != "https" || u.Host == "" {
		return fmt.Errorf("--acme-directory %q is not an https address", c.directory)
	}
	c.hosts = []string{host}
	return nil
}

// Add adds a host name that needs a certificate, before the server starts: that of SMTP. Names
// that are not public host names are ignored.
func (c *Config) Add(host string) {
	if name, ok := hostName(host); ok && c.mode == auto {
		c.hosts = append(c.hosts, name)
	}
}

// hostName returns a name in canonical form and reports whether an authority can sign for it.
func hostName(host string) (string, bool) {
	name, err := idna.Lookup.ToASCII(strings.TrimSuffix(host, "."))
	if err != nil || !strings.Contains(name, ".") || net.ParseIP(name) != nil {
		return "", false
	}
	return strings.ToLower(name), true
}

// suites are the cipher suites for TLS 1.2: with forward secrecy and authenticated encryption, as
// all suites of TLS 1.3.
var suites = []uint16{
	tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
	tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, tls.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
	tls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, tls.TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
}

// TLS returns the configuration of TLS listeners; nil: TLS is disabled. It may be called before
// the server starts, and has certificates from then on.
func (c *Config) TLS() *tls.Config {
	if !c.Asked() {
		return nil
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, CipherSuites: suites, GetCertificate: c.certificate}
}

// HTTPS returns the configuration of the HTTPS listener, which also answers TLS-ALPN challenges
// (RFC 8737).
func (c *Config) HTTPS() *tls.Config {
	out := c.TLS()
	if c.Auto() {
		out.NextProtos = []string{acme.ALPNProto}
	}
	return out
}

var errStarting = errors.New("the server has no certificates yet")

// certificate returns the certificate for a handshake.
func (c *Config) certificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	if pair := c.pair.Load(); pair != nil {
		return pair, nil
	}
	if s := c.service.Load(); s != nil {
		return s.certificate(hello)
	}
	return nil, errStarting
}
