// Package outbound is the HTTP client for URLs that callers chose: webhook endpoints and
// certificates of provider events.
//
// Failure policy: an address is checked when it is dialled, after name resolution, and nothing is
// sent to an address that is refused. Redirects are not followed and proxies of the environment
// are not used. Error messages may be shown to whoever chose the URL: they reveal nothing of this
// machine's network.
package outbound

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"syscall"
	"time"

	"mailer/app/kit/publicip"
)

// Limits of one request.
const (
	timeout     = 10 * time.Second
	maxResponse = 1 << 20 // bytes of a body that are read
	maxHeader   = 64 << 10
	dialTimeout = 5 * time.Second
	idleTimeout = 30 * time.Second
	maxIdle     = 100
	idlePerHost = 8
)

// Options says what a client may reach beyond public addresses.
type Options struct {
	// Allow are ranges that may be reached although they are not public, also without TLS.
	Allow []netip.Prefix
	// Resolver resolves names; nil: the system's.
	Resolver *net.Resolver
	// Port is the only port outside of Allow; 0: any.
	Port uint16
	// MaxResponse bounds the bytes of a body that are read; 0: 1 MB.
	MaxResponse int64
}

// Client returns a client that reaches public addresses by https, and those in Allow also by http.
// It is safe for concurrent use. Its errors are *Error within the *url.Error of net/http. Its
// Transport follows the same rules but has no timeout.
func Client(o Options) *http.Client {
	return &http.Client{
		Transport:     &transport{newTransport(o, false), newTransport(o, true), cmp.Or(o.MaxResponse, maxResponse)},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Timeout:       timeout,
	}
}

// transport has separate connections for https and http, so that a connection dialled for https is
// never used for http.
type transport struct {
	secure, plain *http.Transport
	maxResponse   int64
}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	way := t.secure
	if r.URL.Scheme == "http" {
		way = t.plain
	}
	answer, err := way.RoundTrip(r)
	if err != nil {
		return nil, &Error{err: err}
	}
	answer.Body = &body{io.LimitReader(answer.Body, t.maxResponse), answer.Body}
	return answer, nil
}

// CloseIdleConnections implements the interface that http.Client asks for.
func (t *transport) CloseIdleConnections() {
	t.secure.CloseIdleConnections()
	t.plain.CloseIdleConnections()
}

type body struct {
	io.Reader
	io.Closer
}

func newTransport(o Options, plain bool) *http.Transport {
	g := guard{o.Allow, o.Port, plain}
	dialer := &net.Dialer{Timeout: dialTimeout, Resolver: o.Resolver, ControlContext: g.control}
	return &http.Transport{
		DialContext:            dialer.DialContext,
		TLSHandshakeTimeout:    dialTimeout,
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12},
		ForceAttemptHTTP2:      true,
		DisableCompression:     true,
		MaxResponseHeaderBytes: maxHeader,
		MaxIdleConns:           maxIdle,
		MaxIdleConnsPerHost:    idlePerHost,
		IdleConnTimeout:        idleTimeout,
		ResponseHeaderTimeout:  timeout,
	}
}

// guard decides which addresses may be dialled.
type guard struct {
	allow []netip.Prefix
	port  uint16 // 0: any
	plain bool   // without TLS, so only addresses in allow
}

// Errors of a guard.
var (
	errNotPublic = errors.New("the address is not public")
	errPlain     = errors.New("the address must be reached by https")
	errPort      = errors.New("the port is not allowed")
)

// control is called for each address before it is dialled and after names were resolved, so that
// the address can't change in between.
func (g guard) control(_ context.Context, network, address string, _ syscall.RawConn) error {
	target, err := netip.ParseAddrPort(address)
	if err != nil || network != "tcp4" && network != "tcp6" {
		return errNotPublic
	}
	return g.check(target)
}

func (g guard) check(target netip.AddrPort) error {
	a := target.Addr()
	inside := a.Zone() == "" && slices.ContainsFunc(g.allow, func(p netip.Prefix) bool { return p.Contains(a.Unmap()) })
	switch {
	case inside:
		return nil
	case !publicip.Is(a):
		return errNotPublic
	case g.plain:
		return errPlain
	case g.port != 0 && target.Port() != g.port:
		return errPort
	}
	return nil
}

// Error is why a request failed. Its cause may reveal this machine's network and must not be shown
// outside.
type Error struct{ err error }

// Error returns a message that may be shown to whoever chose the URL.
func (e *Error) Error() string {
	var dns *net.DNSError
	var unknown x509.UnknownAuthorityError
	var certificate *tls.CertificateVerificationError
	var alert tls.AlertError
	var record tls.RecordHeaderError
	switch {
	case errors.Is(e.err, errNotPublic):
		return "The host has an address that is not public, which this server does not reach"
	case errors.Is(e.err, errPort):
		return "The port of the host is not one that this server reaches"
	case errors.Is(e.err, errPlain):
		return "The endpoint must be reached by https"
	case errors.Is(e.err, context.Canceled):
		return "The request was canceled"
	case errors.As(e.err, &dns):
		return "The name of the host could not be resolved"
	case errors.Is(e.err, context.DeadlineExceeded) || errors.Is(e.err, os.ErrDeadlineExceeded) || timedOut(e.err):
		return "The host did not answer in time"
	case errors.Is(e.err, syscall.ECONNREFUSED):
		return "The host refused the connection"
	case errors.As(e.err, &certificate), errors.As(e.err, &unknown):
		return "The certificate of the host can't be verified"
	case errors.As(e.err, &alert), errors.As(e.err, &record):
		return "No TLS connection could be made with the host"
	}
	return "The host could not be reached, or ended the connection before it answered"
}

// Forbidden reports whether the address is not one that this server reaches.
func (e *Error) Forbidden() bool {
	return errors.Is(e.err, errNotPublic) || errors.Is(e.err, errPlain) || errors.Is(e.err, errPort)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.err }

func timedOut(err error) bool {
	var t interface{ Timeout() bool }
	return errors.As(err, &t) && t.Timeout()
}
