package world

import (
	"encoding/json"
	"fmt"

	"mailer/app"
	"mailer/app/webhook"
)

// heard is what webhooks will carry of a team, oldest first.
type heard struct {
	Type      webhook.EventName
	CreatedAt string `json:"created_at"`
	Data      map[string]any
}

func (w *World) Heard(teamID string) (all []heard) {
	w.T.Helper()
	for _, payload := range w.Sql("SELECT payload FROM happenings WHERE team_id = ? ORDER BY id", teamID) {
		var one heard
		Must(w.T, json.Unmarshal([]byte(payload), &one))
		all = append(all, one)
	}
	return all
}

// WantHeard compares names and some members of the data with what webhooks heard.
func (w *World) WantHeard(want ...string) {
	w.T.Helper()
	var got []string
	for _, one := range w.Heard(w.Key.TeamID) {
		line := string(one.Type)
		for _, member := range []string{"name", "deleted", "email", "origin", "topics"} {
			if v, ok := one.Data[member]; ok {
				b, err := json.Marshal(v)
				Must(w.T, err)
				line += " " + string(b)
			}
		}
		got = append(got, line)
	}
	if fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
		w.T.Errorf("webhooks heard\n%q, want\n%q", got, want)
	}
}

// topic makes one that is opt_in by default.
func (w *World) OptInTopic(name string) app.Topic {
	w.T.Helper()
	topic, err := w.Server.Topics.CreateTopic(w.T.Context(), w.Key, app.TopicInput{Name: name, Default: app.OptIn})
	Must(w.T, err)
	return topic
}
