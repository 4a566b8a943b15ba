package web

import (
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"mailer/app"
	"mailer/app/server"
	"mailer/db"
)

type automationAnswer struct {
	Object, ID, Name, Status string
	Version                  int
	Held                     *string
	Steps                    []struct {
		Key, Type string
		Config    map[string]any
	}
	Connections  []struct{ From, To, Type string }
	ReEntry      map[string]any `json:"re_entry"`
	TopicID      *string        `json:"topic_id"`
	ExitOnOptOut bool           `json:"exit_on_opt_out"`
	CreatedAt    string         `json:"created_at"`
	UpdatedAt    string         `json:"updated_at"`
	Deleted      bool
	HasMore      bool `json:"has_more"`
	Data         []automationAnswer
}

type eventAnswer struct {
	Object, ID, Name, Event string
	Schema                  map[string]string
	CreatedAt               string  `json:"created_at"`
	UpdatedAt               *string `json:"updated_at"`
	Deleted                 bool
	Data                    []eventAnswer
}

func (a *audienceAPI) automation(status int, method, target, body string) automationAnswer {
	a.t.Helper()
	w := a.call(method, target, body)
	wantStatus(a.t, w, status)
	return decoded[automationAnswer](a.t, w)
}

func (a *audienceAPI) event(status int, method, target, body string) eventAnswer {
	a.t.Helper()
	w := a.call(method, target, body)
	wantStatus(a.t, w, status)
	return decoded[eventAnswer](a.t, w)
}

const (
	startStep    = `{"key":"start","type":"trigger","config":{"event_name":"user.created"}}`
	delayStep    = `{"key":"wait","type":"delay","config":{"duration":"3 days"}}`
	plainFlow    = `"steps":[` + startStep + `],"connections":[]`
	twoSteps     = `"steps":[` + startStep + `,` + delayStep + `],"connections":[{"from":"start","to":"wait"}]`
	minimalFlow  = `{"name":"Welcome",` + plainFlow + `}`
	enabledFlow  = `{"name":"Welcome","status":"enabled",` + plainFlow + `}`
	ofSteps      = `{"name":"A","connections":[],"steps":%s}`
	ofConnection = `{"name":"A","steps":[` + startStep + `,` + delayStep + `],"connections":%s}`
)

