package web

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"mailer/app"
	"mailer/app/rules/webhook"
	"mailer/db"
)

type trialAnswer struct {
	Object, ID, Response string
	OK                   bool
	Status, Matched      int
	Queued               int
	HasMore              bool `json:"has_more"`
}

func TestTestWebhook(t *testing.T) {
	t.Parallel()
	s := newHooked(t)
	hook := s.want(201, s.full, "POST", "/webhooks", `{"endpoint":"https://hooks.example.com/","events":["email.bounced"]}`).ID
	other := s.want(201, s.full, "POST", "/webhooks", `{"endpoint":"https://hooks.example.com/","events":["email.bounced"]}`).ID
	try := func(body string) trialAnswer {
		t.Helper()
		w := s.as(s.full, "POST", "/webhooks/"+hook+"/test", body)
		wantStatus(t, w, 200)
		return decoded[trialAnswer](t, w)
	}
	got := try("")
	if got.Object != "webhook_test" || !got.OK || got.Status != 200 || got.Response != "thanks for "+got.ID {
		t.Errorf("tried %+v", got)
	}
	event := s.want(200, s.full, "GET", "/webhooks/"+hook+"/events/"+got.ID, "")
	if event.Status != "success" || event.Payload.Type != "email.bounced" || event.Payload.Data["test"] != true {
		t.Errorf("the event of the trial: %+v", event)
	}
	s.mu.Lock()
	s.status = 500
	s.mu.Unlock()
	if got = try(`{"event":"topic.created"}`); got.OK || got.Status != 500 {
		t.Errorf("tried %+v", got)
	}
	list := s.want(200, s.full, "GET", "/webhooks/"+hook+"/events", "")
	if len(list.Data) != 2 || list.Data[0].Status != "failed" || list.Data[0].NextAttemptAt != nil || list.Data[0].Type != "topic.created" {
		t.Errorf("after the trials: %+v", list.Data)
	}
	if at := s.want(200, s.full, "GET", "/webhooks/"+hook, ""); at.FailingSince != nil {
		t.Error("a trial that failed counts against the webhook")
	}
	if list := s.want(200, s.full, "GET", "/webhooks/"+other+"/events", ""); len(list.Data) > 0 {
		t.Errorf("another webhook hears of it: %+v", list.Data)
	}
	wantError(t, s.as(s.full, "POST", "/webhooks/"+hook+"/test", `{"event":"email.eaten"}`), 422, app.CodeValidation, "`event`")
	wantError(t, s.as(s.member, "POST", "/webhooks/"+hook+"/test", ""), 403, app.CodeForbidden)
	wantError(t, s.as(s.foreign, "POST", "/webhooks/"+hook+"/test", ""), 404, app.CodeNotFound, "webhook")
}

// Test events match the document, closed to unknown members; TestWebhookSchemas checks real events.
func TestTestEventSchemas(t *testing.T) {
	t.Parallel()
	s := newHooked(t)
	hook := s.made(s.full, "/webhooks", `{"endpoint":"https://hooks.example.com/","events":["email.sent"]}`)
	for _, name := range webhook.EventNames() {
		w := s.as(s.full, "POST", "/webhooks/"+hook+"/test", `{"event":"`+string(name)+`"}`)
		wantStatus(t, w, 200)
		event := s.object(s.full, "/webhooks/"+hook+"/events/"+decoded[trialAnswer](t, w).ID)["payload"].(map[string]any)
		data := event["data"].(map[string]any)
		if event["type"] != string(name) || data["test"] != true {
			t.Errorf("the test of %s is %v", name, event)
		}
		// What the events of an email say beyond others is optional in the document.
		extra := map[webhook.EventName]string{webhook.EmailBounced: "bounce", webhook.EmailClicked: "click", webhook.EmailFailed: "failed", webhook.EmailSuppressed: "suppressed"}[name]
		if extra != "" && data[extra] == nil {
			t.Errorf("the test of %s has no %s", name, extra)
		}
		s.wantSchema(event)
	}
}

