package sdktest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	resendv3 "github.com/resend/resend-go/v3"
)

// eventThing is a custom event in an answer, or what was sent.
type eventThing struct {
	Object, ID, Name, Event string
	Schema                  map[string]string
	CreatedAt               string  `json:"created_at"`
	UpdatedAt               *string `json:"updated_at"`
	Deleted                 bool
	HasMore                 bool `json:"has_more"`
	Data                    []eventThing
}

// automationThing is an automation in an answer.
type automationThing struct {
	Object, ID, Name, Status string
	Steps                    []struct {
		Key, Type string
		Config    map[string]any
	}
	Connections []struct{ From, To, Type string }
	CreatedAt   string `json:"created_at"`
	UpdatedAt   string `json:"updated_at"`
	Deleted     bool
	Data        []automationThing
}

// runThing is a run in an answer.
type runThing struct {
	Object, ID, Status string
	CreatedAt          string  `json:"created_at"`
	StartedAt          *string `json:"started_at"`
	CompletedAt        *string `json:"completed_at"`
	Steps              []struct {
		Key, Type, Status string
		Output, Error     map[string]any
		CreatedAt         string  `json:"created_at"`
		StartedAt         *string `json:"started_at"`
		CompletedAt       *string `json:"completed_at"`
	}
	Data []runThing
}

// path returns the steps that a run reached, with their statuses.
func (r *runThing) path() string {
	var out []string
	for _, s := range r.Steps {
		out = append(out, s.Key+" "+s.Status)
	}
	return strings.Join(out, ", ")
}

func TestNodeClientAutomations(t *testing.T) {
	part(t, "clients")
	inBothModes(t, nodeClientAutomations)
}

func nodeClientAutomations(t *testing.T, mode compat) {
	needNode(t)
	w := newFixture(t, &fixtureOptions{compat: mode, direct: true})
	var got struct {
		Event, ByName, Changed, ByID, Events, Sent, Other, Paid, RemovedEvent eventThing
		Created, Got, Renamed, Enabled, Disabled, Copy, Copied, Stopped       automationThing
		Removed                                                               automationThing
		Running                                                               []runThing
		Completed, Run, Cancelled                                             runThing
		After                                                                 thing
		Segments                                                              things
		Errors                                                                map[string]apiError
	}
	runNode(t, w.in.url, w.key, "automations.mjs", map[string]string{"FROM": "a@example.test"}).into(t, &got)
	if got.Event.Object != "event" || got.ByName.ID != got.Event.ID || got.ByName.Schema["plan"] != "string" || got.ByName.UpdatedAt != nil || got.Changed.ID != got.Event.ID || got.ByID.Schema["seats"] != "number" ||
		got.ByID.UpdatedAt == nil || len(got.Events.Data) != 1 || got.Events.Data[0].Name != "user/created" || got.Events.HasMore {
		t.Errorf("events %+v %+v %+v %+v", got.Event, got.ByName, got.ByID, got.Events)
	}
	if got.Sent.Object != "event" || got.Sent.Event != "user/created" || got.Paid.Event != "order.paid" || !got.RemovedEvent.Deleted || got.RemovedEvent.ID != got.Event.ID {
		t.Errorf("sent %+v, %+v, removed %+v", got.Sent, got.Paid, got.RemovedEvent)
	}
	a := got.Got
	if got.Created.Object != "automation" || a.ID != got.Created.ID || a.Name != "Welcome" || a.Status != "disabled" || len(a.Steps) != 8 || len(a.Connections) != 7 || a.CreatedAt == "" {
		t.Fatalf("automation %+v", a)
	}
	if a.Steps[0].Config["event_name"] != "user/created" || a.Steps[3].Config["filter_rule"] == nil || a.Steps[2].Config["reply_to"] != "help@example.test" || a.Connections[0].Type != "default" || a.Connections[2].Type != "condition_not_met" {
		t.Errorf("its steps %+v, %+v", a.Steps, a.Connections)
	}
	if got.Renamed.ID != a.ID || len(got.Enabled.Data) != 1 || got.Enabled.Data[0].Name != "Greeting" || len(got.Disabled.Data) != 0 {
		t.Errorf("lists %+v, %+v", got.Enabled, got.Disabled)
	}
	paths := []string{got.Running[0].path(), got.Running[1].path()}
	if !slices.Contains(paths, "start completed, pro completed, mail completed, paid waiting") || !slices.Contains(paths, "start completed, pro completed, later waiting") || got.Running[0].Status != "running" || got.Running[0].CompletedAt != nil {
		t.Errorf("the runs are at %q", paths)
	}
	if r := got.Run; r.Object != "automation_run" || r.Status != "completed" || r.CompletedAt == nil || r.StartedAt == nil || r.path() != "start completed, pro completed, mail completed, paid completed, name completed, join completed" || r.Steps[2].Output["email_id"] == nil {
		t.Errorf("the run %+v", r)
	}
	if got.After.FirstName != "pro" || got.After.LastName != "Example" || got.Segments.names() != "Paying" {
		t.Errorf("the contact %+v, in %+v", got.After, got.Segments)
	}
	if got.Copied.ID != got.Copy.ID || got.Copied.Status != "disabled" || len(got.Copied.Steps) != 8 || got.Stopped.ID != a.ID || got.Stopped.Status != "disabled" || got.Cancelled.Data[0].Status != "cancelled" || !got.Removed.Deleted || got.Removed.ID != got.Copy.ID {
		t.Errorf("copy %+v, stopped %+v, removed %+v", got.Copied, got.Stopped, got.Removed)
	}
	for name, want := range map[string]apiError{"reserved": {StatusCode: 422, Message: "`name`"}, "taken": {StatusCode: 409, Message: "user/created"}, "half": {StatusCode: 422, Message: "`connections`"},
		"step": {StatusCode: 422, Message: "`steps[1].config.duration`"}, "payload": {StatusCode: 422, Message: "`payload.seats`"}, "gone": {StatusCode: 404}, "goneEvent": {StatusCode: 404}} {
		if e := got.Errors[name]; e.StatusCode != want.StatusCode || !strings.Contains(e.Message, want.Message) {
			t.Errorf("%s: %+v", name, e)
		}
	}
	w.checkWelcome(t, "Plan pro, seats 3")
}

