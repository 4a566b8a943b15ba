package base

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"mailer/app"
	"mailer/app/kit/seal"
	"mailer/db"
)

// seedSetting is the sealed setting that holds the seed of hashes that outlive a master key.
const seedSetting = "seed"

// CheckMasterKey stores a sealed seed in a new database and opens that seed at every later start,
// so that a wrong master key is found at the start and not at the first signature. It passes the
// seed to the sealer. Error: seal.ErrSeal.
func (s *Base) CheckMasterKey(ctx context.Context) error {
	seed, err := db.Get(ctx, s.DB, func(r *db.Reader) ([]byte, error) { return s.SealedSetting(r, seedSetting) })
	if err == nil {
		return s.Sealer.SetSeed(seed)
	}
	if !errors.Is(err, db.ErrNotFound) {
		return fmt.Errorf("read the seed of hashes: %w", err)
	}
	return s.DB.WriteVital(ctx, func(tx *db.Tx) error { // a server must also start on a full disk
		seed, err := s.SealedSetting(&tx.Reader, seedSetting)
		if errors.Is(err, db.ErrNotFound) {
			seed = seal.NewMasterKey()
			err = s.SetSealedSetting(tx, seedSetting, seed)
		}
		if err != nil {
			return fmt.Errorf("read the seed of hashes: %w", err)
		}
		return s.Sealer.SetSeed(seed)
	})
}

// SealedSetting returns a sealed setting of the server. name is also the purpose that it is sealed
// for. Errors: db.ErrNotFound, seal.ErrSeal.
func (s *Base) SealedSetting(r *db.Reader, name string) ([]byte, error) {
	sealed, err := r.Setting(db.SealedSetting + name)
	if err != nil {
		return nil, err
	}
	return s.Sealer.Open(name, "", sealed)
}

// SetSealedSetting stores a setting that SealedSetting reads.
func (s *Base) SetSealedSetting(tx *db.Tx, name string, value []byte) error {
	return tx.SetSetting(db.SealedSetting+name, s.Sealer.Seal(name, "", value))
}

// RelayMode returns RelayNone, RelayCapture or RelayConfigured.
func (s *Base) RelayMode() string { return s.Settings.RelayMode() }

// Compat returns how requests are read: app.CompatStrict or app.CompatResend.
func (s *Base) Compat() app.Compat { return cmp.Or(s.Settings.Rules().Compat, app.CompatStrict) }

// Ready returns nil while mail can be accepted, else an *app.Error of CodeServiceUnavailable with
// the reason.
func (s *Base) Ready() error {
	if s.draining.Load() {
		return Unavailable(db.ErrClosed)
	}
	return Unavailable(s.DB.Err())
}
