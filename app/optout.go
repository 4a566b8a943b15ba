package app

import (
	"encoding/base64"

	"github.com/google/uuid"
)

// PageLink is what a link to a hosted page stands for. The token that carries it
// holds ids and a hash, never an address, and never ends.
type PageLink struct {
	TeamID  string
	TopicID string      // empty: all topics
	Address AddressHash // zero: every recipient of Source
	Source  string      // id of the email that the link stood in; empty: none
}

// The purposes that a PageLink's token is bound to, one a page.
const (
	UnsubscribePage = "unsubscribe page"
	PreferencesPage = "preferences page"
)

const (
	pageTokenVersion = 1
	pageTokenSize    = 1 + 4*16 // without its MAC
	macSize          = 16
)

// PageToken signs a link for a page: 108 characters of base64url.
func (s *Sealer) PageToken(page string, l PageLink) string {
	b := make([]byte, 0, pageTokenSize+macSize)
	b = append(b, pageTokenVersion)
	for _, id := range []string{l.TeamID, l.TopicID, l.Source} {
		raw := uuid.Nil
		if id != "" {
			raw = uuid.MustParse(id)
		}
		b = append(b, raw[:]...)
	}
	b = append(b, l.Address[:]...)
	return base64.RawURLEncoding.EncodeToString(append(b, s.MAC(page, b)...))
}

// ReadPageToken gives back the link of a token that PageToken made for the same
// page; ok is false for any other text.
func (s *Sealer) ReadPageToken(page, token string) (l PageLink, ok bool) {
	b, err := base64.RawURLEncoding.Strict().DecodeString(token)
	if err != nil || len(b) != pageTokenSize+macSize || b[0] != pageTokenVersion {
		return l, false
	}
	message, mac := b[:pageTokenSize], b[pageTokenSize:]
	if !s.VerifyMAC(page, message, mac) {
		return l, false
	}
	for i, id := range []*string{&l.TeamID, &l.TopicID, &l.Source} {
		if raw := uuid.UUID(message[1+16*i : 17+16*i]); raw != uuid.Nil {
			*id = raw.String()
		}
	}
	copy(l.Address[:], message[1+3*16:])
	return l, true
}
