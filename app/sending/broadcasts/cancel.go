package broadcasts

import (
	"context"

	"mailer/app"
	"mailer/app/base"
	"mailer/db"
)

// CancelBroadcast ends a scheduled or queued broadcast, also in mid-send: after the
// answer nothing of it leaves but what was past its final dot. remaining is how
// many recipients get nothing because of it. Errors: CodeNotFound,
// CodeInvalidParameter for one in any other state.
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

// statusText is a status in a sentence.
func statusText(s app.BroadcastStatus) string {
	switch s {
	case app.DraftBroadcast:
		return "a draft"
	case app.SentBroadcast:
		return "sent already"
	}
	return string(s)
}
