package testserver

import (
	"errors"
	"fmt"
	"strings"

	"mailer/app"
	"mailer/app/sending/mail"
	"mailer/db"
)

// CreateContact creates a contact of a team.
func (w *Server) CreateContact(teamID, email string) app.Contact {
	w.T.Helper()
	in := app.ContactInput{Email: email, FirstName: "Bobby", LastName: "Tables"}
	n, err := in.Validate()
	Must(w.T, err)
	var c app.Contact
	Must(w.T, w.DB.Write(w.T.Context(), func(tx *db.Tx) error {
		cw, err := w.Services.Audience.NewContactWriter(tx, teamID)
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

// Traces returns the columns with an address, in any case, as "table.column", once for each row.
func (w *Server) Traces(address string) (columns []string) {
	w.T.Helper()
	local, domain, _ := strings.Cut(strings.ToLower(address), "@")
	w.eachValue(func(column string, value any) {
		text := strings.ToLower(fmt.Sprint(value))
		if strings.Contains(text, local+"@"+domain) || strings.Contains(text, local+`","domain":"`+domain) || strings.Contains(text, local+"%40"+domain) {
			columns = append(columns, column)
		}
	})
	return columns
}

// CountTraces counts the values that contain an address, in any case.
func (w *Server) CountTraces(address string) int {
	w.T.Helper()
	return len(w.Traces(address))
}

// OpenErasures counts the open erasures.
func (w *Server) OpenErasures() int {
	w.T.Helper()
	n := 0
	w.Read(func(r *db.Reader) error {
		rows, err := r.Erasures(100)
		n = len(rows)
		return err
	})
	return n
}

// AddEmails stores n emails of a team in a few writes. fill sets the i-th email.
func (w *Server) AddEmails(key *app.Key, n int, fill func(i int, in *app.EmailInput)) {
	w.T.Helper()
	for from := 0; from < n; from += 250 {
		Must(w.T, w.DB.Write(w.T.Context(), func(tx *db.Tx) error {
			for i := from; i < min(n, from+250); i++ {
				in := Message()
				fill(i, in)
				email, err := mail.NewEmail(key, in)
				if err := errors.Join(err, w.Services.Mail.Accept(tx, email)); err != nil {
					return err
				}
			}
			return nil
		}))
	}
}

// ErasedAddress is an address that tests erase.
const ErasedAddress = "Vic.Tim@erase.example"

// PlantInBroadcasts stores ErasedAddress in all fields and texts of a sent broadcast and of a draft.
func (w *Server) PlantInBroadcasts(key *app.Key, from string) {
	w.T.Helper()
	sender, err := app.ParseAddress(from)
	Must(w.T, err)
	text := "Ask " + ErasedAddress
	Must(w.T, w.DB.Write(w.T.Context(), func(tx *db.Tx) error {
		for _, sent := range []bool{false, true} {
			b := &app.Broadcast{ID: app.NewID(), TeamID: key.TeamID, Name: "of " + ErasedAddress, Subject: "Hi from " + ErasedAddress, From: sender, CreatedAt: tx.Now,
				ReplyTo: []app.Address{{Name: "Vic", Local: "Vic.Tim", Domain: "erase.example"}},
				BroadcastContent: app.BroadcastContent{Preview: ErasedAddress, HTML: "<p>" + strings.Repeat("long ", 3000) + ErasedAddress + "</p>", Text: &text,
					Variants: app.Variants{"de": {Subject: "Von " + ErasedAddress}}}}
			if err := tx.InsertBroadcast(b); err != nil {
				return err
			}
			if !sent {
				continue
			}
			if err := plantInSent(tx, b); err != nil {
				return err
			}
		}
		return nil
	}))
}

func plantInSent(tx *db.Tx, b *app.Broadcast) error {
	b.Status, b.Relay, b.EmailIDPrefix, b.QueuedAt = app.QueuedBroadcast, app.DefaultRegion, app.NewEmailIDPrefix(), tx.Now
	b.Snapshot = &app.BroadcastSnapshot{Fallbacks: map[string]string{"who": ErasedAddress}, Pages: "https://p.example",
		Filter: &app.Filter{Match: app.MatchAll, Conditions: []app.Condition{{Field: "email", Op: app.OpEquals, Value: ErasedAddress}}}}
	rows := []app.BroadcastRecipient{
		{ContactID: app.NewID(), Email: strings.ToUpper(ErasedAddress), Fields: map[string]string{"first_name": "Bobby"}},
		{ContactID: app.NewID(), Email: "friend@example.net", Fields: map[string]string{"property:friend": ErasedAddress}},
		{ContactID: app.NewID(), Email: "other@example.net"},
		{ContactID: app.NewID(), Email: "last@example.net"}, // only the content contains the address
	}
	err := errors.Join(tx.SendBroadcast(b), tx.AppendRecipients(b, rows), tx.EndExpansion(b.ID), tx.InsertBroadcastLinks(b.ID, []string{"https://a.test/?e=" + ErasedAddress}))
	for i := range rows {
		id := app.BroadcastEmailID(b.EmailIDPrefix, int64(i+1))
		_, merr := tx.MarkRecipient(b.ID, id, app.SeenSent)
		err = errors.Join(err, merr, tx.InsertCapture(id, []byte("To: "+ErasedAddress)))
		if rows[i].Email == "last@example.net" {
			continue
		}
		err = errors.Join(err,
			tx.InsertEvent(app.Event{ID: app.NewID(), EmailID: id, BroadcastID: b.ID, Type: "sent", CreatedAt: tx.Now, Detail: app.EventDetail{Message: "x", Reply: "taken for <" + ErasedAddress + ">"}}),
			tx.InsertDoubt(app.Doubt{ID: app.NewID(), TeamID: b.TeamID, EmailID: id, BroadcastID: b.ID, Recipients: []string{rows[i].Email}, Relay: "r", CreatedAt: tx.Now}))
	}
	return errors.Join(err, tx.BeginRecipients(b, len(rows), 0))
}

// Erase erases a contact by its address and waits until the erasure is done.
func (w *Server) Erase(address string) {
	w.T.Helper()
	_, err := w.Services.Audience.DeleteContact(w.T.Context(), w.Key, address, true)
	Must(w.T, err)
}

// WantNoTrace checks that no erasure is open and that no row contains an address.
func (w *Server) WantNoTrace(address string) {
	w.T.Helper()
	if n := w.OpenErasures(); n != 0 {
		w.T.Errorf("%d erasures are open", n)
	}
	if columns := w.Traces(address); len(columns) > 0 {
		w.T.Errorf("%s is in %q", address, columns)
	}
	if w.Log.Contains("level=ERROR") {
		w.T.Errorf("log:\n%s", w.Log.String())
	}
}
