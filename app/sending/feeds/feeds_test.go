package feeds_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"mailer/app"
	"mailer/app/kit/clock"
	"mailer/app/rules/webhook"
	"mailer/app/sending/queue"
	"mailer/app/testing/testserver"
	"mailer/db"
)

// TestFeedMakesOneBroadcastOfEachItem: items that were there when the feed was added, or in an issue, are in no
// later one; a due time makes one broadcast; errors are shown.
func TestFeedMakesOneBroadcastOfEachItem(t *testing.T) {
	testserver.BothEngines(t)
	w := testserver.New(t, testserver.NewRelay(nil))
	ctx, s := t.Context(), w.Services.Feeds
	const old = `<item><title>Old</title><guid>old</guid></item><item><title>Old and in the future</title><guid>future</guid><pubDate>Mon, 02 Jan 2096 15:04:05 GMT</pubDate></item>`
	body := rss(old)
	var known app.FileVersion
	s.Fetch = func(_ context.Context, _, _ string, version app.FileVersion, _ int64) (app.FetchedFile, error) {
		known = version
		if known.ETag == body {
			return app.FetchedFile{Unchanged: true, Version: known, Release: func() {}}, nil
		}
		return app.FetchedFile{Content: []byte(body), Version: app.FileVersion{ETag: body}, Release: func() {}}, nil
	}
	_, err := w.Services.Webhooks.CreateWebhook(ctx, w.Key, webhook.Input{Endpoint: "https://hooks.test/", Events: []webhook.EventName{webhook.FeedFailed}})
	testserver.Must(t, err)
	topic, err := w.Services.Topics.CreateTopic(ctx, w.Key, app.TopicInput{Name: "News", Default: app.OptIn})
	testserver.Must(t, err)
	tpl, err := w.Services.Templates.CreateTemplate(ctx, w.Key, app.TemplateInput{Name: "Feed", TemplateContent: app.TemplateContent{Subject: "News: {{ items[0].title }}", From: "ann@" + testserver.TestDomain, Syntax: app.LiquidSyntax,
		HTML:      `{% for item in items %}<h2 title="{{ item.content }}">{{ item.title }}</h2>{{ item.content }}{% endfor %}<a href="{{{UNSUBSCRIBE_URL}}}">out</a>`,
		Variables: []app.TemplateVariable{{Key: "items", Type: app.ListVariable}}}})
	testserver.Must(t, err)
	_, err = w.Services.Templates.PublishTemplate(ctx, w.Key, tpl.ID)
	testserver.Must(t, err)
	f, err := s.Create(ctx, w.Key, app.FeedPatch{URL: "https://blog.test/feed", TopicID: topic.ID, TemplateID: tpl.ID, Schedule: "daily 09:00"})
	testserver.Must(t, err)
	if trial, err := s.Check(ctx, w.Key, f.ID); err != nil || len(trial.Items) != 0 {
		t.Fatalf("what was there is new: %+v %v", trial, err)
	}
	body = rss(old + `<item><title>New &amp; shiny</title><guid>new</guid><description>&lt;b&gt;bold&lt;/b&gt;</description></item>`)
	due := func() {
		t.Helper()
		testserver.Must(t, w.DB.Write(ctx, func(tx *db.Tx) error {
			return tx.Write(`UPDATE feeds SET next_at = ? WHERE id = ?`, clock.Now().UnixMilli()-1, f.ID)
		}))
	}
	count := func(want int) {
		t.Helper()
		rows, _, err := w.Services.Broadcasts.ListBroadcasts(ctx, w.Key, app.Page{Limit: 10})
		if err != nil || len(rows) != want {
			t.Fatalf("%d broadcasts, not %d, %v", len(rows), want, err)
		}
	}
	trial, err := s.Check(ctx, w.Key, f.ID)
	if err != nil || trial.Error != "" || len(trial.Items) != 1 || trial.Subject != "News: New & shiny" {
		t.Fatalf("%+v %v", trial, err)
	}
	testserver.Must(t, s.Run(ctx)) // not due
	count(0)
	due()
	testserver.Must(t, s.Run(ctx))
	testserver.Must(t, s.Run(ctx))
	count(1)
	f, err = s.Get(ctx, w.Key, f.ID)
	testserver.Must(t, err)
	b, err := w.Services.Broadcasts.GetBroadcast(ctx, w.Key, f.LastBroadcastID)
	testserver.Must(t, err)
	if want := `<h2 title="">New &amp; shiny</h2><b>bold</b><a href="{{{UNSUBSCRIBE_URL}}}">out</a>`; b.HTML != want || b.Status != app.DraftBroadcast || b.TopicID != topic.ID {
		t.Errorf("\n got %s\nwant %s", b.HTML, want)
	}
	due()
	testserver.Must(t, s.Run(ctx)) // nothing is new
	count(1)
	if f, err = s.Get(ctx, w.Key, f.ID); err != nil || known.ETag != body || f.Position.Version.ETag != body || len(f.Position.Seen) != 3 || f.LastError != "" {
		t.Errorf("unchanged: %+v %v", f, err)
	}
	good := body
	body = "no feed"
	due()
	testserver.Must(t, s.Run(ctx))
	count(1)
	if f, err = s.Get(ctx, w.Key, f.ID); err != nil || !strings.Contains(f.LastError, "no feed") || f.Position.Tries != 1 {
		t.Errorf("%+v %v", f, err)
	}
	for tries := 1; tries <= 4; tries++ { // the event is sent once
		if got := len(w.SQL(`SELECT id FROM webhook_events WHERE team_id = ? AND type = 'feed.failed'`, w.Key.TeamID)); got != map[bool]int{true: 1}[tries >= 3] {
			t.Errorf("%d events after %d failures", got, tries)
		}
		due()
		testserver.Must(t, s.Run(ctx))
	}
	if f, err = s.Get(ctx, w.Key, f.ID); err != nil || f.Position.Version.ETag != good {
		t.Errorf("a failure keeps the version: %+v %v", f.Position, err)
	}
	// After a restore it is held, and continues from now.
	testserver.Must(t, w.DB.Write(ctx, func(tx *db.Tx) error { _, err := tx.HoldFeeds(app.HoldRestored); return err }))
	due()
	testserver.Must(t, s.Run(ctx))
	count(1)
	if f, err = s.Update(ctx, w.Key, f.ID, app.FeedPatch{State: app.ActiveFeed}); err != nil || f.State != app.ActiveFeed || f.Held != "" || len(f.Position.Seen) != 0 {
		t.Errorf("%+v %v", f, err)
	}
}

