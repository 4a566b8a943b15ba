package world

import (
	"mailer/app"
	"mailer/db"
)

// WantNothing checks that no email and no unit is there.
func (w *World) WantNothing() {
	w.T.Helper()
	emails, _, err := w.Server.Mail.ListEmails(w.T.Context(), w.Key, app.Page{Limit: 100})
	Must(w.T, err)
	w.Read(func(r *db.Reader) error {
		relays, err := r.UnitRelays()
		if len(emails) != 0 || len(relays) != 0 {
			w.T.Errorf("%d emails, units at %v after a refusal", len(emails), relays)
		}
		return err
	})
}
