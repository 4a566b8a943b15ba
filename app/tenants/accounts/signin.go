package accounts

import (
	"context"
	"encoding/hex"
	"errors"

	"mailer/app"
	"mailer/app/base"
	"mailer/db"
)

// wrongCredentials is the one answer to whoever can't prove who he is.
func wrongCredentials() error {
	return app.Errorf(app.CodeInvalidCredentials, "Address and password do not belong together")
}

// maxAddress is the longest address that is looked for, in bytes.
const maxAddress = 320

// caller is somebody who wants to sign in, as far as that is known before he proves it.
type caller struct {
	user  User // of the address that he said; none: an empty one
	known bool // he signed in with this browser before
}

func (s *Service) caller(ctx context.Context, v *Visitor, find func(r *db.Reader) (User, error)) (c caller, err error) {
	err = s.DB.Read(ctx, func(r *db.Reader) (err error) {
		c.user, err = find(r)
		if errors.Is(err, db.ErrNotFound) {
			return nil
		}
		if err == nil && isSecret(v.Device, tokenBytes) {
			c.known, _, err = r.Devices(c.user.ID, hashOf(v.Device))
		}
		return err
	})
	return c, base.Unavailable(err)
}

// guesser is the caller as a source of guesses at an account.
func (c *caller) guesser(v *Visitor, account string) guesser {
	who := guesser{client: v.Client, account: account}
	if c.known {
		who.known = hex.EncodeToString(hashOf(v.Device))
	}
	return who
}

// SignIn lets somebody in by address and password, or half in where a second factor is to
// come. Errors: CodeInvalidCredentials whatever is wrong, after equal work;
// CodeRateLimitExceeded.
func (s *Service) SignIn(ctx context.Context, v *Visitor, address, password string) (n NewSession, err error) {
	address = app.KeyOf(address).String()
	if len(address) > maxAddress {
		address = ""
	}
	c, err := s.caller(ctx, v, func(r *db.Reader) (User, error) { return r.UserByAddress(address) })
	if err != nil {
		return n, err
	}
	stale := false
	err = s.guesses.guess(ctx, c.guesser(v, address), func() error {
		ok, old, err := s.hasher.matches(ctx, c.user.Password, password, c.known)
		if err == nil && !ok {
			err = wrongCredentials()
		}
		stale = old
		return err
	})
	if err != nil {
		s.noteFailure(ctx, &attempt{v, address, c.user.ID, address, byPassword}, err)
		return n, err
	}
	anew := ""
	if stale {
		if anew, err = s.hasher.hash(ctx, password, true); err != nil {
			return n, err
		}
	}
	return s.enter(ctx, v, &c, entry{anew: anew})
}

// entry is what goes with somebody's sign-in.
type entry struct {
	anew string // another hash of his password; empty: it stays
	code string // of a link, which counts once; empty: none
	// invitation is the code of one that he follows; empty: none.
	invitation string
}

// enter begins the session of a person who proved by one thing who he is.
func (s *Service) enter(ctx context.Context, v *Visitor, c *caller, how entry) (n NewSession, err error) {
	err = s.DB.Write(ctx, func(tx *db.Tx) error {
		u, err := tx.User(c.user.ID)
		if errors.Is(err, db.ErrNotFound) || err == nil && u.Password != c.user.Password {
			return wrongCredentials() // it was changed meanwhile
		}
		if err == nil {
			err = how.keep(ctx, tx, &u)
		}
		if err != nil {
			return err
		}
		factors, err := factorsOf(&tx.Reader, u.ID)
		if err != nil {
			return err
		}
		n, err = s.begin(tx, v, &u, factors)
		return err
	})
	if err == nil && len(n.Factors) == 0 {
		s.tellNewDevice(ctx, v, &n)
	}
	return n, base.Unavailable(err)
}

// keep writes down what goes with a sign-in. Errors: CodeForbidden for a code that was used
// meanwhile.
func (e *entry) keep(ctx context.Context, tx *db.Tx, u *User) error {
	if e.code != "" {
		if _, err := codeOf(&tx.Reader, e.code, tx.Now); err != nil {
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
	if e.anew == "" {
		return nil
	}
	return tx.SetPassword(u.ID, e.anew)
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

// tellNewDevice tells a person who signed in before that somebody signed in with a browser
// that is not known.
func (s *Service) tellNewDevice(ctx context.Context, v *Visitor, n *NewSession) {
	if !n.strange {
		return
	}
	s.tell(ctx, &n.User, "New sign-in to Mailer",
		"There was a sign-in to your account "+n.User.Address+" with a browser that was not used for it before.\n\n"+
			"Browser: "+agentOf(v)+"\nAddress: "+addressOf(v)+"\n\n"+
			"If it was not you, change your password, which ends all other sessions, and turn a second factor on.\n")
}
