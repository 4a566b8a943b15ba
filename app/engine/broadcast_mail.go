package engine

import (
	"context"
	"fmt"

	"mailer/app"
	"mailer/db"
)

// broadcastEmail gives an email to a recipient of a broadcast as it leaves, or
// would leave, but for tracking: who reads it here opens nothing. Error:
// db.ErrNotFound.
func (e *Engine) broadcastEmail(ctx context.Context, teamID, emailID string) (*app.Email, error) {
	var b *app.Broadcast
	var rec app.BroadcastRecipient
	err := e.db.Read(ctx, func(r *db.Reader) error {
		head, found, err := broadcastMail(r, teamID, emailID)
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
	mail, err := renderUntracked(e.cfg.Sealer, b, &rec)
	if err != nil {
		return nil, fmt.Errorf("render broadcast %s: %w", b.ID, err)
	}
	email := headOf(b, &rec)
	email.Mail = *mail
	return email, nil
}
