package web

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"mailer/app"
	"mailer/web/rest"
)

// rpc sends one message to /mcp.
func (r *testAPI) rpc(key, message string, headers ...string) *httptest.ResponseRecorder {
	r.t.Helper()
	return r.do("POST", "/mcp", message, append(headers, "Authorization: Bearer "+key)...)
}

// toolResult is what a tool answered.
type toolResult struct {
	IsError bool
	Content []struct{ Type, Text string }
}

// tool calls a tool and returns the text of its result.
func (r *testAPI) tool(key, name string, arguments any) (text string, isError bool) {
	r.t.Helper()
	args, err := json.Marshal(arguments)
	if err != nil {
		r.t.Fatal(err)
	}
	w := r.rpc(key, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, name, args))
	wantStatus(r.t, w, http.StatusOK)
	var answer struct {
		Result *toolResult
		Error  any
	}
	if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil || answer.Result == nil || len(answer.Result.Content) != 1 || answer.Result.Content[0].Type != "text" {
		r.t.Fatalf("%s: %v, %s", name, err, w.Body)
	}
	return answer.Result.Content[0].Text, answer.Result.IsError
}

// ok calls a tool that must succeed and reads its answer.
func (r *testAPI) ok(key, name string, arguments any, into any) {
	r.t.Helper()
	text, isError := r.tool(key, name, arguments)
	if isError {
		r.t.Fatalf("%s: %s", name, text)
	}
	if into == nil {
		return
	}
	if err := json.Unmarshal([]byte(text), into); err != nil {
		r.t.Fatalf("%s: %v: %s", name, err, text)
	}
}

// refused calls a tool that must fail with an error of the API.
func (r *testAPI) refused(key, name string, arguments any, status int, code app.Code, words string) {
	r.t.Helper()
	text, isError := r.tool(key, name, arguments)
	var body rest.Error
	if err := json.Unmarshal([]byte(text), &body); err != nil || !isError {
		r.t.Fatalf("%s: error %v, %v: %s", name, isError, err, text)
	}
	if body.StatusCode != status || body.Name != code || !strings.Contains(body.Message, words) {
		r.t.Errorf("%s: %+v, want %d %s with %q", name, body, status, code, words)
	}
}

type m map[string]any

func TestMCPSend(t *testing.T) {
	t.Parallel()
	r := newTestAPI(t, captured())
	send := m{"from": "Shop <shop@example.com>", "to": "a@example.org", "subject": "Hi", "text": "t", "idempotency_key": "order-1"}
	var sent, again, read struct{ ID, Subject string }
	r.ok(r.full, "send_email", send, &sent)
	r.ok(r.full, "send_email", send, &again)
	if sent.ID == "" || again.ID != sent.ID {
		t.Errorf("sent %q, and with the same key %q", sent.ID, again.ID)
	}
	r.eventually(r.full, "/emails/"+sent.ID, `"last_event":"sent"`)
	r.ok(r.full, "get_email", m{"id": sent.ID}, &read)
	if read.ID != sent.ID || read.Subject != "Hi" {
		t.Errorf("read back %+v", read)
	}
	text, _ := r.tool(r.full, "get_email", m{"id": sent.ID})
	if api := strings.TrimSpace(r.as(r.full, "GET", "/emails/"+sent.ID, "").Body.String()); text != api {
		t.Errorf("the tool answers\n%s\nand the API\n%s", text, api)
	}
	send["subject"] = "other"
	r.refused(r.full, "send_email", send, 409, app.CodeInvalidIdempotent, "")
	var batch struct{ Data []struct{ ID string } }
	item := m{"from": "a@example.com", "to": "b@example.org", "subject": "s", "text": "t"}
	r.ok(r.full, "send_batch", m{"emails": []any{item, item}, "batch_validation": "permissive"}, &batch)
	var list struct {
		HasMore bool `json:"has_more"`
		Data    []struct{ ID string }
	}
	r.ok(r.full, "list_emails", m{"limit": 2}, &list)
	if len(batch.Data) != 2 || len(list.Data) != 2 || !list.HasMore || list.Data[0].ID != batch.Data[1].ID {
		t.Errorf("batch %+v, list %+v", batch, list)
	}
	r.ok(r.full, "list_emails", m{"after": list.Data[1].ID, "limit": "5", "before": nil}, &list)
	if len(list.Data) != 1 || list.Data[0].ID != sent.ID {
		t.Errorf("the next page is %+v", list)
	}
}