// Resend's clients ask for all events of Resend, some of which Mailer does not have yet.
func TestWebhookUnsentEvents(t *testing.T) {
	t.Parallel()
	s := newHooked(t)
	type answer struct {
		ID      string
		Events  []string
		NotSent []string `json:"events_not_sent"`
	}
	ask := func(code int, method, target, body string) answer {
		t.Helper()
		w := s.as(s.full, method, target, body)
		wantStatus(t, w, code)
		return decoded[answer](t, w)
	}
	made := ask(201, "POST", "/webhooks", `{"endpoint":"https://hooks.example.com/","events":["inbox.created","email.sent","inbox.thread.created"]}`)
	for _, got := range []answer{made, ask(200, "GET", "/webhooks/"+made.ID, "")} {
		if fmt.Sprint(got.Events) != "[inbox.created email.sent inbox.thread.created]" || fmt.Sprint(got.NotSent) != "[inbox.created inbox.thread.created]" {
			t.Errorf("%+v", got)
		}
	}
	if w := s.as(s.full, "POST", "/webhooks/"+made.ID+"/test", ""); !strings.Contains(w.Body.String(), `"ok":true`) {
		t.Errorf("the test without a name: %s", w.Body)
	}
	wantError(t, s.as(s.full, "POST", "/webhooks/"+made.ID+"/test", `{"event":"inbox.created"}`), 422, app.CodeValidation, "`event` is inbox.created, which this service does not send yet")
	if got := ask(200, "PATCH", "/webhooks/"+made.ID, `{"events":["email.sent"]}`); got.NotSent != nil {
		t.Errorf("%+v", got)
	}
	ask(200, "PATCH", "/webhooks/"+made.ID, `{"events":["inbox.created"]}`)
	wantError(t, s.as(s.full, "POST", "/webhooks/"+made.ID+"/test", ""), 422, app.CodeValidation, "`event` is required")
}

func TestReplayWebhook(t *testing.T) {
	t.Parallel()
	s := newHooked(t)
	hook := s.want(201, s.full, "POST", "/webhooks", `{"endpoint":"https://hooks.example.com/","events":["topic.created"]}`).ID
	at := "/webhooks/" + hook
	for i := range 3 {
		wantStatus(t, s.as(s.full, "POST", "/topics", fmt.Sprintf(`{"name":"t%d","default_subscription":"opt_in"}`, i)), 201)
	}
	for _, e := range s.want(200, s.full, "GET", at+"/events", "").Data {
		s.eventually(s.full, at+"/events/"+e.ID, `"success"`)
	}
	s.mu.Lock()
	s.status = 500
	s.mu.Unlock()
	failed := decoded[trialAnswer](t, s.as(s.full, "POST", at+"/test", ""))
	s.mu.Lock()
	s.status = 200
	s.mu.Unlock()
	replay := func(body string, matched int) {
		t.Helper()
		w := s.as(s.full, "POST", at+"/replay", body)
		wantStatus(t, w, 200)
		if got := decoded[trialAnswer](t, w); got.Object != "webhook_replay" || got.Matched != matched || got.Queued > matched || got.HasMore {
			t.Errorf("%s: %+v, want %d", body, got, matched)
		}
	}
	replay(`{"failed":true}`, 0) // a test that failed is nothing that happened
	given := s.want(200, s.full, "GET", at+"/events", "").Data[2].ID
	err := s.store.Write(t.Context(), func(tx *db.Tx) error {
		id, _ := webhook.ParseMessageID(given)
		_, err := tx.EndDelivery(hook, id, 1, webhook.DeliveryFailed, time.Time{})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	replay(`{"failed":true}`, 1)
	s.eventually(s.full, at+"/events/"+given, `"success"`)
	replay(`{"message_ids":["`+failed.ID+`","msg_`+unknownID+`"]}`, 1)
	s.eventually(s.full, at+"/events/"+failed.ID, `"success"`)
	replay(`{"failed":true}`, 0)
	events := s.want(200, s.full, "GET", at+"/events", "").Data
	for _, e := range events {
		s.eventually(s.full, at+"/events/"+e.ID, `"success"`)
	}
	replay(fmt.Sprintf(`{"since":%q}`, time.Now().Add(-time.Hour).UTC().Format(time.RFC3339)), 3)
	replay(fmt.Sprintf(`{"since":%q,"until":%q}`, time.Now().Add(-2*time.Hour).UTC().Format(time.RFC3339), time.Now().Add(-time.Hour).UTC().Format(time.RFC3339)), 0)
	for body, words := range map[string]string{
		`{}`: "`message_ids`", `{"message_ids":["x"]}`: "`message_ids`", `{"failed":true,"message_ids":["` + failed.ID + `"]}`: "`message_ids`",
		`{"since":"yesterday"}`: "`since`", `{"failed":true,"until":"2026-01-01T00:00:00Z"}`: "`until`",
		`{"message_ids":["x"` + strings.Repeat(`,"x"`, 100) + `]}`: "`message_ids`",
	} {
		wantError(t, s.as(s.full, "POST", at+"/replay", body), 422, app.CodeValidation, words)
	}
	wantError(t, s.as(s.member, "POST", at+"/replay", `{"failed":true}`), 403, app.CodeForbidden)
	wantError(t, s.as(s.foreign, "POST", at+"/replay", `{"failed":true}`), 404, app.CodeNotFound, "webhook")
	s.want(200, s.full, "PATCH", at, `{"status":"disabled"}`)
	wantError(t, s.as(s.full, "POST", at+"/replay", `{"failed":true}`), 409, app.CodeConflict, "disabled")
}
