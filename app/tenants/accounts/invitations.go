package accounts

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"time"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/kit/clock"
	"mailer/db"
)

const (
	// InvitationLife is how long an invitation is valid.
	InvitationLife = 7 * 24 * time.Hour
	// MaxInvitations is how many open invitations a team can have.
	MaxInvitations = 200
	// invitationPath is the path of an invitation link. The code follows in the fragment.
	invitationPath = "/dashboard/invitation#"
)

// Invitation is an invitation to join a team.
type Invitation = db.Invitation

// Invite invites the owner of an address to join a team, in place of an earlier invitation. It
// returns a link that is shown once, and mails another link if possible. The mailed link proves
// that whoever opens it reads the mail of the address. The result does not depend on whether an
// account exists. Errors: CodeValidation, CodeForbidden, CodeReauthentication, CodeConflict for a
// member of the team, CodeServiceUnavailable if no server has run yet.
func (s *Service) Invite(ctx context.Context, key *app.Key, address string, role app.Role) (i Invitation, link string, err error) {
	if err := checkMayInvite(key, role); err != nil {
		return i, "", err
	}
	if s.Settings.BaseURL == "" {
		return i, "", errNoServer()
	}
	u, err := NewUser(address, "")
	if err != nil {
		return i, "", err
	}
	code, hash := NewCode()
	mailed, mailedHash := NewCode()
	now := clock.Now()
	i = Invitation{ID: app.NewID(), TeamID: key.TeamID, Address: u.Address, Role: role, Hash: hash, Vouched: isOperator(key), InvitedBy: app.ActorOf(ctx).Name,
		CreatedAt: now, ExpiresAt: now.Add(InvitationLife)}
	var from mailOrigin
	err = s.DB.Write(ctx, func(tx *db.Tx) error {
		before, err := replaceInvitation(tx, key, u.Address)
		if err != nil {
			return err
		}
		if from, err = s.reserveInvitationMail(tx, &i); err != nil {
			return err
		}
		if i.Mailed = before.Mailed; from.domain != "" { // else the link mailed earlier stays valid
			i.Mailed = mailedHash
		}
		if err := tx.InsertInvitation(&i); err != nil {
			return err
		}
		if i, err = tx.Invitation(key.TeamID, i.ID); err != nil {
			return err
		}
		i.Posted = from.domain != ""
		return base.Audit(ctx, tx, key.TeamID, "invitation.create", i.ID, nil, map[string]any{"email": i.Address, "role": role})
	})
	if err != nil {
		return i, "", base.Unavailable(err)
	}
	s.mailInvitation(ctx, from, &i, s.Settings.BaseURL+invitationPath+mailed)
	return i, s.Settings.BaseURL + invitationPath + code, nil
}

// checkMayInvite is checkMayAssign for invitations. It also refuses an API key with an expiry or
// allowed addresses, since the invited person would have neither. Errors: those of checkMayAssign.
func checkMayInvite(key *app.Key, role app.Role) error {
	if key.Session == nil && (!key.ExpiresAt.IsZero() || len(key.AllowedIPs) > 0) {
		return app.Errorf(app.CodeForbidden, "An API key that has an end or works from some addresses only can't invite people: they would stay beyond it")
	}
	return checkMayAssign(key, role)
}

func isOperator(key *app.Key) bool { return key.Session != nil && key.Session.Operator }

// replaceInvitation deletes and returns the open invitation of an address, if there is one. Errors:
// CodeConflict for a member of the team, CodeValidation for a team with MaxInvitations, those of
// checkMayAssign for the role of the earlier invitation.
func replaceInvitation(tx *db.Tx, key *app.Key, address string) (before Invitation, err error) {
	u, err := tx.UserByAddress(address)
	if err == nil {
		if _, err = tx.Membership(u.ID, key.TeamID); err == nil {
			return before, app.Errorf(app.CodeConflict, "This person belongs to the team already")
		}
	}
	if !errors.Is(err, db.ErrNotFound) {
		return before, err
	}
	before, err = tx.InvitationTo(key.TeamID, address)
	if err == nil {
		if err := checkMayAssign(key, before.Role); err != nil {
			return before, err
		}
		return before, tx.DeleteInvitation(key.TeamID, before.ID)
	}
	if !errors.Is(err, db.ErrNotFound) {
		return before, err
	}
	full, err := tx.HasInvitations(key.TeamID, MaxInvitations)
	if err == nil && full {
		err = app.Errorf(app.CodeValidation, "A team can have at most %d open invitations; take one back", MaxInvitations)
	}
	return before, err
}

