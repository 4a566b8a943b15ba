package teams

import (
	"context"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/kit/clock"
	"mailer/db"
)

// CreateTeamKey makes an API key for the team of the key that asks. An empty
// permission is full_access, an empty role that of the key that asks. The token
// is kept nowhere. Errors: CodeValidation; CodeForbidden to members, for a role above that
// of the key that asks, and for a key that works longer or from more addresses than the
// one that asks; CodeNotFound for an unknown domain.
func (s *Service) CreateTeamKey(ctx context.Context, key *app.Key, in app.KeyInput) (token string, k app.Key, err error) {
	if in.Permission == "" {
		in.Permission = app.FullAccess
	}
	if in.Role == "" {
		in.Role = key.Role
	}
	if err := in.Validate(); err != nil {
		return "", app.Key{}, err
	}
	if err := checkMayManage(key, in.Role); err != nil {
		return "", app.Key{}, err
	}
	allowed, err := parseKeyBounds(clock.Now(), in.ExpiresAt, in.AllowedIPs)
	if err == nil {
		err = checkWithinOwnBounds(key, true, in.ExpiresAt, true, allowed)
	}
	if err != nil {
		return "", app.Key{}, err
	}
	maker := key.CreatedBy
	if key.Session != nil {
		maker = key.ID
	}
	return s.createKey(ctx, key.TeamID, maker, in)
}

// checkMayManage is nil where a key may make or change keys of a role: that is for
// owners and admins, and for nobody above their own role.
// Errors: CodeForbidden.
func checkMayManage(key *app.Key, role app.Role) error {
	switch {
	case !key.Role.Manages():
		return app.RoleTooLow()
	case role.Above(key.Role):
		return app.RoleAbove(role)
	}
	return nil
}

// ListTeamKeys returns a page of the keys of a team, newest first, and whether
// there are more. Errors: CodeValidation for a cursor that is none of them.
func (s *Service) ListTeamKeys(ctx context.Context, key *app.Key, page app.Page) (rows []app.Key, more bool, err error) {
	rows, more, err = db.GetPage(ctx, s.DB, func(r *db.Reader) ([]app.Key, bool, error) { return r.ListKeys(key.TeamID, page) })
	return rows, more, base.Cursor(page, err)
}

// UpdateTeamKey changes a key of the team and returns it. This server obeys at once,
// others of the same database within a second. Errors: CodeValidation, CodeNotFound,
// CodeForbidden for a key above the one that asks, and for one that would work longer or
// from more addresses than that.
func (s *Service) UpdateTeamKey(ctx context.Context, key *app.Key, id string, change KeyChange) (k app.Key, err error) {
	allowed, err := change.check(clock.Now())
	if err == nil {
		err = checkWithinOwnBounds(key, change.ExpiresAt.Set, change.ExpiresAt.Value, change.AllowedIPs.Set, allowed)
	}
	if err != nil {
		return app.Key{}, err
	}
	err = s.DB.Write(ctx, func(tx *db.Tx) (err error) {
		if k, err = managedKey(tx, key, id); err != nil {
			return err
		}
		before := auditedKey(&k)
		change.apply(&k, allowed)
		if err := tx.UpdateKey(&k); err != nil {
			return err
		}
		tx.AfterCommit(s.keys.Clear)
		return base.Audit(ctx, tx, key.TeamID, "key.update", id, before, auditedKey(&k))
	})
	return k, base.Lookup("API key", err)
}

// DeleteTeamKey revokes a key of the team, which may be the one that asks. This
// server obeys at once, also on open connections, others of the same database
// within a second. Errors: CodeNotFound, CodeForbidden for a key above the one
// that asks.
func (s *Service) DeleteTeamKey(ctx context.Context, key *app.Key, id string) error {
	err := s.DB.WriteCritical(ctx, func(tx *db.Tx) error {
		k, err := managedKey(tx, key, id)
		if err != nil {
			return err
		}
		tx.AfterCommit(s.keys.Clear)
		if err := tx.DeleteTeamKey(key.TeamID, id); err != nil {
			return err
		}
		return base.Audit(ctx, tx, key.TeamID, "key.delete", id, auditedKey(&k), nil)
	})
	return base.Lookup("API key", err)
}

// managedKey finds the key that another wants to change.
func managedKey(tx *db.Tx, key *app.Key, id string) (app.Key, error) {
	k, err := tx.Key(key.TeamID, id)
	if err != nil {
		return k, err
	}
	return k, checkMayManage(key, k.Role)
}