func TestAutomations(t *testing.T) {
	t.Parallel()
	a := newAudienceAPI(t)
	topic := a.topic("News", "").ID
	made := a.automation(201, "POST", "/automations", `{"name":" Welcome ",`+twoSteps+`}`)
	at := "/automations/" + made.ID
	got := a.automation(200, "GET", at, "")
	if made.Object != "automation" || got.Object != "automation" || got.Name != "Welcome" || got.Status != "disabled" || got.Version != 1 || got.Held != nil || got.TopicID != nil || got.ExitOnOptOut ||
		len(got.Steps) != 2 || got.Steps[1].Type != "delay" || got.Steps[1].Config["duration"] != "3 days" || got.ReEntry["mode"] != "once" || len(got.ReEntry) != 1 ||
		len(got.Connections) != 1 || got.Connections[0].Type != "default" || got.CreatedAt == "" || got.UpdatedAt != got.CreatedAt {
		t.Errorf("made %+v", got)
	}
	a.automation(200, "PATCH", at, fmt.Sprintf(`{"name":"N","topic_id":%q,"exit_on_opt_out":true,"re_entry":{"mode":"after_days","days":30}}`, strings.ToUpper(topic)))
	a.automation(200, "PATCH", at, `{"re_entry":{"mode":"always"}}`)
	if got = a.automation(200, "GET", at, ""); got.Name != "N" || value(got.TopicID) != topic || !got.ExitOnOptOut || got.ReEntry["mode"] != "always" || got.Version != 3 || len(got.Steps) != 2 {
		t.Errorf("changed %+v", got)
	}
	a.automation(200, "PATCH", at, `{"topic_id":null,"status":"enabled",`+plainFlow+`}`)
	if got = a.automation(200, "GET", at, ""); got.TopicID != nil || got.Status != "enabled" || len(got.Steps) != 1 || len(got.Connections) != 0 || got.Version != 4 {
		t.Errorf("changed again %+v", got)
	}
	copied := a.automation(201, "POST", at+"/duplicate", "")
	if got = a.automation(200, "GET", "/automations/"+copied.ID, ""); copied.Object != "automation" || got.Name != "N (copy)" || got.Status != "disabled" || got.Version != 1 || len(got.Steps) != 1 {
		t.Errorf("a copy %+v", got)
	}
	for status, ids := range map[string][]string{"": {copied.ID, made.ID}, "?status=enabled": {made.ID}, "?status=disabled": {copied.ID}, "?limit=1&after=" + copied.ID: {made.ID}} {
		var have []string
		for _, row := range a.automation(200, "GET", "/automations"+status, "").Data {
			have = append(have, row.ID)
		}
		if !slices.Equal(have, ids) {
			t.Errorf("the list %s has %q, want %q", status, have, ids)
		}
	}
	wantError(t, a.call("GET", "/automations?status=on", ""), 422, app.CodeValidation, "`status`")
	if stopped := a.automation(200, "POST", at+"/stop", ""); stopped.ID != made.ID || stopped.Status != "disabled" {
		t.Errorf("stopped %+v", stopped)
	}
	for _, route := range []string{"GET ", "PATCH ", "DELETE ", "POST /duplicate", "POST /stop", "GET /runs"} {
		method, below, _ := strings.Cut(route, " ")
		wantError(t, a.as(a.foreign, method, at+below, `{}`), 404, app.CodeNotFound, "automation")
	}
	if gone := a.automation(200, "DELETE", at, ""); gone.ID != made.ID || !gone.Deleted {
		t.Errorf("deleted %+v", gone)
	}
	wantStatus(t, a.call("GET", at, ""), 404)
}

