package sdktest

import (
	"strings"
	"testing"
	"time"
)

// TestBroadcastReview covers filters, drafts and their versions, the review of a broadcast, its
// results and one contact's history, templates, and the test and replay of a webhook, on the
// binary.
func TestBroadcastReview(t *testing.T) {
	part(t, "operations")
	t.Parallel()
	in := start(t, "--webhook-allow", "127.0.0.0/8", "--rate-limit", "0")
	in.addDomain(t, "example.test")
	in.run(t, "teams", "create", "Other")
	api, other := client{in.url, in.newKey(t)}, client{in.url, in.newKey(t, "--team", "Other")}
	for _, name := range []string{"Ann", "Bo", "Cy"} {
		api.ask(t, "POST", "/contacts", map[string]any{"email": strings.ToLower(name) + "@example.com", "first_name": name}, 201)
	}
	other.ask(t, "POST", "/contacts", map[string]any{"email": "ann@example.com", "first_name": "Ann"}, 201)
	api.ask(t, "POST", "/suppressions", map[string]any{"email": "bo@example.com"}, 201)
	var domains struct{ Data []struct{ ID string } }
	nodeOutput(api.ask(t, "GET", "/domains", nil, 200)).into(t, &domains)
	api.ask(t, "POST", "/domains/"+domains.Data[0].ID+"/dkim/rotate", nil, 200, "mailer2._domainkey.example.test", `"dkim_key":"next"`)
	other.ask(t, "POST", "/domains/"+domains.Data[0].ID+"/dkim/rotate", nil, 404, "not_found")
	api.ask(t, "GET", "/smtp", nil, 200, `"ports":[]`, `"user":"mailer"`)
	preview := map[string]any{"filter": map[string]any{"match": "all", "conditions": []any{map[string]any{"field": "first_name", "op": "starts_with", "value": "A"}}}}
	for _, c := range []client{api, other} {
		c.ask(t, "POST", "/segments/preview", preview, 200, `"count":1`, `"exact":true`, "ann@example.com")
		c.ask(t, "GET", "/contacts?search=ANN", nil, 200, "ann@example.com", `"has_more":false`)
	}
	t.Run("broadcast", func(t *testing.T) { checkReviews(t, api, other) })
	t.Run("template", func(t *testing.T) { checkTemplateVersions(t, api, other) })
	t.Run("webhook", func(t *testing.T) { checkWebhookTrials(t, api, other) })
}

// made makes something and returns its id.
func (c client) made(t *testing.T, path string, body map[string]any) string {
	t.Helper()
	var answer struct{ ID string }
	nodeOutput(c.ask(t, "POST", path, body, 201)).into(t, &answer)
	return answer.ID
}

func checkReviews(t *testing.T, api, other client) {
	id := api.made(t, "/broadcasts", map[string]any{"from": "News <a@example.test>", "subject": "First", "html": "<p>Hi {{{FIRST_NAME}}}, {{{plan}}}</p>"})
	at := "/broadcasts/" + id
	api.ask(t, "PATCH", at, map[string]any{"subject": "Second"}, 200)
	api.ask(t, "GET", at+"/versions", nil, 200, `"n":1`, `"type":"key"`)
	api.ask(t, "GET", at+"/versions/1", nil, 200, `"subject":"First"`)
	api.ask(t, "POST", at+"/versions/1/restore", nil, 200)
	api.ask(t, "POST", at+"/preview", map[string]any{"contact": "ann@example.com"}, 200, `"subject":"First"`, "Hi Ann, ", `"missing":["plan"]`)
	api.ask(t, "POST", at+"/plan", nil, 200, `"recipients":2`, `"suppressed":1`, `"score":`)
	other.ask(t, "POST", at+"/plan", nil, 404, "not_found")
	api.ask(t, "POST", at+"/segment", map[string]any{"name": "Too early", "outcome": "sent"}, 400, "was sent")
	api.ask(t, "POST", at+"/send", nil, 200)
	eventually(t, time.Minute, "the broadcast is sent", func() (bool, string) {
		_, body := api.do(t, "GET", at, nil)
		return strings.Contains(string(body), `"status":"sent"`), string(body)
	})
	var segment struct{ ID string }
	nodeOutput(api.ask(t, "POST", at+"/segment", map[string]any{"name": "Read nothing", "outcome": "not_opened"}, 201, `"contact_count":2`)).into(t, &segment)
	api.ask(t, "GET", "/segments/"+segment.ID+"/contacts", nil, 200, "ann@example.com", "cy@example.com")
	other.ask(t, "POST", at+"/segment", map[string]any{"name": "Theirs", "outcome": "sent"}, 404, "not_found")
	mail := api.send(t, map[string]any{"from": "a@example.test", "to": "ann@example.com", "subject": "Alone", "text": "hello"})
	api.waitEvent(t, mail, time.Minute, "sent")
	checkContactEvents(t, api, other, id, mail)
}

