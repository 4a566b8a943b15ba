package sdktest

import (
	"testing"
)

func TestNodeClientRest(t *testing.T) {
	part(t, "clients")
	inBothModes(t, nodeClientRest)
}

func nodeClientRest(t *testing.T, mode compat) {
	needNode(t)
	w := newFixture(t, &fixtureOptions{compat: mode, direct: true})
	var got struct {
		Sent, Topic, Changed, Read, Removed thing
		Batch                               batchAnswer
		Usage                               struct {
			Object string
			Cloud  bool
			Plan   *string
			Period *struct{}
			Today  struct {
				EmailsSent int    `json:"emails_sent"`
				ResetsAt   string `json:"resets_at"`
			}
			Team struct{ ID, Name string }
		}
		Errors map[string]apiError
	}
	runNode(t, w.in.url, w.key, "rest.mjs", map[string]string{"FROM": "a@example.test"}).into(t, &got)
	w.wantTo(t, "one@example.com", "two@example.com", "three@example.com")
	if e := (client{w.in.url, w.key}).email(t, got.Sent.ID); len(got.Batch.Data) != 2 || e.Subject != "to one@example.com" {
		t.Errorf("sent %+v, batch %+v", e, got.Batch)
	}
	if got.Topic.Object != "topic" || got.Changed.ID != got.Topic.ID || got.Read.Name != "Old news" || got.Read.Default != "opt_in" || !got.Removed.Deleted {
		t.Errorf("topic %+v, %+v, %+v, %+v", got.Topic, got.Changed, got.Read, got.Removed)
	}
	if u := got.Usage; u.Object != "usage" || u.Cloud || u.Plan != nil || u.Period != nil || u.Today.EmailsSent != 3 || u.Today.ResetsAt == "" || u.Team.Name != "Default" {
		t.Errorf("usage %+v", u)
	}
	if got.Errors["put"].StatusCode != 405 || got.Errors["gone"].StatusCode != 404 {
		t.Errorf("errors %+v", got.Errors)
	}
}
