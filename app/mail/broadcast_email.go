package mail

import (
	"context"
	"fmt"

	"mailer/app"
	"mailer/app/audience"
	"mailer/app/render"
	"mailer/db"
)

// broadcastEmail returns an email to a recipient of a broadcast as it leaves, or
// would leave, but for tracking: who reads it here opens nothing. Error:
// db.ErrNotFound.
func (s *Service) broadcastEmail(ctx context.Context, teamID, emailID string) (*app.Email, error) {
	var b *app.Broadcast
	var rec app.BroadcastRecipient
	err := s.DB.Read(ctx, func(r *db.Reader) error {
		head, found, err := audience.RecipientOf(r, teamID, emailID)
		if err != nil {
			return err
		}
		rec = found
		b, err = r.Broadcast(teamID, head.ID)
		return err
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
	email := headOf(b, &rec)
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
