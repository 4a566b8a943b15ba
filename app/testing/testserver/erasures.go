package testserver

import (
	"bytes"
	"errors"
	"os"
	"strings"

	"mailer/app"
	"mailer/app/sending/mail"
	"mailer/db"
)

// Person makes a contact of a team.
func (w *World) Person(teamID, email string) app.Contact {
	w.T.Helper()
	in := app.ContactInput{Email: email, FirstName: "Bobby", LastName: "Tables"}
	n, err := in.Validate()
	Must(w.T, err)
	var c app.Contact
	Must(w.T, w.DB.Write(w.T.Context(), func(tx *db.Tx) error {
		cw, err := w.Server.Audience.NewContactWriter(tx, teamID)
		if err != nil {
			return err
		}
		id, _, err := cw.Put(n, app.ConflictUpsert)
		if err != nil {
			return err
		}
		if c, err = tx.Contact(teamID, id); err != nil {
			return err
		}
		return cw.Finish()
	}))
	return c
}

// Files are the bytes of the database, its log and its index; of one elsewhere what all
// of its rows hold.
func (w *World) Files() []byte {
	w.T.Helper()
	if IsElsewhere() {
		return bytes.ToLower(w.allRows())
	}
	var all []byte
	for _, end := range []string{"", "-wal", "-shm"} {
		b, err := os.ReadFile(w.Path + end)
		if err != nil && !os.IsNotExist(err) {
			w.T.Fatal(err)
		}
		all = append(all, bytes.ToLower(b)...)
	}
	return all
}

// Traces counts an address in the files, in whatever case.
func (w *World) Traces(address string) int {
	w.T.Helper()
	local, domain, _ := strings.Cut(strings.ToLower(address), "@")
	all := w.Files()
	return bytes.Count(all, []byte(local+"@"+domain)) + bytes.Count(all, []byte(local+`","domain":"`+domain)) +
		bytes.Count(all, []byte(local+"%40"+domain))
}

// OpenErasures counts the erasures that are not done.
func (w *World) OpenErasures() int {
	w.T.Helper()
	n := 0
	w.Read(func(r *db.Reader) error {
		rows, err := r.Erasures(100)
		n = len(rows)
		return err
	})
	return n
}

// Crowd writes n emails of a team in a few Writes; to returns the recipients of
// each and fill adds what it says.
func (w *World) Crowd(key *app.Key, n int, fill func(i int, in *app.EmailInput)) {
	w.T.Helper()
	for from := 0; from < n; from += 250 {
		Must(w.T, w.DB.Write(w.T.Context(), func(tx *db.Tx) error {
			for i := from; i < min(n, from+250); i++ {
				in := Letter()
				fill(i, in)
				email, err := mail.NewEmail(key, in)
				if err := errors.Join(err, w.Server.Mail.Accept(tx, email)); err != nil {
					return err
				}
			}
			return nil
		}))
	}
}

// Victim is an address that tests erase.
const Victim = "Vic.Tim@erase.example"

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

// WantNoTrace checks that no erasure is open and the files hold no trace of an address.
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