// Invitations returns a page of the invitations of a team, newest first, and whether there are
// more. Errors: CodeValidation for an unknown cursor.
func (s *Service) Invitations(ctx context.Context, key *app.Key, page app.Page) (rows []Invitation, more bool, err error) {
	rows, more, err = db.GetPage(ctx, s.DB, func(r *db.Reader) ([]Invitation, bool, error) { return r.Invitations(key.TeamID, page) })
	return rows, more, base.Cursor(page, err)
}

// TakeBackInvitation deletes an invitation. Errors: CodeNotFound, CodeForbidden for a role above
// that of the caller, CodeReauthentication.
func (s *Service) TakeBackInvitation(ctx context.Context, key *app.Key, id string) error {
	return base.Lookup("invitation", s.DB.WriteCritical(ctx, func(tx *db.Tx) error {
		i, err := tx.Invitation(key.TeamID, id)
		if err != nil {
			return err
		}
		if err := checkMayAssign(key, i.Role); err != nil {
			return err
		}
		if err := tx.DeleteInvitation(key.TeamID, id); err != nil {
			return err
		}
		return base.Audit(ctx, tx, key.TeamID, "invitation.delete", id, map[string]any{"email": i.Address, "role": i.Role}, nil)
	}))
}

// AcceptInput is the input of an invited person.
type AcceptInput struct{ Code, Password, Name string }

// Invited is what the page of an invitation shows.
type Invited struct {
	Team, Address string
	Role          app.Role
	By            string // name or address of the inviting person; empty: not a person
}

// ReadInvitation returns the invitation with a code and changes nothing. Errors: CodeForbidden for
// an invalid code, CodeRateLimitExceeded.
func (s *Service) ReadInvitation(ctx context.Context, v *Visitor, code string) (inv Invited, err error) {
	err = s.guesses.runCode(ctx, guesser{client: v.Client}, func() error {
		return s.DB.Read(ctx, func(r *db.Reader) error {
			i, err := invitationOf(r, code, clock.Now())
			if err != nil {
				return err
			}
			inv = Invited{Team: i.TeamName, Address: i.Address, Role: i.Role}
			by, err := r.User(i.InvitedBy)
			inv.By = cmp.Or(by.Name, by.Address)
			return base.IgnoreNotFound(err)
		})
	})
	return inv, base.Unavailable(err)
}

// Accept makes an invited person a member of the team and signs him in, with the password of his
// account or with a new account. Errors: CodeForbidden for an invalid code, CodeInvalidCredentials
// for a wrong password, CodeValidation, CodeConflict for an account that may not join the team
// (checkMayJoin), CodeRateLimitExceeded.
func (s *Service) Accept(ctx context.Context, v *Visitor, in *AcceptInput) (n NewSession, err error) {
	var i Invitation
	err = s.guesses.runCode(ctx, guesser{client: v.Client}, func() (err error) {
		now := clock.Now()
		i, err = db.Get(ctx, s.DB, func(r *db.Reader) (Invitation, error) { return invitationOf(r, in.Code, now) })
		return err
	})
	if err != nil {
		s.recordFailure(ctx, &signInAttempt{visitor: v, account: byLink, method: byLink}, err)
		return n, base.Unavailable(err)
	}
	// Checked for existing accounts too: the inviting person must not learn whether an account
	// exists.
	if err := CheckPassword("password", in.Password); err != nil {
		return n, err
	}
	c, err := s.findCandidate(ctx, v, func(r *db.Reader) (User, error) { return r.UserByAddress(i.Address) })
	if err != nil {
		return n, err
	}
	proves := provesAddress(&i, in.Code)
	if c.user.ID == "" {
		return s.acceptAsNewUser(ctx, v, in, &i, proves)
	}
	matches := func() (bool, error) {
		ok, _, err := s.hasher.matches(ctx, c.user.Password, in.Password, c.known)
		return ok, err
	}
	if c.user.OnlyTeam != "" && proves {
		if ok, err := matches(); err != nil || !ok {
			return s.takeOverAccount(ctx, v, in, &c, err)
		}
		return s.finishSignIn(asUser(ctx, c.user.ID), v, &c, signInEffects{invitation: in.Code})
	}
	err = s.guesses.run(ctx, c.guesser(v, i.Address), func() error {
		ok, err := matches()
		if err == nil && !ok {
			err = errWrongCredentials()
		}
		return err
	})
	if err != nil {
		s.recordFailure(ctx, &signInAttempt{v, i.Address, c.user.ID, i.Address, byPassword}, err)
		return n, err
	}
	return s.finishSignIn(asUser(ctx, c.user.ID), v, &c, signInEffects{invitation: in.Code})
}

