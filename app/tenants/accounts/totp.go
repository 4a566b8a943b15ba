package accounts

import (
	"cmp"
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"strings"

	"github.com/boombuler/barcode/qr"
	"github.com/pquerna/otp/hotp"
	"github.com/pquerna/otp/totp"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/kit/clock"
	"mailer/db"
)

// TOTPPurpose is the purpose that TOTP secrets are sealed for; the user's id is the context.
const TOTPPurpose = "totp"

// totpPeriod is the period of one-time passwords, in seconds. Authenticators support no other.
const totpPeriod = 30

// TOTPOffer is the data for an authenticator, shown once.
type TOTPOffer struct {
	Secret string
	URI    string
	QR     string // SVG
}

// OfferTOTP makes a TOTP secret. It is in force once ConfirmTOTP gets a one-time password of it.
// Errors: CodeConflict if one is in force.
func (s *Service) OfferTOTP(ctx context.Context, key *app.Key) (o TOTPOffer, err error) {
	made, err := totp.Generate(totp.GenerateOpts{Issuer: "Mailer", AccountName: key.Name, Period: totpPeriod})
	if err != nil {
		return o, fmt.Errorf("make a secret for one-time passwords: %w", err)
	}
	o = TOTPOffer{Secret: made.Secret(), URI: made.String()}
	if o.QR, err = qrSVG(o.URI); err != nil {
		return o, err
	}
	sealed := s.Sealer.Seal(TOTPPurpose, key.ID, []byte(o.Secret))
	err = s.DB.Write(ctx, func(tx *db.Tx) error {
		if err := tx.PutTOTP(key.ID, sealed); errors.Is(err, db.ErrConflict) {
			return app.Errorf(app.CodeConflict, "One-time passwords are on already; turn them off first")
		} else if err != nil {
			return err
		}
		return nil
	})
	return o, signedOut(err)
}

// ConfirmTOTP puts the TOTP secret in force with a one-time password, and returns recovery codes,
// which are stored only hashed. Errors: CodeValidation for a wrong password, CodeConflict without
// an offer.
func (s *Service) ConfirmTOTP(ctx context.Context, key *app.Key, code string) (codes []string, err error) {
	codes, hashes := newRecoveryCodes()
	err = s.DB.Write(ctx, func(tx *db.Tx) error {
		t, err := tx.TOTP(key.ID)
		if errors.Is(err, db.ErrNotFound) || err == nil && t.Confirmed {
			return app.Errorf(app.CodeConflict, "There is nothing to confirm; begin with POST /users/me/totp")
		}
		if err != nil {
			return err
		}
		if err := s.useTOTP(tx, key.ID, &t, code); err != nil {
			if app.CodeOf(err) == app.CodeInvalidCredentials {
				return app.Invalid("code", "is not what the authenticator shows now; is its clock right?")
			}
			return err
		}
		if err := tx.ConfirmTOTP(key.ID); err != nil {
			return err
		}
		if err := tx.SetRecoveryCodes(key.ID, hashes); err != nil {
			return err
		}
		return base.Audit(ctx, tx, "", "totp.on", key.ID, nil, nil)
	})
	if err != nil {
		return nil, base.Unavailable(err)
	}
	return codes, nil
}

// DropTOTP turns one-time passwords off. Errors: CodeNotFound.
func (s *Service) DropTOTP(ctx context.Context, key *app.Key) error {
	var u User
	err := s.DB.Write(ctx, func(tx *db.Tx) (err error) {
		if u, err = tx.User(key.ID); err != nil {
			return err
		}
		if err := tx.DropTOTP(key.ID); err != nil {
			return err
		}
		if err := dropUselessCodes(tx, key.ID); err != nil {
			return err
		}
		return base.Audit(ctx, tx, "", "totp.off", key.ID, nil, nil)
	})
	if err == nil {
		s.mailFactorOff(ctx, &u)
	}
	return base.Lookup("second factor", err)
}

// mailFactorOff mails a user that a second factor was turned off.
func (s *Service) mailFactorOff(ctx context.Context, u *User) {
	s.mailUser(ctx, u, "Second factor turned off",
		"A second factor was turned off for your account "+u.Address+".\n\nIf it was not you, change your password, which ends all other sessions, and turn it on again.\n")
}

// dropUselessCodes deletes the recovery codes of a user without a second factor.
func dropUselessCodes(tx *db.Tx, userID string) error {
	if factors, err := factorsOf(&tx.Reader, userID); err != nil || len(factors) > 0 {
		return err
	}
	return tx.SetRecoveryCodes(userID, nil)
}

