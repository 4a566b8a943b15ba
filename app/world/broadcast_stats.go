package world

import (
	"strings"
	"time"

	"mailer/app"
	"mailer/app/mail"
	"mailer/db"
)

// Newsletter adds a draft with that html and sends it, and returns it as it is then.
func (w *World) Newsletter(html string, change func(*app.Broadcast)) *app.Broadcast {
	w.T.Helper()
	from, err := app.ParseAddress("Ann <ann@" + TestDomain + ">")
	Must(w.T, err)
	b := &app.Broadcast{ID: app.NewID(), TeamID: w.Key.TeamID, Name: "News", From: from, Subject: "News for {{{FIRST_NAME|you}}}", CreatedAt: time.Now(),
		BroadcastContent: app.BroadcastContent{HTML: html}}
	if change != nil {
		change(b)
	}
	Must(w.T, w.DB.Write(w.T.Context(), func(tx *db.Tx) error { return tx.InsertBroadcast(b) }))
	_, err = w.Server.Broadcasts.SendBroadcast(w.T.Context(), w.Key, b.ID, "", mail.SendOptions{})
	Must(w.T, err)
	head := w.Broadcast(b.ID)
	return &head
}

// MailTo is the id of a broadcast's email to an address.
func (w *World) MailTo(b *app.Broadcast, address string) string {
	w.T.Helper()
	rows, _, err := w.Server.Broadcasts.ListBroadcastRecipients(w.T.Context(), w.Key, b.ID, app.RecipientQuery{Email: address}, app.Page{Limit: 2})
	Must(w.T, err)
	if len(rows) != 1 {
		w.T.Fatalf("%d recipients %s", len(rows), address)
	}
	return rows[0].ID
}

// Recipients are the addresses that a list of a type returns.
func (w *World) Recipients(b *app.Broadcast, kind string) string {
	w.T.Helper()
	rows, more, err := w.Server.Broadcasts.ListBroadcastRecipients(w.T.Context(), w.Key, b.ID, app.RecipientQuery{Type: kind}, app.Page{Limit: 100})
	Must(w.T, err)
	if more {
		w.T.Error("there are more than a page")
	}
	var out []string
	for _, row := range rows {
		out = append(out, row.Email)
	}
	return strings.Join(out, " ")
}

// PageOf is the token of the unsubscribe page that an email of a broadcast leads to.
func (w *World) PageOf(id string) string {
	w.T.Helper()
	for _, h := range w.Email(id).Headers {
		if _, token, ok := strings.Cut(h.Value, "/unsubscribe/"); ok {
			return strings.TrimSuffix(token, ">")
		}
	}
	w.T.Fatalf("email %s leads to no page", id)
	return ""
}
