package accounts

import (
	"context"
	"encoding/hex"
	"errors"

	"mailer/app"
	"mailer/app/base"
	"mailer/db"
)

// errWrongCredentials is the one answer to whoever can't prove who he is.
func errWrongCredentials() error {
	return app.Errorf(app.CodeInvalidCredentials, "Address and password do not belong together")
}

// maxAddress is the longest address that is looked for, in bytes.
const maxAddress = 320

// candidate is somebody who wants to sign in, as far as that is known before he proves it.
type candidate struct {
	user  User // of the address that he said; none: an empty one
	known bool // he signed in with this browser before
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

// guesser is the caller as a source of guesses at an account.
func (c *candidate) guesser(v *Visitor, account string) guesser {
	g := guesser{client: v.Client, account: account}
	if c.known {
		g.known = hex.EncodeToString(hashOf(v.Device))
	}
	return g
}

// SignIn lets somebody in by address and password, or half in where a second factor is to
// come. Errors: CodeInvalidCredentials whatever is wrong, after equal work;
// CodeRateLimitExceeded.
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

// signInEffects is what goes with somebody's sign-in.
type signInEffects struct {
	newHash string // another hash of his password; empty: it stays
	code    string // of a link, which counts once; empty: none
	// invitation is the code of one that he follows; empty: none.
	invitation string
}

// finishSignIn begins the session of a person who proved by one thing who he is.
func (s *Service) finishSignIn(ctx context.Context, v *Visitor, c *candidate, effects signInEffects) (n NewSession, err error) {
	err = s.DB.Write(ctx, func(tx *db.Tx) error {
		u, err := tx.User(c.user.ID)
		if errors.Is(err, db.ErrNotFound) || err == nil && u.Password != c.user.Password {
			return errWrongCredentials() // it was changed meanwhile
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

// apply writes down what goes with a sign-in. Errors: CodeForbidden for a code that was used
// meanwhile.
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

// factorsOf names the second factors of a person.
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

// mailNewDevice tells a person who signed in before that somebody signed in with a browser
// that is not known.
func (s *Service) mailNewDevice(ctx context.Context, v *Visitor, n *NewSession) {
	if !n.newDevice {
		return
	}
	s.mailUser(ctx, &n.User, "New sign-in to Mailer",
		"There was a sign-in to your account "+n.User.Address+" with a browser that was not used for it before.\n\n"+
			"Browser: "+agentOf(v)+"\nAddress: "+addressOf(v)+"\n\n"+
			"If it was not you, change your password, which ends all other sessions, and turn a second factor on.\n")
}
