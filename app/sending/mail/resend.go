package mail

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/kit/clock"
	"mailer/app/tenants/audience"
	"mailer/db"
)

// Resends sends existing emails again, each as a new email.
type Resends struct{ service *Service }

const routeResend = "POST /emails/{id}/resend"

// ResendEmail accepts a new email with the content of an earlier one, to the recipients of the
// earlier one or, if to is not empty, to others. It returns the id of the new email. Errors:
// CodeNotFound, CodeConflict if the content is deleted, CodeValidation for an email of a broadcast,
// and those of SendEmail.
func (a *Resends) ResendEmail(ctx context.Context, key *app.Key, id string, to []string, opts SendOptions) (string, error) {
	defer a.service.Load.Enter()()
	if err := a.service.Ready(); err != nil {
		return "", err
	}
	recipients, err := parseRecipients(to)
	if err != nil {
		return "", err
	}
	claim, answer, err := a.service.claimIdempotency(ctx, key, routeResend, opts)
	if err != nil || answer != "" {
		return answer, err
	}
	defer claim.release()
	email, err := a.copyEmail(ctx, key, id, recipients)
	if err != nil {
		return "", err
	}
	err = a.service.DB.Write(ctx, func(tx *db.Tx) error {
		if err := a.service.Accept(tx, email); err != nil {
			return err
		}
		link := NewEvent(tx, app.Unit{EmailID: email.ID, TeamID: email.TeamID}, app.EventResent, "",
			app.EventDetail{Message: "Says what the email " + id + " said, which is sent again by this one", Original: id})
		if err := tx.InsertEvent(link); err != nil {
			return err
		}
		return claim.keep(tx, email.ID)
	})
	if err != nil {
		return claim.resolveFailure(ctx, a.service, a.service.refusal(ctx, email, err))
	}
	return email.ID, nil
}

// parseRecipients parses other recipients. Errors: CodeValidation.
func parseRecipients(to []string) ([]app.Address, error) {
	if len(to) > app.MaxRecipients {
		return nil, app.Invalid("to", "can hold at most %d recipients", app.MaxRecipients)
	}
	var out []app.Address
	for _, text := range to {
		address, err := app.ParseAddress(text)
		if err != nil {
			return nil, app.Invalid("to", "%s", err)
		}
		out = append(out, address)
	}
	return out, nil
}

// copyEmail returns a new email with the content of another.
func (a *Resends) copyEmail(ctx context.Context, key *app.Key, id string, to []app.Address) (*app.Email, error) {
	old, err := base.GetWithinBudget(ctx, a.service.DB,
		func(r *db.Reader) (int64, error) { return r.OutgoingSize(key.TeamID, id) },
		func(r *db.Reader) (e *app.Email, err error) {
			if e, _, err = r.CompleteEmail(key.TeamID, id); err == nil {
				e.Envelope, err = r.Envelope(key.TeamID, id)
			}
			return e, err
		})
	if errors.Is(err, db.ErrNotFound) {
		err = a.service.DB.Read(ctx, func(r *db.Reader) error {
			b, _, err := audience.RecipientOf(r, key.TeamID, id)
			if err == nil {
				err = app.Errorf(app.CodeValidation, "This email belongs to the broadcast %s, so it can't be sent again separately", b.ID)
			}
			return err
		})
	}
	if err != nil {
		return nil, base.Lookup("email", err)
	}
	if old.Unsent {
		return nil, app.Errorf(app.CodeConflict, "This send was refused and its content was not kept, so it can't be sent again: send it anew")
	}
	if !old.ContentDeletedAt.IsZero() {
		return nil, app.Errorf(app.CodeConflict, "The content of this email was deleted on %s, so it can't be sent again", old.ContentDeletedAt.UTC().Format(time.DateOnly))
	}
	email := newCopy(key, old, to)
	for _, address := range append(slices.Clone(envelopeOf(email)), email.From.Mailbox()) {
		if address == app.Erased {
			return nil, app.Errorf(app.CodeConflict, "An address of this email was erased, so it can't be sent again; `to` can name others")
		}
	}
	if key.DomainName != "" && email.From.Domain != key.DomainName {
		return nil, app.Errorf(app.CodeRestrictedAPIKey, "This API key may send only from addresses of %s", key.DomainName)
	}
	return email, cmp.Or(a.service.addPageLink(email), a.service.tryTracking(ctx, email))
}

// newCopy returns a new email that shares only the content with old.
func newCopy(key *app.Key, old *app.Email, to []app.Address) *app.Email {
	id := app.NewID()
	email := &app.Email{ID: id, TeamID: key.TeamID, KeyID: key.ID, Source: SourceResend, TemplateID: old.TemplateID,
		MessageID: app.EmailMessageID(id, old.From.Domain), CreatedAt: clock.Now(), LastEvent: app.Queued, Mail: old.Mail}
	switch {
	case old.Raw != nil:
		copyRaw(email, old, to)
	case len(to) > 0:
		email.To, email.Cc, email.Bcc = to, nil, nil
	default:
		email.Envelope = old.Envelope
	}
	email.ReplyTo = slices.DeleteFunc(slices.Clone(old.ReplyTo), func(a app.Address) bool { // it names old
		return a.Domain == old.From.Domain && app.IsReplyAddress(a.Mailbox())
	})
	email.Attachments = nil
	for _, file := range old.Attachments {
		file.ID = app.NewID()
		email.Attachments = append(email.Attachments, file)
	}
	return email
}
