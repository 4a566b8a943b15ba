package world

import (
	"database/sql"
	"fmt"
	"strings"

	"mailer/app"
	"mailer/app/mail"
	"mailer/db"
)

// Topic adds a topic to the team of w.key.
func (w *World) Topic(name string, def app.Subscription, visibility app.Visibility) *app.Topic {
	w.T.Helper()
	t := &app.Topic{ID: app.NewID(), TeamID: w.Key.TeamID, Name: name, Default: def, Visibility: visibility}
	Must(w.T, w.DB.Write(w.T.Context(), func(tx *db.Tx) error { return tx.InsertTopic(t) }))
	return t
}

func (w *World) Hash(address string) app.AddressHash {
	return w.Config.Sealer.AddressHash(w.Key.TeamID, app.FoldAddress(address))
}

// Contact adds a contact without telling webhooks.
func (w *World) Contact(email string, unsubscribed bool) *app.Contact {
	w.T.Helper()
	c := &app.Contact{ID: app.NewID(), TeamID: w.Key.TeamID, Hash: w.Hash(email), Email: email, Unsubscribed: unsubscribed}
	Must(w.T, w.DB.Write(w.T.Context(), func(tx *db.Tx) error { return tx.InsertContact(c) }))
	return c
}

func (w *World) Choose(t *app.Topic, address string, s app.Subscription) {
	w.T.Helper()
	Must(w.T, w.DB.Write(w.T.Context(), func(tx *db.Tx) error {
		_, err := tx.SetChoice(t.ID, w.Hash(address), s)
		return err
	}))
}

// About is a send that belongs to a topic.
func About(t *app.Topic, to ...string) *app.EmailInput {
	in := Letter(to...)
	in.TopicID = t.ID
	return in
}

func (w *World) SendAbout(t *app.Topic, to ...string) string {
	w.T.Helper()
	id, err := w.Server.Mail.SendEmail(w.T.Context(), w.Key, About(t, to...), mail.SendOptions{})
	Must(w.T, err)
	return id
}

// LinkOf is the token of the page that an email leads to.
func (w *World) LinkOf(id string) string {
	w.T.Helper()
	token, ok := strings.CutPrefix(w.Email(id).Unsubscribe, w.Config.BaseURL+"/unsubscribe/")
	if !ok {
		w.T.Fatalf("email %s leads to %q", id, w.Email(id).Unsubscribe)
	}
	return token
}

func (w *World) Link(page string, l app.PageLink) string {
	if l.TeamID == "" {
		l.TeamID = w.Key.TeamID
	}
	return w.Config.Sealer.PageToken(page, l)
}

// Rows reads the file itself: each row of a query on a line, its columns with
// spaces between them.
func (w *World) Rows(query string) string {
	w.T.Helper()
	pool, err := sql.Open("sqlite", "file:"+w.Path)
	Must(w.T, err)
	defer pool.Close()
	rows, err := pool.QueryContext(w.T.Context(), query)
	Must(w.T, err)
	defer rows.Close()
	columns, err := rows.Columns()
	Must(w.T, err)
	var b strings.Builder
	for rows.Next() {
		values, dest := make([]any, len(columns)), make([]any, len(columns))
		for i := range values {
			dest[i] = &values[i]
		}
		Must(w.T, rows.Scan(dest...))
		fmt.Fprintln(&b, values...)
	}
	Must(w.T, rows.Err())
	return b.String()
}

// Told is what webhooks will carry, oldest first.
func (w *World) Told() string { return w.Rows(`SELECT type, payload FROM happenings ORDER BY id`) }

// Audience is everything that a hosted page could change.
func (w *World) Audience() string {
	return w.Rows(`SELECT * FROM choices`) + w.Rows(`SELECT * FROM contacts`) + w.Rows(`SELECT * FROM suppressions`) + w.Told()
}
