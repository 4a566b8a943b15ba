package accounts

import (
	"context"
	"errors"
	"strings"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/kit/clock"
	"mailer/db"
)

// AddLink makes a sign-in link, valid once, inside a Write. Errors: CodeServiceUnavailable if no
// server has run yet.
func (s *Service) AddLink(tx *db.Tx, userID string) (string, error) {
	if s.Settings.BaseURL == "" {
		return "", errNoServer()
	}
	code, hash := NewCode()
	return s.Settings.BaseURL + linkPath + code, tx.InsertSignInCode(hash, userID, tx.Now.Add(CodeLife))
}

// OpenLink signs in the user of a sign-in link, pending a second factor if he has one. The link is
// used up. Errors: CodeForbidden, CodeRateLimitExceeded.
func (s *Service) OpenLink(ctx context.Context, v *Visitor, code string) (n NewSession, err error) {
	var c candidate
	err = s.guesses.runCode(ctx, guesser{client: v.Client}, func() error {
		now := clock.Now()
		c, err = s.findCandidate(ctx, v, func(r *db.Reader) (u User, err error) {
			id, err := userOfCode(r, code, now)
			if err == nil && id == "" {
				err = errInvalidCode()
			}
			if err != nil {
				return u, err
			}
			return r.User(id)
		})
		return err
	})
	if err != nil {
		s.recordFailure(ctx, &signInAttempt{visitor: v, account: byLink, method: byLink}, err)
		return n, err
	}
	return s.finishSignIn(ctx, v, &c, signInEffects{code: code})
}

// devAddress is the address of the user of `serve --dev`.
const devAddress = "dev@example.com"

// DevLink makes a sign-in link for the user of `serve --dev`, an operator and owner of the first
// team. It makes the user if he does not exist.
func (s *Service) DevLink(ctx context.Context) (link string, err error) {
	u, err := NewUser(devAddress, "Dev")
	if err != nil {
		return "", err
	}
	u.Operator = true
	err = s.DB.Write(ctx, func(tx *db.Tx) error {
		dev, err := tx.UserByAddress(devAddress)
		if errors.Is(err, db.ErrNotFound) {
			dev = u
			team, err := tx.FindTeam("")
			if err != nil {
				return err
			}
			if err := insertUser(ctx, tx, &dev, team.ID, app.RoleOwner); err != nil {
				return err
			}
		} else if err != nil {
			return err
		}
		if link, err = s.AddLink(tx, dev.ID); err == nil {
			link = strings.Replace(link, "#", "?to=/emails#", 1) // opens the list of emails
		}
		return err
	})
	return link, base.Unavailable(err)
}
