package sns

import (
	"encoding/base64"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
)

// The message types.
const (
	typeNotification   = "Notification"
	typeSubscription   = "SubscriptionConfirmation"
	typeUnsubscription = "UnsubscribeConfirmation"
)

// envelope is a message as SNS posts it. Signed values are stored exactly as received.
type envelope struct {
	Type             string
	MessageID        string `json:"MessageId"`
	TopicArn         string
	Subject          *string // nil: absent and not signed
	Message          string
	Timestamp        string
	SignatureVersion string
	Signature        string
	SigningCertURL   string
	SubscribeURL     string // signed, but never followed
	Token            string

	sent      time.Time
	signature []byte
}

// parseEnvelope parses a message. Duplicate names are refused and names in another case ignored,
// so that the checked values are the used ones. Error: *app.Error.
func parseEnvelope(body []byte) (*envelope, error) {
	if len(body) > maxEnvelope {
		return nil, malformed("larger than %d bytes", maxEnvelope)
	}
	var e envelope
	if err := json.Unmarshal(body, &e); err != nil {
		return nil, malformed("no JSON object of SNS (raw message delivery must be off)")
	}
	if err := e.check(); err != nil {
		return nil, err
	}
	return &e, nil
}

func (e *envelope) check() error {
	needed := map[string]string{"MessageId": e.MessageID, "TopicArn": e.TopicArn, "Message": e.Message, "Timestamp": e.Timestamp,
		"Signature": e.Signature, "SigningCertURL": e.SigningCertURL}
	switch e.Type {
	case typeNotification:
	case typeSubscription, typeUnsubscription:
		needed["Token"], needed["SubscribeURL"] = e.Token, e.SubscribeURL
	default:
		return malformed("the Type is none of SNS")
	}
	for name, value := range needed {
		if value == "" {
			return malformed("%s is missing", name)
		}
	}
	if len(e.MessageID) > 100 || len(e.TopicArn) > 400 || len(e.SigningCertURL) > 500 || len(e.Token) > 2000 || !utf8.ValidString(e.Message) {
		return malformed("a field is longer than SNS makes it")
	}
	var err error
	if e.signature, err = base64.StdEncoding.Strict().DecodeString(e.Signature); err != nil || len(e.signature) > 1024 {
		return malformed("the Signature is no base64")
	}
	if e.sent, err = time.Parse(time.RFC3339Nano, e.Timestamp); err != nil {
		return malformed("the Timestamp is none")
	}
	return e.checkLines()
}

// checkLines refuses line breaks in signed values other than the Message, since then the signed
// text can be divided into fields in only one way. Read from its end, each field except the
// Message is two lines, name and value. The last one is the type, which determines the names
// before it. The name before the Timestamp of a notification is Subject or MessageId, which
// determines whether there is a subject. The rest is the Message with any number of lines. A line
// break in another value would allow lines of a valid Message to pass for a MessageId, so that it
// counts again, or the reverse. SNS itself writes none (a subject is one line).
func (e *envelope) checkLines() error {
	subject := ""
	if e.Subject != nil {
		subject = *e.Subject
	}
	for _, value := range []string{e.MessageID, subject, e.Timestamp, e.TopicArn, e.Type, e.SubscribeURL, e.Token} {
		if strings.ContainsAny(value, "\r\n") {
			return forged("a signed field other than the Message has a line break")
		}
	}
	return nil
}

// canonical returns the signed text: names and values, each with a line end.
func (e *envelope) canonical() []byte {
	var b strings.Builder
	line := func(name, value string) {
		b.WriteString(name)
		b.WriteByte('\n')
		b.WriteString(value)
		b.WriteByte('\n')
	}
	line("Message", e.Message)
	line("MessageId", e.MessageID)
	if e.Type == typeNotification {
		if e.Subject != nil {
			line("Subject", *e.Subject)
		}
		line("Timestamp", e.Timestamp)
	} else {
		line("SubscribeURL", e.SubscribeURL)
		line("Timestamp", e.Timestamp)
		line("Token", e.Token)
	}
	line("TopicArn", e.TopicArn)
	line("Type", e.Type)
	return []byte(b.String())
}
