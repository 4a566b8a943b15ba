package app

import (
	"encoding/base64"
	"strings"

	"github.com/google/uuid"
)

// Tracking says how the opens and clicks of one email are seen. It is fixed at
// acceptance, so that every attempt has the same bytes.
type Tracking struct {
	// Base is where the links and the pixel lead, without a slash at its end.
	Base  string `json:"base"`
	Open  bool   `json:"open,omitzero"`
	Click bool   `json:"click,omitzero"`
	// Pages is where hosted pages are reached, whose links are never tracked;
	// empty: at Base.
	Pages string `json:"pages,omitzero"`
}

const trackingTokenVersion = 1

func AppendEmailID(b []byte, id string) []byte {
	raw := uuid.MustParse(id)
	return append(append(b, trackingTokenVersion), raw[:]...)
}

func (s *Sealer) SealToken(purpose string, message []byte) string {
	token := make([]byte, 0, 512) // on the stack, for most
	return string(base64.RawURLEncoding.AppendEncode(token, s.appendMAC(message, purpose, message)))
}

// OpenToken gives back the message of a token of a purpose. ok is false for
// every text but the one that sealToken made.
func (s *Sealer) OpenToken(purpose, token string, least, most int) (message []byte, ok bool) {
	size := base64.RawURLEncoding.DecodedLen(len(token))
	if size < least+MacSize || size > most+MacSize {
		return nil, false
	}
	b, err := DecodeToken(token)
	if err != nil || b[0] != trackingTokenVersion {
		return nil, false
	}
	message = b[:len(b)-MacSize]
	return message, s.VerifyMAC(purpose, message, b[len(b)-MacSize:])
}

// CutScheme gives what follows http:// or https://.
func CutScheme(target string) (rest string, ok bool) {
	for _, scheme := range []string{"https://", "http://"} {
		if len(target) >= len(scheme) && strings.EqualFold(target[:len(scheme)], scheme) {
			return target[len(scheme):], true
		}
	}
	return "", false
}
