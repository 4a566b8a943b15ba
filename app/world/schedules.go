package world

import (
	"context"
	"testing/synctest"
	"time"

	"mailer/app"
	"mailer/app/mail"
)

// SendAt has an email to bob accepted for a time.
func (w *World) SendAt(at string) string {
	w.T.Helper()
	in := Letter("bob@example.net")
	in.ScheduledAt = at
	id, err := w.Server.Mail.SendEmail(w.T.Context(), w.Key, in, mail.SendOptions{})
	Must(w.T, err)
	return id
}

func (w *World) Move(id, at string) error {
	return w.Server.Mail.RescheduleEmail(w.T.Context(), w.Key, id, at)
}

func (w *World) Cancel(id string) error {
	return w.Server.Mail.CancelEmail(context.Background(), w.Key, id)
}

func (w *World) Remove(id string) error {
	return w.Server.Mail.DeleteEmail(w.T.Context(), w.Key, id)
}

// Sleep lets time pass and everything that it brings about happen.
func Sleep(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// WantGone checks that no table has a trace of an email.
func (w *World) WantGone(id string) {
	w.T.Helper()
	_, err := w.Server.Mail.GetEmail(w.T.Context(), w.Key, id)
	WantCode(w.T, err, app.CodeNotFound)
	tables := w.Sql("SELECT m.name FROM sqlite_master AS m JOIN pragma_table_info(m.name) AS c ON c.name = 'email_id' WHERE m.type = 'table'")
	if len(tables) < 7 {
		w.T.Fatalf("only %q have an email_id", tables)
	}
	for _, table := range tables {
		if n := w.Sql("SELECT count(*) FROM "+table+" WHERE email_id = ?", id)[0]; n != "0" {
			w.T.Errorf("%s rows in %s", n, table)
		}
	}
	if n := w.Sql("SELECT count(*) FROM emails WHERE id = ?", id)[0]; n != "0" {
		w.T.Error("the email is still there")
	}
}

// WantQuiet checks that nothing was logged as an error.
func (w *World) WantQuiet() {
	w.T.Helper()
	if w.Log.Has("level=ERROR") {
		w.T.Errorf("log:\n%s", w.Log.Text.String())
	}
}

// BeforeTheDot are the ways in which an attempt may end without a dot. Each
// waits for the channel first.
func BeforeTheDot(hang chan struct{}) map[string]Answer {
	return map[string]Answer{
		"the dot": After(hang, Accept), "trouble": After(hang, Trouble(app.StageRcpt, "connection reset")),
		"deferred": After(hang, Says(app.StageData, 451, "later")), "refused": After(hang, Says(app.StageData, 554, "no")),
		"recipient refused":  After(hang, ByName(map[string]int{"bob@example.net": 550})),
		"recipient deferred": After(hang, ByName(map[string]int{"bob@example.net": 450})),
		"refused locally":    After(hang, RefuseLocally),
		"panic": After(hang, func(context.Context, *app.Outgoing, func() error) app.Result {
			panic("boom")
		}),
	}
}