// checkWelcome checks that one mail of an automation arrived.
func (w *fixture) checkWelcome(t *testing.T, text string) {
	t.Helper()
	w.wantTo(t, "ann@example.com")
	if m := w.sink.messages()[0]; m.header("Subject") != "Welcome" || !strings.Contains(string(m.Raw), text) {
		t.Errorf("the mail %s", m.Raw)
	}
}

// welcomeTemplate makes the template of the mail, and returns its id.
func welcomeTemplate(t *testing.T, api client) string {
	t.Helper()
	var made thing
	nodeOutput(api.ask(t, "POST", "/templates", map[string]any{"name": "Welcome", "from": "a@example.test", "subject": "Hello", "html": "<p>Plan {{{PLAN}}}</p>",
		"variables": []any{map[string]any{"key": "PLAN", "type": "string", "fallback_value": "none"}}}, 201)).into(t, &made)
	api.ask(t, "POST", "/templates/"+made.ID+"/publish", nil, 200)
	return made.ID
}

func TestGoV3ClientAutomations(t *testing.T) {
	part(t, "clients")
	inBothModes(t, goV3ClientAutomations)
}

func goV3ClientAutomations(t *testing.T, mode compat) {
	w := newFixture(t, &fixtureOptions{compat: mode, direct: true})
	c, seen := v3Client(t, w.in.url, w.key)
	checkGoEvents(t, c, seen)
	template := welcomeTemplate(t, client{w.in.url, w.key})
	steps := []resendv3.AutomationStep{
		{Key: "start", Type: resendv3.AutomationStepTypeTrigger, Config: map[string]any{"event_name": "user.created"}},
		{Key: "mail", Type: resendv3.AutomationStepTypeSendEmail, Config: map[string]any{"subject": "Welcome", "template": map[string]any{"id": template, "variables": map[string]any{"PLAN": map[string]any{"var": "event.plan"}}}}},
		{Key: "paid", Type: resendv3.AutomationStepTypeWaitForEvent, Config: map[string]any{"event_name": "order.paid"}},
	}
	connections := []resendv3.AutomationConnection{{From: "start", To: "mail"}, {From: "mail", To: "paid", Type: resendv3.AutomationConnectionTypeDefault}}
	made, err := c.Automations.Create(&resendv3.CreateAutomationRequest{Name: "Welcome", Steps: steps, Connections: connections})
	must(t, err)
	changed, err := c.Automations.Update(made.Id, &resendv3.UpdateAutomationRequest{Name: "Greeting", Status: resendv3.AutomationStatusEnabled, Steps: steps, Connections: connections})
	must(t, err)
	got, err := c.Automations.Get(made.Id)
	must(t, err)
	if made.Object != "automation" || changed.Id != made.Id || got.Name != "Greeting" || got.Status != "enabled" || len(got.Steps) != 3 || got.Steps[2].Config["event_name"] != "order.paid" || len(got.Connections) != 2 || got.UpdatedAt == "" {
		t.Errorf("automation %+v", got)
	}
	sent, err := c.Events.Send(&resendv3.SendEventRequest{Event: "user.created", Email: "ann@example.com", Payload: map[string]any{"plan": "pro"}})
	must(t, err)
	if sent.Event != "user.created" || sent.Object != "event" {
		t.Errorf("sent %+v", sent)
	}
	run := ""
	eventually(t, time.Minute, "the run waits", func() (bool, string) {
		runs, err := c.Automations.ListRuns(made.Id)
		must(t, err)
		if len(runs.Data) != 1 {
			return false, "no run"
		}
		run = runs.Data[0].Id
		whole, err := c.Automations.GetRun(made.Id, run)
		must(t, err)
		last := whole.Steps[len(whole.Steps)-1]
		return whole.Status == "running" && whole.CompletedAt == nil && last.Key == "paid" && last.Status == "waiting" && last.CompletedAt == nil, fmt.Sprint(whole)
	})
	limit := 1
	none, err := c.Automations.ListRunsWithContext(t.Context(), made.Id, &resendv3.ListAutomationRunsOptions{Status: []string{resendv3.AutomationRunStatusFailed, resendv3.AutomationRunStatusCompleted}, Limit: &limit})
	must(t, err)
	copied, err := c.Automations.Duplicate(made.Id)
	must(t, err)
	status := resendv3.AutomationStatusDisabled
	disabled, err := c.Automations.ListWithOptions(t.Context(), &resendv3.ListAutomationsOptions{Status: &status, Limit: &limit})
	must(t, err)
	all, err := c.Automations.List()
	must(t, err)
	if len(none.Data) != 0 || len(disabled.Data) != 1 || disabled.Data[0].Id != copied.Id || disabled.Data[0].Name != "Greeting (copy)" || len(all.Data) != 2 || all.HasMore {
		t.Errorf("runs %+v, disabled %+v, all %+v", none, disabled, all)
	}
	stopped, err := c.Automations.Stop(made.Id)
	must(t, err)
	eventually(t, time.Minute, "the run is cancelled", func() (bool, string) {
		whole, err := c.Automations.GetRun(made.Id, run)
		must(t, err)
		return whole.Status == "cancelled" && whole.CompletedAt != nil, whole.Status
	})
	removed, err := c.Automations.Remove(copied.Id)
	must(t, err)
	if stopped.Status != "disabled" || stopped.Id != made.Id || !removed.Deleted || removed.Id != copied.Id {
		t.Errorf("stopped %+v, removed %+v", stopped, removed)
	}
	if _, err := c.Automations.Get(copied.Id); err == nil || seen.last.StatusCode != 404 {
		t.Errorf("a removed automation: %v", err)
	}
	w.checkWelcome(t, "Plan pro")
}

