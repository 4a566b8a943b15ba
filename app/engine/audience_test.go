package engine

import (
	"database/sql"
	"fmt"
	"strings"

	"mailer/app"
	"mailer/db"
)

// topic adds a topic to the team of w.key.
func (w *world) topic(name string, def app.Subscription, visibility app.Visibility) *app.Topic {
	w.t.Helper()
	t := &app.Topic{ID: app.NewID(), TeamID: w.key.TeamID, Name: name, Default: def, Visibility: visibility}
	must(w.t, w.db.Write(w.t.Context(), func(tx *db.Tx) error { return tx.InsertTopic(t) }))
	return t
}

func (w *world) hash(address string) app.AddressHash {
	return w.cfg.Sealer.AddressHash(w.key.TeamID, app.FoldAddress(address))
}

// contact adds a contact without telling webhooks.
func (w *world) contact(email string, unsubscribed bool) *app.Contact {
	w.t.Helper()
	c := &app.Contact{ID: app.NewID(), TeamID: w.key.TeamID, Hash: w.hash(email), Email: email, Unsubscribed: unsubscribed}
	must(w.t, w.db.Write(w.t.Context(), func(tx *db.Tx) error { return tx.InsertContact(c) }))
	return c
}

func (w *world) choose(t *app.Topic, address string, s app.Subscription) {
	w.t.Helper()
	must(w.t, w.db.Write(w.t.Context(), func(tx *db.Tx) error {
		_, err := tx.SetChoice(t.ID, w.hash(address), s)
		return err
	}))
}

// about is a send that belongs to a topic.
func about(t *app.Topic, to ...string) *app.EmailInput {
	in := letter(to...)
	in.TopicID = t.ID
	return in
}

func (w *world) sendAbout(t *app.Topic, to ...string) string {
	w.t.Helper()
	id, err := w.e.SendEmail(w.t.Context(), w.key, about(t, to...), SendOptions{})
	must(w.t, err)
	return id
}

// linkOf is the token of the page that an email leads to.
func (w *world) linkOf(id string) string {
	w.t.Helper()
	token, ok := strings.CutPrefix(w.email(id).Unsubscribe, w.cfg.BaseURL+"/unsubscribe/")
	if !ok {
		w.t.Fatalf("email %s leads to %q", id, w.email(id).Unsubscribe)
	}
	return token
}

func (w *world) link(page string, l app.PageLink) string {
	if l.TeamID == "" {
		l.TeamID = w.key.TeamID
	}
	return w.cfg.Sealer.PageToken(page, l)
}

// rows reads the file itself: each row of a query on a line, its columns with
// spaces between them.
func (w *world) rows(query string) string {
	w.t.Helper()
	pool, err := sql.Open("sqlite", "file:"+w.path)
	must(w.t, err)
	defer pool.Close()
	rows, err := pool.QueryContext(w.t.Context(), query)
	must(w.t, err)
	defer rows.Close()
	columns, err := rows.Columns()
	must(w.t, err)
	var b strings.Builder
	for rows.Next() {
		values, dest := make([]any, len(columns)), make([]any, len(columns))
		for i := range values {
			dest[i] = &values[i]
		}
		must(w.t, rows.Scan(dest...))
		fmt.Fprintln(&b, values...)
	}
	must(w.t, rows.Err())
	return b.String()
}

// told is what webhooks will carry, oldest first.
func (w *world) told() string { return w.rows(`SELECT type, payload FROM happenings ORDER BY id`) }

// audience is everything that a hosted page could change.
func (w *world) audience() string {
	return w.rows(`SELECT * FROM choices`) + w.rows(`SELECT * FROM contacts`) + w.rows(`SELECT * FROM suppressions`) + w.told()
}
