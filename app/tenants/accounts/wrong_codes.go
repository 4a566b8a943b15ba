package accounts

import (
	"context"
	"errors"
	"time"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/kit/clock"
	"mailer/db"
)

const (
	// codeWindow is how long a wrong one-time password counts.
	codeWindow = 24 * time.Hour
	// maxWrongCodes is how many wrong one-time passwords count in that time; further ones are
	// refused, right or wrong. Of a million, three are valid at a time. Browsers that the user
	// signed in with before are counted separately, so that an attacker does not lock the user out
	// of them.
	maxWrongCodes = 50
	// wrongCodesNotice is the number of wrong codes after which the user gets a mail: whoever tries
	// codes knows the password.
	wrongCodesNotice = 5
)

// currentWrongCodes returns the wrong one-time passwords that still count.
func currentWrongCodes(w db.WrongCodes, now time.Time) db.WrongCodes {
	if age := now.Sub(w.Since); age < 0 || age >= codeWindow {
		return db.WrongCodes{Since: now}
	}
	return w
}

// checkCodeAttempts returns nil if a user may try a one-time password, in a known or an unknown
// browser. Errors: CodeRateLimitExceeded.
func checkCodeAttempts(w db.WrongCodes, known bool, now time.Time) error {
	w = currentWrongCodes(w, now)
	n := w.Unknown
	if known {
		n = w.Known
	}
	if n < maxWrongCodes {
		return nil
	}
	return &app.Error{Code: app.CodeRateLimitExceeded, RetryAfter: codeWindow - now.Sub(w.Since),
		Message: "Too many wrong codes today. Sign in with a recovery code or a passkey, in a browser that you signed in with before, or ask an operator for `mailer users reset`"}
}

// checkCodeLimit is checkCodeAttempts before the delay of a try.
func checkCodeLimit(ctx context.Context, d *db.DB, userID string, known bool) error {
	t, err := db.Get(ctx, d, func(r *db.Reader) (db.TOTP, error) { return r.TOTP(userID) })
	if errors.Is(err, db.ErrNotFound) {
		return nil
	}
	if err != nil {
		return base.Unavailable(err)
	}
	return checkCodeAttempts(t.Wrong, known, clock.Now())
}

// codeAttempt is a one-time password that is tried for a user.
type codeAttempt struct {
	userID, code string
	known        bool // in a browser that the user signed in with before
	notify       bool // set if the user is to be mailed about wrong codes
}

// proveTOTP verifies a one-time password inside a Write. A wrong one is returned as refused and not
// as err, since the Write must store the count of wrong ones. refused: CodeInvalidCredentials,
// CodeRateLimitExceeded.
func (s *Service) proveTOTP(tx *db.Tx, tried *codeAttempt) (refused, err error) {
	tried.notify = false
	t, err := tx.TOTP(tried.userID)
	if errors.Is(err, db.ErrNotFound) || err == nil && !t.Confirmed {
		return errWrongCode(), nil
	}
	if err != nil {
		return nil, err
	}
	if refused := checkCodeAttempts(t.Wrong, tried.known, tx.Now); refused != nil {
		return refused, nil
	}
	err = s.useTOTP(tx, tried.userID, &t, tried.code)
	if app.CodeOf(err) != app.CodeInvalidCredentials {
		return nil, err
	}
	w := currentWrongCodes(t.Wrong, tx.Now)
	if tried.known {
		w.Known++
	} else {
		w.Unknown++
	}
	tried.notify = w.Known+w.Unknown == wrongCodesNotice
	return err, tx.SetWrongCodes(tried.userID, w)
}

// mailWrongCodes mails a user that somebody with his password tries codes.
func (s *Service) mailWrongCodes(ctx context.Context, v *Visitor, u *User) {
	s.mailUser(ctx, u, "Wrong codes for your account",
		"The correct password was entered for your account "+u.Address+" and then five wrong codes of your second factor.\n\n"+
			"Browser: "+agentOf(v)+"\nAddress: "+addressOf(v)+"\n\n"+
			"If it was not you, change your password: another person knows it.\n")
}
