package world

import (
	"mailer/app"
	"mailer/app/feedback"
	"mailer/db"
)

// SetMX has the last check have found that of the MX of the return path.
func (w *World) SetMX(live app.Live) {
	w.T.Helper()
	Must(w.T, w.DB.Write(w.T.Context(), func(tx *db.Tx) error {
		d, err := tx.DomainByName(w.Key.TeamID, TestDomain)
		if err != nil {
			return err
		}
		d.Checks = nil
		if live != "" {
			d.Checks = []app.RecordCheck{{Record: app.RecordSPF, Name: d.ReturnPathName(), Type: "MX", Live: live}}
		}
		return tx.SetDomainChecks(&d)
	}))
}

// Came has a message come to the return path of an email's n-th transaction.
func (w *World) Came(mailbox, raw string) error {
	w.T.Helper()
	path, ok := w.Server.Reports.ReadReturnPath(mailbox)
	if !ok {
		w.T.Fatalf("%s is no return path", mailbox)
	}
	return w.Server.Reports.TakeBounce(w.T.Context(), path, feedback.ReadBounce([]byte(raw), true))
}
