package audience_test

import (
	"errors"
	"testing"

	"mailer/app"
	"mailer/app/world"
	"mailer/db"
)

func TestWebhooksHearOfTopicsWhatChanged(t *testing.T) {
	w := world.Idle(t)
	ctx := t.Context()
	topic := optInTopic(w, "News")
	_, err := w.Server.Topics.CreateTopic(ctx, w.Key, app.TopicInput{Name: "News", Default: app.OptOut})
	world.WantCode(t, err, app.CodeConflict)
	for _, patch := range []app.TopicPatch{{}, {Name: "News", Default: app.OptIn, Visibility: app.PrivateTopic}} {
		same, err := w.Server.Topics.UpdateTopic(ctx, w.Key, topic.ID, patch) // nothing new
		world.Must(t, err)
		if app.FormatTime(same.UpdatedAt) != app.FormatTime(topic.UpdatedAt) {
			t.Errorf("updated at %v", same.UpdatedAt)
		}
	}
	_, err = w.Server.Topics.UpdateTopic(ctx, w.Key, topic.ID, app.TopicPatch{Default: app.OptOut})
	world.WantCode(t, err, app.CodeValidation)
	changed, err := w.Server.Topics.UpdateTopic(ctx, w.Key, topic.ID, app.TopicPatch{Name: "Nouvelles"})
	world.Must(t, err)
	world.Must(t, w.Server.Topics.DeleteTopic(ctx, w.Key, topic.ID))
	wantHeard(w, `topic.created "News" false`, `topic.updated "Nouvelles" false`, `topic.deleted "Nouvelles" true`)
	data := w.Heard(w.Key.TeamID)[1].Data
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
	world.BothEngines(t)
	w := world.Idle(t, world.NewRelay(nil))
	ctx := t.Context()
	topic, other := optInTopic(w, "News"), optInTopic(w, "Offers")
	id := w.Send("bob@example.net")
	w.Sql("UPDATE units SET topic_id = ? WHERE email_id = ?", topic.ID, id)
	world.WantCode(t, w.Server.Topics.DeleteTopic(ctx, w.Key, topic.ID), app.CodeConflict)
	foreign := w.AddTeam("Other", "example.org")
	world.WantCode(t, w.Server.Topics.DeleteTopic(ctx, foreign, topic.ID), app.CodeNotFound)
	world.Must(t, w.Server.Topics.DeleteTopic(ctx, w.Key, other.ID))
	_, err := w.Server.Topics.GetTopic(ctx, w.Key, topic.ID)
	world.Must(t, err)
	world.Must(t, w.Server.Mail.CancelEmail(ctx, w.Key, id))
	world.Must(t, w.Server.Topics.DeleteTopic(ctx, w.Key, topic.ID))
}

func TestNoTopicIsMadeWhileTheDiskIsFull(t *testing.T) {
	w := world.Idle(t)
	if err := w.Strike(world.FullStorage(t)); !errors.Is(err, db.ErrFull) {
		t.Fatal(err)
	}
	_, err := w.Server.Topics.CreateTopic(t.Context(), w.Key, app.TopicInput{Name: "x", Default: app.OptIn})
	world.WantCode(t, err, app.CodeServiceUnavailable)
}