func checkGoEvents(t *testing.T, c *resendv3.Client, seen *recorder) {
	t.Helper()
	made, err := c.Events.Create(&resendv3.CreateEventRequest{Name: "user.created", Schema: map[string]string{"plan": resendv3.EventSchemaTypeString}})
	must(t, err)
	changed, err := c.Events.Update("user.created", &resendv3.UpdateEventRequest{Schema: map[string]string{"plan": "string", "seats": "number"}})
	must(t, err)
	got, err := c.Events.Get("user.created")
	must(t, err)
	other, err := c.Events.Create(&resendv3.CreateEventRequest{Name: "order.paid"})
	must(t, err)
	limit := 1
	first, err := c.Events.ListWithOptions(t.Context(), &resendv3.ListOptions{Limit: &limit})
	must(t, err)
	all, err := c.Events.List()
	must(t, err)
	if changed.Id != made.Id || got.Id != made.Id || got.Schema["seats"] != "number" || got.UpdatedAt == nil || len(first.Data) != 1 || first.Data[0].Id != other.Id || !first.HasMore || len(all.Data) != 2 || all.Data[0].Schema != nil {
		t.Errorf("event %+v, lists %+v, %+v", got, first, all)
	}
	removed, err := c.Events.Remove(other.Id)
	if err != nil || !removed.Deleted || removed.Id != other.Id {
		t.Errorf("removed %+v, %v", removed, err)
	}
	if _, err := c.Events.Get("order.paid"); err == nil || seen.last.StatusCode != 404 {
		t.Errorf("a removed event: %v", err)
	}
}

