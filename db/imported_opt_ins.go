package db

import (
	"time"

	"mailer/app"
)

// HasOptIn reports whether an address has an opt-in of a team that was asked for at a time, so that an
// import that runs again finds those that it created.
func (r *Reader) HasOptIn(teamID string, address app.AddressHash, requestedAt time.Time) (has bool, err error) {
	err = r.Row(`SELECT EXISTS (SELECT 1 FROM opt_ins WHERE team_id = ? AND address = ? AND requested_at = ?)`, []any{teamID, address[:], milli(requestedAt)}, &has)
	return has, err
}

// ConsentsOf returns the newest consents of a contact of a team, at most limit.
func (r *Reader) ConsentsOf(teamID, contactID string, limit int) ([]app.Consent, error) {
	return list(r, scanConsent, `SELECT `+consentColumns+` FROM consents AS c WHERE c.team_id = ? AND c.contact_id = ? ORDER BY c.id DESC LIMIT ?`, teamID, contactID, limit)
}
