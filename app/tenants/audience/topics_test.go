package audience_test

import (
	"errors"
	"testing"

	"mailer/app"
	"mailer/app/testing/testserver"
	"mailer/db"
)

func TestTopicEvents(t *testing.T) {
	w := testserver.New(t)
	ctx := t.Context()
	topic := optInTopic(w, "News")
	_, err := w.Services.Topics.CreateTopic(ctx, w.Key, app.TopicInput{Name: "News", Default: app.OptOut})
	testserver.WantCode(t, err, app.CodeConflict)
	for _, patch := range []app.TopicPatch{{}, {Name: "News", Default: app.OptIn, Visibility: app.PrivateTopic}} {
		same, err := w.Services.Topics.UpdateTopic(ctx, w.Key, topic.ID, patch) // no change
		testserver.Must(t, err)
		if app.FormatTime(same.UpdatedAt) != app.FormatTime(topic.UpdatedAt) {
			t.Errorf("updated at %v", same.UpdatedAt)
		}
	}
	_, err = w.Services.Topics.UpdateTopic(ctx, w.Key, topic.ID, app.TopicPatch{Default: app.OptOut})
	testserver.WantCode(t, err, app.CodeValidation)
	changed, err := w.Services.Topics.UpdateTopic(ctx, w.Key, topic.ID, app.TopicPatch{Name: "Nouvelles"})
	testserver.Must(t, err)
	testserver.Must(t, w.Services.Topics.DeleteTopic(ctx, w.Key, topic.ID))
	wantEvents(w, `topic.created "News" false`, `topic.updated "Nouvelles" false`, `topic.deleted "Nouvelles" true`)
	data := w.TeamWebhookEvents(w.Key.TeamID)[1].Data
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

func TestTopicCantBeDeletedWhileMailWaits(t *testing.T) {
	testserver.BothEngines(t)
	w := testserver.New(t, testserver.NewRelay(nil))
	ctx := t.Context()
	topic, other := optInTopic(w, "News"), optInTopic(w, "Offers")
	id := w.Send("bob@example.net")
	w.SQL("UPDATE units SET topic_id = ? WHERE email_id = ?", topic.ID, id)
	testserver.WantCode(t, w.Services.Topics.DeleteTopic(ctx, w.Key, topic.ID), app.CodeConflict)
	otherTeam := w.AddTeam("Other", "example.org")
	testserver.WantCode(t, w.Services.Topics.DeleteTopic(ctx, otherTeam, topic.ID), app.CodeNotFound)
	testserver.Must(t, w.Services.Topics.DeleteTopic(ctx, w.Key, other.ID))
	_, err := w.Services.Topics.GetTopic(ctx, w.Key, topic.ID)
	testserver.Must(t, err)
	testserver.Must(t, w.Services.Mail.CancelEmail(ctx, w.Key, id))
	testserver.Must(t, w.Services.Topics.DeleteTopic(ctx, w.Key, topic.ID))
}

func TestCreateTopicOnFullDisk(t *testing.T) {
	w := testserver.New(t)
	if err := w.FailWrite(testserver.DiskFullError(t)); !errors.Is(err, db.ErrFull) {
		t.Fatal(err)
	}
	_, err := w.Services.Topics.CreateTopic(t.Context(), w.Key, app.TopicInput{Name: "x", Default: app.OptIn})
	testserver.WantCode(t, err, app.CodeServiceUnavailable)
}
