package mail

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/rules/rawmail"
	"mailer/db"
)

// Submission is a message that a program submitted by SMTP (RFC 6409).
type Submission struct {
	// Recipients are the addresses of RCPT, in order. They receive the message, whatever its header
	// fields contain.
	Recipients []string
	// Message is the message as received, with CRLF line ends, without dot stuffing.
	Message []byte
}

// Submissions implements the acceptance of messages submitted by SMTP.
type Submissions struct{ service *Service }

const routeSubmissions = "SMTP"

// Check refuses a key that may not submit at all. It is called after authentication, before the
// message is sent.
func (s *Submissions) Check(_ context.Context, _ *app.Key) error { return s.service.Ready() }

// Accept makes an email of a message and returns its id once the email is safe on disk. A message
// with an idempotency key that was accepted before gets the first id. Accept takes ownership of
// in.Message. Errors: those of SendEmail.
func (s *Submissions) Accept(ctx context.Context, key *app.Key, in *Submission) (id string, err error) {
	defer s.service.Load.Enter()()
	if err := s.service.Ready(); err != nil {
		return "", err
	}
	sub, err := s.read(key, in)
	if err != nil {
		return "", err
	}
	claim, answer, err := s.service.claimIdempotency(ctx, key, routeSubmissions, sub.opts)
	if err != nil || answer != "" {
		return answer, err
	}
	defer claim.release()
	email := sub.email
	if err := cmp.Or(s.service.addPageLink(email), s.service.tryTracking(ctx, email)); err != nil {
		return "", err
	}
	return s.service.acceptOne(ctx, claim, email, func(tx *db.Tx) error { return recordRemovedHeaders(tx, email, sub.removed) })
}

// readSubmission is a parsed message, checked as far as possible without the database.
type readSubmission struct {
	email   *app.Email
	opts    SendOptions
	removed []string // names of removed header fields that instruct other mail providers
}

// read makes an email of a message.
func (s *Submissions) read(key *app.Key, in *Submission) (*readSubmission, error) {
	envelope, err := readEnvelope(in.Recipients)
	if err != nil {
		return nil, err
	}
	m, err := rawmail.Parse(in.Message)
	if err != nil {
		return nil, err
	}
	orders, err := m.Instructions()
	if err != nil {
		return nil, err
	}
	removed := m.Strip(orders.TopicID != "")
	mail := mailOf(m, orders, envelope)
	via := *key
	via.Via = SourceSMTP
	email, err := newEmail(&via, &app.EmailInput{ScheduledAt: orders.ScheduledAt, ExpiresIn: orders.ExpiresIn}, mail)
	if err != nil {
		return nil, err
	}
	email.Envelope = mailboxes(envelope)
	if m.ID != "" {
		email.MessageID = m.ID
	}
	sub := &readSubmission{email: email, removed: removed, opts: SendOptions{IdempotencyKey: orders.IdempotencyKey}}
	if orders.IdempotencyKey != "" {
		sub.opts.Payload, err = idempotencyPayload(email, &orders)
	}
	return sub, err
}

// readEnvelope parses the recipients, each once. Errors: CodeValidation.
func readEnvelope(list []string) (out []app.Address, err error) {
	seen := map[app.AddressKey]bool{}
	for _, text := range list {
		address, err := app.ParseAddress(text)
		if err != nil || address.Name != "" {
			return nil, app.Invalid("to", "holds %q, which is no address", text)
		}
		if key := address.Key(); !seen[key] {
			seen[key] = true
			out = append(out, address)
		}
	}
	switch {
	case len(out) == 0:
		return nil, app.Invalid("to", "is required: no recipient was named")
	case len(out) > app.MaxRecipients:
		return nil, app.Invalid("to", "must not hold more than %d addresses together with cc and bcc", app.MaxRecipients)
	}
	return out, nil
}

// mailOf returns the content and recipients of a message. A recipient in neither To nor Cc gets a
// blind copy.
func mailOf(m *rawmail.Message, orders rawmail.Instructions, envelope []app.Address) *app.Mail {
	out := &app.Mail{From: m.From, To: m.To, Cc: m.Cc, ReplyTo: m.ReplyTo, Subject: m.Subject, HTML: m.HTML, Text: m.Text,
		Headers: m.Headers(), Tags: orders.Tags, TopicID: orders.TopicID, Attachments: m.Attachments, Raw: m.Raw}
	for i := range out.Attachments {
		out.Attachments[i].ID = app.NewID()
	}
	out.Bcc = blindRecipients(out, envelope)
	return out
}

