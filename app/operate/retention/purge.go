package retention

import (
	"context"
	"errors"
	"fmt"
	"time"

	"mailer/app/base"
	"mailer/db"
)

// Retention of records, independent of the retention of mail.
const (
	DoubtRetention  = 90 * day  // settled doubts
	RecordRetention = 400 * day // relay troubles, audit log, recipients per day
)

// PurgeRecords deletes expired records that belong to no single email, or outlive it, in small
// transactions.
func (s *Service) PurgeRecords(ctx context.Context) error {
	pieces := func(what string, kept time.Duration, purge func(*db.Tx, time.Time, int) (bool, error)) error {
		return s.InChunks(ctx, what, func(tx *db.Tx) (bool, error) { return purge(tx, tx.Now.Add(-kept), base.PurgeChunk) })
	}
	return errors.Join(
		pieces("settled doubts", DoubtRetention, (*db.Tx).PurgeDoubts),
		pieces("old troubles of relays", RecordRetention, (*db.Tx).PurgeTroubles),
		pieces("old entries of the audit log", RecordRetention, (*db.Tx).PurgeAudit),
		s.purgeDays(ctx))
}

func (s *Service) purgeDays(ctx context.Context) error {
	teams, err := db.Get(ctx, s.DB, (*db.Reader).Retentions)
	if err != nil {
		return fmt.Errorf("list teams: %w", err)
	}
	for _, t := range teams {
		err := s.DB.Write(ctx, func(tx *db.Tx) error {
			return tx.PurgeDays(t.TeamID, tx.Now.Add(-RecordRetention).Unix()/int64(day/time.Second))
		})
		if err != nil {
			return err
		}
	}
	return nil
}
