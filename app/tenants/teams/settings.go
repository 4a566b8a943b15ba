package teams

import (
	"context"
	"fmt"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/rules/automation"
	"mailer/app/rules/brand"
	"mailer/app/tenants/pagehosts"
	"mailer/db"
)

// Settings are the settings of a team.
type Settings = db.TeamSettings

// SettingsChange is a change of a team's settings. Fields that are not set stay.
type SettingsChange struct {
	Name         *string
	LogoURL      app.Change[string]     // null or empty: no logo
	Page         app.Change[brand.Page] // null: default
	SecondFactor *bool
	PagesHost    app.Change[string] // null or empty: none
	TimeZone     app.Change[string] // null or empty: UTC
	// ReplyAddresses: mail without reply_to from a domain that receives gets a reply address of its own.
	ReplyAddresses *bool
}

// TeamSettings returns the settings of a team. Error: CodeNotFound.
func (s *Service) TeamSettings(ctx context.Context, teamID string) (t Settings, err error) {
	t, err = db.Get(ctx, s.DB, func(r *db.Reader) (Settings, error) { return s.settings(r, teamID) })
	return t, base.Lookup("team", err)
}

// settings reads the settings of a team. LogoURL is also set for an uploaded logo.
func (s *Service) settings(r *db.Reader, teamID string) (t Settings, err error) {
	if t, err = r.TeamSettings(teamID); err != nil {
		return t, err
	}
	b, err := r.Brand(teamID)
	t.LogoURL = b.Address(s.Settings.BaseURL)
	return t, err
}

// UpdateTeamSettings changes the settings of a team. Errors: CodeValidation, CodeNotFound,
// CodeConflict if a person without a second factor requires one, and for the pages host of another
// team.
func (s *Service) UpdateTeamSettings(ctx context.Context, key *app.Key, change SettingsChange) (t Settings, err error) {
	if err := change.check(&s.Settings); err != nil {
		return t, err
	}
	err = s.DB.Write(ctx, func(tx *db.Tx) (err error) {
		if t, err = s.settings(&tx.Reader, key.TeamID); err != nil {
			return err
		}
		before := t
		if change.Name != nil {
			if err := s.RenameInTx(ctx, tx, t.ID, *change.Name, false); err != nil {
				return err
			}
			t.Name, before.Name = *change.Name, *change.Name // the rename has its own audit entry
		}
		if change.LogoURL.Set && change.LogoURL.Value != t.LogoURL {
			t.LogoURL = change.LogoURL.Value
			if err := useExternalLogo(tx, t.ID, t.LogoURL); err != nil {
				return err
			}
		}
		if change.Page.Set {
			if t.Page, err = checkPage(tx, t.ID, &change.Page.Value); err != nil {
				return err
			}
		}
		if change.PagesHost.Set {
			if err := pagehosts.Set(ctx, tx, t.ID, change.PagesHost.Value); err != nil {
				return err
			}
		}
		if change.SecondFactor != nil {
			t.SecondFactor = *change.SecondFactor
		}
		if change.TimeZone.Set {
			t.TimeZone = change.TimeZone.Value
		}
		if change.ReplyAddresses != nil {
			t.ReplyAddresses = *change.ReplyAddresses
		}
		if t == before {
			return nil
		}
		if err := checkMayRequireFactor(&tx.Reader, key, &before, &t); err != nil {
			return err
		}
		return storeSettings(ctx, tx, &before, &t)
	})
	return t, base.Lookup("team", err)
}

// storeSettings stores changed settings. In another time zone, automations start at other times.
func storeSettings(ctx context.Context, tx *db.Tx, before, t *Settings) error {
	if err := tx.SetTeamSettings(t); err != nil {
		return err
	}
	if t.TimeZone != before.TimeZone {
		if err := tx.ReplanSchedules(t.ID); err != nil {
			return fmt.Errorf("compute the next times of automations: %w", err)
		}
	}
	return base.Audit(ctx, tx, t.ID, "team.update", t.ID, auditedSettings(before), auditedSettings(t))
}

// SetTimeZone sets the time zone of contacts of a team that have none; empty: UTC. Errors: CodeValidation,
// CodeNotFound.
func (s *Service) SetTimeZone(ctx context.Context, teamID, zone string) error {
	if err := checkTimeZone(zone); err != nil {
		return err
	}
	return base.Lookup("team", s.DB.Write(ctx, func(tx *db.Tx) error {
		t, err := s.settings(&tx.Reader, teamID)
		if err != nil || t.TimeZone == zone {
			return err
		}
		before := t
		t.TimeZone = zone
		return storeSettings(ctx, tx, &before, &t)
	}))
}

// checkTimeZone refuses an unknown time zone. Error: CodeValidation.
func checkTimeZone(name string) error {
	if _, ok := automation.Zone(name); name != "" && !ok {
		return app.Invalid("time_zone", "must be a time zone like Europe/Berlin or UTC")
	}
	return nil
}

// checkPage checks a page and returns its stored form. Error: CodeValidation.
func checkPage(tx *db.Tx, teamID string, p *brand.Page) (string, error) {
	if err := p.Check(); err != nil {
		return "", err
	}
	if p.URL != "" {
		ok, err := tx.VerifiedAbove(teamID, p.Host())
		if err == nil && !ok {
			err = app.Invalid("page.after_unsubscribe_url", "must be at a verified domain of the team, or below one; %s is not", p.Host())
		}
		if err != nil {
			return "", err
		}
	}
	return p.Encode()
}

// checkMayRequireFactor refuses to require a second factor for a person without one, who would lose
// access. Errors: CodeConflict.
func checkMayRequireFactor(r *db.Reader, key *app.Key, before, after *Settings) error {
	if before.SecondFactor || !after.SecondFactor || key.Session == nil {
		return nil
	}
	totp, passkey, err := r.Factors(key.ID)
	if err == nil && !totp && !passkey {
		err = app.Errorf(app.CodeConflict, "Turn a second factor on for your own account first: without one you could not reach the team any more")
	}
	return err
}

func (c *SettingsChange) check(own *base.Settings) (err error) {
	if c.Name != nil {
		name, err := CheckName("name", *c.Name)
		if err != nil {
			return err
		}
		c.Name = &name
	}
	if c.PagesHost.Value != "" {
		if c.PagesHost.Value, err = pagehosts.Parse(own, c.PagesHost.Value); err != nil {
			return err
		}
	}
	return checkTimeZone(c.TimeZone.Value)
}

func auditedSettings(t *Settings) map[string]any {
	return map[string]any{"logo_url": t.LogoURL, "page": t.Page, "second_factor_required": t.SecondFactor, "time_zone": t.TimeZone, "reply_addresses": t.ReplyAddresses}
}