// provesAddress reports whether a code of an invitation proves its address: the code was mailed to
// the address, or an operator invited.
func provesAddress(i *Invitation, code string) bool {
	return i.Vouched || bytes.Equal(i.Mailed, hashOf(code))
}

// acceptAsNewUser makes the account of an invited person who has none.
func (s *Service) acceptAsNewUser(ctx context.Context, v *Visitor, in *AcceptInput, i *Invitation, proves bool) (n NewSession, err error) {
	u, err := NewUser(i.Address, in.Name)
	if err != nil {
		return n, err
	}
	if !proves {
		u.OnlyTeam = i.TeamID
	}
	if u.Password, err = s.hasher.hash(ctx, in.Password, false); err != nil {
		return n, err
	}
	err = s.DB.Write(ctx, func(tx *db.Tx) error {
		i, err := useInvitation(tx, in.Code)
		if err != nil {
			return err
		}
		if err := insertUser(asUser(ctx, u.ID), tx, &u, i.TeamID, i.Role); err != nil {
			return err
		}
		n, err = s.beginSession(tx, v, &u, nil)
		return err
	})
	return n, base.Unavailable(err)
}

// invitationOf returns the invitation with a code. Errors: CodeForbidden.
func invitationOf(r *db.Reader, code string, now time.Time) (i Invitation, err error) {
	if !looksLikeSecret(code, codeBytes) {
		return i, errInvalidCode()
	}
	if i, err = r.InvitationByCode(hashOf(code), now); errors.Is(err, db.ErrNotFound) {
		err = errInvalidCode()
	}
	return i, err
}

// useInvitation deletes and returns the invitation with a code. Errors: CodeForbidden.
func useInvitation(tx *db.Tx, code string) (i Invitation, err error) {
	if i, err = invitationOf(&tx.Reader, code, tx.Now); err != nil {
		return i, err
	}
	if err := checkInviter(&tx.Reader, &i); err != nil {
		return i, err
	}
	return i, tx.DeleteInvitation(i.TeamID, i.ID)
}

// checkInviter returns nil if the inviter may still invite to the role. An inviter who was removed
// or got a lower role must not come back by a link that he made before. Errors: CodeForbidden.
func checkInviter(r *db.Reader, i *Invitation) error {
	id, ok := app.ParseID(i.InvitedBy)
	if !ok {
		return nil // the command line
	}
	role := app.Role("")
	m, err := r.Membership(id, i.TeamID)
	if err == nil {
		role = m.Role
	} else if errors.Is(err, db.ErrNotFound) {
		var k app.Key
		k, err = r.Key(i.TeamID, id)
		role = k.Role
		if err == nil && !k.ExpiresAt.IsZero() && !k.ExpiresAt.After(clock.Now()) {
			role = ""
		}
	}
	switch {
	case err != nil && !errors.Is(err, db.ErrNotFound):
		return err
	case !role.Manages() || i.Role.Above(role):
		return errInvalidCode()
	}
	return nil
}

// joinInvited adds a user with an account to the team that invited him. A member of the team keeps
// his role. If the code proves the address, the address of the account becomes proven.
func joinInvited(ctx context.Context, tx *db.Tx, u *User, code string) error {
	i, err := useInvitation(tx, code)
	if err != nil {
		return err
	}
	if i.Address != u.Address {
		return errInvalidCode()
	}
	if u.OnlyTeam != "" && provesAddress(&i, code) {
		if err := tx.SetProven(u.ID); err != nil {
			return err
		}
		u.OnlyTeam = ""
	}
	return joinByInvitation(ctx, tx, u, &i)
}

// joinByInvitation adds a user to the team of an invitation.
func joinByInvitation(ctx context.Context, tx *db.Tx, u *User, i *Invitation) error {
	if err := checkMayJoin(u, i.TeamID); err != nil {
		return err
	}
	if err := join(ctx, tx, u, i.TeamID, i.Role); app.CodeOf(err) != app.CodeConflict {
		return err
	}
	return nil
}
