package accounts

import (
	"context"
	"encoding/hex"
	"errors"

	"mailer/app"
	"mailer/app/base"
	"mailer/db"
)

// errWrongCredentials is the only error of a failed sign-in.
func errWrongCredentials() error {
	return app.Errorf(app.CodeInvalidCredentials, "Address and password do not belong together")
}

// maxAddress is the longest address that is looked up, in bytes.
const maxAddress = 320

// candidate is the user that a visitor tries to sign in as.
type candidate struct {
	user  User // of the given address; zero: none
	known bool // the user signed in with this browser before
}

func (s *Service) findCandidate(ctx context.Context, v *Visitor, find func(r *db.Reader) (User, error)) (c candidate, err error) {
	err = s.DB.Read(ctx, func(r *db.Reader) (err error) {
		c.user, err = find(r)
		if errors.Is(err, db.ErrNotFound) {
			return nil
		}
		if err == nil && looksLikeSecret(v.Device, tokenBytes) {
			c.known, _, err = r.Devices(c.user.ID, hashOf(v.Device))
		}
		return err
	})
	return c, base.Unavailable(err)
}

// guesser returns the candidate as a source of guesses.
func (c *candidate) guesser(v *Visitor, account string) guesser {
	g := guesser{client: v.Client, account: account}
	if c.known {
		g.known = hex.EncodeToString(hashOf(v.Device))
	}
	return g
}

// SignIn signs in with address and password, pending a second factor if the user has one. Errors:
// CodeInvalidCredentials whatever is wrong, after the same work; CodeRateLimitExceeded.
func (s *Service) SignIn(ctx context.Context, v *Visitor, address, password string) (n NewSession, err error) {
	address = app.KeyOf(address).String()
	if len(address) > maxAddress {
		address = ""
	}
	c, err := s.findCandidate(ctx, v, func(r *db.Reader) (User, error) { return r.UserByAddress(address) })
	if err != nil {
		return n, err
	}
	stale := false
	err = s.guesses.run(ctx, c.guesser(v, address), func() error {
		ok, old, err := s.hasher.matches(ctx, c.user.Password, password, c.known)
		if err == nil && !ok {
			err = errWrongCredentials()
		}
		stale = old
		return err
	})
	if err != nil {
		s.recordFailure(ctx, &signInAttempt{v, address, c.user.ID, address, byPassword}, err)
		return n, err
	}
	newHash := ""
	if stale {
		if newHash, err = s.hasher.hash(ctx, password, true); err != nil {
			return n, err
		}
	}
	return s.finishSignIn(ctx, v, &c, signInEffects{newHash: newHash})
}

// signInEffects are changes that are stored with a sign-in.
type signInEffects struct {
	newHash string // replaces the password hash; empty: unchanged
	code    string // of a sign-in link, which is used up; empty: none
	// invitation is the code of an invitation to accept; empty: none.
	invitation string
}

// finishSignIn makes the session of a user whose first factor was verified.
func (s *Service) finishSignIn(ctx context.Context, v *Visitor, c *candidate, effects signInEffects) (n NewSession, err error) {
	err = s.DB.Write(ctx, func(tx *db.Tx) error {
		u, err := tx.User(c.user.ID)
		if errors.Is(err, db.ErrNotFound) || err == nil && u.Password != c.user.Password {
			return errWrongCredentials() // changed meanwhile
		}
		if err == nil {
			err = effects.apply(ctx, tx, &u)
		}
		if err != nil {
			return err
		}
		factors, err := factorsOf(&tx.Reader, u.ID)
		if err != nil {
			return err
		}
		n, err = s.beginSession(tx, v, &u, factors)
		return err
	})
	if err == nil && len(n.Factors) == 0 {
		s.mailNewDevice(ctx, v, &n)
	}
	return n, base.Unavailable(err)
}

// apply stores the effects. Errors: CodeForbidden for a code that was used meanwhile.
func (e *signInEffects) apply(ctx context.Context, tx *db.Tx, u *User) error {
	if e.code != "" {
		if _, err := userOfCode(&tx.Reader, e.code, tx.Now); err != nil {
			return err
		}
		if err := tx.UseSignInCode(hashOf(e.code)); err != nil {
			return err
		}
	}
	if e.invitation != "" {
		if err := joinInvited(ctx, tx, u, e.invitation); err != nil {
			return err
		}
	}
	if e.newHash == "" {
		return nil
	}
	return tx.SetPassword(u.ID, e.newHash)
}

// factorsOf returns the second factors of a user.
func factorsOf(r *db.Reader, userID string) (factors []string, err error) {
	totp, passkey, err := r.Factors(userID)
	if totp {
		factors = append(factors, FactorTOTP)
	}
	if passkey {
		factors = append(factors, FactorPasskey)
	}
	return factors, err
}

// mailNewDevice mails a user about a sign-in with an unknown browser, if he signed in before.
func (s *Service) mailNewDevice(ctx context.Context, v *Visitor, n *NewSession) {
	if !n.newDevice {
		return
	}
	s.mailUser(ctx, &n.User, "New sign-in to Mailer",
		"There was a sign-in to your account "+n.User.Address+" with a browser that was not used for it before.\n\n"+
			"Browser: "+agentOf(v)+"\nAddress: "+addressOf(v)+"\n\n"+
			"If it was not you, change your password, which ends all other sessions, and turn a second factor on.\n")
}
