package db

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"mailer/app"
	"mailer/app/kit/membudget"
	"mailer/db/engine"
)

const contactColumns = `c.id, c.team_id, c.address, c.email, coalesce(c.first_name, ''), coalesce(c.last_name, ''), c.unsubscribed,
	json(c.properties), c.created_at, c.updated_at, c.last_sent_at, c.last_opened_at, c.last_clicked_at, c.last_replied_at`

func scanContact(s scanner) (app.Contact, error) {
	var c app.Contact
	var properties sql.NullString
	var created, updated int64
	var sent, opened, clicked, replied sql.NullInt64
	err := s.Scan(&c.ID, &c.TeamID, (*hashColumn)(&c.Hash), &c.Email, &c.FirstName, &c.LastName, &c.Unsubscribed, &properties, &created, &updated,
		&sent, &opened, &clicked, &replied)
	if err != nil {
		return c, err
	}
	c.LastSentAt, c.LastOpenedAt, c.LastClickedAt, c.LastRepliedAt = fromMilli(sent.Int64), fromMilli(opened.Int64), fromMilli(clicked.Int64), fromMilli(replied.Int64)
	c.CreatedAt, c.UpdatedAt = fromMilli(created), fromMilli(updated)
	c.Properties, err = readProperties(properties)
	return c, err
}

// contactScanner returns scanContact for a list. The properties of contacts, which can be far
// larger than other rows, count in the memory budget of ctx.
func contactScanner(ctx context.Context) func(scanner) (app.Contact, error) {
	memory := membudget.NewCounter(ctx)
	return func(s scanner) (app.Contact, error) {
		c, err := scanContact(s)
		if err == nil {
			err = memory.Add(c.Properties.Size())
		}
		return c, err
	}
}

// writeProperties returns the JSON object of the properties column; NULL without
// properties.
func writeProperties(p app.Properties) (any, error) {
	if len(p) == 0 {
		return nil, nil
	}
	values := make(map[string]any, len(p))
	for key, v := range p {
		values[key] = v.Text
		if v.Type == app.NumberProperty {
			v.Number += 0                            // -0 becomes 0
			values[key] = jsontext.Value(v.String()) // filters compare this form
		}
	}
	b, err := json.Marshal(values, json.Deterministic(true))
	if err != nil {
		return nil, fmt.Errorf("encode properties: %w", err)
	}
	return string(b), nil
}

func readProperties(column sql.NullString) (app.Properties, error) {
	if !column.Valid {
		return nil, nil
	}
	var values map[string]any
	if err := json.Unmarshal([]byte(column.String), &values); err != nil {
		return nil, fmt.Errorf("decode properties: %w", err)
	}
	out := make(app.Properties, len(values))
	for key, value := range values {
		switch v := value.(type) {
		case string:
			out[key] = app.PropertyValue{Type: app.StringProperty, Text: v}
		case float64:
			out[key] = app.PropertyValue{Type: app.NumberProperty, Number: v}
		default:
			return nil, fmt.Errorf("decode properties: %s is neither string nor number", key)
		}
	}
	return out, nil
}

// InsertContact adds a contact and counts it. The team must have no contact with the
// address.
func (tx *Tx) InsertContact(c *app.Contact) error {
	tx.Changed(engine.Suppressions)
	tx.ChangedCounts(c.TeamID)
	properties, err := writeProperties(c.Properties)
	if err != nil {
		return err
	}
	err = tx.Write(`INSERT INTO contacts (`+contactInserted+`) VALUES `+contactRow, insertedContact(c, properties)...)
	if err != nil {
		return fmt.Errorf("insert contact: %w", err)
	}
	return nil
}

// CountContacts adds n, which may be negative, to a team's contact counter.
func (tx *Tx) CountContacts(teamID string, n int) error {
	if n == 0 {
		return nil
	}
	err := tx.Write(`UPDATE teams SET contacts = contacts + ? WHERE id = ?`, n, teamID)
	return err
}

