package db

import (
	"fmt"

	"mailer/app"
)

// EndBroadcast marks a draft, inserted in the same transaction, as sent or canceled by
// another server, with the counts it had there. It has no recipients and is never sent.
// Error: ErrNotFound if it is not a draft.
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