func TestMCPContacts(t *testing.T) {
	t.Parallel()
	r := newTestAPI(t, captured())
	type object struct {
		ID    string
		Email string
		Data  []struct{ ID, Email, Subscription string }
	}
	var segment, topic, contact, got, members, topics object
	r.ok(r.full, "create_segment", m{"name": "s"}, &segment)
	r.ok(r.full, "create_topic", m{"name": "news", "default_subscription": "opt_out"}, &topic)
	r.ok(r.full, "create_contact", m{"email": "a/b+c@example.org", "first_name": "Ann"}, &contact)
	r.ok(r.full, "add_contact_to_segment", m{"id": "a/b+c@example.org", "segment_id": segment.ID}, nil)
	r.ok(r.full, "list_segment_contacts", m{"id": segment.ID}, &members)
	if len(members.Data) != 1 || members.Data[0].ID != contact.ID {
		t.Errorf("members %+v", members)
	}
	r.ok(r.full, "set_contact_topics", m{"id": contact.ID, "topics": []m{{"id": topic.ID, "subscription": "opt_in"}}}, nil)
	r.ok(r.full, "list_contact_topics", m{"id": contact.ID}, &topics)
	if len(topics.Data) != 1 || topics.Data[0].Subscription != "opt_in" {
		t.Errorf("topics %+v", topics)
	}
	r.ok(r.full, "update_contact", m{"id": contact.ID, "first_name": nil, "unsubscribed": true}, nil)
	r.ok(r.full, "get_contact", m{"id": "A/B+C@example.org"}, &got)
	if got.ID != contact.ID || !strings.EqualFold(got.Email, "a/b+c@example.org") {
		t.Errorf("got %+v", got)
	}
	r.ok(r.full, "put_contacts", m{"contacts": []m{{"email": "d@example.org"}}, "on_conflict": "skip"}, nil)
	r.ok(r.full, "delete_contact", m{"id": contact.ID, "erase": true}, nil)
	r.refused(r.full, "get_contact", m{"id": contact.ID}, 404, app.CodeNotFound, "")
	// A path of another route is an id here, and an unknown one.
	r.refused(r.full, "get_contact", m{"id": "imports"}, 404, app.CodeNotFound, "")
}

func TestMCPErrors(t *testing.T) {
	t.Parallel()
	r := newTestAPI(t, captured())
	sending := r.key(r.team.ID, app.KeyInput{Permission: app.SendingAccess})
	_, otherKey := r.newTeam("Other")
	id := r.send(r.full, validSend)
	for _, tt := range []struct {
		key, tool string
		arguments any
		status    int
		code      app.Code
		words     string
	}{
		{r.full, "send_email", m{"from": "a@example.com", "to": "b@example.org", "subject": "s"}, 422, app.CodeValidation, "`html`"},
		{r.full, "send_email", m{"colour": "red"}, 422, app.CodeValidation, "`colour`"},
		{r.full, "send_email", nil, 422, app.CodeValidation, "`from`"},
		{r.full, "send_email", []int{1}, 422, app.CodeValidation, "`arguments`"},
		{r.full, "send_email", "x", 422, app.CodeValidation, "`arguments`"},
		{r.full, "send_email", m{"idempotency_key": "a\nb"}, 422, app.CodeValidation, "`idempotency_key`"},
		{r.full, "send_batch", m{}, 422, app.CodeValidation, "`emails`"},
		{r.full, "send_batch", m{"emails": "x"}, 422, app.CodeValidation, "array"},
		{r.full, "send_batch", m{"emails": []m{}, "to": 1}, 422, app.CodeValidation, "`to`"},
		{r.full, "get_email", m{}, 422, app.CodeValidation, "`id`"},
		{r.full, "get_email", m{"id": nil}, 422, app.CodeValidation, "`id`"},
		{r.full, "get_email", m{"id": ""}, 422, app.CodeValidation, "`id`"},
		{r.full, "get_email", m{"id": m{"a": 1}}, 422, app.CodeValidation, "`id`"},
		{r.full, "get_email", m{"id": id, "x": 1}, 422, app.CodeValidation, "`x`"},
		{r.full, "get_email", m{"id": "../domains"}, 404, app.CodeNotFound, ""},
		{r.full, "get_email", m{"id": unknownID}, 404, app.CodeNotFound, ""},
		{otherKey, "get_email", m{"id": id}, 404, app.CodeNotFound, ""},
		{otherKey, "delete_email", m{"id": id}, 404, app.CodeNotFound, ""},
		{r.full, "list_emails", m{"limit": 101}, 422, app.CodeValidation, "`limit`"},
		{sending, "get_email", m{"id": id}, 403, app.CodeRestrictedAPIKey, ""},
		{sending, "list_contacts", m{}, 403, app.CodeRestrictedAPIKey, ""},
		{sending, "cancel_email", m{"id": id}, 404, app.CodeNotFound, ""},
	} {
		r.refused(tt.key, tt.tool, tt.arguments, tt.status, tt.code, tt.words)
	}
	r.ok(sending, "send_email", m{"from": "a@example.com", "to": "b@example.org", "subject": "s", "text": "t"}, nil)
}

