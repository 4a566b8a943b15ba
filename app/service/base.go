package service

import (
	"context"
	"errors"
	"fmt"

	"mailer/app"
	"mailer/db"
)

const masterKeyCheck = "master_key_check"

// CheckMasterKey leaves a sealed word in a fresh database and opens it in every
// later start: a wrong key file must not show only at the first signature.
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

// UnlessFull lets the refusal of a full disk pass: a server that does not start there
// takes no results, cancels and opt-outs either. What was to be written is written
// later, or is of no great use.
func (s *Base) UnlessFull(err error) error {
	if !errors.Is(err, db.ErrFull) {
		return err
	}
	s.Log.Warn("not done at the start, since the disk is full", "err", err)
	return nil
}

// Ready is nil while mail can be accepted, else an *app.Error of
// CodeServiceUnavailable that says why.
func (s *Base) Ready() error {
	if s.draining.Load() {
		return app.Errorf(app.CodeServiceUnavailable, "The server is shutting down")
	}
	return Unavailable(s.DB.Err())
}

// Unavailable words the store's refusals for callers; other errors pass.
func Unavailable(err error) error {
	switch {
	case errors.Is(err, db.ErrFull):
		return &app.Error{Code: app.CodeServiceUnavailable, Message: "The disk of the server is full; nothing new is accepted until there is room", Err: err}
	case errors.Is(err, db.ErrFailed):
		return &app.Error{Code: app.CodeServiceUnavailable, Message: "The storage of the server failed", Err: err}
	case errors.Is(err, db.ErrClosed):
		return &app.Error{Code: app.CodeServiceUnavailable, Message: "The server is shutting down", Err: err}
	}
	return err
}

// Lookup words a missing row as not_found of that kind, and the rest as
// unavailable does.
func Lookup(kind string, err error) error {
	if errors.Is(err, db.ErrNotFound) {
		return app.NotFound(kind)
	}
	return Unavailable(err)
}
