package app

import (
	"strings"

	"github.com/google/uuid"

	"mailer/app/kit/mailbox"
)

const (
	reportPurpose = "report address"
	reportVersion = 1
	reportSize    = 1 + 16 // without its MAC
)

// ReportAddress returns the signed address for reports about a domain: "dmarc+…@host" or "tls+…@host". host is not
// signed. The address is valid until its master key is retired. It is empty if the id is not valid.
func (s *Sealer) ReportAddress(kind MailReportKind, domainID, host string) string {
	id, err := uuid.Parse(domainID)
	if err != nil {
		return ""
	}
	b := append([]byte{reportVersion}, id[:]...)
	return string(kind) + "+" + returnPathText().EncodeToString(append(b, s.MAC(reportPurpose, append(b[:len(b):len(b)], kind...))...)) + "@" + strings.ToLower(host)
}

// ReadReportAddress returns what an address made by ReportAddress for a host identifies, in any case; ok is false for
// every other address.
func (s *Sealer) ReadReportAddress(address, host string) (kind MailReportKind, domainID string, ok bool) {
	if host == "" || len(address) > mailbox.MaxLength {
		return "", "", false
	}
	local, at, _ := strings.Cut(strings.ToLower(address), "@")
	prefix, text, _ := strings.Cut(local, "+")
	kind = MailReportKind(prefix)
	if kind != ReportDMARC && kind != ReportTLS || !strings.EqualFold(at, host) {
		return "", "", false
	}
	b, err := returnPathText().DecodeString(text)
	if err != nil || len(b) != reportSize+MacSize || b[0] != reportVersion || returnPathText().EncodeToString(b) != text {
		return "", "", false
	}
	message, mac := b[:reportSize], b[reportSize:]
	if !s.VerifyMAC(reportPurpose, append(message[:reportSize:reportSize], kind...), mac) {
		return "", "", false
	}
	return kind, uuid.UUID(message[1:]).String(), true
}