// tools are the operations that are tools, by the names of these.
func (r *testAPI) tools() map[string]*rest.Operation {
	r.t.Helper()
	w := r.do("POST", "/mcp?tools=all", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, "Authorization: Bearer "+r.full)
	out := map[string]*rest.Operation{}
	for _, tool := range decoded[struct {
		Result struct{ Tools []struct{ Name string } }
	}](r.t, w).Result.Tools {
		op := r.handler.Operations()[strings.ReplaceAll(tool.Name, "_", "-")]
		if op == nil {
			r.t.Fatalf("%s is a tool, and no operation", tool.Name)
		}
		out[tool.Name] = op
	}
	return out
}

// TestMCPRoles calls what only owners and admins may do.
func TestMCPRoles(t *testing.T) {
	t.Parallel()
	r := newTestAPI(t, captured())
	member, _, err := r.server.Teams.CreateKey(t.Context(), r.team.ID, app.KeyInput{Name: "m", Permission: app.FullAccess, Role: app.RoleMember})
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for name, op := range r.tools() {
		if !op.Route.Admin {
			continue
		}
		n++
		arguments := m{}
		for _, p := range op.Parameters {
			if p.In == "path" {
				arguments[p.Name] = unknownID
			}
		}
		r.refused(member, name, arguments, 403, app.CodeForbidden, "role")
	}
	if n < 5 {
		t.Errorf("only %d tools are for admins", n)
	}
}

func TestMCPCallBudget(t *testing.T) {
	t.Parallel()
	r := newTestAPI(t, captured())
	second := r.key(r.team.ID, app.KeyInput{})
	r.clock = r.clock.Truncate(time.Minute).Add(15 * time.Second)
	for range 60 {
		r.ok(r.full, "list_topics", m{}, nil)
	}
	r.refused(r.full, "list_topics", m{}, 429, app.CodeRateLimitExceeded, "45 seconds")
	r.ok(second, "list_topics", m{}, nil)
	wantStatus(t, r.rpc(r.full, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`), 200)
	wantStatus(t, r.as(r.full, "GET", "/topics", ""), 200)
	r.clock = r.clock.Add(44 * time.Second)
	r.refused(r.full, "list_topics", m{}, 429, app.CodeRateLimitExceeded, "1 seconds")
	r.clock = r.clock.Add(time.Second)
	r.ok(r.full, "list_topics", m{}, nil)
}

func TestMCPRate(t *testing.T) {
	t.Parallel()
	r := newTestAPI(t, captured(), func(c *Config, _ *rest.Limits) { c.RateLimit = 1 })
	r.ok(r.full, "list_topics", m{}, nil)
	wantError(t, r.rpc(r.full, `{}`), 429, app.CodeRateLimitExceeded)
}

func TestMCPHidesSigningSecret(t *testing.T) {
	t.Parallel()
	r := newTestAPI(t, captured())
	const secret = "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="
	var hook struct{ ID string }
	for _, arguments := range []m{
		{"endpoint": "https://hooks.example.com/a", "events": []string{"email.sent"}},
		{"endpoint": "https://hooks.example.com/b", "events": []string{"email.sent"}, "signing_secret": secret},
	} {
		text, isError := r.tool(r.full, "create_webhook", arguments)
		if err := json.Unmarshal([]byte(text), &hook); err != nil || isError || hook.ID == "" || strings.Contains(text, "secret") {
			t.Fatalf("create_webhook: %s", text)
		}
	}
	shown := r.as(r.full, "GET", "/webhooks/"+hook.ID, "").Body.String()
	if !strings.Contains(shown, secret) {
		t.Fatalf("the API shows %s", shown)
	}
	for _, name := range []string{"get_webhook", "update_webhook", "list_webhooks", "delete_webhook"} {
		arguments := m{"id": hook.ID}
		switch name {
		case "update_webhook":
			arguments["status"] = "disabled"
		case "list_webhooks":
			clear(arguments)
		}
		text, isError := r.tool(r.full, name, arguments)
		if isError || strings.Contains(text, "whsec") || strings.Contains(text, "secret") {
			t.Errorf("%s: %s", name, text)
		}
	}
}

func TestMCPKeyCreationShowsToken(t *testing.T) {
	t.Parallel()
	r := newTestAPI(t, captured())
	var made struct{ ID, Token string }
	r.ok(r.full, "create_api_key", m{"name": "by an agent", "permission": "sending_access"}, &made)
	r.ok(made.Token, "send_email", m{"from": "a@example.com", "to": "b@example.org", "subject": "s", "text": "t"}, nil)
	text, isError := r.tool(r.full, "list_api_keys", m{})
	if isError || !strings.Contains(text, made.ID) || tokens.MatchString(text) || strings.Contains(text, "token") {
		t.Errorf("list_api_keys: %s", text)
	}
	r.ok(r.full, "delete_api_key", m{"id": made.ID}, nil)
}
