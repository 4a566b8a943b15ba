package app

import (
	"encoding/base64"
	"errors"
	"strings"

	"mailer/app/kit/seal"
)

// MacSize is the length of a MAC and of an AddressHash in bytes.
const MacSize = seal.MacSize

// SealToken signs a message for a purpose: base64url of the message and its MAC.
// The message is not encrypted.
func (s *Sealer) SealToken(purpose string, message []byte) string {
	token := make([]byte, 0, 512) // on the stack, for most
	return string(base64.RawURLEncoding.AppendEncode(token, s.AppendMAC(message, purpose, message)))
}

// OpenToken returns the message of a token of a purpose, which has least to most
// bytes. It does so for ever, with retired keys
// too. ok is false for every text but the one that SealToken made.
func (s *Sealer) OpenToken(purpose, token string, least, most int) (message []byte, ok bool) {
	size := base64.RawURLEncoding.DecodedLen(len(token))
	if size < least+MacSize || size > most+MacSize {
		return nil, false
	}
	b, err := DecodeToken(token)
	if err != nil {
		return nil, false
	}
	message = b[:len(b)-MacSize]
	return message, s.VerifyMACAnyKey(purpose, message, b[len(b)-MacSize:])
}

// DecodeToken reads base64url without padding in the one way that it is written:
// the decoder by itself leaves out line breaks, so that one token would have many
// spellings.
func DecodeToken(token string) ([]byte, error) {
	if strings.ContainsAny(token, "\r\n") {
		return nil, errors.New("a token has no line breaks")
	}
	return base64.RawURLEncoding.Strict().DecodeString(token)
}