// What is refused names the member.
func TestAutomationsRefuse(t *testing.T) {
	t.Parallel()
	a := newAudienceAPI(t)
	at := "/automations/" + a.automation(201, "POST", "/automations", minimalFlow).ID
	steps := func(more string) string { return fmt.Sprintf(ofSteps, "["+startStep+more+"]") }
	for body, field := range map[string]string{
		`{` + plainFlow + `}`:                                                                         "`name`",
		`{"name":"A","connections":[]}`:                                                               "`steps`",
		`{"name":"A","steps":[` + startStep + `]}`:                                                    "`connections`",
		`{"name":"A","color":1,` + plainFlow + `}`:                                                    "`color`",
		`{"name":"A","status":"on",` + plainFlow + `}`:                                                "`status`",
		`{"name":"A","topic_id":"x",` + plainFlow + `}`:                                               "`topic_id`",
		`{"name":"A","re_entry":{},` + twoSteps + `,"a":1}`:                                           "`a`",
		`{"name":"A","re_entry":{"mode":"often"},` + plainFlow + `}`:                                  "`re_entry.mode`",
		`{"name":"A","re_entry":{"mode":"always","often":1},` + plainFlow + `}`:                       "`re_entry.often`",
		`{"name":"A","re_entry":{"mode":"once_per_event_key"},` + plainFlow + `}`:                     "`re_entry.field`",
		fmt.Sprintf(ofSteps, `[]`):                                                                    "`steps`",
		fmt.Sprintf(ofSteps, `[`+delayStep+`]`):                                                       "`steps`",
		steps(`,{"key":"start","type":"delay","config":{"duration":"1 day"}}`):                        "`steps[1].key`",
		steps(`,{"key":"b","type":"dance","config":{}}`):                                              "`steps[1].type`",
		steps(`,{"key":"b","type":"delay","config":{"duration":"soon"}}`):                             "`steps[1].config.duration`",
		steps(`,{"key":"b","type":"delay","config":{"duration":"1 day","for":1}}`):                    "`steps[1].config.for`",
		steps(`,{"key":"b","type":"delay","config":"1 day"}`):                                         "`steps[1].config`",
		steps(`,{"key":"b","type":"delay","config":{"duration":"1 day"},"note":""}`):                  "`steps[1].note`",
		steps(`,` + delayStep):                                                                        "`steps[1]`",
		fmt.Sprintf(ofConnection, `[{"from":"start","to":"nowhere"}]`):                                "`connections[0].to`",
		fmt.Sprintf(ofConnection, `[{"from":"start","to":"wait","type":"timeout"}]`):                  "`connections[0].type`",
		fmt.Sprintf(ofConnection, `[{"from":"start","to":"wait","if":1}]`):                            "`connections[0].if`",
		fmt.Sprintf(ofConnection, `[{"from":"start","to":"wait"},{"from":"wait","to":"start"}]`):      "`connections[1].to`",
		steps(`,{"key":"b","type":"add_to_segment","config":{"segment_id":"` + unknownID + `"}}`):     "`steps[1]`",
		fmt.Sprintf(`{"name":%q,`+plainFlow+`}`, strings.Repeat("x", app.MaxAutomationName+1)):        "`name`",
		fmt.Sprintf(ofSteps, `[`+strings.Repeat(startStep+`,`, app.MaxAutomationSteps)+startStep+`]`): "`steps`",
	} {
		wantError(t, a.call("POST", "/automations", body), 422, app.CodeValidation, field)
	}
	for body, field := range map[string]string{
		`{"steps":[` + startStep + `]}`:                    "`connections`",
		`{"connections":[]}`:                               "`steps`",
		`{"status":"on"}`:                                  "`status`",
		`{"steps":[],"connections":[]}`:                    "`steps`",
		`{"version":2}`:                                    "`version`",
		`{"re_entry":{"mode":"after_days","days":0}}`:      "`re_entry.days`",
		`{"topic_id":"` + unknownID + `"}`:                 "`topic_id`",
		`{"exit_on_opt_out":"yes"}`:                        "`exit_on_opt_out`",
		`{"automation_id":"` + unknownID + `","name":"B"}`: "`automation_id`",
	} {
		wantError(t, a.call("PATCH", at, body), 422, app.CodeValidation, field)
	}
	large := `{"name":"A",` + plainFlow + `,"re_entry":{"mode":"` + strings.Repeat("x", 2*app.MaxAutomationSize) + `"}}`
	wantError(t, a.call("POST", "/automations", large), 413, app.CodePayloadTooLarge)
	if got := a.automation(200, "GET", at, ""); got.Version != 1 || got.Name != "Welcome" {
		t.Errorf("a refusal changed the automation: %+v", got)
	}
}

// The empty arrays that PHP makes of empty objects count as objects.
func TestAutomationsOfPHP(t *testing.T) {
	t.Parallel()
	a := newAudienceAPI(t)
	made := a.automation(201, "POST", "/automations", `{"name":"A","steps":[`+startStep+`,{"key":"end","type":"contact_delete","config":[]}],"connections":[{"from":"start","to":"end"}]}`)
	if got := a.automation(200, "GET", "/automations/"+made.ID, ""); got.Steps[1].Config == nil || len(got.Steps[1].Config) != 0 {
		t.Errorf("%+v", got.Steps)
	}
	if e := a.event(201, "POST", "/events", `{"name":"e","schema":[]}`); e.ID == "" {
		t.Error("no id")
	}
	a.contact("ann@example.org")
	a.event(202, "POST", "/events/send", `{"event":"e","email":"ann@example.org","payload":[]}`)
}

