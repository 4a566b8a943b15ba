package sns

import (
	"context"
	"crypto"
	"crypto/rsa"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"sync"
	"time"

	"mailer/app/window"
)

// Bounds on certificates: Amazon has one a region, and a new one now and then.
const (
	maxCertificates = 32
	certificateLife = 24 * time.Hour // then it is fetched anew
	fetchesAMinute  = 10             // of addresses that are not in memory
	minKeyBits      = 2048
)

// verify proves the signature of an envelope by the certificate that it names,
// whose address was checked. Errors: *app.Error; else the certificate could not be
// fetched now.
func (r *Receiver) verify(ctx context.Context, t topic, e *envelope) error {
	if e.SignatureVersion != "1" && e.SignatureVersion != "2" {
		return malformed("the SignatureVersion is neither 1 nor 2")
	}
	cert, err := r.certificate(ctx, e.SigningCertURL)
	if err != nil {
		return err
	}
	if now := r.now(); now.Before(cert.NotBefore) || now.After(cert.NotAfter) {
		return forged("the certificate of %s is out of date", t.host())
	}
	key, ok := cert.PublicKey.(*rsa.PublicKey)
	if !ok || key.N.BitLen() < minKeyBits {
		return forged("the certificate of %s has no RSA key of %d bits", t.host(), minKeyBits)
	}
	text := e.canonical()
	hash, digest := crypto.SHA1, sha1.Sum(text)
	sum := digest[:]
	if e.SignatureVersion == "2" {
		long := sha256.Sum256(text)
		hash, sum = crypto.SHA256, long[:]
	}
	if rsa.VerifyPKCS1v15(key, hash, sum, e.signature) != nil {
		return forged("the signature does not fit the message")
	}
	return nil
}

// certificates are those that were fetched. The zero value is empty.
type certificates struct {
	mu        sync.Mutex
	known     map[string]certificate
	downloads window.Counter
}

type certificate struct {
	*x509.Certificate
	fetched time.Time
}

// errBusy: too many certificates were asked for. An address that was checked is
// still one of Amazon's, which nobody should be made to flood.
var errBusy = errors.New("too many certificates were fetched in this minute")

// certificate returns the certificate at an address that was checked. That it came
// over TLS from SNS is what it is trusted for: SNS publishes no chain with it.
func (r *Receiver) certificate(ctx context.Context, address string) (*x509.Certificate, error) {
	cert, fresh := r.certs.find(address, r.now())
	if fresh {
		return cert, nil
	}
	fetched, err, _ := r.flight.Do(address, func() (any, error) { return r.fetch(context.WithoutCancel(ctx), address) })
	switch {
	case err == nil:
		return fetched.(*x509.Certificate), nil
	case cert != nil: // the one of yesterday is as good
		return cert, nil
	}
	return nil, fmt.Errorf("fetch the certificate: %w", err)
}

func (r *Receiver) fetch(ctx context.Context, address string) (*x509.Certificate, error) {
	if !r.certs.admit(r.now()) {
		return nil, errBusy
	}
	text, err := r.get(ctx, address)
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(text)
	if block == nil || block.Type != "CERTIFICATE" {
		return nil, errors.New("there is none in the answer")
	}
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil, err
	}
	r.certs.keep(address, cert, r.now())
	return cert, nil
}

// find returns the certificate of an address, nil where none is known, and reports
// whether it was fetched lately.
func (c *certificates) find(address string, now time.Time) (*x509.Certificate, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	known, ok := c.known[address]
	return known.Certificate, ok && now.Sub(known.fetched) < certificateLife
}

// admit counts a download, where this minute has room for one more.
func (c *certificates) admit(now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.downloads.Add(now, time.Minute) <= fetchesAMinute
}

func (c *certificates) keep(address string, cert *x509.Certificate, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == nil || len(c.known) >= maxCertificates {
		c.known = map[string]certificate{}
	}
	c.known[address] = certificate{cert, now}
}
