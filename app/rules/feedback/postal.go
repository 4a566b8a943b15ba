package feedback

import (
	"bytes"
	"crypto"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"math/big"
	"net/http"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"mailer/app"
)

// postal is written after "Webhooks" (docs.postalserver.io/developer/webhooks) and the delivery of
// webhooks in Postal 3, read in November 2026. Postal reports the Message-ID. Users have their own
// hosts, so it is not recognised by host.
var postal = Provider{Source: "postal", Name: "Postal", Proof: ProofSignature, read: readPostal, checkKey: checkPostalKey, verify: verifyPostal}

// postalReport is a webhook request of Postal.
type postalReport struct {
	Event     looseString `json:"event"`
	ID        looseString `json:"uuid"`
	Timestamp looseString `json:"timestamp"`
	Payload   struct {
		Status   looseString   `json:"status"`
		Details  looseString   `json:"details"`
		Output   looseString   `json:"output"`
		URL      looseString   `json:"url"`
		IP       looseString   `json:"ip_address"`
		Agent    looseString   `json:"user_agent"`
		Message  postalMessage `json:"message"`
		Original postalMessage `json:"original_message"`
	} `json:"payload"`
}

type postalMessage struct {
	Direction looseString `json:"direction"`
	MessageID looseString `json:"message_id"`
	To        looseString `json:"to"`
}

// readPostal parses a webhook request of Postal: one event. Error: CodeInvalidPayload.
func readPostal(body []byte) (out Reading, err error) {
	var m postalReport
	if err := decodeReport(body, &m); err != nil {
		return out, err
	}
	d := &m.Payload
	message := &d.Message
	if message.MessageID == "" {
		message = &d.Original
	}
	f := Report{MessageID: bareMessageID(message.MessageID), Recipient: string(message.To), At: unixTime(m.Timestamp), Link: string(d.URL),
		IPAddress: string(d.IP), UserAgent: string(d.Agent)}
	known := message.Direction != "incoming" && m.report(&f)
	f.ID = reportID(m.ID, string(f.Kind))
	out.add(f, known)
	return out, nil
}

// report sets the event and returns false for events that are ignored.
func (m *postalReport) report(f *Report) bool {
	d := &m.Payload
	f.Diagnostic = strings.TrimSpace(string(d.Details + " " + d.Output))
	listed := strings.Contains(string(d.Details), "suppression list")
	switch m.Event {
	case "MessageSent":
		f.Kind = Delivered
	case "MessageDelayed":
		f.Kind, f.Enhanced = Delayed, codeOf("", d.Output)
	case "MessageDeliveryFailed", "MessageHeld":
		switch {
		case listed:
			f.onProviderList(f.Diagnostic)
		case m.Event == "MessageHeld": // until somebody releases it
			f.Kind = Delayed
		default:
			f.bounced(app.BouncePermanent, "", "", f.Diagnostic)
		}
	case "MessageBounced": // a bounce came back as mail; its reason is not reported
		f.bounced(app.BounceUndetermined, "", "", "")
	case "MessageLoaded":
		f.Kind = Opened
	case "MessageLinkClicked":
		f.Kind = Clicked
	default:
		return false
	}
	return true
}

// checkPostalKey accepts the public key of an installation as its /.well-known/jwks.json, as PEM, or
// as the value p of its DKIM record.
func checkPostalKey(text string) (string, error) {
	key, err := postalKey(text)
	if err != nil || key.N.BitLen() < 1024 || key.N.BitLen() > 8192 {
		return "", app.Errorf(app.CodeValidation, "The key must be the RSA public key of your Postal, of 1024 to 8192 bits: its /.well-known/jwks.json, or PEM")
	}
	der, err := x509.MarshalPKIXPublicKey(key)
	return base64.StdEncoding.EncodeToString(der), err
}

func postalKey(text string) (*rsa.PublicKey, error) {
	text = strings.TrimSpace(text)
	if strings.HasPrefix(text, "{") {
		return keyOfSet([]byte(text))
	}
	der := []byte(nil)
	if block, _ := pem.Decode([]byte(text)); block != nil {
		der = block.Bytes
	} else {
		if _, value, found := strings.Cut(text, "p="); found {
			text, _, _ = strings.Cut(value, ";")
		}
		var err error
		if der, err = base64.StdEncoding.DecodeString(strings.Join(strings.Fields(text), "")); err != nil {
			return nil, err
		}
	}
	parsed, err := x509.ParsePKIXPublicKey(der)
	if err != nil {
		return nil, err
	}
	key, ok := parsed.(*rsa.PublicKey)
	if !ok {
		return nil, errors.New("not an RSA key")
	}
	return key, nil
}

// keyOfSet returns the first RSA key of a JSON Web Key Set.
func keyOfSet(set []byte) (*rsa.PublicKey, error) {
	var keys struct {
		Keys []struct {
			Type string `json:"kty"`
			N    string `json:"n"`
			E    string `json:"e"`
		} `json:"keys"`
	}
	if err := json.Unmarshal(set, &keys); err != nil {
		return nil, err
	}
	for _, k := range keys.Keys {
		n, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(k.N, "="))
		e, err2 := base64.RawURLEncoding.DecodeString(strings.TrimRight(k.E, "="))
		if k.Type != "RSA" || err != nil || err2 != nil {
			continue
		}
		if exponent := new(big.Int).SetBytes(e); exponent.IsInt64() && exponent.Int64() > 2 && exponent.Int64() < 1<<31 && exponent.Bit(0) == 1 {
			return &rsa.PublicKey{N: new(big.Int).SetBytes(n), E: int(exponent.Int64())}, nil
		}
	}
	return nil, errors.New("no RSA key")
}

// verifyPostal checks the SHA-256 signature of Postal 3. Older ones sign with SHA-1 only, which is
// not enough. Since the signature covers no time but that of the event, events whose repetitions
// are not recognised any more are refused.
func verifyPostal(key string, header http.Header, body []byte, now time.Time) error {
	public, err := postalKey(key)
	if err != nil {
		return err
	}
	signature, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(header.Get("X-Postal-Signature-256")), ""))
	if err != nil || len(signature) == 0 {
		return errors.New("the header X-Postal-Signature-256 has no signature")
	}
	sum := sha256.Sum256(body)
	if rsa.VerifyPKCS1v15(public, crypto.SHA256, sum[:], signature) != nil {
		return errors.New("the signature is not that of your Postal")
	}
	var m postalReport
	if json.Unmarshal(bytes.TrimSpace(body), &m) == nil {
		if at := unixTime(m.Timestamp); at.IsZero() || now.Sub(at) > ReportRetention {
			return errors.New("the event has no time, or is too old to be recognised if it is repeated")
		}
	}
	return nil
}
