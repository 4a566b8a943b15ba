package mail

import (
	"context"
	"fmt"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/rules/render"
	"mailer/app/tenants/audience"
	"mailer/db"
)

// compiled is how much memory a broadcast takes that is compiled and filled in for a
// recipient, in its content.
const compiled = 2

// broadcastEmail returns an email to a recipient of a broadcast as it leaves, or
// would leave, but for tracking: who reads it here opens nothing. Error:
// db.ErrNotFound.
func (s *Service) broadcastEmail(ctx context.Context, teamID, emailID string) (*app.Email, error) {
	var rec app.BroadcastRecipient
	var email *app.Email
	size := func(r *db.Reader) (int64, error) {
		head, err := r.BroadcastOfMail(teamID, emailID)
		if err != nil {
			return 0, err
		}
		bytes, err := r.BroadcastSize(teamID, head.ID)
		return compiled * bytes, err
	}
	b, err := base.Reserved(ctx, s.DB, size, func(r *db.Reader) (*app.Broadcast, error) {
		head, found, err := audience.RecipientOf(r, teamID, emailID)
		if err != nil {
			return nil, err
		}
		rec, email = found, headOf(&head, &found)
		now, err := audience.Situations(r, &head, found)
		if err != nil {
			return nil, err
		}
		email.Situation = now[0]
		return r.Broadcast(teamID, head.ID)
	})
	if err != nil {
		return nil, err
	}
	if b.Frozen != nil {
		frozen := *b.Frozen
		frozen.Tracking = nil
		b.Frozen = &frozen
	}
	mail, err := render.Compile(b)
	if err != nil {
		return nil, fmt.Errorf("compile broadcast %s: %w", b.ID, err)
	}
	content, err := s.BroadcastMail(ctx, teamID, b.ID)
	if err != nil {
		return nil, err
	}
	email.Insights = content.Insights
	email.Mail = *mail.Mail(s.Sealer, &rec).Whole()
	if rec.Email == app.Erased {
		email.To = []app.Address{{Local: app.Erased}}
	}
	return email, nil
}
