package accounts

import (
	"context"
	"errors"
	"strings"
	"time"
	"unicode/utf8"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/kit/clock"
	"mailer/app/tenants/teams"
	"mailer/db"
)

// CodeLife is how long a setup link or a sign-in link is valid.
const CodeLife = 30 * time.Minute

// Paths of links under the base URL. The code is in the fragment, which browsers do not send to
// proxies and servers.
const (
	setupPath = "/dashboard/setup#"
	linkPath  = "/dashboard/link#"
)

// MaxUserName is the longest name of a user, in characters.
const MaxUserName = 100

// CheckUserName checks the name of a user; empty: none. Errors: CodeValidation.
func CheckUserName(name string) error {
	if utf8.RuneCountInString(name) > MaxUserName {
		return app.Invalid("name", "must be at most %d characters long", MaxUserName)
	}
	if app.HasHidden(name) {
		return app.Invalid("name", "must not contain control characters or invisible formatting")
	}
	return nil
}

// NewUser returns a user with an address, who is not stored yet. Errors: CodeValidation.
func NewUser(address, name string) (u User, err error) {
	a, err := app.ParseAddress(address)
	if err != nil || a.Name != "" || len(address) > maxAddress {
		return u, app.Invalid("email", "must be an email address")
	}
	name = strings.TrimSpace(name)
	if err := CheckUserName(name); err != nil {
		return u, err
	}
	return User{ID: app.NewID(), Address: a.Key().String(), Name: name, CreatedAt: clock.Now()}, nil
}

// SetupLink makes the link for the first account, in place of an earlier one. Errors: CodeConflict
// if an account exists; CodeServiceUnavailable if no server has run yet.
func (s *Service) SetupLink(ctx context.Context) (string, error) {
	if s.Settings.BaseURL == "" {
		return "", errNoServer()
	}
	code, hash := NewCode()
	err := s.DB.Write(ctx, func(tx *db.Tx) error {
		has, err := tx.HasUsers()
		if err != nil {
			return err
		}
		if has {
			return app.Errorf(app.CodeConflict, "There is already an account; `mailer users link EMAIL` prints a sign-in link")
		}
		if err := tx.DropSetupCodes(); err != nil {
			return err
		}
		return tx.InsertSignInCode(hash, "", tx.Now.Add(CodeLife))
	})
	return s.Settings.BaseURL + setupPath + code, base.Unavailable(err)
}

func errNoServer() error {
	return app.Errorf(app.CodeServiceUnavailable, "No server has run on this database yet, so its URL is not known; start `mailer serve` once")
}

// NeedsSetup reports whether no account exists yet.
func (s *Service) NeedsSetup(ctx context.Context) (bool, error) {
	has, err := db.Get(ctx, s.DB, (*db.Reader).HasUsers)
	return !has, base.Unavailable(err)
}

// SetupInput is the input for the first account.
type SetupInput struct {
	Code, Email, Password string
	Name                  string // of the user; empty: none
	Team                  string // new name of the first team; empty: unchanged
}

// Setup makes the first account, owner of the first team and operator, and signs it in. Errors:
// CodeNotFound if an account exists, CodeForbidden for an invalid code, CodeValidation,
// CodeRateLimitExceeded.
func (s *Service) Setup(ctx context.Context, v *Visitor, in *SetupInput) (n NewSession, err error) {
	needed, err := s.NeedsSetup(ctx)
	if err != nil {
		return n, err
	}
	if !needed {
		return n, errSetupDone()
	}
	u, err := NewUser(in.Email, in.Name)
	if err != nil {
		return n, err
	}
	if err := CheckPassword("password", in.Password); err != nil {
		return n, err
	}
	if in.Team != "" {
		if in.Team, err = teams.CheckName("team", in.Team); err != nil {
			return n, err
		}
	}
	err = s.guesses.runCode(ctx, guesser{client: v.Client}, func() error {
		now := clock.Now()
		return s.DB.Read(ctx, func(r *db.Reader) error { return s.checkSetupCode(r, in.Code, now) })
	})
	if err != nil {
		return n, base.Unavailable(err)
	}
	if u.Password, err = s.hasher.hash(ctx, in.Password, true); err != nil {
		return n, err
	}
	u.Operator = true
	return s.setUp(asUser(ctx, u.ID), v, &u, in)
}

func errSetupDone() error { return app.Errorf(app.CodeNotFound, "There is an account already") }

// errInvalidCode is the only error for an invalid code.
func errInvalidCode() error {
	return app.Errorf(app.CodeForbidden, "This link does not count any more; ask for another")
}

// setUp makes the first account in one Write.
func (s *Service) setUp(ctx context.Context, v *Visitor, u *User, in *SetupInput) (n NewSession, err error) {
	err = s.DB.Write(ctx, func(tx *db.Tx) error {
		if has, err := tx.HasUsers(); err != nil {
			return err
		} else if has {
			return errSetupDone()
		}
		if err := s.checkSetupCode(&tx.Reader, in.Code, tx.Now); err != nil { // the code may have been used meanwhile
			return err
		}
		if err := tx.DropSetupCodes(); err != nil {
			return err
		}
		team, err := tx.FindTeam("")
		if err != nil {
			return err
		}
		if in.Team != "" && in.Team != team.Name {
			if err := s.teams.RenameInTx(ctx, tx, team.ID, in.Team, true); err != nil {
				return err
			}
		}
		if err := insertUser(ctx, tx, u, team.ID, app.RoleOwner); err != nil {
			return err
		}
		n, err = s.beginSession(tx, v, u, nil)
		return err
	})
	return n, base.Unavailable(err)
}

// insertUser stores a new user with a role in a team. Error: CodeConflict for an address that an
// account has.
func insertUser(ctx context.Context, tx *db.Tx, u *User, teamID string, role app.Role) error {
	if err := tx.InsertUser(u); errors.Is(err, db.ErrConflict) {
		return app.Errorf(app.CodeConflict, "There is an account with this address already")
	} else if err != nil {
		return err
	}
	if err := tx.InsertMembership(&Membership{UserID: u.ID, TeamID: teamID, Role: role, CreatedAt: tx.Now}); err != nil {
		return err
	}
	return base.Audit(ctx, tx, teamID, "user.create", u.ID, nil, map[string]any{"email": u.Address, "role": role, "operator": u.Operator})
}

// checkSetupCode returns nil for a valid setup code. Errors: CodeForbidden.
func (s *Service) checkSetupCode(r *db.Reader, code string, now time.Time) error {
	userID, err := userOfCode(r, code, now)
	if err == nil && userID != "" {
		err = errInvalidCode()
	}
	return err
}

// userOfCode returns the id of the user that a code signs in; empty for a setup code. Errors:
// CodeForbidden.
func userOfCode(r *db.Reader, code string, now time.Time) (userID string, err error) {
	if !looksLikeSecret(code, codeBytes) {
		return "", errInvalidCode()
	}
	if userID, err = r.SignInCode(hashOf(code), now); errors.Is(err, db.ErrNotFound) {
		err = errInvalidCode()
	}
	return userID, err
}