// ContactCount returns a team's contact counter.
func (r *Reader) ContactCount(teamID string) (n int, err error) {
	err = r.Row(`SELECT contacts FROM teams WHERE id = ?`, []any{teamID}, &n)
	return n, err
}

// UpdateContact stores the editable fields of a contact.
func (tx *Tx) UpdateContact(c *app.Contact) error {
	tx.Changed(engine.Suppressions)
	tx.ChangedCounts(c.TeamID)
	properties, err := writeProperties(c.Properties)
	if err != nil {
		return err
	}
	return tx.WriteOne(`UPDATE contacts SET first_name = ?, last_name = ?, unsubscribed = ?, properties = jsonb(?), updated_at = ?
		WHERE team_id = ? AND id = ?`,
		nullText(c.FirstName), nullText(c.LastName), c.Unsubscribed, properties, milli(c.UpdatedAt), c.TeamID, c.ID)
}

// FormerAddress is an address that a contact had before.
type FormerAddress struct {
	Hash  app.AddressHash
	Email string // as given
}

// MoveContact stores a new address of a contact and keeps a different old one as a former
// address. Choices of the old address are copied to the new one unless the new one opted
// out; opt-outs of the old address stay. No other contact may have the new address.
func (tx *Tx) MoveContact(was, c *app.Contact) error {
	tx.Changed(engine.Suppressions)
	tx.ChangedCounts(c.TeamID)
	n, err := tx.Exec(`UPDATE contacts SET email = ?, address = ? WHERE team_id = ? AND id = ?`, c.Email, c.Hash[:], c.TeamID, c.ID)
	if err := oneRow(n, err, ErrNotFound); err != nil || was.Hash == c.Hash {
		return err
	}
	if err := tx.Write(`DELETE FROM former_addresses WHERE team_id = ? AND contact_id = ? AND address = ?`, c.TeamID, c.ID, c.Hash[:]); err != nil {
		return fmt.Errorf("forget a former address: %w", err)
	}
	if err := tx.Write(`INSERT INTO former_addresses (team_id, contact_id, address, email) VALUES (?, ?, ?, ?)`,
		c.TeamID, c.ID, was.Hash[:], was.Email); err != nil {
		return fmt.Errorf("keep a former address: %w", err)
	}
	if err := tx.Write(`INSERT INTO choices (topic_id, address, subscription, chosen_at)
		SELECT ch.topic_id, ?, ch.subscription, ch.chosen_at FROM topics AS t JOIN choices AS ch ON ch.topic_id = t.id AND ch.address = ? WHERE t.team_id = ?
		ON CONFLICT (topic_id, address) DO UPDATE SET subscription = 'opt_out', chosen_at = excluded.chosen_at
		WHERE excluded.subscription = 'opt_out' AND choices.subscription = 'opt_in'`, c.Hash[:], was.Hash[:], c.TeamID); err != nil {
		return fmt.Errorf("copy choices: %w", err)
	}
	return tx.deleteOptIns(was)
}

// KeepFormerAddress stores a former address of a contact.
func (tx *Tx) KeepFormerAddress(teamID, contactID string, f FormerAddress) error {
	err := tx.Write(`INSERT INTO former_addresses (team_id, contact_id, address, email) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING`, teamID, contactID, f.Hash[:], f.Email)
	if err != nil {
		return fmt.Errorf("keep a former address: %w", err)
	}
	return nil
}

// deleteOptIns deletes the choices of a contact's address except opt-outs.
func (tx *Tx) deleteOptIns(c *app.Contact) error {
	tx.Changed(engine.Suppressions)
	err := tx.Write(`DELETE FROM choices WHERE address = ? AND subscription = 'opt_in'
		AND topic_id IN (SELECT id FROM topics WHERE team_id = ?)`, c.Hash[:], c.TeamID)
	if err != nil {
		return fmt.Errorf("delete choices: %w", err)
	}
	return nil
}

