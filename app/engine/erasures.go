package engine

import (
	"context"

	"mailer/app"
	"mailer/db"
)

// eraseContacts stands in for the erasure, which is built elsewhere: it only
// deletes.
func (e *Engine) eraseContacts(ctx context.Context, teamID string, contacts []app.Contact) error {
	return e.db.WriteVital(ctx, func(tx *db.Tx) error { _, err := deleteContacts(tx, contacts); return err })
}
