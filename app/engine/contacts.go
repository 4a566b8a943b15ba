package engine

import (
	"mailer/app"
	"mailer/db"
)

// findContact reads what a path can name a contact by: its id or its address.
// What is neither names nothing. Error: db.ErrNotFound.
func (e *Engine) findContact(r *db.Reader, teamID, idOrEmail string) (app.Contact, error) {
	if id, ok := app.ParseID(idOrEmail); ok {
		return r.Contact(teamID, id)
	}
	_, folded, err := app.ParseBareAddress(idOrEmail)
	if err != nil {
		return app.Contact{}, db.ErrNotFound
	}
	return r.ContactByAddress(teamID, e.cfg.Sealer.AddressHash(teamID, folded))
}