// FormerAddresses returns the former addresses of a contact that no contact of the team
// has now.
func (r *Reader) FormerAddresses(teamID, contactID string) ([]FormerAddress, error) {
	return list(r, func(s scanner) (f FormerAddress, err error) {
		err = s.Scan((*hashColumn)(&f.Hash), &f.Email)
		return f, err
	}, `SELECT f.address, f.email FROM former_addresses AS f WHERE f.team_id = ?1 AND f.contact_id = ?2
		AND NOT EXISTS (SELECT 1 FROM contacts AS c WHERE c.team_id = ?1 AND c.address = f.address) ORDER BY f.address`, teamID, contactID)
}

// ContactsMovedFrom returns the contacts of a team with this former address, if no contact
// has it now.
func (r *Reader) ContactsMovedFrom(teamID string, address app.AddressHash) ([]app.Contact, error) {
	return list(r, scanContact, `SELECT `+contactColumns+` FROM former_addresses AS f CROSS JOIN contacts AS c
		ON f.team_id = ?1 AND f.address = ?2 AND c.team_id = ?1 AND c.id = f.contact_id
		AND NOT EXISTS (SELECT 1 FROM contacts AS o WHERE o.team_id = ?1 AND o.address = ?2) ORDER BY f.contact_id`, teamID, address[:])
}

// DeleteFormerAddress deletes an address from a team's former addresses and former
// envelopes.
func (tx *Tx) DeleteFormerAddress(teamID string, address app.AddressHash) error {
	if err := tx.Write(`DELETE FROM former_addresses WHERE team_id = ? AND address = ?`, teamID, address[:]); err != nil {
		return fmt.Errorf("delete a former address: %w", err)
	}
	if err := tx.Write(`DELETE FROM former_envelopes WHERE team_id = ? AND address = ?`, teamID, address[:]); err != nil {
		return fmt.Errorf("delete an address of former envelopes: %w", err)
	}
	return nil
}

// DeleteContact deletes a contact with its memberships and consents, ends its runs, and updates counters.
// Opt-outs of the address stay, because they hold if the address is added again.
func (tx *Tx) DeleteContact(c *app.Contact) error {
	tx.Changed(engine.Suppressions)
	tx.ChangedCounts(c.TeamID)
	if err := tx.deleteOptIns(c); err != nil {
		return err
	}
	if err := tx.Write(`DELETE FROM former_addresses WHERE team_id = ? AND contact_id = ?`, c.TeamID, c.ID); err != nil {
		return fmt.Errorf("delete former addresses: %w", err)
	}
	err := tx.Write(`UPDATE segments SET members = members - 1 WHERE team_id = ? AND id IN (SELECT segment_id FROM members WHERE contact_id = ?)`, c.TeamID, c.ID)
	if err != nil {
		return fmt.Errorf("count members: %w", err)
	}
	// contact ids are unique in a team only: an id imported from another server may exist in another team too
	if err := tx.Write(`DELETE FROM members WHERE contact_id = ? AND segment_id NOT IN (SELECT s.id FROM segments AS s WHERE s.team_id <> ? AND s.id = members.segment_id)`, c.ID, c.TeamID); err != nil {
		return fmt.Errorf("delete memberships: %w", err)
	}
	if err := tx.deleteConsents(c); err != nil {
		return err
	}
	if err := tx.leaveAutomations(c); err != nil {
		return err
	}
	n, err := tx.Exec(`DELETE FROM contacts WHERE team_id = ? AND id = ?`, c.TeamID, c.ID)
	if err := oneRow(n, err, ErrNotFound); err != nil {
		return err
	}
	return tx.CountContacts(c.TeamID, -1)
}

// Contact returns one contact of a team with its properties.
func (r *Reader) Contact(teamID, id string) (app.Contact, error) {
	return one(r, scanContact, `SELECT `+contactColumns+` FROM contacts AS c WHERE c.team_id = ? AND c.id = ?`, teamID, id)
}

