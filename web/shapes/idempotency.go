package shapes

import (
	"crypto/sha256"
	"io"
	"net/http"

	"github.com/go-json-experiment/json"

	"mailer/app"
	"mailer/app/sending/mail"
)

// IdempotencyHeader is the Idempotency-Key header. Requests with equal keys run once.
type IdempotencyHeader struct {
	IdempotencyKey string `header:"Idempotency-Key" doc:"1 to 256 characters. A repeated request gets the first answer and sends nothing"`

	present bool // even if the value is empty
}

// ReadHeader implements HeaderReader.
func (o *IdempotencyHeader) ReadHeader(header http.Header) { _, o.present = header["Idempotency-Key"] }

// Options returns the send options with a digest of the canonical request: a digest, so that large
// bodies are not kept. Without a key they are empty. Errors: CodeInvalidIdempotencyKey.
func (o *IdempotencyHeader) Options(input any) (mail.SendOptions, error) {
	return o.Digested(func(w io.Writer) error { return Canonical(w, input) })
}

// Digested is Options for what write writes.
func (o *IdempotencyHeader) Digested(write func(io.Writer) error) (mail.SendOptions, error) {
	if !o.present {
		return mail.SendOptions{}, nil
	}
	if err := app.CheckIdempotencyKey(o.IdempotencyKey); err != nil {
		return mail.SendOptions{}, err
	}
	digest := sha256.New()
	if err := write(digest); err != nil {
		return mail.SendOptions{}, err
	}
	return mail.SendOptions{IdempotencyKey: o.IdempotencyKey, Payload: digest.Sum(nil)}, nil
}

// Canonical writes the form that idempotency compares. It omits absent members, so that a field of
// a later version changes no digest.
func Canonical(w io.Writer, input any) error {
	return json.MarshalWrite(w, input, json.Deterministic(true), json.OmitZeroStructFields(true))
}
