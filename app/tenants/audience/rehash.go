package audience

import (
	"context"
	"errors"
	"fmt"

	"mailer/app"
	"mailer/db"
)

// addressKeysSetting records that all suppressions have the hash of their address key.
const addressKeysSetting = "address_keys"

const rehashChunk = 1000

// RehashSuppressions corrects suppressions that have the hash of the address as typed: they get the
// hash of the address key. Versions before 0.4.0 made such hashes for addresses with U-labels after
// a bounce or complaint about a broadcast, so that lookups missed them. It reads all suppressions
// once per database.
func (s *Suppressions) RehashSuppressions(ctx context.Context) error {
	_, err := db.Get(ctx, s.service.DB, func(r *db.Reader) ([]byte, error) { return r.Setting(addressKeysSetting) })
	if !errors.Is(err, db.ErrNotFound) {
		return err
	}
	teams, err := db.Get(ctx, s.service.DB, (*db.Reader).ListTeams)
	if err != nil {
		return fmt.Errorf("rehash suppressions: %w", err)
	}
	for i := range teams {
		for after, more := "", true; more; {
			rows, err := db.Get(ctx, s.service.DB, func(r *db.Reader) ([]app.Suppression, error) {
				return r.SuppressionsAfter(teams[i].ID, after, rehashChunk)
			})
			if err == nil {
				err = s.rehash(ctx, rows)
			}
			if err != nil {
				return fmt.Errorf("rehash suppressions: %w", err)
			}
			if more = len(rows) == rehashChunk; more {
				after = rows[len(rows)-1].ID
			}
		}
	}
	return s.service.DB.WriteCritical(ctx, func(tx *db.Tx) error { return tx.SetSetting(addressKeysSetting, []byte("1")) })
}

// rehash corrects the hashes of some suppressions.
func (s *Suppressions) rehash(ctx context.Context, rows []app.Suppression) error {
	var wrong []app.Suppression
	for i := range rows {
		if !app.IsASCII(rows[i].Email) && s.service.Sealer.AddressHash(rows[i].TeamID, app.KeyOf(rows[i].Email)) != rows[i].Hash {
			wrong = append(wrong, rows[i])
		}
	}
	if len(wrong) == 0 {
		return nil
	}
	return s.service.DB.WriteCritical(ctx, func(tx *db.Tx) error {
		for i := range wrong {
			if err := s.rehashOne(tx, &wrong[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

// rehashOne corrects one hash. If the address has another suppression, that one gets the stronger
// of the two origins, and the wrong one is deleted.
func (s *Suppressions) rehashOne(tx *db.Tx, wrong *app.Suppression) error {
	hash := s.service.Sealer.AddressHash(wrong.TeamID, app.KeyOf(wrong.Email))
	other, err := tx.SuppressionByAddress(wrong.TeamID, hash)
	if errors.Is(err, db.ErrNotFound) {
		return tx.RehashSuppression(wrong.TeamID, wrong.ID, hash)
	}
	if err != nil {
		return err
	}
	if other.Origin.WeakerThan(wrong.Origin) {
		if err := tx.ReplaceOrigin(wrong.TeamID, other.ID, wrong.Origin, wrong.SourceID); err != nil {
			return err
		}
	}
	return tx.DeleteSuppression(wrong.TeamID, wrong.ID)
}
