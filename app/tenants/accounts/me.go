package accounts

import (
	"context"
	"strings"

	"mailer/app"
	"mailer/app/base"
	"mailer/db"
)

// Me is the signed-in user as he sees himself.
type Me struct {
	User
	Teams   []Membership
	Factors []string
	Session Session
	Codes   int // unused recovery codes
}

// Me returns the user of a session. Errors: CodeInvalidCredentials.
func (s *Service) Me(ctx context.Context, key *app.Key) (m Me, err error) {
	err = s.DB.Read(ctx, func(r *db.Reader) (err error) {
		m, err = readMe(r, key)
		return err
	})
	return m, signedOut(err)
}

func readMe(r *db.Reader, key *app.Key) (m Me, err error) {
	if m.User, err = r.User(key.ID); err != nil {
		return m, err
	}
	if m.Session, err = r.Session(key.ID, key.Session.ID); err != nil {
		return m, err
	}
	if m.Teams, err = r.Memberships(key.ID); err != nil {
		return m, err
	}
	if m.Factors, err = factorsOf(r, key.ID); err != nil {
		return m, err
	}
	m.Codes, err = r.CountRecoveryCodes(key.ID)
	return m, err
}

// signedOut turns the error of a deleted account or session into that of a signed-out user.
func signedOut(err error) error {
	if app.CodeOf(base.Lookup("session", err)) == app.CodeNotFound {
		return app.SignedOut()
	}
	return base.Unavailable(err)
}

// MeInput is a change that a user makes of himself; nil fields stay.
type MeInput struct {
	Name, Language, Theme *string
}

// languages are the languages of the dashboard.
const languages = " de en es fr it ja nl pl pt zh "

// UpdateMe changes the settings of a user. An empty language or theme is that of the browser.
// Errors: CodeValidation, CodeInvalidCredentials.
func (s *Service) UpdateMe(ctx context.Context, key *app.Key, in *MeInput) (m Me, err error) {
	if err := in.check(); err != nil {
		return m, err
	}
	err = s.DB.Write(ctx, func(tx *db.Tx) error {
		u, err := tx.User(key.ID)
		if err != nil {
			return err
		}
		before := map[string]any{"name": u.Name}
		for _, f := range []struct{ to, from *string }{{&u.Name, in.Name}, {&u.Language, in.Language}, {&u.Theme, in.Theme}} {
			if f.from != nil {
				*f.to = strings.TrimSpace(*f.from)
			}
		}
		if err := tx.UpdateUser(&u); err != nil {
			return err
		}
		if before["name"] != u.Name {
			if err := base.Audit(ctx, tx, "", "user.rename", u.ID, before, map[string]any{"name": u.Name}); err != nil {
				return err
			}
		}
		m, err = readMe(&tx.Reader, key)
		return err
	})
	return m, signedOut(err)
}

func (in *MeInput) check() error {
	if in.Name != nil {
		if err := CheckUserName(strings.TrimSpace(*in.Name)); err != nil {
			return err
		}
	}
	if l := in.Language; l != nil && *l != "" && (strings.Contains(*l, " ") || !strings.Contains(languages, " "+*l+" ")) {
		return app.Invalid("language", "must be one of%s", strings.TrimRight(languages, " "))
	}
	if th := in.Theme; th != nil && *th != "" && *th != "light" && *th != "dark" {
		return app.Invalid("theme", "must be light, dark or empty")
	}
	return nil
}