// Only --compat resend knows the events of mail by Resend's names.
func TestAutomationsWithEventsOfResend(t *testing.T) {
	t.Parallel()
	for _, mode := range []app.Compat{app.CompatStrict, app.CompatResend} {
		a := newAudienceWith(t, func(cfg *server.Config) { cfg.Compat = mode })
		body := func(event string) string {
			return `{"name":"A","steps":[` + startStep + `,{"key":"opened","type":"wait_for_event","config":{"event_name":"` + event + `","timeout":"3 days"}}],"connections":[{"from":"start","to":"opened"}]}`
		}
		wantError(t, a.call("POST", "/automations", body("resend:email.bounced")), 422, app.CodeValidation, "`steps[1].config.event_name`")
		if mode == app.CompatStrict {
			wantError(t, a.call("POST", "/automations", body("resend:email.opened")), 422, app.CodeValidation, "`steps[1].config.event_name`")
			continue
		}
		made := a.automation(201, "POST", "/automations", body("resend:email.opened"))
		if got := a.automation(200, "GET", "/automations/"+made.ID, ""); got.Steps[1].Config["event_name"] != "mailer:email.opened" || got.Steps[1].Config["timeout"] != "3 days" {
			t.Errorf("%+v", got.Steps)
		}
	}
}

// Members prepare automations, owners and admins decide what runs.
func TestAutomationRoles(t *testing.T) {
	t.Parallel()
	a := newAudienceAPI(t)
	admin, member := a.role(a.team.ID, app.RoleAdmin), a.role(a.team.ID, app.RoleMember)
	sending := a.key(a.team.ID, app.KeyInput{Permission: app.SendingAccess})
	draft := decoded[automationAnswer](t, a.as(member, "POST", "/automations", minimalFlow)).ID
	wantStatus(t, a.as(member, "PATCH", "/automations/"+draft, `{"name":"B",`+twoSteps+`}`), 200)
	wantStatus(t, a.as(member, "POST", "/automations/"+draft+"/duplicate", ""), 201)
	a.contact("ann@example.org")
	wantStatus(t, a.as(member, "POST", "/events/send", `{"event":"e","email":"ann@example.org"}`), 202)
	refused := func(do func(key string) *httptest.ResponseRecorder, status int) {
		t.Helper()
		wantError(t, do(member), 403, app.CodeForbidden, "owner or admin")
		wantStatus(t, do(admin), status)
	}
	call := func(method, target, body string) func(string) *httptest.ResponseRecorder {
		return func(key string) *httptest.ResponseRecorder { return a.as(key, method, target, body) }
	}
	at := "/automations/" + draft
	refused(call("POST", "/automations", enabledFlow), 201)
	refused(call("PATCH", at, `{"status":"enabled"}`), 200)
	refused(call("PATCH", at, `{"name":"C"}`), 200)
	refused(call("POST", at+"/stop", ""), 200)
	a.automation(200, "PATCH", at, `{"status":"enabled"}`)
	refused(call("DELETE", at, ""), 200)
	for _, route := range []string{"POST /events", "GET /events", "POST /events/send", "GET /events/e", "PATCH /events/e", "DELETE /events/e", "POST /automations", "GET /automations", "GET /automations/" + draft,
		"PATCH /automations/" + draft, "DELETE /automations/" + draft, "POST /automations/" + draft + "/duplicate", "POST /automations/" + draft + "/stop", "GET /automations/" + draft + "/runs", "GET /automations/" + draft + "/runs/" + draft} {
		method, target, _ := strings.Cut(route, " ")
		wantError(t, a.as(sending, method, target, `{}`), 403, app.CodeRestrictedAPIKey)
	}
}

