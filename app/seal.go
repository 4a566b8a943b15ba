package app

import (
	"encoding/base64"
	"errors"
	"strings"

	"mailer/app/kit/seal"
)

// Sealer encrypts stored secrets, and makes and reads the tokens and hashes of this package.
type Sealer struct{ *seal.Sealer }

// NewSealer returns a Sealer. The first key that is not retired encrypts.
func NewSealer(keys ...seal.MasterKey) (*Sealer, error) {
	s, err := seal.New(keys...)
	return &Sealer{s}, err
}

// AddressHash identifies an address of a team. It is a keyed hash, so that a database alone does
// not allow guessing addresses, and differs from team to team. It never changes.
type AddressHash [16]byte

// AddressHash returns the hash of an address of a team.
func (s *Sealer) AddressHash(teamID string, key AddressKey) AddressHash {
	message := make([]byte, 0, 128)
	message = append(append(append(message, teamID...), 0), key.text...)
	return AddressHash(s.AppendHash(message, "addresses", message)[len(message):])
}

// MacSize is the length of a MAC and of an AddressHash in bytes.
const MacSize = seal.MacSize

// SealToken returns a signed token: base64url of message and its MAC for a purpose. The message is
// not encrypted.
func (s *Sealer) SealToken(purpose string, message []byte) string {
	token := make([]byte, 0, 512) // allocated on the stack in most cases
	return string(base64.RawURLEncoding.AppendEncode(token, s.AppendMAC(message, purpose, message)))
}

// OpenToken returns the message of a token that SealToken made for a purpose; ok is false for any
// other text. The message must have minSize to maxSize bytes. Tokens never expire: retired keys
// verify them too.
func (s *Sealer) OpenToken(purpose, token string, minSize, maxSize int) (message []byte, ok bool) {
	size := base64.RawURLEncoding.DecodedLen(len(token))
	if size < minSize+MacSize || size > maxSize+MacSize {
		return nil, false
	}
	b, err := DecodeToken(token)
	if err != nil {
		return nil, false
	}
	message = b[:len(b)-MacSize]
	return message, s.VerifyMACAnyKey(purpose, message, b[len(b)-MacSize:])
}

// DecodeToken decodes base64url without padding and accepts only the canonical spelling. The
// standard decoder ignores line breaks, so that one token would have many spellings.
func DecodeToken(token string) ([]byte, error) {
	if strings.ContainsAny(token, "\r\n") {
		return nil, errors.New("a token has no line breaks")
	}
	return base64.RawURLEncoding.Strict().DecodeString(token)
}
