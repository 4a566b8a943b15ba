package broadcasts

import (
	"context"
	"time"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/kit/clock"
	"mailer/db"
)

// FinishTimes returns when the last email of each scheduled or queued broadcast of rows leaves, by
// id. Unknown times are absent: those of broadcasts that a guardrail holds, and of broadcasts whose
// relay accepts none of their mail. A deferred email counts with its next attempt, whether or not
// that succeeds.
func (s *Service) FinishTimes(ctx context.Context, rows []app.Broadcast) (map[string]time.Time, error) {
	out := map[string]time.Time{}
	now := clock.Now()
	for _, b := range rows {
		at, err := s.delivery.ForecastFinish(ctx, &b, now)
		if err != nil {
			return nil, err
		}
		if at.IsZero() {
			continue
		}
		if waiting, err := s.waitsForRelay(ctx, &b); err != nil {
			return nil, err
		} else if waiting {
			continue
		}
		if out[b.ID], err = s.finishByQuota(ctx, &b, base.Later(at, now), now); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// waitsForRelay reports whether a broadcast is being sent and its relay accepts none of its mail.
func (s *Service) waitsForRelay(ctx context.Context, b *app.Broadcast) (bool, error) {
	if b.Status != app.QueuedBroadcast {
		return false, nil
	}
	troubles, err := db.Get(ctx, s.DB, func(r *db.Reader) ([]app.RelayTrouble, error) {
		return r.OpenTroublesOf(b.Relay, b.TeamID, b.From.Domain)
	})
	return len(troubles) > 0, err
}
