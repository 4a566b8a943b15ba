package world

import (
	"errors"
	"strings"

	"mailer/app"
	"mailer/db"
)

// ScatterBroadcast puts the victim's address wherever a broadcast that was sent
// can hold one, and a draft.
func (w *World) ScatterBroadcast(key *app.Key, from string) {
	w.T.Helper()
	sender, err := app.ParseAddress(from)
	Must(w.T, err)
	text := "Ask " + Victim
	Must(w.T, w.DB.Write(w.T.Context(), func(tx *db.Tx) error {
		for _, sent := range []bool{false, true} {
			b := &app.Broadcast{ID: app.NewID(), TeamID: key.TeamID, Name: "of " + Victim, Subject: "Hi from " + Victim, From: sender, CreatedAt: tx.Now,
				ReplyTo:          []app.Address{{Name: "Vic", Local: "Vic.Tim", Domain: "erase.example"}},
				BroadcastContent: app.BroadcastContent{Preview: Victim, HTML: "<p>" + strings.Repeat("long ", 3000) + Victim + "</p>", Text: &text}}
			if err := tx.InsertBroadcast(b); err != nil {
				return err
			}
			if !sent {
				continue
			}
			if err := scatterSent(tx, b); err != nil {
				return err
			}
		}
		return nil
	}))
}

func scatterSent(tx *db.Tx, b *app.Broadcast) error {
	b.Status, b.Relay, b.Mails, b.QueuedAt = app.QueuedBroadcast, app.DefaultRegion, app.NewMails(), tx.Now
	b.Frozen = &app.BroadcastFrozen{Fallbacks: map[string]string{"who": Victim}, Pages: "https://p.example",
		Filter: &app.Filter{Match: app.MatchAll, Conditions: []app.Condition{{Field: "email", Op: app.OpEquals, Value: Victim}}}}
	rows := []app.BroadcastRecipient{
		{ContactID: app.NewID(), Email: strings.ToUpper(Victim), Fields: map[string]string{"first_name": "Bobby"}},
		{ContactID: app.NewID(), Email: "friend@example.net", Fields: map[string]string{"property:friend": Victim}},
		{ContactID: app.NewID(), Email: "other@example.net"},
		{ContactID: app.NewID(), Email: "last@example.net"}, // the content alone tells of the victim
	}
	err := errors.Join(tx.SendBroadcast(b), tx.AppendRecipients(b, rows), tx.EndExpansion(b.ID), tx.InsertBroadcastLinks(b.ID, []string{"https://a.test/?e=" + Victim}))
	for i := range rows {
		id := app.MailID(b.Mails, int64(i+1))
		_, merr := tx.MarkRecipient(b.ID, id, app.SeenSent)
		err = errors.Join(err, merr, tx.InsertCapture(id, []byte("To: "+Victim)))
		if rows[i].Email == "last@example.net" {
			continue
		}
		err = errors.Join(err,
			tx.InsertEvent(app.Event{ID: app.NewID(), EmailID: id, BroadcastID: b.ID, Type: "sent", CreatedAt: tx.Now, Detail: app.EventDetail{Message: "x", Reply: "taken for <" + Victim + ">"}}),
			tx.InsertDoubt(app.Doubt{ID: app.NewID(), TeamID: b.TeamID, EmailID: id, BroadcastID: b.ID, Recipients: []string{rows[i].Email}, Relay: "r", CreatedAt: tx.Now}))
	}
	return errors.Join(err, tx.BeginRecipients(b, len(rows), 0))
}

// Erase erases a contact by its address and waits until all traces are gone.
func (w *World) Erase(address string) {
	w.T.Helper()
	_, err := w.Server.Audience.DeleteContact(w.T.Context(), w.Key, address, true)
	Must(w.T, err)
}

func (w *World) WantNoTrace(address string) {
	w.T.Helper()
	if n := w.OpenErasures(); n != 0 {
		w.T.Errorf("%d erasures are open", n)
	}
	if n := w.Traces(address); n != 0 {
		w.T.Errorf("%d traces of %s", n, address)
	}
	if w.Log.Has("level=ERROR") {
		w.T.Errorf("log:\n%s", w.Log.Text.String())
	}
}
