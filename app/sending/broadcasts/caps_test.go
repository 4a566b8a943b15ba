package broadcasts_test

import (
	"fmt"
	"strings"
	"testing"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/sending/broadcasts"
	"mailer/app/sending/mail"
	"mailer/app/testing/testserver"
)

func TestObjectLimitsPerTeam(t *testing.T) {
	w := testserver.New(t)
	other := w.AddTeam("Other", "other.example")
	ctx, s := t.Context(), w.Services
	for _, c := range []struct {
		of   base.Cap
		make func(key *app.Key, i int) error
		fill string // adds rows for a team up to one below the limit
	}{
		{base.CapKeys, func(key *app.Key, i int) error {
			_, _, err := s.Teams.CreateTeamKey(ctx, key, app.KeyInput{Name: "k"})
			return err
		}, `INSERT INTO keys (id, team_id, name, permission, role, public, hash, created_at) SELECT 'k' || n, ?1, 'k', 'full_access', 'owner', 'p' || n, CAST('' AS BLOB), 0 FROM numbers`},
		{base.CapSegments, func(key *app.Key, i int) error {
			_, err := s.Audience.CreateSegment(ctx, key, app.SegmentInput{Name: "s"})
			return err
		}, `INSERT INTO segments (id, team_id, name, members, created_at) SELECT 's' || n, ?1, 's', 0, 0 FROM numbers`},
		{base.CapTopics, func(key *app.Key, i int) error {
			_, err := s.Audience.Topics.CreateTopic(ctx, key, app.TopicInput{Name: fmt.Sprint("t", i), Default: app.OptIn})
			return err
		}, `INSERT INTO topics (id, team_id, name, subscription, visibility, created_at, updated_at) SELECT 't' || n, ?1, 'row' || n, 'opt_in', 'public', 0, 0 FROM numbers`},
		{base.CapTemplates, func(key *app.Key, i int) error {
			_, err := s.Templates.CreateTemplate(ctx, key, app.TemplateInput{Name: "t", TemplateContent: app.TemplateContent{HTML: "x"}})
			return err
		}, `INSERT INTO templates (id, team_id, name, current_id, created_at, updated_at) SELECT 't' || n, ?1, 't', 'c' || n, 0, 0 FROM numbers`},
	} {
		w.SQL(`WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ?2) `+c.fill, w.Key.TeamID, c.of.Max-1)
		testserver.Must(t, c.make(w.Key, 0))
		err := c.make(w.Key, 1)
		testserver.WantCode(t, err, app.CodeValidation)
		if want := fmt.Sprintf("at most %d %s", c.of.Max, c.of.Name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not say %q", err, want)
		}
		testserver.Must(t, c.make(other, 2)) // limits are per team
	}
}

func TestOpenBroadcastLimit(t *testing.T) {
	w := testserver.New(t)
	other := w.AddTeam("Other", "other.example")
	send := func(key *app.Key, from string) (broadcasts.BroadcastView, error) {
		text := "News"
		return w.Services.Broadcasts.CreateBroadcast(t.Context(), key, app.BroadcastInput{From: from, Subject: "News", Text: &text, Send: true, ScheduledAt: "in 1 hour"}, mail.SendOptions{})
	}
	var last broadcasts.BroadcastView
	for range base.CapBroadcasts.Max {
		var err error
		last, err = send(w.Key, "ann@"+testserver.TestDomain)
		testserver.Must(t, err)
	}
	_, err := send(w.Key, "ann@"+testserver.TestDomain)
	testserver.WantCode(t, err, app.CodeValidation)
	if err == nil || !strings.Contains(err.Error(), "cancel one") {
		t.Errorf("the refusal does not say what to do: %v", err)
	}
	_, err = send(other, "x@other.example")
	testserver.Must(t, err)
	_, _, err = w.Services.Broadcasts.CancelBroadcast(t.Context(), w.Key, last.ID)
	testserver.Must(t, err)
	_, err = send(w.Key, "ann@"+testserver.TestDomain)
	testserver.Must(t, err)
}
