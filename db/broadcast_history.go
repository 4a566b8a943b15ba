package db

import (
	"fmt"

	"mailer/app"
)

// EndBroadcast has a draft that was inserted in the same transaction count as sent or
// canceled elsewhere, with the figures that it had there. It has no recipients, and
// nothing of it is ever sent. Error: ErrNotFound for one that is no draft.
func (tx *Tx) EndBroadcast(b *app.Broadcast) error {
	c := &b.Counts
	n, err := tx.Exec(`UPDATE broadcasts SET status = ?, relay = '', audience = ?, written = ?, expanded = 1, aged = 1, scheduled_at = ?, queued_at = ?, sent_at = ?, canceled_at = ?,
		sent = ?, delivery_delayed = ?, delivered = ?, opened = ?, clicked = ?, bounced = ?, complained = ?, suppressed = ?, failed = ?, canceled = ?, unsubscribed = ?
		WHERE team_id = ? AND id = ? AND status = 'draft'`,
		string(b.Status), b.Audience, b.Stored, nullTime(b.ScheduledAt), nullTime(b.QueuedAt), nullTime(b.SentAt), nullTime(b.CanceledAt),
		c.Sent, c.DeliveryDelayed, c.Delivered, c.Opened, c.Clicked, c.Bounced, c.Complained, c.Suppressed, c.Failed, c.Canceled, c.Unsubscribed, b.TeamID, b.ID)
	if err := oneRow(n, err, ErrNotFound); err != nil {
		return fmt.Errorf("end broadcast: %w", err)
	}
	return nil
}
