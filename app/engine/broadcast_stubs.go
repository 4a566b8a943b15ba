package engine

import (
	"context"
	"time"

	"mailer/app"
	"mailer/db"
)

// These stand here until pacing and cancel are merged.

func (e *Engine) planBroadcast(r *db.Reader, b *app.Broadcast) (app.Plan, error) {
	return app.Plan{Now: b.Audience}, nil
}

func (e *Engine) finishTimes(ctx context.Context, rows []app.Broadcast) (map[string]time.Time, error) {
	return nil, nil
}

// CancelBroadcast ends a scheduled or queued broadcast.
func (e *Engine) CancelBroadcast(ctx context.Context, key *app.Key, id string) (b app.Broadcast, remaining int64, err error) {
	err = e.db.Write(ctx, func(tx *db.Tx) error {
		if b, err = tx.BroadcastHead(key.TeamID, id); err != nil {
			return err
		}
		if b.Status != app.ScheduledBroadcast && b.Status != app.QueuedBroadcast {
			return app.Errorf(app.CodeInvalidParameter, "Only a scheduled or queued broadcast can be canceled; this broadcast is %s", b.Status)
		}
		if err := tx.CancelBroadcast(key.TeamID, id); err != nil {
			return err
		}
		b, err = tx.BroadcastHead(key.TeamID, id)
		return err
	})
	return b, b.Remaining(), lookup("broadcast", err)
}

// TestBroadcast is to come with the rendering of broadcasts.
func (e *Engine) TestBroadcast(ctx context.Context, key *app.Key, id string, to []string) (emails []string, err error) {
	return nil, app.Errorf(app.CodeServiceUnavailable, "not built yet")
}