// blindRecipients returns the recipients of an envelope that are in neither To nor Cc.
func blindRecipients(m *app.Mail, envelope []app.Address) (out []app.Address) {
	named := map[app.AddressKey]bool{}
	for _, a := range slices.Concat(m.To, m.Cc) {
		named[a.Key()] = true
	}
	for _, a := range envelope {
		if !named[a.Key()] {
			out = append(out, a)
		}
	}
	return out
}

func mailboxes(list []app.Address) []string {
	out := make([]string, len(list))
	for i, a := range list {
		out[i] = a.Mailbox()
	}
	return out
}

// envelopeOf returns the recipients of an email.
func envelopeOf(email *app.Email) []string {
	if email.Envelope != nil {
		return email.Envelope
	}
	return email.Recipients()
}

// idempotencyPayload returns what idempotency compares of a message: content and recipients. It
// excludes Message-ID, Date and boundaries, which differ each time that a program makes the
// message.
func idempotencyPayload(email *app.Email, orders *rawmail.Instructions) ([]byte, error) {
	content := email.Mail
	content.Raw, content.Headers = nil, nil
	files := make([]string, len(content.Attachments))
	for i, a := range content.Attachments {
		files[i] = fmt.Sprintf("%s\x00%s\x00%s\x00%x", a.Filename, a.ContentType, a.ContentID, sha256.Sum256(a.Content))
	}
	content.Attachments = nil
	payload, err := json.Marshal(struct {
		Said     *app.Mail
		Files    []string
		Envelope []string
		Orders   *rawmail.Instructions
	}{&content, files, email.Envelope, orders}, json.Deterministic(true))
	if err != nil {
		return nil, fmt.Errorf("encode the idempotency payload: %w", err)
	}
	return payload, nil
}

// recordRemovedHeaders adds an event with the header fields that were removed from a message.
func recordRemovedHeaders(tx *db.Tx, email *app.Email, names []string) error {
	if len(names) == 0 {
		return nil
	}
	const most = 20
	text := strings.Join(names[:min(len(names), most)], ", ")
	if len(names) > most {
		text += fmt.Sprintf(" and %d others", len(names)-most)
	}
	return tx.InsertEvent(NewEvent(tx, app.Unit{EmailID: email.ID, TeamID: email.TeamID}, app.EventHeadersRemoved, "",
		app.EventDetail{Message: "Taken out of the message, since only this server may give orders to a mail provider: " + text}))
}

// copyRaw makes an email that is sent again a copy of the raw message of the old one, without its
// Message-ID and Date. The address fields of the header stay.
func copyRaw(email, old *app.Email, to []app.Address) {
	email.Raw = rawmail.RemoveFields(old.Raw, "Message-ID", "Date")
	email.Envelope = old.Envelope
	if len(to) > 0 {
		email.Envelope = mailboxes(to)
		email.Bcc = blindRecipients(&email.Mail, to)
	}
}

// raw returns the raw message of an email without signature and tracking: reading it here must not
// count as an open. Error: db.ErrNotFound for an email without a raw message.
func (s *Submissions) raw(ctx context.Context, teamID, id string) ([]byte, error) {
	return base.GetWithinBudget(ctx, s.service.DB,
		func(r *db.Reader) (int64, error) {
			n, err := r.RawSize(teamID, id)
			return 2 * n, err
		},
		func(r *db.Reader) ([]byte, error) {
			if n, err := r.RawSize(teamID, id); err != nil || n == 0 {
				return nil, cmp.Or(err, db.ErrNotFound)
			}
			email, _, err := r.Outgoing(teamID, id)
			if err != nil || email.Raw == nil {
				return nil, cmp.Or(err, db.ErrNotFound)
			}
			return rawmail.Bytes(&app.Outgoing{EmailID: id, MessageID: email.MessageID, Date: email.CreatedAt, Mail: email.FinalMail()}), nil
		})
}
