package accounts

import (
	"context"

	"mailer/app"
	"mailer/app/base"
	"mailer/db"
)

// Directory is all accounts of the server, for its operator.
type Directory struct{ service *Service }

// NewDirectory makes the directory of a service.
func NewDirectory(s *Service) *Directory { return &Directory{s} }

// ListAccounts returns a page of all accounts, the newest first.
func (d *Directory) ListAccounts(ctx context.Context, page app.Page) (rows []Account, more bool, err error) {
	err = d.service.DB.Read(ctx, func(r *db.Reader) error {
		members, hasMore, err := r.ListAccounts(page)
		if err != nil {
			return err
		}
		rows, more = make([]Account, len(members)), hasMore
		for i, m := range members {
			if rows[i], err = accountOf(r, m); err != nil {
				return err
			}
		}
		return nil
	})
	return rows, more, base.Cursor(page, err)
}

func accountOf(r *db.Reader, m Member) (Account, error) {
	teams, err := r.Memberships(m.ID)
	return Account{m, teams}, err
}

// withUser runs fn in a Write for a user. Errors: CodeNotFound.
func (d *Directory) withUser(ctx context.Context, id string, fn func(tx *db.Tx, u *User) error) error {
	return base.Lookup("user", d.service.DB.WriteCritical(ctx, func(tx *db.Tx) error {
		u, err := tx.User(id)
		if err != nil {
			return err
		}
		return fn(tx, &u)
	}))
}

// SetOperator makes a user an operator, or ends that. A change ends the user's sessions. Errors:
// CodeNotFound, CodeConflict for the last operator and for an account with an unproven address.
func (d *Directory) SetOperator(ctx context.Context, id string, operator bool) (out Account, err error) {
	err = d.withUser(ctx, id, func(tx *db.Tx, u *User) error {
		if u.Operator != operator {
			if err := changeOperator(ctx, tx, u, operator); err != nil {
				return err
			}
		}
		m, err := tx.Person(id)
		if err != nil {
			return err
		}
		out, err = accountOf(&tx.Reader, m)
		return err
	})
	return out, err
}

func changeOperator(ctx context.Context, tx *db.Tx, u *User, operator bool) error {
	if operator && u.OnlyTeam != "" {
		return errUnproven(u)
	}
	if err := checkNotLastOperator(&tx.Reader, u); err != nil {
		return err
	}
	if err := tx.SetOperator(u.ID, operator); err != nil {
		return err
	}
	if _, err := tx.EndSessions(u.ID, ""); err != nil {
		return err
	}
	return base.Audit(ctx, tx, "", "user.update", u.ID, map[string]any{"operator": u.Operator}, map[string]any{"operator": operator})
}

// DeleteAccount is RemoveAccount by id.
func (d *Directory) DeleteAccount(ctx context.Context, id string) (keys []app.Key, err error) {
	return keys, d.withUser(ctx, id, func(tx *db.Tx, u *User) (err error) {
		keys, err = removeAccount(ctx, tx, u)
		return err
	})
}

// LinkAccount is NewLink by id. It also returns the user's address.
func (d *Directory) LinkAccount(ctx context.Context, id string) (address, link string, err error) {
	err = d.withUser(ctx, id, func(tx *db.Tx, u *User) error {
		address = u.Address
		link, err = d.service.signInLink(ctx, tx, u.ID)
		return err
	})
	return address, link, err
}