// ContactByAddress returns a team's contact of an address.
func (r *Reader) ContactByAddress(teamID string, address app.AddressHash) (app.Contact, error) {
	return one(r, scanContact, `SELECT `+contactColumns+` FROM contacts AS c WHERE c.team_id = ? AND c.address = ?`, teamID, address[:])
}

// ContactExists reports whether a team has a contact.
func (r *Reader) ContactExists(teamID, id string) (exists bool, err error) {
	err = r.Row(`SELECT EXISTS (SELECT 1 FROM contacts WHERE team_id = ? AND id = ?)`, []any{teamID, id}, &exists)
	return exists, err
}

// NewestContact returns the highest contact id of a team. Error: ErrNotFound without
// contacts.
func (r *Reader) NewestContact(teamID string) (id string, err error) {
	err = r.Row(`SELECT id FROM contacts WHERE team_id = ? ORDER BY id DESC LIMIT 1`, []any{teamID}, &id)
	return id, err
}

// MiddleContact returns an id with about half of a team's contacts before it. Error:
// ErrNotFound without contacts.
func (r *Reader) MiddleContact(teamID string) (id string, err error) {
	n, err := r.ContactCount(teamID)
	if err != nil {
		return "", err
	}
	err = r.Row(`SELECT id FROM contacts WHERE team_id = ? ORDER BY id LIMIT 1 OFFSET ?`, []any{teamID, n / 2}, &id)
	return id, err
}

// ListContacts returns a page of a team's contacts, newest first, and whether there are
// more in the direction of the page. Error: ErrNotFound for an unknown cursor.
func (r *Reader) ListContacts(ctx context.Context, teamID string, page app.Page) ([]app.Contact, bool, error) {
	return listPage(r, page, func(cursor string) error {
		return r.Exists(`SELECT 1 FROM contacts WHERE team_id = ? AND id = ?`, teamID, cursor)
	}, contactScanner(ctx),
		`SELECT `+contactColumns+` FROM contacts AS c WHERE c.team_id = ? AND c.id < ? ORDER BY c.id DESC LIMIT ?`,
		`SELECT `+contactColumns+` FROM contacts AS c WHERE c.team_id = ? AND c.id > ? ORDER BY c.id LIMIT ?`, teamID)
}

// AddTopics sets the topics of each contact: all topics of the team with the subscription
// of its address, newest first.
func (r *Reader) AddTopics(teamID string, contacts []app.Contact) error {
	topics, err := list(r, scanTopic, `SELECT `+topicColumns+` FROM topics AS t WHERE t.team_id = ? ORDER BY t.id DESC`, teamID)
	if err != nil {
		return fmt.Errorf("read topics: %w", err)
	}
	for i := range contacts {
		chosen, err := list(r, scanChoice, `SELECT ch.topic_id, ch.subscription FROM topics AS t
			JOIN choices AS ch ON ch.topic_id = t.id AND ch.address = ? WHERE t.team_id = ?`, contacts[i].Hash[:], teamID)
		if err != nil {
			return fmt.Errorf("read choices: %w", err)
		}
		contacts[i].Topics = withChoices(topics, chosen)
	}
	return nil
}

func scanChoice(s scanner) (app.TopicChoice, error) {
	var c app.TopicChoice
	err := s.Scan(&c.ID, &c.Subscription)
	return c, err
}

func withChoices(topics []app.Topic, chosen []app.TopicChoice) []app.ContactTopic {
	explicit := make(map[string]app.Subscription, len(chosen))
	for _, c := range chosen {
		explicit[c.ID] = c.Subscription
	}
	out := make([]app.ContactTopic, len(topics))
	for i, t := range topics {
		out[i] = app.ContactTopic{Topic: t, Subscription: t.Default}
		if s, ok := explicit[t.ID]; ok {
			out[i].Subscription, out[i].Explicit = s, true
		}
	}
	return out
}