func TestResendCommandLineAutomations(t *testing.T) {
	part(t, "clients")
	inBothModes(t, resendCommandLineAutomations)
}

func resendCommandLineAutomations(t *testing.T, mode compat) {
	needNode(t)
	w := newFixture(t, &fixtureOptions{compat: mode, direct: true})
	call := w.caller(t)
	var event, changedEvent, gotEvent, events, sent, removedEvent eventThing
	call(&event, "events", "create", "--name", "user.created", "--schema", `{"plan":"string"}`)
	call(&changedEvent, "events", "update", event.ID, "--schema", `{"plan":"string","seats":"number"}`)
	call(&gotEvent, "events", "get", event.ID)
	call(&events, "events", "list")
	if changedEvent.ID != event.ID || gotEvent.Schema["seats"] != "number" || len(events.Data) != 1 || events.Data[0].Name != "user.created" {
		t.Errorf("event %+v, list %+v", gotEvent, events)
	}
	template := welcomeTemplate(t, client{w.in.url, w.key})
	var made, got, list, changed, copied, stopped, removed automationThing
	call(&made, "automations", "create", "--name", "Welcome", "--connections", `[{"from":"start","to":"mail"},{"from":"mail","to":"wait"}]`, "--steps",
		`[{"key":"start","type":"trigger","config":{"eventName":"user.created"}},{"key":"mail","type":"send_email","config":{"subject":"Welcome","template":{"id":"`+template+`","variables":{"PLAN":{"var":"event.plan"}}}}},
		{"key":"wait","type":"delay","config":{"duration":"30 minutes"}}]`)
	call(&changed, "automations", "update", made.ID, "--status", "enabled")
	call(&got, "automations", "get", made.ID)
	call(&list, "automations", "list")
	if made.Object != "automation" || changed.ID != made.ID || got.Status != "enabled" || len(got.Steps) != 3 || got.Steps[2].Config["duration"] != "30 minutes" || len(list.Data) != 1 || list.Data[0].ID != made.ID {
		t.Errorf("automation %+v, list %+v", got, list)
	}
	call(&sent, "events", "send", "--event", "user.created", "--email", "ann@example.com", "--payload", `{"plan":"pro"}`)
	var runs, run runThing
	eventually(t, time.Minute, "the run waits", func() (bool, string) {
		call(&runs, "automations", "runs", "list", made.ID, "--status", "running")
		if len(runs.Data) != 1 {
			return false, "no run"
		}
		call(&run, "automations", "runs", "get", "--automation-id", made.ID, "--run-id", runs.Data[0].ID)
		return run.path() == "start completed, mail completed, wait waiting", run.path()
	})
	call(&copied, "automations", "duplicate", made.ID)
	call(&stopped, "automations", "stop", made.ID)
	call(&removed, "automations", "delete", copied.ID, "--yes")
	call(&removedEvent, "events", "delete", event.ID, "--yes")
	if sent.Event != "user.created" || stopped.Status != "disabled" || !removed.Deleted || removed.ID != copied.ID || !removedEvent.Deleted {
		t.Errorf("sent %+v, stopped %+v, removed %+v, %+v", sent, stopped, removed, removedEvent)
	}
	w.checkWelcome(t, "Plan pro")
}

