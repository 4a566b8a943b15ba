package accounts

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
)

const (
	tokenBytes = 32 // in cookies
	codeBytes  = 16 // in links
)

// newSecret returns a random text of so many bytes, and its hash for storage.
func newSecret(bytes int) (text string, hash []byte) {
	b := make([]byte, bytes)
	_, _ = rand.Read(b) // never fails: crypto/rand aborts the program instead
	text = base64.RawURLEncoding.EncodeToString(b)
	return text, hashOf(text)
}

// hashOf returns the stored hash of a token or code. They are random, so a plain hash is enough.
func hashOf(text string) []byte {
	sum := sha256.Sum256([]byte(text))
	return sum[:]
}

// looksLikeSecret reports whether a text has the length of a secret of so many bytes.
func looksLikeSecret(text string, bytes int) bool {
	return len(text) == base64.RawURLEncoding.EncodedLen(bytes)
}

// NewCode returns a code for a link, of 128 random bits, and its hash for storage.
func NewCode() (code string, hash []byte) { return newSecret(codeBytes) }
