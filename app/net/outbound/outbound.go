// Package outbound is how the server reaches addresses that others named: the
// endpoints of webhooks, the certificates of event hooks.
//
// Failure policy: whether an address may be reached is decided when it is
// dialled, by what the name has become by then; nothing is sent to any other.
// Redirects are not followed and no proxy of the environment is used. Errors say
// what went wrong in words that may be shown to whoever named the address: they
// tell nothing of this machine's network.
package outbound

import (
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
	maxResponse = 1 << 20 // bytes of a body; reading goes no further
	maxHeader   = 64 << 10
	dialTimeout = 5 * time.Second
	idleTimeout = 30 * time.Second
	maxIdle     = 100
	idlePerHost = 8
)

// Options are what a client may reach beyond public addresses.
type Options struct {
	// Allow are ranges that may be reached though they are not public, and without
	// TLS.
	Allow []netip.Prefix
	// Resolver looks names up; nil: the system's.
	Resolver *net.Resolver
}

// Client makes a client that reaches public addresses by https, and those that
// options allow also by http. It is safe for concurrent use. Its errors are
// *Error, inside the *url.Error of net/http. Its Transport keeps to the same
// rules but has no timeout.
func Client(o Options) *http.Client {
	return &http.Client{
		Transport:     &transport{secure: newTransport(o, false), plain: newTransport(o, true)},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Timeout:       timeout,
	}
}

// transport has two ways out, whose connections are apart: what was dialled for
// https serves no http.
type transport struct{ secure, plain *http.Transport }

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
	answer.Body = &body{io.LimitReader(answer.Body, maxResponse), answer.Body}
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
	g := guard{o.Allow, plain}
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
	plain bool // without TLS: only inside allow
}

// The refusals of a guard.
var (
	errNotPublic = errors.New("the address is not public")
	errPlain     = errors.New("the address must be reached by https")
)

// control runs for each address that is about to be dialled, after names were
// looked up: there is no moment in between in which they could change.
func (g guard) control(_ context.Context, network, address string, _ syscall.RawConn) error {
	target, err := netip.ParseAddrPort(address)
	if err != nil || network != "tcp4" && network != "tcp6" {
		return errNotPublic
	}
	return g.check(target.Addr())
}

func (g guard) check(a netip.Addr) error {
	inside := a.Zone() == "" && slices.ContainsFunc(g.allow, func(p netip.Prefix) bool { return p.Contains(a.Unmap()) })
	switch {
	case inside:
		return nil
	case !publicip.Is(a):
		return errNotPublic
	case g.plain:
		return errPlain
	}
	return nil
}

// Error says why nothing came back. Its cause may tell of this machine's network
// and is for nobody outside.
type Error struct{ err error }

// Error returns words that may be shown to whoever named the address.
func (e *Error) Error() string {
	var dns *net.DNSError
	var unknown x509.UnknownAuthorityError
	var certificate *tls.CertificateVerificationError
	var alert tls.AlertError
	var record tls.RecordHeaderError
	switch {
	case errors.Is(e.err, errNotPublic):
		return "The host has an address that is not public, which this server does not reach"
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

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.err }

func timedOut(err error) bool {
	var t interface{ Timeout() bool }
	return errors.As(err, &t) && t.Timeout()
}
