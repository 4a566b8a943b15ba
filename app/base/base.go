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

// seedSetting is the sealed setting with the seed of hashes that outlive a master key.
const seedSetting = "seed"

// CheckMasterKey leaves a sealed seed in a fresh database and opens it in every later
// start: a wrong key file must not show only at the first signature. The sealer then
// has the seed. Error: seal.ErrSeal.
func (s *Base) CheckMasterKey(ctx context.Context) error {
	seed, err := db.Get(ctx, s.DB, func(r *db.Reader) ([]byte, error) { return s.SealedSetting(r, seedSetting) })
	if err == nil {
		return s.Sealer.SetSeed(seed)
	}
	if !errors.Is(err, db.ErrNotFound) {
		return fmt.Errorf("read the seed of hashes: %w", err)
	}
	return s.DB.WriteCritical(ctx, func(tx *db.Tx) error { // a server starts on a full disk too
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

// SealedSetting returns a value that the server keeps for itself, sealed; name is its
// purpose too. Errors: db.ErrNotFound, seal.ErrSeal.
func (s *Base) SealedSetting(r *db.Reader, name string) ([]byte, error) {
	sealed, err := r.Setting(db.SealedSetting + name)
	if err != nil {
		return nil, err
	}
	return s.Sealer.Open(name, "", sealed)
}

// SetSealedSetting keeps a value for SealedSetting.
func (s *Base) SetSealedSetting(tx *db.Tx, name string, value []byte) error {
	return tx.SetSetting(db.SealedSetting+name, s.Sealer.Seal(name, "", value))
}

// RelayMode says in one word where mail goes: RelayNone, RelayCapture or RelayConfigured.
func (s *Base) RelayMode() string { return s.Settings.RelayMode() }

// Compat is what requests may say: app.CompatStrict or app.CompatResend.
func (s *Base) Compat() app.Compat { return cmp.Or(s.Settings.Rules().Compat, app.CompatStrict) }

// Ready returns nil while mail can be accepted, else an *app.Error of
// CodeServiceUnavailable that says why.
func (s *Base) Ready() error {
	if s.draining.Load() {
		return Unavailable(db.ErrClosed)
	}
	return Unavailable(s.DB.Err())
}
