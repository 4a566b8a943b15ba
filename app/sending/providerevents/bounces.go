package providerevents

import (
	"context"
	"errors"
	"fmt"

	"mailer/app"
	"mailer/app/kit/clock"
	"mailer/app/rules/feedback"
	"mailer/db"
)

// ReadReturnPath decodes an address that is a return path of this server; ok is false for others.
func (s *Service) ReadReturnPath(mailbox string) (p app.ReturnPath, ok bool) {
	return s.Sealer.ReadReturnPath(mailbox)
}

// TakeBounce stores reports that came to a return path, as far as the path proves them
// (feedback.Believe), until feedback.ReturnPathsKept after the email was accepted. If it returns
// nil, the reports are on disk or were dropped.
func (s *Service) TakeBounce(ctx context.Context, path app.ReturnPath, reports []feedback.Claim) error {
	envelope, ended := map[int]string{}, false
	err := s.DB.Read(ctx, func(r *db.Reader) error {
		subject, err := r.Subject(path.EmailID)
		if err != nil {
			return err
		}
		ended = clock.Now().Sub(subject.AcceptedAt) > feedback.ReturnPathRetention
		for _, v := range subject.Recipients {
			envelope[v.N] = v.Address
		}
		return nil
	})
	if err != nil && !errors.Is(err, db.ErrNotFound) {
		return fmt.Errorf("read the envelope: %w", err)
	}
	if ended {
		s.Log.Info("a report is dropped: the return path of its email has ended", "email", path.EmailID)
		return nil
	}
	feedback := feedback.Authenticate(path, reports, envelope)
	if len(feedback) == 0 {
		s.Log.Info("a report is not about the email of its return path, or names nobody of it", "email", path.EmailID)
		return nil
	}
	return s.TakeFeedback(ctx, feedback)
}
