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

// compiledFactor is the memory of a broadcast that is compiled and rendered for a recipient,
// relative to its content.
const compiledFactor = 2

// broadcastEmail returns the email to a recipient of a broadcast as it is sent, but without
// tracking: reading it here must not count as an open. Error: db.ErrNotFound.
func (s *Service) broadcastEmail(ctx context.Context, teamID, emailID string) (*app.Email, error) {
	var rec app.BroadcastRecipient
	var email *app.Email
	size := func(r *db.Reader) (int64, error) {
		head, err := r.BroadcastOfMail(teamID, emailID)
		if err != nil {
			return 0, err
		}
		bytes, err := r.BroadcastSize(teamID, head.ID)
		return compiledFactor * bytes, err
	}
	b, err := base.GetWithinBudget(ctx, s.DB, size, func(r *db.Reader) (*app.Broadcast, error) {
		head, found, err := audience.RecipientOf(r, teamID, emailID)
		if err != nil {
			return nil, err
		}
		rec, email = found, headOf(&head, &found)
		situations, err := audience.Situations(r, &head, found)
		if err != nil {
			return nil, err
		}
		email.Situation = situations[0]
		return r.Broadcast(teamID, head.ID)
	})
	if err != nil {
		return nil, err
	}
	if b.Snapshot != nil {
		frozen := *b.Snapshot
		frozen.Tracking = nil
		b.Snapshot = &frozen
	}
	mail, err := render.Compile(b.In(rec.Language))
	if err != nil {
		return nil, fmt.Errorf("compile broadcast %s: %w", b.ID, err)
	}
	content, err := s.BroadcastMail(ctx, teamID, b.ID)
	if err != nil {
		return nil, err
	}
	email.Insights = content.Insights
	email.Mail = *mail.Partial(s.Sealer, &rec).Flatten()
	if rec.Email == app.Erased {
		email.To = []app.Address{{Local: app.Erased}}
	}
	return email, nil
}