// Each change leaves an entry that names the object and what it was.
func TestAutomationsAreAudited(t *testing.T) {
	t.Parallel()
	a := newAudienceAPI(t)
	a.contact("ann@example.org")
	automation, event := "", ""
	for _, step := range []struct{ method, target, body, action, before, after string }{
		{"POST", "/events", `{"name":"e","schema":{"plan":"string"}}`, "event.create", "", `"plan":"string"`},
		{"PATCH", "/events/e", `{"schema":{"age":"number"}}`, "event.update", `"plan":"string"`, `"age":"number"`},
		{"POST", "/events/send", `{"event":"e","email":"ann@example.org"}`, "", "", ""},
		{"DELETE", "/events/EVENT", "", "event.delete", `"age":"number"`, ""},
		{"POST", "/automations", enabledFlow, "automation.create", "", `"status":"enabled"`},
		{"PATCH", "/automations/AUTOMATION", `{"name":"B"}`, "automation.update", `"name":"Welcome"`, `"name":"B"`},
		{"POST", "/automations/AUTOMATION/duplicate", "", "automation.create", "", `"name":"B (copy)"`},
		{"POST", "/automations/AUTOMATION/stop", "", "automation.update", `"status":"enabled"`, `"status":"disabled"`},
		{"PATCH", "/automations/AUTOMATION", `{"status":"enabled"}`, "automation.update", `"status":"disabled"`, `"status":"enabled"`},
		{"DELETE", "/automations/AUTOMATION", "", "automation.delete", `"status":"enabled"`, ""},
	} {
		had := len(a.logged(0))
		w := a.call(step.method, strings.NewReplacer("AUTOMATION", automation, "EVENT", event).Replace(step.target), step.body)
		if w.Code >= 300 {
			t.Fatalf("%s %s: %d %s", step.method, step.target, w.Code, w.Body)
		}
		switch step.target {
		case "/events":
			event = decoded[eventAnswer](t, w).ID
		case "/automations":
			automation = decoded[automationAnswer](t, w).ID
		}
		entries := a.logged(had)
		if step.action == "" {
			if len(entries) != 0 {
				t.Errorf("%s %s leaves %+v", step.method, step.target, entries)
			}
			continue
		}
		if len(entries) != 1 || entries[0].Action != step.action || entries[0].Target == "" || !strings.Contains(entries[0].Before, step.before) || !strings.Contains(entries[0].After, step.after) ||
			(step.before == "") != (entries[0].Before == "") || (step.after == "") != (entries[0].After == "") {
			t.Errorf("%s %s leaves %+v", step.method, step.target, entries)
		}
	}
}

func TestCustomEvents(t *testing.T) {
	t.Parallel()
	a := newAudienceAPI(t)
	const schema = `{"plan":"string","age":"number","paid":"boolean","since":"date"}`
	made := a.event(201, "POST", "/events", `{"name":"user/created €","schema":`+schema+`}`)
	plain := a.event(201, "POST", "/events", `{"name":"send","schema":null}`)
	if made.Object != "event" || made.ID == "" {
		t.Errorf("made %+v", made)
	}
	for _, at := range []string{"/events/" + made.ID, "/events/user%2Fcreated%20%E2%82%AC", "/events/" + strings.ToUpper(made.ID)} {
		if got := a.event(200, "GET", at, ""); got.Object != "event" || got.ID != made.ID || got.Name != "user/created €" || len(got.Schema) != 4 || got.Schema["since"] != "date" || got.CreatedAt == "" || got.UpdatedAt != nil {
			t.Errorf("GET %s: %+v", at, got)
		}
	}
	if list := a.event(200, "GET", "/events", ""); len(list.Data) != 2 || list.Data[0].ID != plain.ID || list.Data[0].Schema != nil || list.Data[1].Schema["paid"] != "boolean" {
		t.Errorf("listed %+v", list)
	}
	if changed := a.event(200, "PATCH", "/events/send", `{"schema":{"a":"number"}}`); changed.ID != plain.ID || changed.Object != "event" {
		t.Errorf("changed %+v", changed)
	}
	if got := a.event(200, "GET", "/events/send", ""); got.Schema["a"] != "number" || got.UpdatedAt == nil {
		t.Errorf("changed %+v", got)
	}
	a.event(200, "PATCH", "/events/"+made.ID, `{"schema":null,"event_id":"user/created €"}`)
	if got := a.event(200, "GET", "/events/"+made.ID, ""); got.Schema != nil {
		t.Errorf("cleared %+v", got)
	}
	for _, body := range []string{`{"name":"send"}`} {
		wantError(t, a.call("POST", "/events", body), 409, app.CodeConflict, "send")
	}
	tooMany := map[string]string{}
	for i := range app.MaxEventFields + 1 {
		tooMany[fmt.Sprint("f", i)] = "string"
	}
	many, err := json.Marshal(tooMany)
	if err != nil {
		t.Fatal(err)
	}
	for body, field := range map[string]string{
		`{}`:                                         "`name`",
		`{"name":""}`:                                "`name`",
		`{"name":"resend:x"}`:                        "`name`",
		`{"name":"mailer:x"}`:                        "`name`",
		`{"name":" x"}`:                              "`name`",
		`{"name":"x","type":"y"}`:                    "`type`",
		`{"name":"x","schema":"y"}`:                  "`schema`",
		`{"name":"x","schema":{"a":1}}`:              "`schema.a`",
		`{"name":"x","schema":{"a":"object"}}`:       "`schema.a`",
		`{"name":"x","schema":` + string(many) + `}`: "`schema`",
		fmt.Sprintf(`{"name":%q}`, strings.Repeat("ä", app.MaxEventName+1)): "`name`",
	} {
		wantError(t, a.call("POST", "/events", body), 422, app.CodeValidation, field)
	}
	for body, field := range map[string]string{`{}`: "`schema`", `{"schema":{"":"string"}}`: "`schema`", `{"name":"y","schema":null}`: "`name`"} {
		wantError(t, a.call("PATCH", "/events/send", body), 422, app.CodeValidation, field)
	}
	for _, method := range []string{"GET", "PATCH", "DELETE"} {
		for _, at := range []string{made.ID, "send"} {
			wantError(t, a.as(a.foreign, method, "/events/"+at, `{"schema":null}`), 404, app.CodeNotFound, "event")
		}
	}
	if gone := a.event(200, "DELETE", "/events/send", ""); gone.ID != plain.ID || !gone.Deleted || gone.Object != "event" {
		t.Errorf("deleted %+v", gone)
	}
	wantStatus(t, a.call("GET", "/events/send", ""), 404)
}