// checkContactEvents reads one contact's mail page by page.
func checkContactEvents(t *testing.T, api, other client, broadcast, mail string) {
	t.Helper()
	type page struct {
		HasMore    bool    `json:"has_more"`
		SearchedTo *string `json:"searched_to"`
		Data       []struct {
			ID          string
			BroadcastID *string `json:"broadcast_id"`
			LastEvent   string  `json:"last_event"`
			Events      []event
		}
	}
	var first, second page
	api.get(t, "/contacts/ann@example.com/events?limit=1", &first)
	if len(first.Data) != 1 || first.Data[0].ID != mail || first.Data[0].BroadcastID != nil || !first.HasMore || first.SearchedTo == nil {
		t.Fatalf("the newest: %+v", first)
	}
	api.get(t, "/contacts/ann@example.com/events?limit=1&after="+*first.SearchedTo, &second)
	if len(second.Data) != 1 || second.HasMore || *second.Data[0].BroadcastID != broadcast || second.Data[0].LastEvent != "sent" || len(second.Data[0].Events) == 0 {
		t.Errorf("the next: %+v", second)
	}
	api.ask(t, "GET", "/contacts/bo@example.com/events", nil, 200, `"data":[]`)
	other.ask(t, "GET", "/contacts/ann@example.com/events", nil, 200, `"data":[]`)
	other.ask(t, "GET", "/contacts/cy@example.com/events", nil, 404, "not_found")
}

func checkTemplateVersions(t *testing.T, api, other client) {
	at := "/templates/" + api.made(t, "/templates", map[string]any{"name": "T", "subject": "One {{{n}}}", "html": "<p>{{{n}}}</p>",
		"variables": []any{map[string]any{"key": "n", "type": "number", "fallback_value": 7}}})
	api.ask(t, "PATCH", at, map[string]any{"subject": "Two {{{n}}}"}, 200)
	api.ask(t, "POST", at+"/render", map[string]any{"variables": map[string]any{"n": 3}}, 200, `"subject":"Two 3"`)
	api.ask(t, "GET", at+"/versions", nil, 200, `"n":1`)
	api.ask(t, "GET", at+"/versions/1", nil, 200, `"subject":"One`)
	api.ask(t, "POST", at+"/versions/1/restore", nil, 200)
	api.ask(t, "POST", at+"/render", nil, 200, `"subject":"One 7"`)
	for _, path := range []string{"/render", "/versions/1/restore"} {
		other.ask(t, "POST", at+path, nil, 404, "not_found")
	}
}

func checkWebhookTrials(t *testing.T, api, other client) {
	endpoint := newReceiver(t)
	at := "/webhooks/" + api.made(t, "/webhooks", map[string]any{"endpoint": endpoint.URL, "events": []string{"topic.created"}})
	var trial struct{ ID string }
	nodeOutput(api.ask(t, "POST", at+"/test", nil, 200, `"ok":true`, `"status":200`)).into(t, &trial)
	endpoint.wait(t, "topic.created", 1)
	api.ask(t, "POST", at+"/replay", map[string]any{"message_ids": []string{trial.ID}}, 200, `"matched":1`, `"queued":1`)
	endpoint.wait(t, "topic.created", 2)
	other.ask(t, "POST", at+"/test", nil, 404, "not_found")
	other.ask(t, "POST", at+"/replay", map[string]any{"failed": true}, 404, "not_found")
}
