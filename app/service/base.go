package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"mailer/app"
	"mailer/db"
)

const masterKeyCheck = "master_key_check"

// CheckMasterKey leaves a sealed word in a fresh database and opens it in every
// later start: a wrong key file must not show only at the first signature. Error:
// app.ErrSeal.
func (s *Base) CheckMasterKey(ctx context.Context) error {
	return s.DB.WriteVital(ctx, func(tx *db.Tx) error { // a server starts on a full disk too
		sealed, err := tx.Setting(masterKeyCheck)
		if errors.Is(err, db.ErrNotFound) {
			return tx.SetSetting(masterKeyCheck, s.Sealer.Seal("check", "", []byte("ok")))
		}
		if err != nil {
			return fmt.Errorf("check master key: %w", err)
		}
		_, err = s.Sealer.Open("check", "", sealed)
		return err
	})
}

// Relay says in one word where mail goes: RelayNone, RelayCapture or RelayConfigured.
func (s *Base) Relay() string { return s.Settings.Relay() }

// Compat is what requests may say: app.CompatStrict or app.CompatResend.
func (s *Base) Compat() app.Compat { return cmp.Or(s.Settings.Compat, app.CompatStrict) }

// Ready returns nil while mail can be accepted, else an *app.Error of
// CodeServiceUnavailable that says why.
func (s *Base) Ready() error {
	if s.draining.Load() {
		return app.Errorf(app.CodeServiceUnavailable, "The server is shutting down")
	}
	return Unavailable(s.DB.Err())
}
