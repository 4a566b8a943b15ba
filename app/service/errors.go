package service

import (
	"errors"

	"mailer/app"
	"mailer/db"
)

// IgnoreGone returns nil for db.ErrNotFound: what was withdrawn or deleted meanwhile
// needs no more. Other errors pass.
func IgnoreGone(err error) error {
	if errors.Is(err, db.ErrNotFound) {
		return nil
	}
	return err
}

// UnlessFull returns nil for db.ErrFull, which it logs: a server that does not start on
// a full disk takes no results, cancels and opt-outs either. What was to be written is
// written later, or is of no great use. Other errors pass.
func (s *Base) UnlessFull(err error) error {
	if !errors.Is(err, db.ErrFull) {
		return err
	}
	s.Log.Warn("not done at the start, since the disk is full", "err", err)
	return nil
}

// Unavailable returns an *app.Error of CodeServiceUnavailable for the refusals of the
// store (db.ErrFull, db.ErrFailed, db.ErrClosed). Other errors pass.
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

// Lookup returns an *app.Error of CodeNotFound, which names the kind, for
// db.ErrNotFound, and treats the rest as Unavailable does.
func Lookup(kind string, err error) error {
	if errors.Is(err, db.ErrNotFound) {
		return app.NotFound(kind)
	}
	return Unavailable(err)
}
