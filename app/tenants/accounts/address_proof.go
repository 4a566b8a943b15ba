package accounts

import (
	"context"
	"errors"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/kit/clock"
	"mailer/db"
)

// checkMayJoin returns nil if a user may join a team. The address of an account that was made with
// a link shown to the inviter is unproven: the account may belong to anybody, and belongs to that
// team alone until its owner proves the address. Errors: CodeConflict.
func checkMayJoin(u *User, teamID string) error {
	if u.OnlyTeam == "" || u.OnlyTeam == teamID {
		return nil
	}
	return errUnproven(u)
}

func errUnproven(u *User) error {
	return app.Errorf(app.CodeConflict, "The address of the account %s was never confirmed: open the link in the invitation mail, or ask an operator to run `mailer users reset %s` and pass on the link", u.Address, u.Address)
}

// takeOverAccount makes a person who proves the address of an unproven account by an invitation the
// owner of the account, with the password that he sets, and signs him in. All earlier credentials
// and sessions end. So do the other memberships, which somebody else agreed to, except where the
// account is the last owner of a team. matchErr is an error of the password check.
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
			return errWrongCredentials() // changed meanwhile
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

// resetAccount revokes all access to an account, removes its memberships, and sets its password.
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

// revokeAccess revokes all access to an account, sets its password, and marks its address as
// proven, by the person who gets the next credentials. It returns how many sessions ended.
func revokeAccess(tx *db.Tx, userID, hash string) (ended int64, err error) {
	if ended, err = tx.EndSessions(userID, ""); err != nil {
		return ended, err
	}
	_, err = tx.DropFactors(userID)
	return ended, errors.Join(err, tx.SetPassword(userID, hash), tx.ForgetDevices(userID, nil), tx.DropSignInCodes(userID), tx.SetProven(userID))
}

// maxOwnInvitations is how many invitations of a user are listed.
const maxOwnInvitations = 100

// OwnInvitations implements the invitations to a signed-in user.
type OwnInvitations struct{ service *Service }

// NewOwnInvitations makes OwnInvitations for the accounts of a service.
func NewOwnInvitations(s *Service) *OwnInvitations { return &OwnInvitations{s} }

// OwnInvitations returns the invitations to a signed-in user, newest first. The list is empty for
// an account with an unproven address, which may not be that of the invited person.
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

// withInvitation runs fn in a Write for an invitation to a signed-in user. Errors: CodeNotFound.
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

// AcceptOwn adds a signed-in user to a team that invited him. Errors: CodeNotFound; CodeForbidden
// if the inviter may no longer invite.
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

// Decline deletes an invitation to a signed-in user. Errors: CodeNotFound.
func (o *OwnInvitations) Decline(ctx context.Context, key *app.Key, id string) error {
	return o.withInvitation(ctx, key, id, func(tx *db.Tx, _ *User, i *Invitation) error {
		if err := tx.DeleteInvitation(i.TeamID, i.ID); err != nil {
			return err
		}
		return base.Audit(ctx, tx, i.TeamID, "invitation.delete", i.ID, map[string]any{"email": i.Address, "role": i.Role}, nil)
	})
}