// useTOTP verifies a one-time password of the current period or an adjacent one, and marks it as
// used. Errors: CodeInvalidCredentials.
func (s *Service) useTOTP(tx *db.Tx, userID string, t *db.TOTP, code string) error {
	secret, err := s.Sealer.Open(TOTPPurpose, userID, t.Sealed)
	if err != nil {
		return fmt.Errorf("open the secret of one-time passwords: %w", err)
	}
	code = strings.ReplaceAll(code, " ", "")
	now := tx.Now.Unix() / totpPeriod
	for step := now - 1; step <= now+1; step++ {
		want, err := hotp.GenerateCode(string(secret), uint64(step))
		if err != nil {
			return fmt.Errorf("make a one-time password: %w", err)
		}
		if subtle.ConstantTimeCompare([]byte(want), []byte(code)) == 1 {
			if err := tx.UseTOTP(userID, step); errors.Is(err, db.ErrConflict) {
				return errWrongCode() // already used
			} else if err != nil {
				return err
			}
			return nil
		}
	}
	return errWrongCode()
}

// errWrongCode is the only error for a wrong second factor.
func errWrongCode() error {
	return app.Errorf(app.CodeInvalidCredentials, "This code does not count: it is wrong, too old or was used")
}

// qrSVG draws a text as a QR code in SVG, with the quiet zone that readers need.
func qrSVG(text string) (string, error) {
	code, err := qr.Encode(text, qr.M, qr.Auto)
	if err != nil {
		return "", fmt.Errorf("draw a QR code: %w", err)
	}
	const margin = 4
	size := code.Bounds().Dx()
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %[1]d %[1]d" shape-rendering="crispEdges"><path fill="#fff" d="M0 0h%[1]dv%[1]dH0z"/><path d="`, size+2*margin)
	for y := range size {
		for x := range size {
			if r, _, _, _ := code.At(x, y).RGBA(); r == 0 {
				fmt.Fprintf(&b, "M%d %dh1v1h-1z", x+margin, y+margin)
			}
		}
	}
	b.WriteString(`"/></svg>`)
	return b.String(), nil
}

// SecondFactor completes a sign-in. One field is set.
type SecondFactor struct {
	Code     string // a one-time password
	Recovery string // a recovery code
}

// Complete finishes a sign-in that waits for a second factor. Errors: CodeInvalidCredentials,
// CodeRateLimitExceeded.
func (s *Service) Complete(ctx context.Context, v *Visitor, key *app.Key, f SecondFactor) (n NewSession, err error) {
	c, err := s.findCandidate(ctx, v, func(r *db.Reader) (User, error) { return r.User(key.ID) })
	if err != nil {
		return n, err
	}
	g := c.guesser(v, "second "+key.ID)
	if g.everywhere = f.Recovery == ""; !g.everywhere {
		g.account = "recovery " + key.ID // recovery codes can't be guessed, and attempts must not lock out their owner
	} else if err := checkCodeLimit(ctx, s.DB, key.ID, c.known); err != nil {
		return n, err
	}
	tried := codeAttempt{userID: key.ID, code: f.Code, known: c.known}
	err = s.guesses.run(ctx, g, func() error {
		var refused error
		err := s.DB.Write(ctx, func(tx *db.Tx) (err error) {
			half, err := tx.Session(key.ID, key.Session.ID)
			if errors.Is(err, db.ErrNotFound) || err == nil && !isAlive(&half, tx.Now) {
				return app.SignedOut()
			}
			if err != nil {
				return err
			}
			if refused, err = s.proveSecondFactor(tx, &tried, f); err != nil || refused != nil {
				return err
			}
			n, err = s.beginSession(tx, v, &c.user, nil)
			return err
		})
		return cmp.Or(err, refused)
	})
	if err == nil {
		s.mailNewDevice(ctx, v, &n)
	}
	if tried.notify {
		s.mailWrongCodes(ctx, v, &c.user)
	}
	by := byCode
	if f.Recovery != "" {
		by = byRecovery
	}
	s.recordFailure(ctx, &signInAttempt{v, key.ID, key.ID, c.user.Address, by}, err)
	return n, base.Unavailable(err)
}

// proveSecondFactor verifies a second factor as proveTOTP does.
func (s *Service) proveSecondFactor(tx *db.Tx, tried *codeAttempt, f SecondFactor) (refused, err error) {
	if f.Recovery == "" {
		return s.proveTOTP(tx, tried)
	}
	err = tx.UseRecoveryCode(tried.userID, hashOf(plainRecoveryCode(f.Recovery)))
	if errors.Is(err, db.ErrNotFound) {
		return errWrongCode(), nil
	}
	return nil, err
}

// Proof reauthenticates a signed-in user. One field is set.
type Proof struct {
	Password string
	Code     string // a one-time password
}

