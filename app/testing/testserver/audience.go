package testserver

import (
	"encoding/json"
	"fmt"
	"strings"

	"mailer/app"
	"mailer/app/rules/contactfile"
	"mailer/app/rules/webhook"
	"mailer/db"
)

// AddTopic adds a topic to the team of w.Key.
func (w *Server) AddTopic(name string, def app.Subscription, visibility app.Visibility) *app.Topic {
	w.T.Helper()
	t := &app.Topic{ID: app.NewID(), TeamID: w.Key.TeamID, Name: name, Default: def, Visibility: visibility}
	Must(w.T, w.DB.Write(w.T.Context(), func(tx *db.Tx) error { return tx.InsertTopic(t) }))
	return t
}

// AddressHash returns the hash of an address of the team.
func (w *Server) AddressHash(address string) app.AddressHash {
	return w.Config.Sealer.AddressHash(w.Key.TeamID, app.KeyOf(address))
}

// AddContact adds a contact without webhook events.
func (w *Server) AddContact(email string, unsubscribed bool) *app.Contact {
	w.T.Helper()
	c := &app.Contact{ID: app.NewID(), TeamID: w.Key.TeamID, Hash: w.AddressHash(email), Email: email, Unsubscribed: unsubscribed}
	Must(w.T, w.DB.Write(w.T.Context(), func(tx *db.Tx) error { return tx.InsertContact(c) }))
	return c
}

// TopicMessage returns a valid email with a topic.
func TopicMessage(t *app.Topic, to ...string) *app.EmailInput {
	in := Message(to...)
	in.TopicID = t.ID
	return in
}

// PageToken returns the token of a link to a page, of the server's team by default.
func (w *Server) PageToken(page string, l app.PageLink) string {
	if l.TeamID == "" {
		l.TeamID = w.Key.TeamID
	}
	return w.Config.Sealer.PageToken(page, l)
}

// Rows reads the database: each row of a query on a line, its columns separated by spaces.
func (w *Server) Rows(query string) string {
	w.T.Helper()
	pool := w.openDirect()
	rows, err := pool.QueryContext(w.T.Context(), query)
	Must(w.T, err)
	var b strings.Builder
	Must(w.T, eachRow(rows, func(values []any) { fmt.Fprintln(&b, values...) }))
	return b.String()
}

// WebhookEvents returns all webhook events, oldest first.
func (w *Server) WebhookEvents() string {
	return w.Rows(`SELECT type, payload FROM webhook_events ORDER BY id`)
}

// AudienceRows returns all rows that a hosted page could change.
func (w *Server) AudienceRows() string {
	return w.Rows(`SELECT * FROM choices`) + w.Rows(`SELECT * FROM contacts`) + w.Rows(`SELECT * FROM suppressions`) + w.WebhookEvents()
}

// AddContacts adds contacts c0@example.net and so on to the team. Every other one is unsubscribed.
func (w *Server) AddContacts(n int) (ids []string) {
	w.T.Helper()
	Must(w.T, w.DB.Write(w.T.Context(), func(tx *db.Tx) error {
		ids = nil
		for i := range n {
			email := fmt.Sprintf("c%d@example.net", i)
			c := app.Contact{ID: app.NewID(), TeamID: w.Key.TeamID, Email: email, Unsubscribed: i%2 == 0, CreatedAt: tx.Now, UpdatedAt: tx.Now,
				Hash: w.Config.Sealer.AddressHash(w.Key.TeamID, app.KeyOf(email))}
			if err := tx.InsertContact(&c); err != nil {
				return err
			}
			ids = append(ids, c.ID)
		}
		return tx.CountContacts(w.Key.TeamID, n)
	}))
	return ids
}

// FilterOn returns a filter with one condition.
func FilterOn(field, op, value string) *app.Filter {
	return &app.Filter{Match: app.MatchAll, Conditions: []app.Condition{{Field: field, Op: op, Value: value}}}
}

// AddSegment adds a segment.
func (w *Server) AddSegment(f *app.Filter) app.Segment {
	w.T.Helper()
	s, err := w.Services.Audience.CreateSegment(w.T.Context(), w.Key, app.SegmentInput{Name: "S", Filter: f})
	Must(w.T, err)
	return s
}

// WriteDB changes the database.
func (w *Server) WriteDB(fn func(tx *db.Tx) error) {
	w.T.Helper()
	Must(w.T, w.DB.Write(w.T.Context(), fn))
}

// webhookEvent is the payload of a webhook event.
type webhookEvent struct {
	Type      webhook.EventName
	CreatedAt string `json:"created_at"`
	Data      map[string]any
}

// TeamWebhookEvents returns the webhook events of a team in order.
func (w *Server) TeamWebhookEvents(teamID string) (all []webhookEvent) {
	w.T.Helper()
	for _, payload := range w.SQL("SELECT payload FROM webhook_events WHERE team_id = ? ORDER BY id", teamID) {
		var one webhookEvent
		Must(w.T, json.Unmarshal([]byte(payload), &one))
		all = append(all, one)
	}
	return all
}

// GetImport reads an import and its row errors.
func (w *Server) GetImport(id string) (contactfile.Import, []contactfile.RowError) {
	w.T.Helper()
	i, flaws, err := w.Services.Imports.GetImport(w.T.Context(), w.Key, id)
	Must(w.T, err)
	return i, flaws
}

// CountContacts counts the team's contacts and compares the result with the counter.
func (w *Server) CountContacts() (n int) {
	w.T.Helper()
	w.Read(func(r *db.Reader) error {
		page := app.Page{Limit: 100}
		for more := true; more; {
			var rows []app.Contact
			var err error
			if rows, more, err = r.ListContacts(w.T.Context(), w.Key.TeamID, page); err != nil {
				return err
			}
			if n += len(rows); more {
				page.After = rows[len(rows)-1].ID
			}
		}
		counter, err := r.ContactCount(w.Key.TeamID)
		if counter != n {
			w.T.Errorf("the counter says %d of %d contacts", counter, n)
		}
		return err
	})
	return n
}
