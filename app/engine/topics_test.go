package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"mailer/app"
	"mailer/db"
)

// heard is what webhooks will carry of a team, oldest first.
type heard struct {
	Type      app.EventName
	CreatedAt string `json:"created_at"`
	Data      map[string]any
}

func (w *world) heard(teamID string) (all []heard) {
	w.t.Helper()
	for _, payload := range w.sql("SELECT payload FROM happenings WHERE team_id = ? ORDER BY id", teamID) {
		var one heard
		must(w.t, json.Unmarshal([]byte(payload), &one))
		all = append(all, one)
	}
	return all
}

// wantHeard compares names and some members of the data with what webhooks heard.
func (w *world) wantHeard(want ...string) {
	w.t.Helper()
	var got []string
	for _, one := range w.heard(w.key.TeamID) {
		line := string(one.Type)
		for _, member := range []string{"name", "deleted", "email", "origin", "topics"} {
			if v, ok := one.Data[member]; ok {
				b, err := json.Marshal(v)
				must(w.t, err)
				line += " " + string(b)
			}
		}
		got = append(got, line)
	}
	if fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
		w.t.Errorf("webhooks heard\n%q, want\n%q", got, want)
	}
}

// topic makes one that is opt_in by default.
func (w *world) optInTopic(name string) app.Topic {
	w.t.Helper()
	topic, err := w.e.CreateTopic(w.t.Context(), w.key, app.TopicInput{Name: name, Default: app.OptIn})
	must(w.t, err)
	return topic
}

func TestWebhooksHearOfTopicsWhatChanged(t *testing.T) {
	w := idle(t)
	ctx := t.Context()
	topic := w.optInTopic("News")
	_, err := w.e.CreateTopic(ctx, w.key, app.TopicInput{Name: "News", Default: app.OptOut})
	wantCode(t, err, app.CodeConflict)
	for _, patch := range []app.TopicPatch{{}, {Name: "News", Default: app.OptIn, Visibility: app.PrivateTopic}} {
		same, err := w.e.UpdateTopic(ctx, w.key, topic.ID, patch) // nothing new
		must(t, err)
		if app.FormatTime(same.UpdatedAt) != app.FormatTime(topic.UpdatedAt) {
			t.Errorf("updated at %v", same.UpdatedAt)
		}
	}
	_, err = w.e.UpdateTopic(ctx, w.key, topic.ID, app.TopicPatch{Default: app.OptOut})
	wantCode(t, err, app.CodeValidation)
	changed, err := w.e.UpdateTopic(ctx, w.key, topic.ID, app.TopicPatch{Name: "Nouvelles"})
	must(t, err)
	must(t, w.e.DeleteTopic(ctx, w.key, topic.ID))
	w.wantHeard(`topic.created "News" false`, `topic.updated "Nouvelles" false`, `topic.deleted "Nouvelles" true`)
	data := w.heard(w.key.TeamID)[1].Data
	for member, want := range map[string]any{
		"id": topic.ID, "name": "Nouvelles", "description": nil, "default_subscription": "opt_in", "deleted": false,
		"created_at": app.FormatTime(topic.CreatedAt), "updated_at": app.FormatTime(changed.UpdatedAt),
	} {
		if got, ok := data[member]; !ok || got != want {
			t.Errorf("%s is %v, want %v", member, got, want)
		}
	}
	if len(data) != 7 {
		t.Errorf("data %v", data)
	}
}

func TestATopicStaysWhileMailOfItWaits(t *testing.T) {
	w := idle(t, newRelay(nil))
	ctx := t.Context()
	topic, other := w.optInTopic("News"), w.optInTopic("Offers")
	id := w.send("bob@example.net")
	w.sql("UPDATE units SET topic_id = ? WHERE email_id = ?", topic.ID, id)
	wantCode(t, w.e.DeleteTopic(ctx, w.key, topic.ID), app.CodeConflict)
	foreign := w.addTeam("Other", "example.org")
	wantCode(t, w.e.DeleteTopic(ctx, foreign, topic.ID), app.CodeNotFound)
	must(t, w.e.DeleteTopic(ctx, w.key, other.ID))
	_, err := w.e.GetTopic(ctx, w.key, topic.ID)
	must(t, err)
	must(t, w.e.CancelEmail(ctx, w.key, id))
	must(t, w.e.DeleteTopic(ctx, w.key, topic.ID))
}

func TestNoTopicIsMadeWhileTheDiskIsFull(t *testing.T) {
	w := idle(t)
	if err := w.strike(fullStorage(t)); !errors.Is(err, db.ErrFull) {
		t.Fatal(err)
	}
	_, err := w.e.CreateTopic(t.Context(), w.key, app.TopicInput{Name: "x", Default: app.OptIn})
	wantCode(t, err, app.CodeServiceUnavailable)
}
