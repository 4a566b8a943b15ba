package mail

import (
	"context"
	"errors"
	"fmt"

	"mailer/app"
	"mailer/app/base"
	"mailer/db"
)

// SourceAccount is the source of Mailer's own mail about accounts.
const SourceAccount = "account"

// AccountPurpose is the purpose that the text of account mail is sealed for; the email's id is the
// context.
const AccountPurpose = "account mail"

// accountText is shown in place of the text of account mail.
const accountText = "Mailer wrote this mail to a person, about an account. Its content is not shown: it may contain a private link."

// Accounts implements Mailer's own mail about accounts.
type Accounts struct{ service *Service }

// AccountMail is a mail of Mailer's own that is ready to be accepted.
type AccountMail struct {
	email  *app.Email
	sealed []byte // the text; nil: it is in email
}

// Prepare makes a mail of Mailer's own to a person, from a domain of a team, without storing it. The team can see its
// subject, but not its text, unless mail is captured. Suppressions of the team do not stop it. Errors: CodeValidation.
func (a *Accounts) Prepare(teamID, from, to, subject, text string) (*AccountMail, error) {
	s := a.service
	if s.Settings.Capture { // nothing is sent: a developer opens its links
		email, err := s.prepare(&app.Key{TeamID: teamID, Permission: app.FullAccess, Role: app.RoleOwner, Via: SourceAPI}, s.withCompat(&app.EmailInput{From: from, To: []string{to}, Subject: subject, Text: &text}))
		return &AccountMail{email: email}, err
	}
	return a.prepare(teamID, from, to, subject, text)
}

func (a *Accounts) prepare(teamID, from, to, subject, text string) (*AccountMail, error) {
	s, shown := a.service, accountText
	key := &app.Key{TeamID: teamID, Permission: app.FullAccess, Role: app.RoleOwner, Via: SourceAccount}
	email, err := s.prepare(key, s.withCompat(&app.EmailInput{From: from, To: []string{to}, Subject: subject, Text: &shown}))
	if err != nil {
		return nil, err
	}
	return &AccountMail{email: email, sealed: s.Sealer.Seal(AccountPurpose, email.ID, []byte(text))}, nil
}

// Accept accepts a mail inside Write. Errors: those of SendEmail.
func (a *Accounts) Accept(tx *db.Tx, m *AccountMail) error {
	if err := a.service.Accept(tx, m.email); err != nil || m.sealed == nil {
		return err
	}
	return tx.InsertAccountText(m.email.ID, m.sealed)
}

// Send accepts a mail of Mailer's own to a person, from a domain of a team. The team can see its
// subject, but not its text. Suppressions of the team do not stop it. Errors: those of SendEmail.
func (a *Accounts) Send(ctx context.Context, teamID, from, to, subject, text string) error {
	s := a.service
	defer s.Load.Enter()()
	if err := s.Ready(); err != nil {
		return err
	}
	m, err := a.prepare(teamID, from, to, subject, text)
	if err != nil {
		return err
	}
	err = s.DB.Write(db.Prefetch(ctx, func(r *db.Reader) { s.nameQueries(r, m.email) }), func(tx *db.Tx) error { return a.Accept(tx, m) })
	return s.Explain(ctx, base.Unavailable(err))
}

// Outgoing returns an email as it is sent: account mail with its real text.
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
		return nil, fmt.Errorf("read the text of an account mail: %w", err)
	}
	out := *email
	out.Text = string(text)
	return &out, nil
}

// BlockedRecipients returns the blocked recipients of an email. Account mail has none: suppressions
// of the team do not apply.
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
