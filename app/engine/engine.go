// Package engine holds the use cases of Mailer, one file a resource, and the
// workers that carry mail from the database to the relays.
//
// Failure policy: what was answered with success is in the database; a worker
// that fails leaves its unit there to be tried again. An *app.Error is for the
// caller; any other error is a fault of ours that web logs and hides.
package engine

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"mailer/app"
)

// Sender carries out one SMTP transaction. Just before the final dot it calls
// hold with the DKIM-Signature field used (empty: unsigned); an error from hold
// means that the dot must not be sent, and gives ResultWithdrawn. hold is
// called at most once, and not at all when the transaction ends earlier. Send
// is safe for concurrent use and blocks while all connections are busy. When
// ctx ends before the dot, the transaction is dropped with ResultTrouble.
type Sender interface {
	Send(ctx context.Context, m *app.Outgoing, hold func(ctx context.Context, signature string) error) app.Result
	// Close says QUIT on idle connections and drops them.
	Close()
}

// SendOptions are what a send carries beside its body.
type SendOptions struct {
	IdempotencyKey string // empty: none
	Payload        []byte // canonical form of the body, what idempotency compares
}

var errStub = errors.New("engine: not built yet")

// Engine is the whole service behind its doors.
type Engine struct {
	log *slog.Logger
}

// Authenticate finds the key of an API token. Errors: CodeInvalidAPIKey.
func (e *Engine) Authenticate(ctx context.Context, token string) (*app.Key, error) {
	return nil, errStub
}

// SendEmail accepts one email and answers its id once it is safe on disk.
func (e *Engine) SendEmail(ctx context.Context, key *app.Key, in *app.EmailInput, opts SendOptions) (string, error) {
	return "", errStub
}

// ListEmails gives a page of the team's emails, newest first, without bodies
// and attachments, and whether there are more.
func (e *Engine) ListEmails(ctx context.Context, key *app.Key, page app.Page) ([]app.Email, bool, error) {
	return nil, false, errStub
}

// GetEmail gives one email with its bodies and the metadata of its attachments.
func (e *Engine) GetEmail(ctx context.Context, key *app.Key, id string) (*app.Email, error) {
	return nil, errStub
}

// ListEvents gives a page of an email's timeline, newest first.
func (e *Engine) ListEvents(ctx context.Context, key *app.Key, emailID string, page app.Page) ([]app.Event, bool, error) {
	return nil, false, errStub
}

// ListAttachments gives a page of the metadata of an email's attachments.
func (e *Engine) ListAttachments(ctx context.Context, key *app.Key, emailID string, page app.Page) ([]app.Attachment, bool, error) {
	return nil, false, errStub
}

// GetAttachment gives the metadata of one attachment.
func (e *Engine) GetAttachment(ctx context.Context, key *app.Key, emailID, id string) (*app.Attachment, error) {
	return nil, errStub
}

// AttachmentToken makes the signed part of a download address and says when it
// ends.
func (e *Engine) AttachmentToken(key *app.Key, emailID, id string) (token string, expires time.Time) {
	return "", time.Time{}
}

// OpenAttachment gives the attachment that a download token names. Errors:
// CodeNotFound for a forged or ended token.
func (e *Engine) OpenAttachment(ctx context.Context, token string) (*app.Attachment, error) {
	return nil, errStub
}

// GetCaptured gives the whole message as the capture transport kept it. Errors:
// CodeNotFound where nothing was captured.
func (e *Engine) GetCaptured(ctx context.Context, key *app.Key, emailID string) ([]byte, error) {
	return nil, errStub
}

// Ready is nil while mail can be accepted, else an *app.Error of
// CodeServiceUnavailable that says why.
func (e *Engine) Ready() error { return errStub }

