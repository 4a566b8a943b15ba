package audience

import (
	"context"
	"errors"
	"fmt"

	"mailer/app"
	"mailer/db"
)

// addressKeysSetting notes that the hashes of all suppressions are those of address keys.
const addressKeysSetting = "address_keys"

const rehashChunk = 1000

// RehashSuppressions corrects suppressions whose hash was made of the address as it was
// typed: they get the hash of its key. Versions before 0.4.0 made such hashes of addresses with
// U-labels that bounced or complained about a broadcast, so that nothing found them. It
// looks at all suppressions once in the life of a database.
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

// rehashOne corrects one hash. Where the address has another suppression, that one gets
// the stronger origin of the two and stays alone.
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
