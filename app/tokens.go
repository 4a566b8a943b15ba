package app

import (
	"encoding/base64"
	"errors"
	"strings"

	"mailer/app/kit/seal"
)

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
