package signup

import (
	"cmp"
	"context"
	"time"

	"mailer/app"
	"mailer/app/base"
	"mailer/db"
)

// DefaultKeep is how long opt-ins are kept where the server has no setting.
const DefaultKeep = 30 * 24 * time.Hour

// Expire ends opt-ins whose confirmation waited too long, and those that nobody decided in time. All
// pending opt-ins end at the same age, so that it does not show whether a confirmation was sent.
func (s *Service) Expire(ctx context.Context) error {
	return s.InChunks(ctx, "expired opt-ins", func(tx *db.Tx) (bool, error) {
		n, err := tx.ExpireOptIns(tx.Now.Add(-app.OptInWaitsFor), tx.Now.Add(-app.OptInWaitsFor-app.OptInLinkFor), base.PurgeChunk)
		tx.AfterCommit(func() { s.Metrics.OptIns("expired", n) })
		return n >= base.PurgeChunk, err
	})
}

// Purge deletes opt-ins that are older than what is kept: of a confirmed one only its request, since the
// consent stays with the contact. It also deletes what the limits do not need any more.
func (s *Service) Purge(ctx context.Context) error {
	keep := cmp.Or(s.Settings.Rules().Keep.OptIns, DefaultKeep)
	err := s.InChunks(ctx, "old opt-ins", func(tx *db.Tx) (bool, error) {
		n, err := tx.PurgeOptIns(tx.Now.Add(-keep), base.PurgeChunk)
		return n == base.PurgeChunk, err
	})
	if err != nil {
		return err
	}
	return s.InChunks(ctx, "old confirmations", func(tx *db.Tx) (bool, error) {
		n, err := tx.PurgeConfirmations(tx.Now.Add(-limitsFor), base.PurgeChunk)
		return n == base.PurgeChunk, err
	})
}
