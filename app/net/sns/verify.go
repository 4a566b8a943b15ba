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

// Limits on certificates. Amazon has one for each region and rotates them now and then.
const (
	maxCertificates     = 32
	certificateTTL      = 24 * time.Hour // then it is fetched again
	maxFetchesPerMinute = 10             // of URLs that are not cached
	minKeyBits          = 2048
)

// verify checks the signature of an envelope with the certificate at its URL, which was checked.
// Errors: *app.Error; others mean that the certificate could not be fetched now.
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

// errBusy limits the requests to Amazon that forged messages can cause.
var errBusy = errors.New("too many certificates were fetched in this minute")

// certificate returns the certificate at a checked URL. It is trusted because it came from SNS
// over TLS: SNS publishes no chain for it.
func (r *Receiver) certificate(ctx context.Context, address string) (*x509.Certificate, error) {
	cert, err := r.certs.Load(ctx, address, func(ctx context.Context) (*x509.Certificate, error) { return r.fetch(ctx, address) })
	if err == nil {
		return cert, nil
	}
	if yesterdays, known := r.certs.Last(address); known {
		return yesterdays, nil // the cached certificate is still valid
	}
	return nil, fmt.Errorf("fetch the certificate: %w", err)
}

// fetch downloads the certificate at a URL. Errors: errBusy, and whatever prevented the download.
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

// mayDownload counts a download and reports whether the limit of this minute allows it.
func (r *Receiver) mayDownload() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.downloads.Add(r.now(), time.Minute) <= maxFetchesPerMinute
}
