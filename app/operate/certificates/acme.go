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

// Purpose is the purpose for which certificates with their keys, and the key of the account, are
// sealed. The context is the name.
const Purpose = "certificate"

// userAgent identifies the program to an authority.
const userAgent = "mailer"

// acmeTransport is the HTTP transport to a certificate authority and the store of its
// certificates.
type acmeTransport struct {
	*autocert.Manager
	service *Service
	closed  atomic.Bool

	mu   sync.Mutex
	last string // problems since lastProblem was called
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
	a.HTTPHandler(nil) // allows HTTP-01 as well
	return a
}

// asking returns a client hello that accepts elliptic-curve keys, as all clients do, so that each
// host has one certificate.
func asking(host string) *tls.ClientHelloInfo {
	return &tls.ClientHelloInfo{ServerName: host, CipherSuites: suites}
}

// close refuses all further requests, which the library may still have scheduled.
func (a *acmeTransport) close() { a.closed.Store(true) }

var errClosed = errors.New("the certificate is not needed any more, or the server stops")

// RoundTrip implements http.RoundTripper and records problems, since some errors of the library do
// not contain them.
func (a *acmeTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if a.closed.Load() || a.service.Claiming.Err() != nil {
		return nil, errClosed
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel() // the whole answer has been read
	defer context.AfterFunc(a.service.Claiming, cancel)()
	res, err := http.DefaultTransport.RoundTrip(r.WithContext(ctx))
	if err != nil {
		a.note(err.Error())
		return nil, err
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, maxReply))
	_ = res.Body.Close() // already read
	if err != nil {
		return nil, err
	}
	res.Body = io.NopCloser(bytes.NewReader(body))
	if strings.Contains(res.Header.Get("Content-Type"), "json") {
		a.note(problemIn(body))
	}
	return res, nil
}

// maxReply is the maximum size of an authority's answer in bytes.
const maxReply = 1 << 20

// problem is a problem document of an authority (RFC 7807).
type problem struct {
	Detail string `json:"detail"`
	Type   string `json:"type"`
}

// problemIn returns the problem in an authority's answer or in a failed challenge; empty: none. An
// outdated nonce is not a problem: the library retries.
func problemIn(body []byte) string {
	var problem struct {
		problem    `json:",inline"`
		Challenges []struct {
			Type  string  `json:"type"`
			Error problem `json:"error"`
		} `json:"challenges"`
	}
	if err := json.Unmarshal(body, &problem); err != nil {
		return ""
	}
	for _, c := range problem.Challenges {
		if c.Error.Detail != "" {
			return c.Type + ": " + c.Error.Detail
		}
	}
	if strings.HasSuffix(problem.Type, ":badNonce") || !strings.HasPrefix(problem.Type, "urn:ietf:params:acme:") {
		return ""
	}
	return problem.Detail
}

func (a *acmeTransport) note(problem string) {
	if problem == "" {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.last == "":
		a.last = problem
	case !strings.Contains(a.last, problem) && len(a.last) < maxTrouble: // both kinds of challenges failed
		a.last += "; " + problem
	}
}

// maxTrouble limits the recorded problems, in bytes.
const maxTrouble = 400

// lastProblem returns the problems since the last call in the authority's words, or err.
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

// token ends the names of pending challenges, like "+http-01".
const token = "+token"

// isTemporary reports whether name is that of a pending challenge.
func isTemporary(name string) bool {
	return strings.HasSuffix(name, token) || strings.HasSuffix(name, "+http-01")
}

// inMemory reports whether the data of a name stays in the library's memory: challenges, unless
// several servers share the database, any of which the authority may ask.
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
	if err != nil { // it is replaced by a new one
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

// leafOf returns the certificate in data that the library stores; nil: data is something else.
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
