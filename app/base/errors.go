package base

import (
	"errors"
	"time"

	"mailer/app"
	"mailer/db"
)

// IgnoreNotFound returns nil for db.ErrNotFound: what was withdrawn or deleted meanwhile
// needs no more. Other errors pass.
func IgnoreNotFound(err error) error {
	if errors.Is(err, db.ErrNotFound) {
		return nil
	}
	return err
}

// IgnoreFull returns nil for db.ErrFull, which it logs: a server that does not start on
// a full disk takes no results, cancels and opt-outs either. What was to be written is
// written later, or is of no great use. Other errors pass.
func (s *Base) IgnoreFull(err error) error {
	if !errors.Is(err, db.ErrFull) {
		return err
	}
	s.Log.Warn("not done at the start, since the disk is full", "err", err)
	return nil
}

// IsUnavailable reports whether the store could not write for a reason that passes by
// itself, and that it has logged.
func IsUnavailable(err error) bool {
	return errors.Is(err, db.ErrLocked) || errors.Is(err, db.ErrFiles) || errors.Is(err, db.ErrUnreachable)
}

// LogUnlessUnavailable logs what a worker could not do and will try again.
func (s *Base) LogUnlessUnavailable(msg string, err error, args ...any) {
	if !IsUnavailable(err) && !IsFull(err) {
		s.Log.Error(msg, append(args, "err", err)...)
	}
}

// IsFull reports whether an error is that the disk has no room.
func IsFull(err error) bool { return errors.Is(err, db.ErrFull) }

// IsClosed reports whether an error is that the server shuts down.
func IsClosed(err error) bool { return errors.Is(err, db.ErrClosed) }

// retryAfter is when a call may succeed that something hindered which passes by itself.
const retryAfter = 5 * time.Second

// Unavailable returns an *app.Error of CodeServiceUnavailable for the refusals of the
// store (db.ErrFull, db.ErrLocked, db.ErrUnreachable, db.ErrFiles, db.ErrFailed, db.ErrClosed), and one of
// CodeInternal for db.ErrDamaged, which the store has logged. Other errors pass.
func Unavailable(err error) error {
	switch {
	case errors.Is(err, db.ErrLocked):
		return &app.Error{Code: app.CodeServiceUnavailable, Message: "Another program on the server holds a lock on the database; try again in a few seconds", Err: err, RetryAfter: retryAfter}
	case errors.Is(err, db.ErrUnreachable):
		return &app.Error{Code: app.CodeServiceUnavailable, Message: "The database can't be reached; try again in a few seconds", Err: err, RetryAfter: retryAfter}
	case errors.Is(err, db.ErrFiles):
		return &app.Error{Code: app.CodeServiceUnavailable, Message: "The server has too many open files; try again in a few seconds", Err: err, RetryAfter: retryAfter}
	case errors.Is(err, db.ErrDamaged):
		return &app.Error{Code: app.CodeInternal, Message: "What was asked for is damaged in the database", Err: err}
	case errors.Is(err, db.ErrFull):
		return &app.Error{Code: app.CodeServiceUnavailable, Message: "The disk of the server, or of its database, is full; nothing new is accepted until there is room", Err: err, RetryAfter: retryAfter}
	case errors.Is(err, db.ErrInUse):
		return &app.Error{Code: app.CodeServiceUnavailable, Message: "Another server took the work over; try again in a few seconds", Err: err, RetryAfter: retryAfter}
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