// Reauthenticate verifies a proof of a signed-in user, which is valid for app.FreshProof. The
// session gets another token. Errors: CodeInvalidCredentials, CodeRateLimitExceeded.
func (s *Service) Reauthenticate(ctx context.Context, v *Visitor, key *app.Key, p Proof) (n NewSession, err error) {
	c, err := s.findCandidate(ctx, v, func(r *db.Reader) (User, error) { return r.User(key.ID) })
	if err != nil {
		return n, err
	}
	g := c.guesser(v, "second "+key.ID)
	if g.everywhere = p.Code != ""; g.everywhere {
		if err := checkCodeLimit(ctx, s.DB, key.ID, c.known); err != nil {
			return n, err
		}
	}
	tried := codeAttempt{userID: key.ID, code: p.Code, known: c.known}
	err = s.guesses.run(ctx, g, func() error {
		if p.Code == "" {
			ok, _, err := s.hasher.matches(ctx, c.user.Password, p.Password, c.known)
			if err != nil {
				return err
			}
			if !ok {
				return errWrongPassword()
			}
		}
		var refused error
		err := s.DB.Write(ctx, func(tx *db.Tx) (err error) {
			if refused = nil; p.Code != "" {
				if refused, err = s.proveTOTP(tx, &tried); err != nil || refused != nil {
					return err
				}
			}
			n, err = renewSession(tx, key.ID, key.Session.ID)
			return err
		})
		return cmp.Or(err, refused)
	})
	by := byPassword
	if p.Code != "" {
		by = byCode
	}
	s.recordFailure(ctx, &signInAttempt{v, key.ID, key.ID, c.user.Address, by}, err)
	return n, signedOut(err)
}

// errWrongPassword refuses the password of a signed-in user.
func errWrongPassword() error { return app.Errorf(app.CodeInvalidCredentials, "The password is wrong") }

// ChangePassword replaces a user's password, ends all other sessions, and gives this one another
// token. A user without a password must have reauthenticated recently. Errors:
// CodeInvalidCredentials, CodeValidation, CodeReauthentication, CodeRateLimitExceeded.
func (s *Service) ChangePassword(ctx context.Context, v *Visitor, key *app.Key, current, next string) (n NewSession, err error) {
	if err := CheckPassword("new", next); err != nil {
		return n, err
	}
	c, err := s.findCandidate(ctx, v, func(r *db.Reader) (User, error) { return r.User(key.ID) })
	if err != nil {
		return n, err
	}
	if err := s.proveCurrent(ctx, v, &c, key, current); err != nil {
		return n, err
	}
	hash, err := s.hasher.hash(ctx, next, true)
	if err != nil {
		return n, err
	}
	err = s.DB.WriteCritical(ctx, func(tx *db.Tx) error {
		u, err := tx.User(key.ID)
		if err != nil {
			return err
		}
		if u.Password != c.user.Password {
			return errWrongPassword() // changed meanwhile
		}
		n, err = s.replacePassword(tx, v, key, hash)
		if err != nil {
			return err
		}
		return base.Audit(ctx, tx, "", "password.change", key.ID, nil, nil)
	})
	if err == nil {
		s.mailUser(ctx, &c.user, "Your password was changed",
			"The password of your account "+c.user.Address+" was changed, and all other sessions ended.\n\nIf it was not you, ask an operator for a new sign-in link.\n")
	}
	return n, signedOut(err)
}

// proveCurrent verifies the current password of a user.
func (s *Service) proveCurrent(ctx context.Context, v *Visitor, c *candidate, key *app.Key, current string) error {
	if c.user.Password == "" {
		if !key.RecentlyAuthenticated(clock.Now()) {
			return app.ReauthenticationRequired()
		}
		return nil
	}
	return s.guesses.run(ctx, c.guesser(v, "second "+key.ID), func() error {
		ok, _, err := s.hasher.matches(ctx, c.user.Password, current, c.known)
		if err == nil && !ok {
			err = errWrongPassword()
		}
		return err
	})
}

// replacePassword stores another password, and revokes the access that the old one gave.
func (s *Service) replacePassword(tx *db.Tx, v *Visitor, key *app.Key, hash string) (n NewSession, err error) {
	// Whoever tried codes with the old password needs the new one first, so the count starts again.
	if err := errors.Join(tx.SetPassword(key.ID, hash), tx.SetWrongCodes(key.ID, db.WrongCodes{})); err != nil {
		return n, err
	}
	if n, err = renewSession(tx, key.ID, key.Session.ID); err != nil {
		return n, err
	}
	if _, err := tx.EndSessions(key.ID, n.id); err != nil {
		return n, err
	}
	if err := tx.ForgetDevices(key.ID, hashOf(v.Device)); err != nil {
		return n, err
	}
	return n, tx.DropSignInCodes(key.ID)
}
