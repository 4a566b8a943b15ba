package app

import (
	"encoding/base32"
	"strings"

	"github.com/google/uuid"

	"mailer/app/kit/mailbox"
)

// AllRecipients is the number in the return path of a transaction with several recipients.
const AllRecipients = -1

// ReturnPath is what a return path (VERP) or a reply address identifies: an email, and the recipient of its envelope
// that the transaction was for.
type ReturnPath struct {
	EmailID   string
	Recipient int // from 0, at most MaxReturnPathRecipient; or AllRecipients
}

// signedPath is a kind of signed addresses.
type signedPath struct {
	prefix, purpose string
	anyKey          bool // retired keys verify it too
}

// The kinds. Each local part has at most 62 of the 64 octets that RFC 5321 4.5.3.1.1 allows.
var (
	returnPaths  = signedPath{"bounce+", "return path", false}
	replyAddress = signedPath{"reply+", "reply address", true}
)

const (
	returnPathVersion = 1
	returnPathSize    = 1 + 16 + 1 // without its MAC
	manyRecipients    = 0xff
)

// returnPathText is base32 in lower case, since a relay may fold the case of an address.
func returnPathText() *base32.Encoding {
	return base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)
}

// ReturnPath returns the signed address for bounces of a transaction: "bounce+…@host". The MAC covers host too. The
// address is valid until its master key is retired: bounces may arrive days later.
func (s *Sealer) ReturnPath(host string, p ReturnPath) string {
	return s.signPath(&returnPaths, host, p)
}

// ReadReturnPath returns what an address made by ReturnPath identifies, in any case; ok is false
// for every other address.
func (s *Sealer) ReadReturnPath(address string) (p ReturnPath, ok bool) {
	return s.readPath(&returnPaths, address)
}

// IsReturnPath reports whether an address has the form of a return path. Only ReadReturnPath
// verifies it.
func IsReturnPath(mailbox string) bool { return returnPaths.matches(mailbox) }

// ReplyAddress returns the signed address for answers to an email: "reply+…@domain". The MAC covers domain too. The
// address is valid without end.
func (s *Sealer) ReplyAddress(domain string, p ReturnPath) Address {
	local, domain, _ := strings.Cut(s.signPath(&replyAddress, domain, p), "@")
	return Address{Local: local, Domain: domain}
}

// ReadReplyAddress returns what an address made by ReplyAddress identifies, in any case; ok is false for every other
// address.
func (s *Sealer) ReadReplyAddress(address string) (p ReturnPath, ok bool) {
	return s.readPath(&replyAddress, address)
}

// IsReplyAddress reports whether an address has the form of a reply address. Only ReadReplyAddress verifies it.
func IsReplyAddress(mailbox string) bool { return replyAddress.matches(mailbox) }

func (k *signedPath) matches(mailbox string) bool {
	return len(mailbox) >= len(k.prefix) && strings.EqualFold(mailbox[:len(k.prefix)], k.prefix)
}

func (s *Sealer) signPath(k *signedPath, host string, p ReturnPath) string {
	id := uuid.MustParse(p.EmailID) // of a stored email
	n := byte(manyRecipients)
	if p.Recipient >= 0 && p.Recipient <= MaxReturnPathRecipient {
		n = byte(p.Recipient)
	}
	b := append(append([]byte{returnPathVersion}, id[:]...), n)
	host = strings.ToLower(host)
	mac := s.MAC(k.purpose, append(b[:len(b):len(b)], host...))
	return k.prefix + returnPathText().EncodeToString(append(b, mac...)) + "@" + host
}

func (s *Sealer) readPath(k *signedPath, address string) (p ReturnPath, ok bool) {
	if !k.matches(address) || len(address) > mailbox.MaxLength {
		return p, false
	}
	text, host, _ := strings.Cut(strings.ToLower(address[len(k.prefix):]), "@")
	b, err := returnPathText().DecodeString(text)
	if err != nil || len(b) != returnPathSize+MacSize || b[0] != returnPathVersion || returnPathText().EncodeToString(b) != text {
		return p, false // also if spare bits or line breaks would give one address several spellings
	}
	message, mac := b[:returnPathSize], b[returnPathSize:]
	verify := s.VerifyMAC
	if k.anyKey {
		verify = s.VerifyMACAnyKey
	}
	if !verify(k.purpose, append(message[:returnPathSize:returnPathSize], host...), mac) {
		return p, false
	}
	p = ReturnPath{EmailID: uuid.UUID(message[1:17]).String(), Recipient: int(message[17])}
	if p.Recipient == manyRecipients {
		p.Recipient = AllRecipients
	}
	return p, true
}
