package broadcasts

import (
	"context"

	"mailer/app"
	"mailer/app/base"
	"mailer/db"
)

// CancelBroadcast cancels a scheduled or queued broadcast, also while it is sent: after the answer
// only mail past its final dot leaves. remaining is how many recipients get no mail because of it.
// Errors: CodeNotFound, CodeInvalidParameter in any other state.
func (s *Service) CancelBroadcast(ctx context.Context, key *app.Key, id string) (b app.Broadcast, remaining int64, err error) {
	err = s.DB.WriteCritical(ctx, func(tx *db.Tx) error {
		if b, err = tx.BroadcastHead(key.TeamID, id); err != nil {
			return base.Lookup("broadcast", err)
		}
		if b.Status != app.ScheduledBroadcast && b.Status != app.QueuedBroadcast {
			return app.Errorf(app.CodeInvalidParameter, "This broadcast can't be canceled: it is %s", statusText(b.Status))
		}
		committed, err := tx.CountCommitted(id)
		if err != nil {
			return err
		}
		remaining = b.Remaining() + b.Open - committed
		if err := tx.CancelBroadcast(key.TeamID, id); err != nil {
			return err
		}
		b.Status, b.CanceledAt = app.CanceledBroadcast, tx.Now
		tx.AfterCommit(s.broadcaster.signal.Notify)
		return base.Audit(ctx, tx, key.TeamID, "broadcast.cancel", id, nil, map[string]any{"name": b.Name, "canceled_remaining": remaining})
	})
	return b, remaining, base.Unavailable(err)
}

// statusText returns a status for a sentence.
func statusText(s app.BroadcastStatus) string {
	switch s {
	case app.DraftBroadcast:
		return "a draft"
	case app.SentBroadcast:
		return "sent already"
	}
	return string(s)
}
