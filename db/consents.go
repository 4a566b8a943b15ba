package db

import (
	"database/sql"
	"fmt"

	"mailer/app"
)

const consentColumns = `c.id, c.team_id, c.contact_id, c.opt_in_id, c.form_id, c.record, c.created_at`

func scanConsent(s scanner) (app.Consent, error) {
	var c app.Consent
	var optIn, form, record sql.NullString
	var created int64
	err := s.Scan(&c.ID, &c.TeamID, &c.ContactID, &optIn, &form, &record, &created)
	if err == nil {
		err = fromJSON(record, &c.Record)
	}
	c.OptInID, c.FormID, c.CreatedAt = optIn.String, form.String, fromMilli(created)
	return c, err
}

// InsertConsent adds a consent of a contact.
func (tx *Tx) InsertConsent(c *app.Consent) error {
	record, err := jsonText(&c.Record)
	if err != nil {
		return err
	}
	return tx.Write(`INSERT INTO consents (id, team_id, contact_id, opt_in_id, form_id, record, created_at) VALUES (?, ?, ?, ?, ?, ?, ?)`,
		c.ID, c.TeamID, c.ContactID, nullText(c.OptInID), nullText(c.FormID), record, milli(c.CreatedAt))
}

// Consent returns one consent of a contact of a team.
func (r *Reader) Consent(teamID, contactID, id string) (app.Consent, error) {
	return one(r, scanConsent, `SELECT `+consentColumns+` FROM consents AS c WHERE c.team_id = ? AND c.contact_id = ? AND c.id = ?`, teamID, contactID, id)
}

// ConsentOfOptIn returns the consent of a contact that an opt-in made. Error: ErrNotFound.
func (r *Reader) ConsentOfOptIn(teamID, contactID, optInID string) (app.Consent, error) {
	return one(r, scanConsent, `SELECT `+consentColumns+` FROM consents AS c WHERE c.team_id = ? AND c.contact_id = ? AND c.opt_in_id = ? ORDER BY c.id LIMIT 1`, teamID, contactID, optInID)
}

// ListConsents returns a page of the consents of a contact, newest first, and whether there are more.
// Error: ErrNotFound for an unknown cursor.
func (r *Reader) ListConsents(teamID, contactID string, page app.Page) ([]app.Consent, bool, error) {
	return listPage(r, page, func(cursor string) error { return errorOf(r.Consent(teamID, contactID, cursor)) }, scanConsent,
		`SELECT `+consentColumns+` FROM consents AS c WHERE c.team_id = ? AND c.contact_id = ? AND c.id < ? ORDER BY c.id DESC LIMIT ?`,
		`SELECT `+consentColumns+` FROM consents AS c WHERE c.team_id = ? AND c.contact_id = ? AND c.id > ? ORDER BY c.id LIMIT ?`, teamID, contactID)
}

// ConsentsAfter returns at most limit consents of a team after an id of a contact and of a consent, in
// the order of both.
func (r *Reader) ConsentsAfter(teamID, contactID, after string, limit int) ([]app.Consent, error) {
	rows, err := list(r, scanConsent, `SELECT `+consentColumns+` FROM consents AS c WHERE c.team_id = ? AND c.contact_id = ? AND c.id > ? ORDER BY c.id LIMIT ?`, teamID, contactID, after, limit)
	if err != nil || len(rows) == limit {
		return rows, err
	}
	more, err := list(r, scanConsent, `SELECT `+consentColumns+` FROM consents AS c WHERE c.team_id = ? AND c.contact_id > ? ORDER BY c.contact_id, c.id LIMIT ?`, teamID, contactID, limit-len(rows))
	return append(rows, more...), err
}

// UpdateConsent stores the record of a consent.
func (tx *Tx) UpdateConsent(c *app.Consent) error {
	record, err := jsonText(&c.Record)
	if err != nil {
		return err
	}
	return tx.Write(`UPDATE consents SET record = ? WHERE team_id = ? AND contact_id = ? AND id = ?`, record, c.TeamID, c.ContactID, c.ID)
}

// deleteConsents deletes the consents of a contact, which its opt-ins do not name any more.
func (tx *Tx) deleteConsents(c *app.Contact) error {
	if err := tx.Write(`DELETE FROM consents WHERE team_id = ? AND contact_id = ?`, c.TeamID, c.ID); err != nil {
		return fmt.Errorf("delete consents: %w", err)
	}
	if err := tx.Write(`UPDATE opt_ins SET contact_id = NULL WHERE team_id = ? AND address = ? AND contact_id = ?`, c.TeamID, c.Hash[:], c.ID); err != nil {
		return fmt.Errorf("detach opt-ins: %w", err)
	}
	return nil
}

// EraseOptIns deletes all opt-ins of an address, decided or not. Its refusals and confirmations are hashes
// alone, and stay.
func (tx *Tx) EraseOptIns(teamID string, address app.AddressHash) error {
	if err := tx.Write(`DELETE FROM opt_ins WHERE team_id = ? AND address = ?`, teamID, address[:]); err != nil {
		return fmt.Errorf("erase opt-ins: %w", err)
	}
	return nil
}
