package base

import (
	"errors"
	"time"

	"mailer/app"
	"mailer/db"
)

// IgnoreNotFound returns nil for db.ErrNotFound, for objects that may be deleted meanwhile. It
// returns other errors as they are.
func IgnoreNotFound(err error) error {
	if errors.Is(err, db.ErrNotFound) {
		return nil
	}
	return err
}

// IgnoreFull logs db.ErrFull and returns nil for it. A start must not fail on a full disk: the
// server would take no results, cancellations and opt-outs either. The skipped write is repeated
// later, or matters little. IgnoreFull returns other errors as they are.
func (s *Base) IgnoreFull(err error) error {
	if !errors.Is(err, db.ErrFull) {
		return err
	}
	s.Log.Warn("not done at the start, since the disk is full", "err", err)
	return nil
}

// IsUnavailable reports whether the store could not write for a temporary reason, which it has
// logged.
func IsUnavailable(err error) bool {
	return errors.Is(err, db.ErrLocked) || errors.Is(err, db.ErrFiles) || errors.Is(err, db.ErrUnreachable)
}

// LogUnlessUnavailable logs the failure of a worker that will try again. It is silent where the
// store has logged the reason.
func (s *Base) LogUnlessUnavailable(msg string, err error, args ...any) {
	if !IsUnavailable(err) && !IsFull(err) {
		s.Log.Error(msg, append(args, "err", err)...)
	}
}

// IsFull reports whether an error means that the disk is full.
func IsFull(err error) bool { return errors.Is(err, db.ErrFull) }

// IsClosed reports whether an error means that the server is shutting down.
func IsClosed(err error) bool { return errors.Is(err, db.ErrClosed) }

// retryAfter is when a caller should repeat a call that failed for a temporary reason.
const retryAfter = 5 * time.Second

// Unavailable returns an *app.Error of CodeServiceUnavailable for db.ErrFull, db.ErrLocked,
// db.ErrUnreachable, db.ErrFiles, db.ErrInUse, db.ErrFailed and db.ErrClosed, and one of
// CodeInternal for db.ErrDamaged, which the store has logged. It returns other errors as they are.
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

// Lookup returns an *app.Error of CodeNotFound, which names the kind, for db.ErrNotFound, and
// Unavailable(err) for other errors.
func Lookup(kind string, err error) error {
	if errors.Is(err, db.ErrNotFound) {
		return app.NotFound(kind)
	}
	return Unavailable(err)
}