// TestFeedThatCouldNotBeRead: when it is first read, items without a date are old, and later ones are new.
func TestFeedThatCouldNotBeRead(t *testing.T) {
	w := testserver.New(t, testserver.NewRelay(nil))
	ctx, s := t.Context(), w.Services.Feeds
	body := "down"
	s.Fetch = func(context.Context, string, string, app.FileVersion, int64) (app.FetchedFile, error) {
		return app.FetchedFile{Content: []byte(body), Release: func() {}}, nil
	}
	topic, err := w.Services.Topics.CreateTopic(ctx, w.Key, app.TopicInput{Name: "News", Default: app.OptIn})
	testserver.Must(t, err)
	tpl, err := w.Services.Templates.CreateTemplate(ctx, w.Key, app.TemplateInput{Name: "Feed", TemplateContent: app.TemplateContent{Subject: "News", From: "ann@" + testserver.TestDomain, Syntax: app.LiquidSyntax,
		HTML: `{% for item in items %}{{ item.title }}{% endfor %}`, Variables: []app.TemplateVariable{{Key: "items", Type: app.ListVariable}}}})
	testserver.Must(t, err)
	_, err = w.Services.Templates.PublishTemplate(ctx, w.Key, tpl.ID)
	testserver.Must(t, err)
	f, err := s.Create(ctx, w.Key, app.FeedPatch{URL: "https://blog.test/feed", TopicID: topic.ID, TemplateID: tpl.ID, Schedule: "daily 09:00"})
	testserver.Must(t, err)
	for round, want := range []string{"", "B", "C"} {
		body = rss("<item><title>A</title></item><item><title>B</title></item><item><title>C</title></item>"[:len("<item><title>A</title></item>")*(round+1)])
		testserver.Must(t, w.DB.Write(ctx, func(tx *db.Tx) error {
			return tx.Write(`UPDATE feeds SET next_at = ? WHERE id = ?`, clock.Now().UnixMilli()-1, f.ID)
		}))
		testserver.Must(t, s.Run(ctx))
		f, err = s.Get(ctx, w.Key, f.ID)
		testserver.Must(t, err)
		if want == "" && f.LastBroadcastID == "" {
			continue
		}
		if b, err := w.Services.Broadcasts.GetBroadcast(ctx, w.Key, f.LastBroadcastID); err != nil || b.HTML != want {
			t.Errorf("round %d: %q, want %q, %v", round, b.HTML, want, err)
		}
	}
}

