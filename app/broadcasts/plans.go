package broadcasts

import (
	"context"
	"time"

	"mailer/app"
	"mailer/app/service"
)

// FinishTimes returns when the last email of each scheduled or queued broadcast of
// rows leaves, by id; those of which nobody can say, as those that a guardrail holds
// back, are absent. Emails that were
// put off count with their next try: whether it succeeds nobody knows.
func (s *Service) FinishTimes(ctx context.Context, rows []app.Broadcast) (map[string]time.Time, error) {
	out := map[string]time.Time{}
	now := time.Now()
	for _, b := range rows {
		at, err := s.delivery.ForetellEnd(ctx, &b, now)
		if err != nil {
			return nil, err
		}
		if at.IsZero() {
			continue
		}
		if out[b.ID], err = s.stretched(ctx, &b, service.Latest(at, now), now); err != nil {
			return nil, err
		}
	}
	return out, nil
}
