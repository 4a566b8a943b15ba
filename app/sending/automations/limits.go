package automations

import "mailer/db"

// openRunsLeft returns how many more runs a team can have open. It is not above zero at the limit.
func (s *Service) openRunsLeft(r *db.Reader, teamID string) (int64, error) {
	return s.teams.OpenRunsLeft(r, teamID)
}
