package certificates

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json"
	"golang.org/x/crypto/acme"
	"golang.org/x/crypto/acme/autocert"

	"mailer/db"
)

// Purpose is what certificates with their keys, and the account's key, are sealed for; the
// name is the context.
const Purpose = "certificate"

// userAgent names the program to an authority.
const userAgent = "mailer"

// acmeTransport is the way to a certificate authority.
type acmeTransport struct {
	*autocert.Manager
	service *Service
	closed  atomic.Bool

	mu   sync.Mutex
	last string // what went wrong since said was asked
}

func newACMETransport(s *Service) *acmeTransport {
	a := &acmeTransport{service: s}
	a.Manager = &autocert.Manager{
		Prompt: autocert.AcceptTOS, Email: s.cfg.email, Cache: a,
		HostPolicy: func(_ context.Context, host string) error {
			if !s.HasHost(host) {
				return errUnknown
			}
			return nil
		},
		Client: &acme.Client{DirectoryURL: s.cfg.directory, UserAgent: userAgent, HTTPClient: &http.Client{Transport: a, Timeout: time.Minute}},
	}
	a.HTTPHandler(nil) // it may prove a name by HTTP-01 too
	return a
}

// asking is the handshake of a client that takes keys of elliptic curves: all do, and so
// each host has one certificate.
func asking(host string) *tls.ClientHelloInfo {
	return &tls.ClientHelloInfo{ServerName: host, CipherSuites: suites}
}

// close ends the way: what the library still has in mind is not asked any more.
func (a *acmeTransport) close() { a.closed.Store(true) }

var errClosed = errors.New("the certificate is not needed any more, or the server stops")

// RoundTrip implements http.RoundTripper, and remembers what goes wrong: of the library's
// own errors some do not tell.
func (a *acmeTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if a.closed.Load() || a.service.Claiming.Err() != nil {
		return nil, errClosed
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel() // all of the answer is here by then
	defer context.AfterFunc(a.service.Claiming, cancel)()
	res, err := http.DefaultTransport.RoundTrip(r.WithContext(ctx))
	if err != nil {
		a.note(err.Error())
		return nil, err
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, maxReply))
	_ = res.Body.Close() // it was read
	if err != nil {
		return nil, err
	}
	res.Body = io.NopCloser(bytes.NewReader(body))
	if strings.Contains(res.Header.Get("Content-Type"), "json") {
		a.note(problemIn(body))
	}
	return res, nil
}

// maxReply bounds an authority's answer, in bytes.
const maxReply = 1 << 20

// problem is what an authority says that went wrong (RFC 7807).
type problem struct {
	Detail string `json:"detail"`
	Type   string `json:"type"`
}

// problemIn finds the problem in an authority's answer, or in a challenge that failed;
// empty: there is none. A nonce that is too old is asked for anew, and is none.
func problemIn(body []byte) string {
	var said struct {
		problem    `json:",inline"`
		Challenges []struct {
			Type  string  `json:"type"`
			Error problem `json:"error"`
		} `json:"challenges"`
	}
	if err := json.Unmarshal(body, &said); err != nil {
		return ""
	}
	for _, c := range said.Challenges {
		if c.Error.Detail != "" {
			return c.Type + ": " + c.Error.Detail
		}
	}
	if strings.HasSuffix(said.Type, ":badNonce") || !strings.HasPrefix(said.Type, "urn:ietf:params:acme:") {
		return ""
	}
	return said.Detail
}

func (a *acmeTransport) note(trouble string) {
	if trouble == "" {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.last == "":
		a.last = trouble
	case !strings.Contains(a.last, trouble) && len(a.last) < maxTrouble: // both ways to prove a name failed
		a.last += "; " + trouble
	}
}

// maxTrouble is from when on nothing is added to what went wrong, in bytes.
const maxTrouble = 400

// lastProblem is what went wrong, in the authority's words where it had any, since it was asked
// last.
func (a *acmeTransport) lastProblem(err error) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	last := a.last
	a.last = ""
	if err != nil {
		return cmp.Or(last, err.Error())
	}
	return last
}

// token is what the names of challenges on their way end with, beside "+http-01".
const token = "+token"

// isTemporary reports whether a name is one of a challenge on its way.
func isTemporary(name string) bool {
	return strings.HasSuffix(name, token) || strings.HasSuffix(name, "+http-01")
}

// inMemory reports whether what stands under a name is in the library's memory alone:
// challenges, where no other server answers that an authority may ask instead.
func (a *acmeTransport) inMemory(name string) bool {
	return isTemporary(name) && !a.service.DB.Cluster().Shared()
}

// Get implements autocert.Cache.
func (a *acmeTransport) Get(ctx context.Context, name string) ([]byte, error) {
	if a.inMemory(name) {
		return nil, autocert.ErrCacheMiss
	}
	s := a.service
	c, err := db.Get(ctx, s.DB, func(r *db.Reader) (db.Certificate, error) { return r.Certificate(name) })
	if errors.Is(err, db.ErrNotFound) {
		return nil, autocert.ErrCacheMiss
	}
	if err != nil {
		return nil, err
	}
	data, err := s.Sealer.Open(Purpose, name, c.Sealed)
	if err != nil { // another takes its place
		s.Log.Error("a certificate that is kept can't be opened", "name", name, "err", err)
		return nil, autocert.ErrCacheMiss
	}
	return data, nil
}

// Put implements autocert.Cache.
func (a *acmeTransport) Put(ctx context.Context, name string, data []byte) error {
	if a.inMemory(name) || a.closed.Load() {
		return nil
	}
	s := a.service
	c := db.Certificate{Name: name, Sealed: s.Sealer.Seal(Purpose, name, data)}
	var leaf *x509.Certificate
	if !isTemporary(name) {
		leaf = leafOf(data)
	}
	if leaf != nil {
		c.ExpiresAt = leaf.NotAfter
	}
	if err := s.DB.WriteCritical(ctx, func(tx *db.Tx) error { return tx.SetCertificate(&c) }); err != nil {
		s.LogUnlessUnavailable("keep a certificate", err)
		return err
	}
	if leaf != nil {
		s.Log.Info("has a certificate", "host", name, "until", leaf.NotAfter)
		s.renewed(name, leaf)
	}
	return nil
}

// Delete implements autocert.Cache.
func (a *acmeTransport) Delete(ctx context.Context, name string) error {
	if a.inMemory(name) {
		return nil
	}
	return a.service.DB.WriteCritical(ctx, func(tx *db.Tx) error { return tx.DeleteCertificate(name) })
}

// leafOf is the certificate in what the library keeps; nil: it is none.
func leafOf(data []byte) *x509.Certificate {
	for block, rest := pem.Decode(data); block != nil; block, rest = pem.Decode(rest) {
		if block.Type == "CERTIFICATE" {
			leaf, err := x509.ParseCertificate(block.Bytes)
			if err != nil {
				return nil
			}
			return leaf
		}
	}
	return nil
}