func TestSendEvent(t *testing.T) {
	t.Parallel()
	a := newAudienceAPI(t)
	contact := a.contact("ann@example.org")
	a.event(201, "POST", "/events", `{"name":"e","schema":{"age":"number"}}`)
	for _, body := range []string{`{"event":"e","contact_id":"` + strings.ToUpper(contact) + `"}`, `{"event":"e","email":"ANN@example.org","payload":{"age":"7","x":[{}]}}`, `{"event":"undeclared","email":"new@example.org","payload":null}`} {
		if got := a.event(202, "POST", "/events/send", body); got.Object != "event" || !strings.Contains(body, `"event":"`+got.Event+`"`) || got.ID != "" {
			t.Errorf("%s: %+v", body, got)
		}
	}
	for body, field := range map[string]string{
		`{"email":"ann@example.org"}`: "`event`",
		`{"event":"e"}`:               "`contact_id`",
		`{"event":"e","email":"ann@example.org","contact_id":"` + contact + `"}`:                                     "`contact_id`",
		`{"event":"e","contact_id":"ann"}`:                                                                           "`contact_id`",
		`{"event":"e","email":"ann"}`:                                                                                "`email`",
		`{"event":"mailer:date","email":"ann@example.org"}`:                                                          "`event`",
		`{"event":"e","email":"ann@example.org","payload":"x"}`:                                                      "`payload`",
		`{"event":"e","email":"ann@example.org","name":"x"}`:                                                         "`name`",
		`{"event":"e","email":"ann@example.org","payload":{"age":"old"}}`:                                            "`payload.age`",
		`{"event":"e","email":"ann@example.org","payload":{"x":"` + strings.Repeat("x", app.MaxEventPayload) + `"}}`: "`payload`",
	} {
		wantError(t, a.call("POST", "/events/send", body), 422, app.CodeValidation, field)
	}
	wantError(t, a.call("POST", "/events/send", `{"event":"e","contact_id":"`+unknownID+`"}`), 404, app.CodeNotFound, "contact")
	wantError(t, a.as(a.foreign, "POST", "/events/send", `{"event":"e","contact_id":"`+contact+`"}`), 404, app.CodeNotFound, "contact")
}

