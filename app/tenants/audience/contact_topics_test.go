package audience_test

import (
	"errors"
	"strings"
	"testing"

	"mailer/app"
	"mailer/app/server"
	"mailer/app/testing/testserver"
	"mailer/db"
)

func TestChoiceEventsListChangesOnly(t *testing.T) {
	w := testserver.New(t)
	ctx := t.Context()
	addContact(w, "Ann@example.net")
	a, b := optInTopic(w, "A"), optInTopic(w, "B")
	set := func(choices ...app.TopicChoice) error {
		_, _, err := w.Services.Audience.SetContactTopics(ctx, w.Key, "ann@example.net", choices)
		return err
	}
	testserver.Must(t, set(app.TopicChoice{ID: a.ID, Subscription: app.OptOut}))
	testserver.Must(t, set(app.TopicChoice{ID: a.ID, Subscription: app.OptOut})) // no change
	testserver.Must(t, set(app.TopicChoice{ID: a.ID, Subscription: app.OptOut}, app.TopicChoice{ID: b.ID, Subscription: app.OptIn}))
	testserver.Must(t, set(app.TopicChoice{ID: a.ID, Subscription: app.OptIn}, app.TopicChoice{ID: a.ID, Subscription: app.OptOut})) // no change in total
	testserver.WantCode(t, set(app.TopicChoice{ID: b.ID, Subscription: app.OptOut}, app.TopicChoice{ID: app.NewID(), Subscription: app.OptOut}), app.CodeNotFound)
	wantEvents(w, `topic.created "A" false`, `topic.created "B" false`,
		`contact.topics.updated "Ann@example.net" [{"id":"`+a.ID+`","subscription":"opt_out"}]`,
		`contact.topics.updated "Ann@example.net" [{"id":"`+b.ID+`","subscription":"opt_in"}]`)
	rows, _, err := w.Services.Audience.ListContactTopics(ctx, w.Key, "ann@example.net", app.Page{Limit: 10})
	testserver.Must(t, err)
	if len(rows) != 2 || rows[0].ID != b.ID || rows[0].Subscription != app.OptIn || !rows[0].Explicit || rows[1].Subscription != app.OptOut {
		t.Errorf("rows %+v", rows)
	}
}

func TestTopicOptOutOnFullDisk(t *testing.T) {
	w := testserver.New(t)
	ctx := t.Context()
	id := addContact(w, "ann@example.net")
	a, b := optInTopic(w, "A"), optInTopic(w, "B")
	set := func(choices ...app.TopicChoice) error {
		if err := w.FailWrite(testserver.DiskFullError(t)); !errors.Is(err, db.ErrFull) {
			t.Fatal(err)
		}
		_, _, err := w.Services.Audience.SetContactTopics(ctx, w.Key, id, choices)
		return err
	}
	testserver.WantCode(t, set(app.TopicChoice{ID: a.ID, Subscription: app.OptIn}), app.CodeServiceUnavailable)
	testserver.Must(t, set(app.TopicChoice{ID: a.ID, Subscription: app.OptIn}, app.TopicChoice{ID: b.ID, Subscription: app.OptOut}))
	rows, _, err := w.Services.Audience.ListContactTopics(ctx, w.Key, id, app.Page{Limit: 10})
	testserver.Must(t, err)
	if rows[0].Subscription != app.OptOut || !rows[0].Explicit || rows[1].Subscription != app.OptIn || !rows[1].Explicit {
		t.Errorf("rows %+v", rows)
	}
}

func TestBaseURLWithTrailingSlash(t *testing.T) {
	w := testserver.New(t)
	id := addContact(w, "ann@example.net")
	cfg := w.Config
	cfg.BaseURL = "https://mail.example.com//"
	e, err := server.New(t.Context(), cfg)
	testserver.Must(t, err)
	got, link, err := e.Audience.PreferencesLink(t.Context(), w.Key, "ANN@example.net")
	testserver.Must(t, err)
	token, ok := strings.CutPrefix(link, "https://mail.example.com/preferences/")
	if _, read := cfg.Sealer.ReadPageToken(app.PreferencesPage, token); !ok || !read || got != id {
		t.Errorf("%s, %s", got, link)
	}
}
