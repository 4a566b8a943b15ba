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
	// RunRetention is how long runs of automations are kept after their end. What is known about starts, for
	// re-entry, stays.
	RunRetention = 90 * day
	// SignalRetention is how long events are kept that automations took: a run may begin to wait for one a little
	// later.
	SignalRetention = day
)

// PurgeRecords deletes expired records that belong to no single email, or outlive it, in small
// transactions.
func (s *Service) PurgeRecords(ctx context.Context) error {
	pieces := func(what string, kept time.Duration, purge func(*db.Tx, time.Time, int) (bool, error)) error {
		return s.InChunks(ctx, what, func(tx *db.Tx) (bool, error) { return purge(tx, tx.Now.Add(-kept), base.PurgeChunk) })
	}
	counted := func(purge func(*db.Tx, time.Time, int) (int64, error), limit int) func(*db.Tx, time.Time, int) (bool, error) {
		return func(tx *db.Tx, before time.Time, _ int) (bool, error) {
			n, err := purge(tx, before, limit)
			return n == int64(limit), err
		}
	}
	keep := s.Settings.Rules().Keep
	return errors.Join(
		pieces("ended runs of automations", RunRetention, counted((*db.Tx).DeleteOldRuns, runsPerPurge)),
		pieces("old events of automations", SignalRetention, counted((*db.Tx).DeleteOldSignals, base.PurgeChunk)),
		pieces("settled doubts", DoubtRetention, (*db.Tx).PurgeDoubts),
		pieces("old troubles of relays", RecordRetention, (*db.Tx).PurgeTroubles),
		pieces("old entries of the audit log", RecordRetention, (*db.Tx).PurgeAudit),
		pieces("old reports about domains", keep.KeptReports(), (*db.Tx).PurgeOldReports),
		s.purgeDays(ctx),
		s.PurgeReceived(ctx))
}

// runsPerPurge is how many runs one Write deletes: each has a row for every step that it reached.
const runsPerPurge = 25

// DropAutomations deletes the rows of deleted automations, in small transactions.
func (s *Service) DropAutomations(ctx context.Context) error {
	return s.InChunks(ctx, "deleted automations", func(tx *db.Tx) (more bool, err error) {
		a, err := tx.DeletedAutomation()
		if err != nil {
			return false, base.IgnoreNotFound(err)
		}
		_, err = tx.DropAutomation(a.ID, base.PurgeChunk)
		return err == nil, err
	})
}

func (s *Service) purgeDays(ctx context.Context) error {
	teams, err := db.Get(ctx, s.DB, (*db.Reader).Retentions)
	if err != nil {
		return fmt.Errorf("list teams: %w", err)
	}
	for _, t := range teams {
		err := s.DB.Write(ctx, func(tx *db.Tx) error {
			if err := tx.PurgeReceivedDays(t.TeamID, tx.Now.Add(-RecordRetention)); err != nil {
				return err
			}
			return tx.PurgeDays(t.TeamID, tx.Now.Add(-RecordRetention).Unix()/int64(day/time.Second))
		})
		if err != nil {
			return err
		}
	}
	return nil
}