// A repeated request stores one event; its key with another body is refused.
func TestSendEventOnce(t *testing.T) {
	t.Parallel()
	a := newAudienceAPI(t)
	a.contact("ann@example.org")
	a.automation(201, "POST", "/automations", enabledFlow)
	send := func(body, key string) *httptest.ResponseRecorder {
		return a.as(a.full, "POST", "/events/send", body, "Idempotency-Key: "+key)
	}
	const body = `{"event":"user.created","email":"ann@example.org","payload":{"n":1}}`
	for range 3 {
		w := send(body, "k1")
		wantStatus(t, w, 202)
		if got := decoded[eventAnswer](t, w); got.Event != "user.created" {
			t.Errorf("%+v", got)
		}
	}
	wantError(t, send(strings.Replace(body, "1}", "2}", 1), "k1"), 409, app.CodeInvalidIdempotent)
	wantError(t, send(body, ""), 400, app.CodeInvalidIdempotencyKey)
	wantError(t, send(`{"event":"user.created"}`, "k2"), 422, app.CodeValidation)
	wantStatus(t, send(body, "k2"), 202) // a refusal keeps no key
	signals := 0
	if err := a.store.Read(t.Context(), func(r *db.Reader) error {
		return r.Row(`SELECT count(*) FROM automation_signals WHERE team_id = ?`, []any{a.team.ID}, &signals)
	}); err != nil {
		t.Fatal(err)
	}
	if signals != 2 { // they are kept after they were taken
		t.Errorf("%d events of two sends", signals)
	}
}

type runAnswer struct {
	Object, ID, Status, Step string
	AutomationID             string `json:"automation_id"`
	ContactID                string `json:"contact_id"`
	Version                  int
	Reason, Held             *string
	StartedAt                *string `json:"started_at"`
	CompletedAt              *string `json:"completed_at"`
	DueAt                    *string `json:"due_at"`
	CreatedAt                string  `json:"created_at"`
	Steps                    []struct {
		Key, Type, Status string
		Output, Error     map[string]any
		StartedAt         string  `json:"started_at"`
		CompletedAt       *string `json:"completed_at"`
		CreatedAt         string  `json:"created_at"`
	}
	Data []runAnswer
}

