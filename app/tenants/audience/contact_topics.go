package audience

import (
	"context"
	"slices"

	"mailer/app"
	"mailer/app/base"
	"mailer/db"
)

// ListContactTopics returns a page of the team's topics with the subscription of a contact, named
// by id or address, newest first, and whether there are more. Errors: CodeNotFound for an unknown
// contact, CodeValidation for an unknown cursor.
func (s *Service) ListContactTopics(ctx context.Context, key *app.Key, idOrEmail string, page app.Page) (rows []app.ContactTopic, more bool, err error) {
	rows, more, err = db.GetPage(ctx, s.DB, func(r *db.Reader) ([]app.ContactTopic, bool, error) {
		c, err := s.findContact(r, key.TeamID, idOrEmail)
		if err != nil {
			return nil, false, base.Lookup("contact", err)
		}
		return r.ListTopicsFor(key.TeamID, c.Hash, page)
	})
	return rows, more, base.Cursor(page, err)
}

// SetContactTopics stores the topic choices of a contact, named by id or address: all of them or,
// with an error, none. The last of several choices about a topic is used. It returns the contact's
// id and the named topics, each once, with the new subscriptions. Errors: CodeValidation,
// CodeNotFound for an unknown contact or topic.
func (s *Service) SetContactTopics(ctx context.Context, key *app.Key, idOrEmail string, choices []app.TopicChoice) (contactID string, rows []app.ContactTopic, err error) {
	if len(choices) == 0 {
		return "", nil, app.Invalid("topics", "is required")
	}
	if choices, err = app.ValidateChoices("topics", choices); err != nil {
		return "", nil, err
	}
	choices = app.LastChoices(choices)
	write := s.DB.Write
	if slices.ContainsFunc(choices, func(c app.TopicChoice) bool { return c.Subscription == app.OptOut }) {
		write = s.DB.WriteCritical // an opt-out must succeed on a full disk
	}
	err = write(ctx, func(tx *db.Tx) error {
		c, err := s.findContact(&tx.Reader, key.TeamID, idOrEmail)
		if err != nil {
			return base.Lookup("contact", err)
		}
		contactID = c.ID
		rows, err = s.choose(s.signals(tx, key.TeamID, nil), &c, choices)
		return err
	})
	return contactID, rows, base.Unavailable(err)
}

// choose stores choices of a contact, each topic once, and announces the changes.
func (s *Service) choose(g *signals, c *app.Contact, choices []app.TopicChoice) ([]app.ContactTopic, error) {
	tx := g.tx
	if err := g.before(c); err != nil {
		return nil, err
	}
	rows, changed := make([]app.ContactTopic, len(choices)), []app.TopicChoice(nil)
	for i, choice := range choices {
		row, err := tx.TopicFor(c.TeamID, choice.ID, c.Hash)
		if err != nil {
			return nil, base.Lookup("topic", err)
		}
		is, err := tx.SetChoice(choice.ID, c.Hash, choice.Subscription)
		if err != nil {
			return nil, err
		}
		if is {
			changed = append(changed, choice)
		}
		row.Subscription, row.Explicit = choice.Subscription, true
		rows[i] = row
	}
	if err := s.announceChoices(tx, c.TeamID, c.Email, changed); err != nil {
		return nil, err
	}
	return rows, g.choicesChanged(c, changed)
}

// PreferencesLink returns the URL of the preferences page of a contact, named by id or address, and
// the contact's id. It stores nothing. The link does not expire. Errors: CodeNotFound.
func (s *Service) PreferencesLink(ctx context.Context, key *app.Key, idOrEmail string) (contactID, url string, err error) {
	c, err := db.Get(ctx, s.DB, func(r *db.Reader) (app.Contact, error) { return s.findContact(r, key.TeamID, idOrEmail) })
	if err != nil {
		return "", "", base.Lookup("contact", err)
	}
	token := s.Sealer.PageToken(app.PreferencesPage, app.PageLink{TeamID: key.TeamID, Address: c.Hash})
	return c.ID, s.Settings.BaseURL + "/preferences/" + token, nil
}
