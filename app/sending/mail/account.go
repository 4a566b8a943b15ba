package mail

import (
	"context"
	"errors"
	"fmt"

	"mailer/app"
	"mailer/app/base"
	"mailer/db"
	"mailer/db/engine"
)

// SourceAccount is the source of mail of Mailer's own to people, about their accounts.
const SourceAccount = "account"

// AccountPurpose is what the text of such a mail is sealed for; the email's id is the
// context.
const AccountPurpose = "account mail"

// accountText stands in place of that text wherever it is shown.
const accountText = "Mailer wrote this mail to a person, about an account. Its content is not shown: it may contain a private link."

// Accounts is mail of Mailer's own to people, about their accounts.
type Accounts struct{ service *Service }

// Send accepts a mail of Mailer's own to a person, from a domain of a team. What the
// team shows of its mail has the subject, and not the text. Suppressions of the team don't
// keep it from the person. Errors: those of SendEmail.
func (a *Accounts) Send(ctx context.Context, teamID, from, to, subject, text string) error {
	s := a.service
	defer s.Load.Enter()()
	if err := s.Ready(); err != nil {
		return err
	}
	shown := accountText
	key := &app.Key{TeamID: teamID, Permission: app.FullAccess, Role: app.RoleOwner, Via: SourceAccount}
	email, err := s.prepare(key, s.withCompat(&app.EmailInput{From: from, To: []string{to}, Subject: subject, Text: &shown}))
	if err != nil {
		return err
	}
	sealed := s.Sealer.Seal(AccountPurpose, email.ID, []byte(text))
	return base.Unavailable(s.DB.Write(engine.Pipelined(ctx), func(tx *db.Tx) error {
		if err := s.Accept(tx, email); err != nil {
			return err
		}
		return tx.InsertAccountText(email.ID, sealed)
	}))
}

// Outgoing returns an email as it leaves: of Mailer's own with the text that is not shown.
func (a *Accounts) Outgoing(ctx context.Context, email *app.Email) (*app.Email, error) {
	if email.Source != SourceAccount {
		return email, nil
	}
	sealed, err := db.Get(ctx, a.service.DB, func(r *db.Reader) ([]byte, error) { return r.AccountText(email.ID) })
	if errors.Is(err, db.ErrNotFound) {
		return email, nil
	}
	var text []byte
	if err == nil {
		text, err = a.service.Sealer.Open(AccountPurpose, email.ID, sealed)
	}
	if err != nil {
		return nil, fmt.Errorf("read the text of a mail to a person: %w", err)
	}
	out := *email
	out.Text = string(text)
	return &out, nil
}

// BlockedRecipients returns what keeps an email from recipients: nothing of what a team wrote
// down keeps mail of Mailer's own from a person.
func (a *Accounts) BlockedRecipients(r *db.Reader, teamID, topicID, emailID string, recipients []string) (app.Blocked, error) {
	blocked, err := a.service.audience.BlockedRecipients(r, teamID, topicID, recipients)
	if err != nil || len(blocked) == 0 {
		return blocked, err
	}
	isAccountMail, err := r.IsAccountMail(emailID)
	if isAccountMail {
		blocked = nil
	}
	return blocked, err
}
