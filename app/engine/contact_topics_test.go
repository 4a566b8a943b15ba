package engine

import (
	"errors"
	"strings"
	"testing"

	"mailer/app"
	"mailer/db"
)

// addContact puts somebody into the team's audience.
func (w *world) addContact(email string) string {
	w.t.Helper()
	var id string
	must(w.t, w.db.Write(w.t.Context(), func(tx *db.Tx) error {
		c := app.Contact{ID: app.NewID(), TeamID: w.key.TeamID, Email: email, CreatedAt: tx.Now, UpdatedAt: tx.Now,
			Hash: w.cfg.Sealer.AddressHash(w.key.TeamID, strings.ToLower(email))}
		id = c.ID
		return tx.InsertContact(&c)
	}))
	return id
}

func TestWebhooksHearTheChoicesThatChanged(t *testing.T) {
	w := idle(t)
	ctx := t.Context()
	w.addContact("Ann@example.net")
	a, b := w.optInTopic("A"), w.optInTopic("B")
	set := func(choices ...app.TopicChoice) error {
		_, _, err := w.e.SetContactTopics(ctx, w.key, "ann@example.net", choices)
		return err
	}
	must(t, set(app.TopicChoice{ID: a.ID, Subscription: app.OptOut}))
	must(t, set(app.TopicChoice{ID: a.ID, Subscription: app.OptOut})) // nothing new
	must(t, set(app.TopicChoice{ID: a.ID, Subscription: app.OptOut}, app.TopicChoice{ID: b.ID, Subscription: app.OptIn}))
	must(t, set(app.TopicChoice{ID: a.ID, Subscription: app.OptIn}, app.TopicChoice{ID: a.ID, Subscription: app.OptOut})) // comes to nothing
	wantCode(t, set(app.TopicChoice{ID: b.ID, Subscription: app.OptOut}, app.TopicChoice{ID: app.NewID(), Subscription: app.OptOut}), app.CodeNotFound)
	w.wantHeard(`topic.created "A" false`, `topic.created "B" false`,
		`contact.topics.updated "Ann@example.net" [{"id":"`+a.ID+`","subscription":"opt_out"}]`,
		`contact.topics.updated "Ann@example.net" [{"id":"`+b.ID+`","subscription":"opt_in"}]`)
	rows, _, err := w.e.ListContactTopics(ctx, w.key, "ann@example.net", app.Page{Limit: 10})
	must(t, err)
	if len(rows) != 2 || rows[0].ID != b.ID || rows[0].Subscription != app.OptIn || !rows[0].Explicit || rows[1].Subscription != app.OptOut {
		t.Errorf("rows %+v", rows)
	}
}

func TestAnOptOutIsNotedWhileTheDiskIsFull(t *testing.T) {
	w := idle(t)
	ctx := t.Context()
	id := w.addContact("ann@example.net")
	a, b := w.optInTopic("A"), w.optInTopic("B")
	set := func(choices ...app.TopicChoice) error {
		if err := w.strike(fullStorage(t)); !errors.Is(err, db.ErrFull) {
			t.Fatal(err)
		}
		_, _, err := w.e.SetContactTopics(ctx, w.key, id, choices)
		return err
	}
	wantCode(t, set(app.TopicChoice{ID: a.ID, Subscription: app.OptIn}), app.CodeServiceUnavailable)
	must(t, set(app.TopicChoice{ID: a.ID, Subscription: app.OptIn}, app.TopicChoice{ID: b.ID, Subscription: app.OptOut}))
	rows, _, err := w.e.ListContactTopics(ctx, w.key, id, app.Page{Limit: 10})
	must(t, err)
	if rows[0].Subscription != app.OptOut || !rows[0].Explicit || rows[1].Subscription != app.OptIn || !rows[1].Explicit {
		t.Errorf("rows %+v", rows)
	}
}

func TestABaseURLMayEndInASlash(t *testing.T) {
	w := idle(t)
	id := w.addContact("ann@example.net")
	cfg := w.cfg
	cfg.BaseURL = "https://mail.example.com//"
	e, err := New(t.Context(), cfg)
	must(t, err)
	got, link, err := e.PreferencesLink(t.Context(), w.key, "ANN@example.net")
	must(t, err)
	token, ok := strings.CutPrefix(link, "https://mail.example.com/preferences/")
	if _, read := cfg.Sealer.ReadPageToken(app.PreferencesPage, token); !ok || !read || got != id {
		t.Errorf("%s, %s", got, link)
	}
}
