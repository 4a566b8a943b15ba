package accounts

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
)

const (
	tokenBytes = 32 // of cookies
	codeBytes  = 16 // of links
)

// newSecret makes a random text of so many bytes, and the hash that is kept of it.
func newSecret(bytes int) (text string, hash []byte) {
	b := make([]byte, bytes)
	_, _ = rand.Read(b) // never fails: crypto/rand aborts the program instead
	text = base64.RawURLEncoding.EncodeToString(b)
	return text, hashOf(text)
}

// hashOf is what is kept of a token or code: they are random, so that nobody can try
// them against it.
func hashOf(text string) []byte {
	sum := sha256.Sum256([]byte(text))
	return sum[:]
}

// looksLikeSecret reports whether a text can be a secret of so many bytes.
func looksLikeSecret(text string, bytes int) bool {
	return len(text) == base64.RawURLEncoding.EncodedLen(bytes)
}

// NewCode makes a code for a link, of 128 random bits, and the hash that is kept of it.
func NewCode() (code string, hash []byte) { return newSecret(codeBytes) }
