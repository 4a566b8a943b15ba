package app

import (
	"encoding/base32"
	"strings"

	"github.com/google/uuid"

	"mailer/app/kit/mailbox"
)

// AllRecipients is the number in the return path of a transaction with several recipients.
const AllRecipients = -1

// ReturnPath is what a return path identifies (VERP): an email, and the recipient of its envelope
// that the transaction was for.
type ReturnPath struct {
	EmailID   string
	Recipient int // from 0, at most MaxReturnPathRecipient; or AllRecipients
}

const (
	returnPathPrefix  = "bounce+"
	returnPathPurpose = "return path"
	returnPathVersion = 1
	returnPathSize    = 1 + 16 + 1 // without its MAC
	manyRecipients    = 0xff
)

// returnPathText is base32 in lower case, since a relay may fold the case of an address.
func returnPathText() *base32.Encoding {
	return base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)
}

// ReturnPath returns the signed address for bounces of a transaction: "bounce+…@host", whose
// local part has 62 of the 64 octets that RFC 5321 4.5.3.1.1 allows. The MAC covers host too. The
// address is valid until its master key is retired: bounces may arrive days later.
func (s *Sealer) ReturnPath(host string, p ReturnPath) string {
	id := uuid.MustParse(p.EmailID)
	n := byte(manyRecipients)
	if p.Recipient >= 0 && p.Recipient <= MaxReturnPathRecipient {
		n = byte(p.Recipient)
	}
	b := append(append([]byte{returnPathVersion}, id[:]...), n)
	host = strings.ToLower(host)
	return returnPathPrefix + returnPathText().EncodeToString(append(b, s.returnPathMAC(b, host)...)) + "@" + host
}

// ReadReturnPath returns what an address made by ReturnPath identifies, in any case; ok is false
// for every other address.
func (s *Sealer) ReadReturnPath(address string) (p ReturnPath, ok bool) {
	if !IsReturnPath(address) || len(address) > mailbox.MaxLength {
		return p, false
	}
	text, host, _ := strings.Cut(strings.ToLower(address[len(returnPathPrefix):]), "@")
	b, err := returnPathText().DecodeString(text)
	if err != nil || len(b) != returnPathSize+MacSize || b[0] != returnPathVersion || returnPathText().EncodeToString(b) != text {
		return p, false // also if spare bits or line breaks would give one address several spellings
	}
	message, mac := b[:returnPathSize], b[returnPathSize:]
	if !s.VerifyMAC(returnPathPurpose, append(message[:returnPathSize:returnPathSize], host...), mac) {
		return p, false
	}
	p = ReturnPath{EmailID: uuid.UUID(message[1:17]).String(), Recipient: int(message[17])}
	if p.Recipient == manyRecipients {
		p.Recipient = AllRecipients
	}
	return p, true
}

func (s *Sealer) returnPathMAC(b []byte, host string) []byte {
	return s.MAC(returnPathPurpose, append(b[:len(b):len(b)], host...))
}

// IsReturnPath reports whether an address has the form of a return path. Only ReadReturnPath
// verifies it.
func IsReturnPath(mailbox string) bool {
	return len(mailbox) >= len(returnPathPrefix) && strings.EqualFold(mailbox[:len(returnPathPrefix)], returnPathPrefix)
}