func TestAutomationRuns(t *testing.T) {
	t.Parallel()
	a := newAudienceAPI(t)
	contact := a.contact("ann@example.org")
	first, other := a.automation(201, "POST", "/automations", `{"name":"A",`+twoSteps+`}`).ID, a.automation(201, "POST", "/automations", minimalFlow).ID
	at := "/automations/" + first + "/runs"
	ids := map[app.RunStatus]string{}
	err := a.store.Write(t.Context(), func(tx *db.Tx) error {
		for _, status := range app.RunStatuses {
			run := app.Run{ID: app.NewID(), TeamID: a.team.ID, AutomationID: first, Version: 1, ContactID: contact, Status: status, StepKey: "wait", StepN: 2, CreatedAt: tx.Now, StartedAt: tx.Now}
			switch status {
			case app.RunRunning:
				run.DueAt = tx.Now.Add(3600e9)
			case app.RunFailed:
				run.Reason, run.CompletedAt = app.ReasonTemplateMissing, tx.Now
			default:
				run.CompletedAt = tx.Now
			}
			ids[status] = run.ID
			if err := tx.InsertRun(&run); err != nil {
				return err
			}
			for n, s := range []app.RunStep{{Key: "start", Type: app.StepTrigger, Status: app.StepCompleted, CompletedAt: tx.Now, Output: jsontext.Value(`{"n":1}`)},
				{Key: "wait", Type: app.StepDelay, Status: app.StepFailed, Error: jsontext.Value(`{"code":"x","message":"y"}`)}} {
				s.RunID, s.N, s.StartedAt = run.ID, int64(n+1), tx.Now
				if err := tx.PutRunStep(&s); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	runs := func(query string) runAnswer {
		w := a.call("GET", at+query, "")
		wantStatus(t, w, 200)
		return decoded[runAnswer](t, w)
	}
	for query, want := range map[string][]app.RunStatus{
		"":                       {app.RunCancelled, app.RunFailed, app.RunCompleted, app.RunRunning},
		"?status=running":        {app.RunRunning},
		"?status=running,failed": {app.RunFailed, app.RunRunning},
		"?status=failed,failed,failed,failed,failed": {app.RunFailed},
		"?status=completed,%20cancelled&limit=1":     {app.RunCancelled},
		"?limit=2&after=" + ids[app.RunFailed]:       {app.RunCompleted, app.RunRunning},
	} {
		var have []app.RunStatus
		for _, row := range runs(query).Data {
			have = append(have, app.RunStatus(row.Status))
		}
		if !slices.Equal(have, want) {
			t.Errorf("%s lists %q, want %q", query, have, want)
		}
	}
	for _, status := range []string{"waiting", "running,", "running;failed"} {
		wantError(t, a.call("GET", at+"?status="+strings.ReplaceAll(status, ";", "%3B"), ""), 422, app.CodeValidation, "`status`")
	}
	failed := decoded[runAnswer](t, a.call("GET", at+"/"+ids[app.RunFailed], ""))
	if failed.Object != "automation_run" || failed.AutomationID != first || failed.ContactID != contact || failed.Version != 1 || failed.Step != "wait" || failed.Held != nil || failed.DueAt != nil ||
		!strings.Contains(value(failed.Reason), "template") || failed.StartedAt == nil || failed.CompletedAt == nil || failed.CreatedAt == "" || len(failed.Steps) != 2 {
		t.Fatalf("the run %+v", failed)
	}
	if s := failed.Steps; s[0].Key != "start" || s[0].Output["n"] != 1.0 || s[0].Error != nil || s[0].CompletedAt == nil || s[1].Status != "failed" || s[1].Output != nil || s[1].Error["message"] != "y" || s[1].CompletedAt != nil || s[1].CreatedAt != s[1].StartedAt {
		t.Errorf("its steps %+v", s)
	}
	if open := decoded[runAnswer](t, a.call("GET", at+"/"+ids[app.RunRunning], "")); open.CompletedAt != nil || open.DueAt == nil || open.Reason != nil {
		t.Errorf("an open run %+v", open)
	}
	for _, target := range []string{at + "/" + unknownID, "/automations/" + other + "/runs/" + ids[app.RunFailed], "/automations/" + unknownID + "/runs/" + ids[app.RunFailed], at + "/x"} {
		wantError(t, a.call("GET", target, ""), 404, app.CodeNotFound, "automation")
	}
	wantError(t, a.as(a.foreign, "GET", at+"/"+ids[app.RunFailed], ""), 404, app.CodeNotFound)
}

// The answer to a change with move_runs tells which runs were moved.
func TestAutomationChangeMovesRuns(t *testing.T) {
	t.Parallel()
	a := newAudienceAPI(t)
	a.contact("ann@example.org")
	made := a.automation(201, "POST", "/automations", `{"name":"A","status":"enabled",`+twoSteps+`}`)
	a.event(202, "POST", "/events/send", `{"event":"user.created","email":"ann@example.org"}`)
	at := "/automations/" + made.ID
	a.eventually(a.full, at+"/runs", `"step":"wait"`)
	type answer struct {
		ID       string
		Moved    *int
		NotMoved []struct {
			RunID string `json:"run_id"`
			Step  string
		} `json:"not_moved"`
	}
	change := func(body string) answer {
		w := a.call("PATCH", at, body)
		wantStatus(t, w, 200)
		return decoded[answer](t, w)
	}
	if got := change(`{"exit_on_opt_out":true}`); got.ID != made.ID || got.Moved != nil || got.NotMoved != nil {
		t.Errorf("without move_runs %+v", got)
	}
	if got := change(`{"exit_on_opt_out":false,"move_runs":true}`); got.Moved == nil || *got.Moved != 1 || got.NotMoved == nil || len(got.NotMoved) != 0 {
		t.Errorf("moved %+v", got)
	}
	if got := change(`{` + plainFlow + `,"move_runs":true}`); *got.Moved != 0 || len(got.NotMoved) != 1 || got.NotMoved[0].Step != "wait" || got.NotMoved[0].RunID == "" {
		t.Errorf("not moved %+v", got)
	}
}