// TestRestoredFeedsAreDecided by the operator: released ones go on from now at their next time, dropped ones are
// paused. Feeds that are held for another reason, and those of other teams, stay.
func TestRestoredFeedsAreDecided(t *testing.T) {
	testserver.BothEngines(t)
	w := testserver.New(t, testserver.NewRelay(nil))
	ctx := t.Context()
	now := clock.Now()
	other := w.AddTeam("other", "other.example")
	topics := map[string]string{}
	for _, key := range []*app.Key{w.Key, other} {
		topic, err := w.Services.Topics.CreateTopic(ctx, key, app.TopicInput{Name: "News", Default: app.OptIn})
		testserver.Must(t, err)
		topics[key.TeamID] = topic.ID
	}
	add := func(key *app.Key, state app.FeedState, held string) string {
		f := app.Feed{ID: app.NewID(), TeamID: key.TeamID, URL: "https://blog.test/feed", State: state, Held: held, NextAt: now.Add(-time.Hour), CreatedAt: now, UpdatedAt: now,
			Position:       app.FeedPosition{Since: now.Add(-24 * time.Hour), Seen: []string{"a"}, Tries: 2},
			FeedDefinition: app.FeedDefinition{TopicID: topics[key.TeamID], TemplateID: app.NewID(), Schedule: "daily 09:00", Zone: "UTC", Mode: "send"}}
		w.WriteDB(func(tx *db.Tx) error { return tx.InsertFeed(&f) })
		return f.ID
	}
	mine, imported, theirs := add(w.Key, app.ActiveFeed, ""), add(w.Key, app.HeldFeed, app.FeedImported), add(other, app.ActiveFeed, "")
	w.WriteDB(func(tx *db.Tx) error { _, err := tx.HoldFeeds(app.HoldRestored); return err })
	state := func(key *app.Key, id, want string) app.Feed {
		t.Helper()
		f, err := w.Services.Feeds.Get(ctx, key, id)
		if got := string(f.State) + " " + f.Held; err != nil || got != want {
			t.Errorf("the feed is %q, not %q, %v", got, want, err)
		}
		return f
	}
	res, err := w.Services.Queue.Release(ctx, queue.Filter{Restored: true, After: now.Add(-time.Hour)})
	if err != nil || res.Changed != 0 {
		t.Errorf("a part of the mail: %+v %v", res, err)
	}
	res, err = w.Services.Queue.Release(ctx, queue.Filter{Restored: true, Team: w.Key.TeamID})
	if err != nil || res.Changed != 1 || len(res.Notes) != 1 || !strings.Contains(res.Notes[0], "1 feeds") {
		t.Errorf("released %+v %v", res, err)
	}
	f := state(w.Key, mine, "active ")
	if f.Position.Since.Before(now) || len(f.Position.Seen) != 0 || f.Position.Tries != 0 || !f.NextAt.After(now) {
		t.Errorf("it continues from %+v at %s", f.Position, f.NextAt)
	}
	state(w.Key, imported, "held imported")
	state(other, theirs, "held restored")
	res, err = w.Services.Queue.Drop(ctx, queue.Filter{Restored: true})
	if err != nil || res.Changed != 1 || len(res.Notes) != 1 {
		t.Errorf("dropped %+v %v", res, err)
	}
	state(w.Key, mine, "active ")
	state(w.Key, imported, "held imported")
	state(other, theirs, "paused ")
}
