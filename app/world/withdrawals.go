package world

import "mailer/app"

// WantCanceled checks that a cancel was the end of an email.
func (w *World) WantCanceled(id string) {
	w.T.Helper()
	w.WantLast(id, app.Canceled)
	w.EventOf(id, app.EventType(app.Canceled))
	if u := w.Unit(id); u != nil {
		w.T.Errorf("its work is still open: %+v", u)
	}
	if n := w.Sql("SELECT count(*) FROM recipients WHERE email_id = ? AND state <> 'canceled'", id)[0]; n != "0" {
		w.T.Errorf("%s recipients still wait", n)
	}
	WantCode(w.T, w.Cancel(id), app.CodeValidation)
	WantCode(w.T, w.Move(id, "in 1 hour"), app.CodeValidation)
}
