package feedback

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"mailer/app"
)

// lettermint is written after "Events" and "Signed webhooks" (docs.lettermint.co/platform/webhooks)
// and "Send email with SMTP" (docs.lettermint.co/guides/send-email-with-smtp), read in November 2026.
// Lettermint reports the metadata of a message, but no Message-ID.
var lettermint = Provider{
	Source: "lettermint", Name: "Lettermint", Proof: ProofSignature, read: readLettermint, checkKey: checkLettermintKey, verify: verifyLettermint,
	relayDomains: []string{"lettermint.co"}, Hosts: []SMTPHost{{"smtp.lettermint.co", ""}}, User: "lettermint",
	IDHeader: headerNamed("X-LM-Metadata-" + app.EmailIDKey),
}

// lettermintReport is a webhook request of Lettermint.
type lettermintReport struct {
	ID        looseString `json:"id"`
	Event     looseString `json:"event"`
	Timestamp looseString `json:"timestamp"`
	CreatedAt looseString `json:"created_at"`
	Data      struct {
		MessageID looseString   `json:"message_id"`
		Recipient looseString   `json:"recipient"`
		To        []looseString `json:"to"` // in message.created
		Reason    looseString   `json:"reason"`
		Response  struct {
			Code     looseString `json:"status_code"`
			Enhanced looseString `json:"enhanced_status_code"`
			Words    looseString `json:"content"`
		} `json:"response"`
		Metadata lettermintMetadata `json:"metadata"`
	} `json:"data"`
}

// lettermintMetadata is an object. Other values, like the empty array of PHP, are none.
type lettermintMetadata map[string]looseString

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (m *lettermintMetadata) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	*m = nil
	v, err := d.ReadValue()
	if err != nil || v.Kind() != '{' {
		return err
	}
	return json.Unmarshal(v, (*map[string]looseString)(m))
}

// readLettermint parses a webhook request of Lettermint: one event. Error: CodeInvalidPayload.
func readLettermint(body []byte) (out Reading, err error) {
	var m lettermintReport
	if err := decodeReport(body, &m); err != nil {
		return out, err
	}
	d := &m.Data
	f := Report{ProviderID: string(d.MessageID), Recipient: string(d.Recipient), EmailID: emailIDIn(d.Metadata), At: anyTime(string(m.Timestamp + m.CreatedAt))}
	if f.Recipient == "" && len(d.To) == 1 {
		f.Recipient = string(d.To[0])
	}
	known := m.report(&f)
	f.ID = reportID(m.ID, string(f.Kind), f.Recipient)
	out.add(f, known)
	return out, nil
}

// report sets the event and returns false for events that are ignored.
func (m *lettermintReport) report(f *Report) bool {
	d := &m.Data
	words := strings.TrimSpace(string(d.Response.Code + " " + d.Response.Words))
	f.Diagnostic = words
	switch m.Event {
	case "message.created", "message.sent":
		f.Kind = Accepted
	case "message.delivered":
		f.Kind = Delivered
	case "message.hard_bounced":
		f.bounced(app.BouncePermanent, "", string(d.Response.Enhanced), words)
	case "message.soft_bounced":
		f.bounced(app.BounceTransient, "", string(d.Response.Enhanced), words)
	case "message.spam_complaint":
		f.Kind = Complained
	case "message.suppressed":
		f.onProviderList(string(d.Reason))
	case "message.failed", "message.policy_rejected":
		f.Kind, f.Diagnostic = Failed, string(d.Reason)
	case "message.opened":
		f.Kind = Opened
	case "message.clicked":
		f.Kind = Clicked
	default:
		return false
	}
	return true
}

// lettermintTolerance is how old, or how far ahead of our clock, a signature may be.
const lettermintTolerance = 5 * time.Minute

func checkLettermintKey(key string) (string, error) {
	key = strings.TrimSpace(key)
	if len(key) < 16 || len(key) > 512 || strings.ContainsAny(key, " \t\r\n") || app.HasControl(key) {
		return "", app.Errorf(app.CodeValidation, "The key must be the secret of the webhook at Lettermint, of 16 to 512 characters without spaces")
	}
	return key, nil
}

// verifyLettermint checks the HMAC of time and body.
func verifyLettermint(key string, header http.Header, body []byte, now time.Time) error {
	signed, given := "", []byte(nil)
	for part := range strings.SplitSeq(header.Get("X-Lettermint-Signature"), ",") {
		switch name, value, _ := strings.Cut(strings.TrimSpace(part), "="); name {
		case "t":
			signed = value
		case "v1":
			given, _ = hex.DecodeString(value) // an invalid one is not equal
		}
	}
	mac := hmac.New(sha256.New, []byte(key))
	fmt.Fprintf(mac, "%s.%s", signed, body)
	if !hmac.Equal(mac.Sum(nil), given) {
		return errors.New("the header X-Lettermint-Signature is not the signature of the webhook's secret")
	}
	seconds, err := strconv.ParseInt(signed, 10, 64)
	if age := now.Sub(time.Unix(seconds, 0)); err != nil || age > lettermintTolerance || age < -lettermintTolerance {
		return errors.New("the signature is older than 5 minutes, or from the future: check this server's clock")
	}
	return nil
}
