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
	"time"
)

// Bounds on certificates: Amazon has one a region, and a new one now and then.
const (
	maxCertificates     = 32
	certificateTTL      = 24 * time.Hour // then it is fetched anew
	maxFetchesPerMinute = 10             // of addresses that are not in memory
	minKeyBits          = 2048
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

// errBusy: too many certificates were asked for. An address that was checked is
// still one of Amazon's, which nobody should be made to flood.
var errBusy = errors.New("too many certificates were fetched in this minute")

// certificate returns the certificate at an address that was checked. That it came
// over TLS from SNS is what it is trusted for: SNS publishes no chain with it.
func (r *Receiver) certificate(ctx context.Context, address string) (*x509.Certificate, error) {
	cert, err := r.certs.Load(ctx, address, func(ctx context.Context) (*x509.Certificate, error) { return r.fetch(ctx, address) })
	if err == nil {
		return cert, nil
	}
	if yesterdays, known := r.certs.Last(address); known {
		return yesterdays, nil // it is as good
	}
	return nil, fmt.Errorf("fetch the certificate: %w", err)
}

// fetch downloads the certificate at an address. Errors: errBusy, and whatever came
// in the place of a certificate.
func (r *Receiver) fetch(ctx context.Context, address string) (*x509.Certificate, error) {
	if !r.mayDownload() {
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
	return x509.ParseCertificate(block.Bytes)
}

// mayDownload counts a download, where this minute has room for one more.
func (r *Receiver) mayDownload() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.downloads.Add(r.now(), time.Minute) <= maxFetchesPerMinute
}
