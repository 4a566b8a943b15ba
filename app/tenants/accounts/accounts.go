package accounts

import (
	"context"
	"errors"

	"mailer/app"
	"mailer/app/base"
	"mailer/db"
)

// Account is a user as the operator sees him.
type Account struct {
	Member
	Teams []Membership
}

// accountsPerRead is how many accounts one snapshot reads.
const accountsPerRead = 200

// Accounts calls fn for each account of the server, oldest first.
func (s *Service) Accounts(ctx context.Context, fn func(Account)) error {
	for after := ""; ; {
		var rows []Account
		err := s.DB.Read(ctx, func(r *db.Reader) error {
			members, err := r.Accounts(after, accountsPerRead)
			for _, m := range members {
				teams, err := r.Memberships(m.ID)
				if err != nil {
					return err
				}
				rows = append(rows, Account{m, teams})
			}
			return err
		})
		if err != nil {
			return base.Unavailable(err)
		}
		for _, a := range rows {
			fn(a)
		}
		if len(rows) < accountsPerRead {
			return nil
		}
		after = rows[len(rows)-1].ID
	}
}

// CreateAccount makes an account without a password, as a member of a team, and returns a sign-in
// link. Errors: CodeValidation, CodeConflict, CodeServiceUnavailable if no server has run yet.
func (s *Service) CreateAccount(ctx context.Context, address, team string, role app.Role, operator bool) (u User, link string, err error) {
	if u, err = NewUser(address, ""); err != nil {
		return u, "", err
	}
	if err := checkRole(role); err != nil {
		return u, "", err
	}
	u.Operator = operator
	err = s.DB.Write(ctx, func(tx *db.Tx) error {
		if err := insertUser(ctx, tx, &u, team, role); err != nil {
			return err
		}
		link, err = s.AddLink(tx, u.ID)
		return err
	})
	return u, link, base.Unavailable(err)
}

// withAccount runs fn in a Write for the user with an address. Errors: CodeNotFound.
func (s *Service) withAccount(ctx context.Context, address string, fn func(tx *db.Tx, u *User) error) error {
	return base.Unavailable(s.DB.WriteCritical(ctx, func(tx *db.Tx) error {
		u, err := tx.UserByAddress(app.KeyOf(address).String())
		if errors.Is(err, db.ErrNotFound) {
			return app.Errorf(app.CodeNotFound, "There is no account with the address %s; `mailer users list` shows all accounts", address)
		}
		if err != nil {
			return err
		}
		return fn(tx, &u)
	}))
}

// NewLink makes a sign-in link. Errors: CodeNotFound, CodeServiceUnavailable if no server has run
// yet.
func (s *Service) NewLink(ctx context.Context, address string) (link string, err error) {
	err = s.withAccount(ctx, address, func(tx *db.Tx, u *User) error {
		link, err = s.signInLink(ctx, tx, u.ID)
		return err
	})
	return link, err
}

func (s *Service) signInLink(ctx context.Context, tx *db.Tx, userID string) (link string, err error) {
	if link, err = s.AddLink(tx, userID); err != nil {
		return "", err
	}
	return link, base.Audit(ctx, tx, "", "user.link", userID, nil, nil)
}

// Reset restores access for a user who lost his credentials. It removes password, second factors,
// links and known browsers, ends all sessions, and returns a new sign-in link. The address counts
// as proven, since the operator hands the link to its owner. Errors: those of NewLink.
func (s *Service) Reset(ctx context.Context, address string) (link string, err error) {
	var user User
	factors := 0
	err = s.withAccount(ctx, address, func(tx *db.Tx, u *User) error {
		user = *u
		factorNames, err := factorsOf(&tx.Reader, u.ID)
		if err != nil {
			return err
		}
		factors = len(factorNames)
		// The password is removed too: without the second factor it alone would give access.
		ended, err := revokeAccess(tx, u.ID, "")
		if err != nil {
			return err
		}
		if link, err = s.AddLink(tx, u.ID); err != nil {
			return err
		}
		return base.Audit(ctx, tx, "", "user.reset", u.ID, nil, map[string]any{"second_factor": false, "sessions_ended": ended})
	})
	if err == nil && factors > 0 {
		s.mailUser(ctx, &user, "Your second factor is off", "The operator of Mailer turned the second factor of your account "+user.Address+" off, and ended all of its sessions.\n")
	}
	return link, err
}

