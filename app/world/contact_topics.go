package world

import (
	"strings"

	"mailer/app"
	"mailer/db"
)

// AddContact puts somebody into the team's audience.
func (w *World) AddContact(email string) string {
	w.T.Helper()
	var id string
	Must(w.T, w.DB.Write(w.T.Context(), func(tx *db.Tx) error {
		c := app.Contact{ID: app.NewID(), TeamID: w.Key.TeamID, Email: email, CreatedAt: tx.Now, UpdatedAt: tx.Now,
			Hash: w.Config.Sealer.AddressHash(w.Key.TeamID, strings.ToLower(email))}
		id = c.ID
		return tx.InsertContact(&c)
	}))
	return id
}
