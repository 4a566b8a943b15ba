package accounts

import (
	"context"
	"errors"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/kit/clock"
	"mailer/db"
)

// checkMayJoin is nil where a person may belong to a team. An account that somebody made with
// a link which was shown to who invited may be anybody's: it belongs to that team alone
// until its holder proves to have the address. Errors: CodeConflict.
func checkMayJoin(u *User, teamID string) error {
	if u.OnlyTeam == "" || u.OnlyTeam == teamID {
		return nil
	}
	return errUnproven(u)
}

func errUnproven(u *User) error {
	return app.Errorf(app.CodeConflict, "The address of the account %s was never confirmed: open the link in the invitation mail, or ask an operator to run `mailer users reset %s` and pass on the link", u.Address, u.Address)
}

// takeOverAccount lets into an account whose address nobody had proved who proves it by an
// invitation, with the password that he sets, and returns the session. All that opened it until then ends, and so do
// its other memberships, which somebody else agreed to; where it is the last owner of a
// team, it stays that. failed is an error from before.
func (s *Service) takeOverAccount(ctx context.Context, v *Visitor, in *AcceptInput, c *candidate, matchErr error) (n NewSession, err error) {
	if matchErr != nil {
		return n, matchErr
	}
	hash, err := s.hasher.hash(ctx, in.Password, false)
	if err != nil {
		return n, err
	}
	err = s.DB.Write(ctx, func(tx *db.Tx) error {
		u, err := tx.User(c.user.ID)
		if errors.Is(err, db.ErrNotFound) || err == nil && (u.OnlyTeam == "" || u.Password != c.user.Password) {
			return errWrongCredentials() // it was changed meanwhile
		}
		if err != nil {
			return err
		}
		ctx := asUser(ctx, u.ID)
		i, err := useInvitation(tx, in.Code)
		if err != nil {
			return err
		}
		if i.Address != u.Address || !provesAddress(&i, in.Code) {
			return errInvalidCode()
		}
		if err := resetAccount(ctx, tx, &u, hash); err != nil {
			return err
		}
		if err := joinByInvitation(ctx, tx, &u, &i); err != nil {
			return err
		}
		n, err = s.beginSession(tx, v, &u, nil)
		return err
	})
	return n, base.Unavailable(err)
}

// resetAccount ends all that opens an account and all that it belongs to, and sets its
// password.
func resetAccount(ctx context.Context, tx *db.Tx, u *User, hash string) error {
	ended, err := revokeAccess(tx, u.ID, hash)
	if err != nil {
		return err
	}
	teams, err := tx.Memberships(u.ID)
	if err != nil {
		return err
	}
	for _, t := range teams {
		m, err := tx.Member(t.TeamID, u.ID)
		if err != nil {
			return err
		}
		if err := removeMember(ctx, tx, t.TeamID, &m); err != nil && app.CodeOf(err) != app.CodeConflict {
			return err
		}
	}
	u.OnlyTeam, u.Password = "", hash
	return base.Audit(ctx, tx, "", "user.reset", u.ID, nil, map[string]any{"second_factor": false, "sessions_ended": ended})
}

// revokeAccess ends all that opens an account, sets its password, and notes that its address is
// proven: by who is handed what opens it next. It returns how many sessions ended.
func revokeAccess(tx *db.Tx, userID, hash string) (ended int64, err error) {
	if ended, err = tx.EndSessions(userID, ""); err != nil {
		return ended, err
	}
	_, err = tx.DropFactors(userID)
	return ended, errors.Join(err, tx.SetPassword(userID, hash), tx.ForgetDevices(userID, nil), tx.DropSignInCodes(userID), tx.SetProven(userID))
}

// maxOwnInvitations is how many invitations of a person are shown.
const maxOwnInvitations = 100

// OwnInvitations are the teams that ask a person who is signed in to join.
type OwnInvitations struct{ service *Service }

// NewOwnInvitations makes them for the accounts of a service.
func NewOwnInvitations(s *Service) *OwnInvitations { return &OwnInvitations{s} }

// OwnInvitations returns the teams that ask a person who is signed in to join, newest
// first. Of an account whose address is not proven nobody knows whom they ask: none.
func (o *OwnInvitations) OwnInvitations(ctx context.Context, key *app.Key) (rows []Invitation, err error) {
	now := clock.Now()
	rows, err = db.Get(ctx, o.service.DB, func(r *db.Reader) ([]Invitation, error) {
		u, err := r.User(key.ID)
		if err != nil || u.OnlyTeam != "" {
			return nil, err
		}
		return r.InvitationsTo(u.Address, now, maxOwnInvitations)
	})
	return rows, signedOut(err)
}

// findSession runs fn in a Write for an invitation to a person who is signed in. Errors:
// CodeNotFound.
func (o *OwnInvitations) withInvitation(ctx context.Context, key *app.Key, id string, fn func(tx *db.Tx, u *User, i *Invitation) error) error {
	return base.Lookup("invitation", o.service.DB.WriteCritical(ctx, func(tx *db.Tx) error {
		u, err := tx.User(key.ID)
		if err != nil {
			return err
		}
		if u.OnlyTeam != "" {
			return db.ErrNotFound
		}
		rows, err := tx.InvitationsTo(u.Address, tx.Now, maxOwnInvitations)
		if err != nil {
			return err
		}
		for i := range rows {
			if rows[i].ID == id {
				return fn(tx, &u, &rows[i])
			}
		}
		return db.ErrNotFound
	}))
}

// AcceptOwn has a person who is signed in join a team that asks for it. Errors:
// CodeNotFound; CodeForbidden where who invited may not any more.
func (o *OwnInvitations) AcceptOwn(ctx context.Context, key *app.Key, id string) (m Membership, err error) {
	err = o.withInvitation(ctx, key, id, func(tx *db.Tx, u *User, i *Invitation) error {
		if err := checkInviter(&tx.Reader, i); err != nil {
			return err
		}
		if err := tx.DeleteInvitation(i.TeamID, i.ID); err != nil {
			return err
		}
		if err := joinByInvitation(ctx, tx, u, i); err != nil {
			return err
		}
		m, err = tx.Membership(u.ID, i.TeamID)
		return err
	})
	return m, err
}

// Decline ends an invitation to a person who is signed in. Errors: CodeNotFound.
func (o *OwnInvitations) Decline(ctx context.Context, key *app.Key, id string) error {
	return o.withInvitation(ctx, key, id, func(tx *db.Tx, _ *User, i *Invitation) error {
		if err := tx.DeleteInvitation(i.TeamID, i.ID); err != nil {
			return err
		}
		return base.Audit(ctx, tx, i.TeamID, "invitation.delete", i.ID, map[string]any{"email": i.Address, "role": i.Role}, nil)
	})
}
