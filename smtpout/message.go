package smtpout

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"mailer/app"
)

// Stand-ins until the real composer and signer are merged.

func compose(m *app.Outgoing) ([]byte, error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "Message-ID: <%s>\r\nDate: %s\r\nFrom: <%s>\r\nSubject: %s\r\n\r\n",
		m.MessageID, m.Date.Format(time.RFC1123Z), m.Mail.From.Mailbox(), m.Mail.Subject)
	b.WriteString(strings.ReplaceAll(m.Mail.Text, "\n", "\r\n"))
	b.WriteString("\r\n")
	return b.Bytes(), nil
}

func sign(message []byte, key *app.DKIMKey, profile app.Profile) (string, error) {
	return fmt.Sprintf("DKIM-Signature: v=1; d=%s; s=%s; b=AAAA\r\n", key.Domain, key.Selector), nil
}
