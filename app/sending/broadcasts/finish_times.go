package broadcasts

import (
	"context"
	"time"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/kit/clock"
	"mailer/db"
)

// FinishTimes returns when the last email of each scheduled or queued broadcast of
// rows leaves, by id; those of which nobody can say, as those that a guardrail holds
// back, are absent. Emails that were
// put off count with their next try: whether it succeeds nobody knows. Of one that is
// under way while its relay takes nothing of it nobody can say either.
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

// waitsForRelay reports whether a broadcast is under way and its relay takes nothing of it.
func (s *Service) waitsForRelay(ctx context.Context, b *app.Broadcast) (bool, error) {
	if b.Status != app.QueuedBroadcast {
		return false, nil
	}
	troubles, err := db.Get(ctx, s.DB, func(r *db.Reader) ([]app.RelayTrouble, error) {
		return r.OpenTroublesOf(b.Relay, b.TeamID, b.From.Domain)
	})
	return len(troubles) > 0, err
}