func mcpAutomations() []toolCall {
	workflow := func(last string) map[string]any {
		return object("steps", []any{
			object("key", "start", "type", "trigger", "config", object("eventName", "user.created"), "next", "mail"),
			object("key", "mail", "type", "send_email", "config", object("template", object("id", "$WELCOME", "variables", object("PLAN", object("var", "event.plan"))), "subject", "Welcome"), "next", "paid"),
			object("key", "paid", "type", "wait_for_event", "config", object("eventName", "order.paid", "timeout", "3 days"), "branches", object("event_received", nil, "timeout", last)),
			object("key", last, "type", "contact_delete", "config", object(), "next", nil),
		})
	}
	return []toolCall{
		{"manage-events", object("action", "create", "name", "user.created", "schema", object("plan", "string")), "successfully", "CUSTOM", false},
		{"manage-events", object("action", "update", "identifier", "user.created", "schema", object("plan", "string", "seats", "number")), "successfully", "", false},
		{"manage-events", object("action", "get", "identifier", "user.created"), "$CUSTOM|seats|number", "", false},
		{"manage-events", object("action", "list"), "user.created|$CUSTOM", "", false},
		{"create-template", object("name", "Start", "html", "<p>Plan {{{PLAN}}}</p>", "subject", "Hello", "from", "shop@example.test",
			"variables", []any{object("key", "PLAN", "type", "string", "fallbackValue", "none")}), "$WELCOME", "WELCOME", false},
		{"publish-template", object("id", "$WELCOME"), "success", "", false},
		{"create-automation", object("name", "Welcome", "workflow", workflow("gone")), "successfully|$AUTOMATION", "AUTOMATION", false},
		{"update-automation", object("id", "$AUTOMATION", "name", "Greeting", "status", "enabled", "workflow", workflow("left")), "$AUTOMATION", "", false},
		{"get-automation", object("id", "$AUTOMATION"), `Greeting|enabled|order.paid|"timeout": "left"`, "", false},
		{"get-automation", object("status", "enabled"), "Greeting|$AUTOMATION", "", false},
		{"send-event", object("event", "user.created", "email", "ann@example.com", "payload", object("plan", "pro")), "sent successfully", "", false},
		{"get-automation-runs", object("automationId", "$AUTOMATION"), "running", "RUN", true},
		{"get-automation-runs", object("automationId", "$AUTOMATION", "runId", "$RUN"), "waiting|paid|running", "", true},
		{"duplicate-automation", object("id", "$AUTOMATION"), "success", "AUTOMATIONCOPY", false},
		{"remove-automation", object("id", "$AUTOMATIONCOPY"), "success", "", false},
		{"update-automation", object("id", "$AUTOMATION", "status", "disabled"), "disabled", "", false},
		{"manage-events", object("action", "remove", "identifier", "user.created"), "success", "", false},
		{"manage-events", object("action", "list"), "No events", "", false},
	}
}

func TestResendMCPAutomations(t *testing.T) {
	part(t, "clients")
	inBothModes(t, resendMCPAutomations)
}

func resendMCPAutomations(t *testing.T, mode compat) {
	needMCP(t)
	w := newFixture(t, &fixtureOptions{compat: mode, direct: true})
	resendMCPAt(t, w).checkCalls(t, mcpAutomations())
	w.checkWelcome(t, "Plan pro")
}

// TestCommandsOfAutomations runs the commands beside a server.
func TestCommandsOfAutomations(t *testing.T) {
	part(t, "clients")
	t.Parallel()
	in := start(t)
	api := client{in.url, in.newKey(t)}
	var made automationThing
	nodeOutput(api.ask(t, "POST", "/automations", map[string]any{"name": "Welcome", "status": "enabled", "connections": []any{map[string]any{"from": "start", "to": "wait"}},
		"steps": []any{map[string]any{"key": "start", "type": "trigger", "config": map[string]any{"event_name": "user.created"}}, map[string]any{"key": "wait", "type": "delay", "config": map[string]any{"duration": "3 days"}}}}, 201)).into(t, &made)
	api.ask(t, "POST", "/events", map[string]any{"name": "user.created", "schema": map[string]any{"plan": "string"}}, 201)
	for _, tt := range []struct {
		args  []string
		words []string
	}{
		{[]string{"automations", "list"}, []string{made.ID, "Welcome", "enabled"}},
		{[]string{"automations", "show", made.ID}, []string{"Welcome", "user.created", "start (trigger)", "-> wait", "once"}},
		{[]string{"events", "list"}, []string{"user.created", "plan string"}},
		{[]string{"events", "send", "user.created", "--email", "ann@example.com", "--payload", `{"plan":"pro"}`}, []string{"sent user.created"}},
	} {
		out := in.run(t, tt.args...)
		for _, word := range tt.words {
			if !strings.Contains(out, word) {
				t.Errorf("%q prints no %q: %s", tt.args, word, out)
			}
		}
	}
	runs := func(want string) {
		t.Helper()
		eventually(t, time.Minute, "the run is "+want, func() (bool, string) {
			var list runThing
			api.get(t, "/automations/"+made.ID+"/runs", &list)
			return len(list.Data) == 1 && list.Data[0].Status == want, fmt.Sprint(list)
		})
	}
	runs("running")
	var stopped automationThing
	if err := json.Unmarshal([]byte(in.run(t, "automations", "stop", made.ID, "--json")), &stopped); err != nil || stopped.ID != made.ID || stopped.Status != "disabled" {
		t.Errorf("stopped %+v, %v", stopped, err)
	}
	runs("cancelled")
}
