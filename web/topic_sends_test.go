package web

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"mailer/app"
	"mailer/db"
)

// newTopic adds a topic to the team.
func (r *real) newTopic(teamID, name string) string {
	r.t.Helper()
	topic := app.Topic{ID: app.NewID(), TeamID: teamID, Name: name, Default: app.OptIn, Visibility: app.PublicTopic}
	if err := r.store.Write(r.t.Context(), func(tx *db.Tx) error { return tx.InsertTopic(&topic) }); err != nil {
		r.t.Fatal(err)
	}
	return topic.ID
}

func TestRealSendWithATopic(t *testing.T) {
	r := newReal(t, captured())
	news := r.newTopic(r.team.ID, "News")
	other, _ := r.newTeam("Other")
	theirs := r.newTopic(other.ID, "Theirs")
	with := func(topic string) string { return member(fmt.Sprintf(`"topic_id":%q`, topic)) }
	for _, c := range []struct {
		body   string
		status int
		code   app.Code
		words  string
	}{
		{with("s3cret"), 422, app.CodeValidation, "`topic_id` must be the id of a topic"},
		{with(app.NewID()), 404, app.CodeNotFound, "topic"},
		{with(theirs), 404, app.CodeNotFound, "topic"},
	} {
		wantError(t, r.as(r.full, "POST", "/emails", c.body), c.status, c.code, c.words)
		wantError(t, r.as(r.full, "POST", "/emails/batch", array(goodSend, c.body)), c.status, c.code, "emails.1: ", c.words)
		b := r.batch(array(c.body, goodSend), permissive)
		if len(b.Data) != 1 || len(b.Errors) != 1 || b.Errors[0].Index != 0 || !strings.Contains(b.Errors[0].Message, c.words) || strings.Contains(b.Errors[0].Message, "s3cret") {
			t.Errorf("%+v", b)
		}
	}
	const key = "Idempotency-Key: news-1"
	id := r.send(r.full, with(news), key)
	if again := r.send(r.full, with(news), key); again != id {
		t.Errorf("another id: %s", again)
	}
	for _, different := range []string{goodSend, with(r.newTopic(r.team.ID, "Different"))} {
		wantError(t, r.as(r.full, "POST", "/emails", different, key), 409, app.CodeInvalidIdempotent)
	}
	for _, id := range []string{id, r.batch(array(with(news))).Data[0].ID, r.send(r.full, with(strings.ToUpper(news)))} {
		var record struct {
			TopicID string `json:"topic_id"`
			Headers map[string]string
		}
		w := r.eventually(r.full, "/emails/"+id, `"last_event":"sent"`)
		if err := json.Unmarshal(w.Body.Bytes(), &record); err != nil || record.TopicID != news || len(record.Headers) != 0 {
			t.Errorf("%v: %s", err, w.Body)
		}
		var raw struct{ Message string }
		w = r.as(r.full, "GET", "/emails/"+id+"/raw", "")
		if err := json.Unmarshal(w.Body.Bytes(), &raw); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(raw.Message, "\r\nList-Unsubscribe: <https://mail.example.com/unsubscribe/") || !strings.Contains(raw.Message, "\r\nList-Unsubscribe-Post: List-Unsubscribe=One-Click\r\n") {
			t.Errorf("message\n%s", raw.Message)
		}
	}
	for _, none := range []string{goodSend, member(`"topic_id":null`), member(`"topic_id":""`)} {
		w := r.as(r.full, "GET", "/emails/"+r.send(r.full, none), "")
		if !strings.Contains(w.Body.String(), `"topic_id":null`) {
			t.Errorf("%s: %s", none, w.Body)
		}
	}
}
