package teams

import (
	"fmt"
	"sync"
	"time"

	"mailer/app"
	"mailer/app/kit/clock"
	"mailer/db"
)

const (
	// openRunsTTL is how long the number of all open runs is used, since it has a row for each team.
	openRunsTTL = 5 * time.Second
	// openRunsMargin is how close to the limit of the server that number is read each time.
	openRunsMargin = 100_000
)

// openRuns caches the number of open runs of all teams.
type openRuns struct {
	mu   sync.Mutex
	n    int64
	till time.Time
}

// OpenRunsLeft returns how many more open runs of automations a team can have: by its plan, or
// app.MaxOpenRuns without one, and by the limit of the server. It is not above zero at the limit.
func (s *Service) OpenRunsLeft(r *db.Reader, teamID string) (int64, error) {
	limit := int64(app.MaxOpenRuns)
	if s.Settings.Cloud {
		plan, err := s.PlanOf(r, teamID)
		if err != nil {
			return 0, err
		}
		limit = plan.Terms().MaxOpenRuns()
	}
	own, err := r.OpenRuns(teamID)
	if err != nil {
		return 0, fmt.Errorf("count open runs: %w", err)
	}
	all, err := s.allOpenRuns(r)
	return min(limit-own, app.MaxServerOpenRuns-all), err
}

func (s *Service) allOpenRuns(r *db.Reader) (int64, error) {
	s.openRuns.mu.Lock()
	defer s.openRuns.mu.Unlock()
	now := clock.Now()
	if now.Before(s.openRuns.till) && s.openRuns.n < app.MaxServerOpenRuns-openRunsMargin {
		return s.openRuns.n, nil
	}
	n, err := r.AllOpenRuns()
	if err != nil {
		return 0, fmt.Errorf("count all open runs: %w", err)
	}
	s.openRuns.n, s.openRuns.till = n, now.Add(openRunsTTL)
	return n, nil
}
