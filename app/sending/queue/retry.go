package queue

import (
	"context"
	"errors"

	"mailer/app"
	"mailer/app/base"
	"mailer/db"
)

// RetryEmail makes one deferred email of a team due now. Errors: CodeNotFound; CodeConflict if it
// does not wait for its next try.
func (s *Service) RetryEmail(ctx context.Context, key *app.Key, id string) error {
	if err := s.checkEmail(ctx, key, id); err != nil {
		return err
	}
	res, err := s.Retry(ctx, Filter{IDs: []string{id}, Team: key.TeamID})
	switch {
	case err != nil:
		return err
	case res.Matched == 0:
		return app.Errorf(app.CodeConflict, "This email is not queued: it was sent, failed or was canceled; POST /emails/{id}/resend sends it again")
	case res.Changed == 0:
		return app.Errorf(app.CodeConflict, "This email is not waiting for a retry: an attempt is in progress, or it is scheduled, held, or waits for a quota or its relay")
	}
	return nil
}

// checkEmail checks that an email belongs to a team, or to a recipient of one of its broadcasts.
// Error: CodeNotFound.
func (s *Service) checkEmail(ctx context.Context, key *app.Key, id string) error {
	err := s.DB.Read(ctx, func(r *db.Reader) error {
		err := r.OwnsEmail(key.TeamID, id)
		if errors.Is(err, db.ErrNotFound) {
			_, err = r.BroadcastOfMail(key.TeamID, id)
		}
		return err
	})
	return base.Lookup("email", err)
}
