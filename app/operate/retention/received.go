package retention

import (
	"context"
	"fmt"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/kit/clock"
	"mailer/db"
)

const (
	// receivedAtOnce is how many received emails one snapshot looks at.
	receivedAtOnce = 200
	// piecesPerWrite is how many pieces of a received email one transaction deletes.
	piecesPerWrite = 4
)

// PurgeReceived deletes received emails that are older than what is kept, and once a day pieces of messages that are in
// no email: those that a crash, a deleted team or a refused message left.
func (s *Service) PurgeReceived(ctx context.Context) error {
	if err := s.purgeOldReceived(ctx); err != nil {
		return fmt.Errorf("delete old received emails: %w", err)
	}
	if clock.Since(s.orphansAt) < day {
		return nil
	}
	done, err := s.purgeOrphans(ctx)
	if err != nil {
		return fmt.Errorf("delete pieces of received emails that are in none: %w", err)
	}
	if done {
		s.orphansAt = clock.Now()
	}
	return nil
}

func (s *Service) purgeOldReceived(ctx context.Context) error {
	kept := s.Settings.Rules().Keep.Received
	if kept == 0 {
		return nil
	}
	for {
		old, err := db.Get(ctx, s.DB, func(r *db.Reader) ([]app.Received, error) {
			return r.OldReceived(clock.Now().Add(-kept), receivedAtOnce)
		})
		if err != nil {
			return err
		}
		for i := range old {
			for more := true; more; {
				goOn, err := s.write(ctx, func(tx *db.Tx) (err error) {
					more, err = tx.DeleteReceived(old[i].TeamID, old[i].ID, piecesPerWrite)
					return base.IgnoreNotFound(err)
				})
				if err != nil || !goOn {
					return err
				}
			}
		}
		if len(old) < receivedAtOnce {
			return nil
		}
	}
}

// deletePieces deletes the pieces of a message, some in each transaction. It returns false when the work must end.
func (s *Service) deletePieces(ctx context.Context, id string) (goOn bool, err error) {
	for more := true; more; {
		goOn, err = s.write(ctx, func(tx *db.Tx) (err error) {
			more, err = tx.DeleteReceivedPieces(id, piecesPerWrite)
			return err
		})
		if err != nil || !goOn {
			return false, err
		}
	}
	return true, nil
}

// purgeOrphans deletes the pieces that are in no email. A message that is being stored is younger than a day. done is
// false if the server stops.
func (s *Service) purgeOrphans(ctx context.Context) (done bool, err error) {
	before := app.FirstID(clock.Now().Add(-day))
	for after := ""; ; {
		var orphans []string
		var last string
		err := s.DB.Read(ctx, func(r *db.Reader) (err error) {
			orphans, last, err = r.OrphanedPieces(after, before, receivedAtOnce)
			return err
		})
		if err != nil {
			return false, err
		}
		for _, id := range orphans {
			if goOn, err := s.deletePieces(ctx, id); err != nil || !goOn {
				return false, err
			}
		}
		if last == "" {
			return true, nil
		}
		after = last
	}
}