// AssignRole sets the role of a user in a team and adds him to the team if necessary. Earlier
// sessions lose access to that team. Errors: CodeNotFound, CodeValidation, CodeConflict for the
// last owner and for an account that may not join the team (checkMayJoin).
func (s *Service) AssignRole(ctx context.Context, address, team string, role app.Role) error {
	if err := checkRole(role); err != nil {
		return err
	}
	return s.withAccount(ctx, address, func(tx *db.Tx, u *User) error {
		m, err := tx.Member(team, u.ID)
		if errors.Is(err, db.ErrNotFound) {
			if err := checkMayJoin(u, team); err != nil {
				return err
			}
			return join(ctx, tx, u, team, role)
		}
		if err != nil {
			return err
		}
		return setRole(ctx, tx, team, &m, role)
	})
}

// LeaveTeam removes a user from a team. keys are the API keys of the team that the user made and
// that stay valid. Errors: CodeNotFound, CodeConflict for the last owner.
func (s *Service) LeaveTeam(ctx context.Context, address, team string) (keys []app.Key, err error) {
	return keys, s.withAccount(ctx, address, func(tx *db.Tx, u *User) error {
		m, err := tx.Member(team, u.ID)
		if errors.Is(err, db.ErrNotFound) {
			return app.Errorf(app.CodeNotFound, "%s does not belong to this team", u.Address)
		}
		if err != nil {
			return err
		}
		if keys, err = remainingKeys(tx, u.ID, team); err != nil {
			return err
		}
		return removeMember(ctx, tx, team, &m)
	})
}

// RemoveAccount deletes an account and its memberships. keys are the API keys that the user made
// and that stay valid. Errors: CodeNotFound, CodeConflict for the last owner of a team and for the
// last operator.
func (s *Service) RemoveAccount(ctx context.Context, address string) (keys []app.Key, err error) {
	return keys, s.withAccount(ctx, address, func(tx *db.Tx, u *User) (err error) {
		keys, err = removeAccount(ctx, tx, u)
		return err
	})
}

func removeAccount(ctx context.Context, tx *db.Tx, u *User) (keys []app.Key, err error) {
	if keys, err = remainingKeys(tx, u.ID, ""); err != nil {
		return nil, err
	}
	return keys, removeUser(ctx, tx, u)
}

func removeUser(ctx context.Context, tx *db.Tx, u *User) error {
	if err := checkNotLastOperator(&tx.Reader, u); err != nil {
		return err
	}
	teams, err := tx.Memberships(u.ID)
	if err != nil {
		return err
	}
	for _, t := range teams {
		m, err := tx.Member(t.TeamID, u.ID)
		if err == nil {
			err = removeMember(ctx, tx, t.TeamID, &m)
		}
		if err != nil {
			return err
		}
	}
	if err := tx.DeleteUser(u.ID); err != nil {
		return err
	}
	return base.Audit(ctx, tx, "", "user.delete", u.ID, map[string]any{"operator": u.Operator}, nil)
}

// checkNotLastOperator refuses a change that would leave the server without an operator.
func checkNotLastOperator(r *db.Reader, u *User) error {
	if !u.Operator {
		return nil
	}
	other, err := r.OtherOperator(u.ID)
	if err != nil || other {
		return err
	}
	return app.Errorf(app.CodeConflict, "%s is the last operator: make another one first", u.Address)
}

// EndAllSessions ends the sessions and sign-in links of a user and returns how many sessions ended.
// Errors: CodeNotFound.
func (s *Service) EndAllSessions(ctx context.Context, address string) (n int64, err error) {
	err = s.withAccount(ctx, address, func(tx *db.Tx, u *User) error {
		if n, err = tx.EndSessions(u.ID, ""); err != nil {
			return err
		}
		if err := tx.DropSignInCodes(u.ID); err != nil {
			return err
		}
		return base.Audit(ctx, tx, "", "session.end", u.ID, nil, map[string]any{"ended": n})
	})
	return n, err
}
