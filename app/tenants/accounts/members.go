package accounts

import (
	"context"
	"errors"
	"slices"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/kit/clock"
	"mailer/db"
)

// Member is a user as a team sees him.
type Member = db.Member

// Members returns a page of the members of a team, and whether there are more. Errors:
// CodeValidation for an unknown cursor.
func (s *Service) Members(ctx context.Context, key *app.Key, page app.Page) (rows []Member, more bool, err error) {
	rows, more, err = db.GetPage(ctx, s.DB, func(r *db.Reader) ([]Member, bool, error) { return r.Members(key.TeamID, page) })
	return rows, more, base.Cursor(page, err)
}

// join adds a user to a team. Errors: CodeConflict for a member.
func join(ctx context.Context, tx *db.Tx, u *User, teamID string, role app.Role) error {
	err := tx.InsertMembership(&Membership{UserID: u.ID, TeamID: teamID, Role: role, CreatedAt: tx.Now})
	if errors.Is(err, db.ErrConflict) {
		return app.Errorf(app.CodeConflict, "This person belongs to the team already")
	}
	if err != nil {
		return err
	}
	return base.Audit(ctx, tx, teamID, "member.add", u.ID, nil, map[string]any{"email": u.Address, "role": role})
}

// ChangeRole changes the role of a member. If the role differs, the member's sessions lose access
// to that team, but not to others. Errors: CodeNotFound, CodeForbidden, CodeReauthentication,
// CodeConflict for the last owner.
func (s *Service) ChangeRole(ctx context.Context, key *app.Key, userID string, role app.Role) (m Member, err error) {
	if err := checkMayAssign(key, role); err != nil {
		return m, err
	}
	err = s.DB.WriteCritical(ctx, func(tx *db.Tx) error {
		if m, err = tx.Member(key.TeamID, userID); err != nil {
			return err
		}
		if err := checkMayAssign(key, m.Role); err != nil {
			return err
		}
		if err := setRole(ctx, tx, key.TeamID, &m, role); err != nil {
			return err
		}
		m, err = tx.Member(key.TeamID, userID)
		return err
	})
	return m, base.Lookup("member", err)
}

func setRole(ctx context.Context, tx *db.Tx, teamID string, m *Member, role app.Role) error {
	if m.Role == role {
		return nil
	}
	if err := checkNotLastOwner(&tx.Reader, teamID, m); err != nil {
		return err
	}
	if err := tx.SetRole(teamID, m.ID, role); err != nil {
		return err
	}
	return base.Audit(ctx, tx, teamID, "member.update", m.ID, map[string]any{"email": m.Address, "role": m.Role}, map[string]any{"email": m.Address, "role": role})
}

// RemoveMember removes a member from a team. His account stays, and so do its sessions for other
// teams. keys are the API keys of the team that he made and that stay valid. Errors: those of
// ChangeRole.
func (s *Service) RemoveMember(ctx context.Context, key *app.Key, userID string) (keys []app.Key, err error) {
	return keys, base.Lookup("member", s.DB.WriteCritical(ctx, func(tx *db.Tx) error {
		m, err := tx.Member(key.TeamID, userID)
		if err != nil {
			return err
		}
		if err := checkMayAssign(key, m.Role); err != nil {
			return err
		}
		if keys, err = remainingKeys(tx, userID, key.TeamID); err != nil {
			return err
		}
		return removeMember(ctx, tx, key.TeamID, &m)
	}))
}

// remainingKeys returns the valid API keys that a user made, in a team, or in all teams for an
// empty teamID.
func remainingKeys(tx *db.Tx, userID, teamID string) ([]app.Key, error) {
	keys, err := tx.KeysMadeBy(userID, teamID)
	return slices.DeleteFunc(keys, func(k app.Key) bool { return !k.ExpiresAt.IsZero() && !k.ExpiresAt.After(tx.Now) }), err
}

func removeMember(ctx context.Context, tx *db.Tx, teamID string, m *Member) error {
	if err := checkNotLastOwner(&tx.Reader, teamID, m); err != nil {
		return err
	}
	if err := tx.DeleteMembership(teamID, m.ID); err != nil {
		return err
	}
	return base.Audit(ctx, tx, teamID, "member.remove", m.ID, map[string]any{"email": m.Address, "role": m.Role}, nil)
}

// checkNotLastOwner returns nil unless a member is the last owner of a team. Errors: CodeConflict.
func checkNotLastOwner(r *db.Reader, teamID string, m *Member) error {
	if m.Role != app.RoleOwner {
		return nil
	}
	other, err := r.OtherOwner(teamID, m.ID)
	if err == nil && !other {
		err = app.Errorf(app.CodeConflict, "This person is the team's last owner: make another one first")
	}
	return err
}

// checkMayAssign returns nil if key may add, change or remove members with a role: not above its
// own role, and owners only after recent reauthentication. Errors: CodeValidation for an unknown
// role, CodeForbidden, CodeReauthentication.
func checkMayAssign(key *app.Key, role app.Role) error {
	if err := checkRole(role); err != nil {
		return err
	}
	switch {
	case !key.Role.Manages():
		return app.RoleTooLow()
	case role.Above(key.Role):
		return app.Errorf(app.CodeForbidden, "Your role does not allow you to add, change or remove members with the role %s", role)
	case role == app.RoleOwner && !key.RecentlyAuthenticated(clock.Now()):
		return app.ReauthenticationRequired()
	}
	return nil
}

func checkRole(role app.Role) error {
	if role != app.RoleOwner && role != app.RoleAdmin && role != app.RoleMember {
		return app.Invalid("role", "must be owner, admin or member")
	}
	return nil
}
