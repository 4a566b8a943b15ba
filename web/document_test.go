package web

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mailer/app"
	"mailer/app/rules/counters"
	"mailer/app/rules/mailreport"
	"mailer/app/rules/plan"
	"mailer/app/rules/reputation"
	"mailer/app/rules/webhook"
	"mailer/db"
)

// shownDocument is openapi.json as a generator of clients reads it.
type shownDocument struct {
	Info     map[string]any
	Paths    map[string]map[string]map[string]any
	Webhooks map[string]map[string]struct {
		RequestBody struct {
			Content map[string]struct{ Schema map[string]string }
		}
	}
	Tags       []struct{ Name, Description string }
	Components struct{ Schemas map[string]map[string]any }
}

func shown(t *testing.T) (d shownDocument) {
	t.Helper()
	if err := json.Unmarshal(document(), &d); err != nil {
		t.Fatal(err)
	}
	return d
}

// eachOperation calls check for each operation of the document.
func (d *shownDocument) eachOperation(check func(name string, op map[string]any)) {
	for path, item := range d.Paths {
		for method, op := range item {
			check(strings.ToUpper(method)+" "+path, op)
		}
	}
}

// schemasIn are the schemas that v holds or leads to, those with names under them.
func (d *shownDocument) schemasIn(v any, found map[string]map[string]any, at string) {
	switch v := v.(type) {
	case map[string]any:
		if ref, ok := v["$ref"].(string); ok {
			name := strings.TrimPrefix(ref, "#/components/schemas/")
			if found[name] == nil {
				found[name] = d.Components.Schemas[name]
				d.schemasIn(map[string]any(d.Components.Schemas[name]), found, name)
			}
		}
		if v["type"] == "object" {
			found[at] = v
		}
		for k, inner := range v {
			d.schemasIn(inner, found, at+"."+k)
		}
	case []any:
		for i, item := range v {
			d.schemasIn(item, found, fmt.Sprint(at, i))
		}
	}
}

func TestDocumentHasEveryRoute(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	d, served := shown(t), map[string]bool{}
	for _, o := range b.handler.Operations() {
		served[o.Method+" "+o.Path] = true
	}
	d.eachOperation(func(name string, _ map[string]any) {
		if !served[name] {
			t.Errorf("%s is in the document alone", name)
		}
		delete(served, name)
	})
	if len(served) > 0 {
		t.Errorf("not in the document: %v", slices.Collect(maps.Keys(served)))
	}
}

// open are bodies whose members others define.
var open = []string{"MCPMessage", "SnsMessage", "ProviderEvents", "PreferencesForm", "UnsubscribeForm", "FormSubmission", "FormSubmissionJSON", "OptInDecision", "ForwardingForm"}

func TestRequestSchemas(t *testing.T) {
	t.Parallel()
	d := shown(t)
	d.eachOperation(func(name string, op map[string]any) {
		body, _ := op["requestBody"].(map[string]any)
		if body == nil {
			return
		}
		for media, content := range body["content"].(map[string]any) {
			schema := content.(map[string]any)["schema"].(map[string]any)
			if ref, ok := schema["$ref"].(string); !ok || len(schema) != 1 {
				t.Errorf("%s: the body as %s has no name: %v", name, media, schema)
			} else if slices.Contains(open, ref[strings.LastIndex(ref, "/")+1:]) {
				continue
			}
			found := map[string]map[string]any{}
			d.schemasIn(schema, found, name)
			for at, s := range found {
				if s["properties"] != nil && s["additionalProperties"] != false {
					t.Errorf("%s takes members of %s that nobody knows", name, at)
				}
			}
		}
	})
	if ref := d.Components.Schemas["SendBatchRequest"]["items"].(map[string]any)["$ref"]; ref != "#/components/schemas/SendEmailRequest" {
		t.Errorf("the emails of a batch are %v", ref)
	}
}

func TestResponseSchemasAreOpen(t *testing.T) {
	t.Parallel()
	d := shown(t)
	found := map[string]map[string]any{}
	d.eachOperation(func(name string, op map[string]any) { d.schemasIn(op["responses"], found, name) })
	for _, item := range d.Webhooks {
		d.schemasIn(map[string]any{"$ref": item["post"].RequestBody.Content["application/json"].Schema["$ref"]}, found, "")
	}
	if len(found) < 150 || found["Error"] == nil || found["EmailBouncedEvent"] == nil || found["BounceData"] == nil {
		t.Fatalf("only %d schemas found", len(found))
	}
	for at, s := range found {
		if s["additionalProperties"] == false {
			t.Errorf("%s can't get a new member", at)
		}
	}
}

func TestOperationsAreDescribed(t *testing.T) {
	t.Parallel()
	d := shown(t)
	unused := map[string]bool{}
	for _, tag := range d.Tags {
		unused[tag.Name] = tag.Description != ""
	}
	used := maps.Clone(unused)
	d.eachOperation(func(name string, op map[string]any) {
		if text, _ := op["description"].(string); !strings.HasSuffix(text, ".") {
			t.Errorf("%s is described as %q", name, text)
		}
		for _, tag := range op["tags"].([]any) {
			if delete(unused, tag.(string)); !used[tag.(string)] {
				t.Errorf("%s: the tag %v is not declared", name, tag)
			}
		}
	})
	if len(unused) > 0 || d.Info["license"] == nil || d.Info["contact"] == nil {
		t.Errorf("nothing has the tags %v; info %v", unused, d.Info)
	}
}

// TestWebhookSchemas makes a server send every event, and checks each against its schema, closed to
// unknown members.
func TestWebhookSchemas(t *testing.T) {
	t.Parallel()
	synctest.Test(t, everyEventFits)
}

func everyEventFits(t *testing.T) {
	cfg := captured()
	cfg.EnforceGuardrails = true
	r := newTestAPI(t, cfg)
	hook := r.addWebhook(r.full)
	r.emitEveryEvent()
	left := map[string]bool{}
	for name := range shown(t).Webhooks {
		left[name] = true
	}
	if n := len(webhook.EventNames()) + len(webhook.ServerEvents()); len(left) != n {
		t.Errorf("%d names in the document, %d events", len(left), n)
	}
	for _, event := range slices.Concat(r.webhookBodies(hook), quotaEvents(t), signUpEvents(t), []map[string]any{switchEvent(t)}) {
		r.wantSchema(event)
		delete(left, event["type"].(string))
	}
	if len(left) > 0 {
		t.Errorf("never sent: %v", slices.Sorted(maps.Keys(left)))
	}
	// The other reason for a pause needs a relay that refuses a domain for a while.
	rest := reputation.BreakerData{TeamID: app.NewID(), Status: reputation.GuardrailPaused, Domain: "example.com", Region: "us-east-1", Reason: "not verified",
		ReplyCode: 554, EnhancedCode: "5.7.1", NextAttemptAt: "2026-08-01T09:30:00.000Z"}
	raw, err := json.Marshal(map[string]any{"type": webhook.DeliverabilityPaused, "created_at": "2026-08-01T09:30:00.000Z", "data": rest})
	var event map[string]any
	if err != nil || json.Unmarshal(raw, &event) != nil {
		t.Fatal(err)
	}
	r.wantSchema(event)
}

// switchEvent is the event of a region that switched.
func switchEvent(t *testing.T) (event map[string]any) {
	t.Helper()
	raw, err := webhook.Payload(webhook.RelaySwitched, time.Now(), webhook.RelaySwitch{Region: "us-east-1", From: "us-east-1", To: "us-east-1/b", Reason: "an operator switched to it", At: "2026-08-01T09:30:00.000Z"})
	if err != nil || json.Unmarshal(raw, &event) != nil {
		t.Fatal(err)
	}
	return event
}

// signUpEvents returns the events of a confirmed opt-in and of a form above its limits.
func signUpEvents(t *testing.T) (events []map[string]any) {
	t.Helper()
	at := time.UnixMilli(1)
	o := app.SignUp{ID: app.NewID(), Email: "ann@example.net", Status: app.OptInConfirmed, FormID: app.NewID(), ContactID: app.NewID(), RequestedAt: at, DecidedAt: at}
	for name, data := range map[webhook.EventName]any{webhook.ContactOptInConfirmed: webhook.OptInDataOf(&o), webhook.FormLimited: webhook.FormLimitedData{ID: app.NewID(), Name: "F", PerHour: 60, PerDay: 500, Waiting: 7},
		webhook.EmailReplied:           webhook.ReceivedDataOf(&app.Received{ID: app.NewID(), FromEmail: "ann@example.net", Answers: app.NewID(), Proven: true, CreatedAt: at}),
		webhook.DomainReportWarning:    webhook.ReportWarningData{DomainID: app.NewID(), Domain: "example.com", Warning: mailreport.WarnOwnSource, Message: "x", Day: "2000-01-01", ReportID: app.NewID()},
		webhook.RouteDestinationPaused: webhook.DestinationPausedDataOf(&app.ForwardAddress{Address: "ann@example.net", Refusals: 5}, nil, app.Bounced, at),
		webhook.FeedFailed:             webhook.FeedFailedData{ID: app.NewID(), URL: "https://blog.test/feed", TopicID: app.NewID(), Error: "x", Tries: 3}} {
		var event map[string]any
		raw, err := webhook.Payload(name, at, data)
		if err != nil || json.Unmarshal(raw, &event) != nil {
			t.Fatal(err)
		}
		events = append(events, event)
	}
	return events
}

// webhookBodies are the payloads that a webhook gets.
func (r *testAPI) webhookBodies(hook string) (all []map[string]any) {
	r.t.Helper()
	for _, row := range r.page(r.full, "/webhooks/"+hook+"/events?limit=100").Data {
		all = append(all, r.object(r.full, "/webhooks/"+hook+"/events/"+row.ID)["payload"].(map[string]any))
	}
	return all
}

// quotaEvents are the events of a team that uses up its quota.
func quotaEvents(t *testing.T) []map[string]any {
	t.Helper()
	cfg := captured()
	cfg.Cloud = true
	r := newTestAPI(t, cfg)
	r.domain(r.team.ID, "example.com", true)
	if _, err := r.server.Teams.SetPlan(t.Context(), r.team.ID, plan.Input{Name: plan.Scale, Included: 10, Overage: true}); err != nil {
		t.Fatal(err)
	}
	hook := r.addWebhook(r.full)
	for range 10 {
		r.send(r.full, `{"from":"a@example.com","to":"bob@example.net","subject":"s","text":"t"}`)
	}
	return r.webhookBodies(hook)
}

// schemaErrors lists what of an event does not fit its schema.
func (r *testAPI) schemaErrors(event map[string]any) []string {
	r.t.Helper()
	doc := r.handler.OpenAPI()
	schema := doc.Webhooks[event["type"].(string)]["post"].RequestBody.Content["application/json"].Schema
	return misfits(doc.Components.Schemas, schema, event, "the event")
}

// wantSchema checks an event, and that one with a member too much would not pass.
func (r *testAPI) wantSchema(event map[string]any) {
	r.t.Helper()
	for _, misfit := range r.schemaErrors(event) {
		r.t.Errorf("%s is not as the document says: %s in %v", event["type"], misfit, event)
	}
	event["data"].(map[string]any)["extra"] = true
	if len(r.schemaErrors(event)) == 0 {
		r.t.Errorf("%s may hold anything", event["type"])
	}
}

// addWebhook makes a webhook for every event there is and returns its id.
func (r *testAPI) addWebhook(key string) string {
	r.t.Helper()
	names, err := json.Marshal(webhook.EventNames())
	if err != nil {
		r.t.Fatal(err)
	}
	return r.made(key, "/webhooks", `{"endpoint":"https://hooks.example.com/in","events":`+string(names)+`}`)
}

// made posts and returns the id in the answer.
func (r *testAPI) made(key, target, body string) string {
	r.t.Helper()
	w := r.as(key, http.MethodPost, target, body)
	var thing struct{ ID string }
	if err := json.Unmarshal(w.Body.Bytes(), &thing); err != nil || w.Code >= 300 {
		r.t.Fatalf("POST %s: %d %s", target, w.Code, w.Body)
	}
	return thing.ID
}

// emitEveryEvent makes every event happen to a team.
func (r *testAPI) emitEveryEvent() {
	do := func(method, target, body string) {
		r.t.Helper()
		if w := r.as(r.full, method, target, body); w.Code >= 300 {
			r.t.Fatalf("%s %s: %d %s", method, target, w.Code, w.Body)
		}
	}
	r.receive(r.team.ID, "in@acme.test", aReply)
	topic := r.made(r.full, "/topics", `{"name":"News","default_subscription":"opt_in","description":"All of it"}`)
	do("PATCH", "/topics/"+topic, `{"name":"Old news"}`)
	person := r.made(r.full, "/contacts", `{"email":"ann@example.net","first_name":"Ann"}`)
	do("PATCH", "/contacts/"+person, `{"last_name":"Lee"}`)
	do("POST", "/contacts/opt-in", `{"email":"bob@example.net"}`)
	do("PATCH", "/contacts/"+person+"/topics", `[{"id":"`+topic+`","subscription":"opt_out"}]`)
	do("DELETE", "/topics/"+topic, "")
	do("DELETE", "/contacts/"+person, "")
	do("POST", "/suppressions", `{"email":"eve@example.net"}`)
	domain := r.made(r.full, "/domains", `{"name":"mail.example.org"}`)
	do("PATCH", "/domains/"+domain, `{"open_tracking":true}`)
	do("DELETE", "/domains/"+domain, "")
	mail := func(to, more string) string {
		return `{"from":"a@example.com","to":` + to + `,"subject":"s","text":"t","tags":[{"name":"a","value":"b"}],"headers":{"X-Of-Ours":"1"}` + more + `}`
	}
	r.send(r.full, mail(`"ann@example.net"`, `,"scheduled_at":"in 1 hour"`))
	r.send(r.full, mail(`["bob@example.net","eve@example.net"]`, ""))
	id := r.send(r.full, mail(`"bob@example.net"`, ""))
	r.eventually(r.full, "/emails/"+id, `"last_event":"sent"`)
	time.Sleep(time.Minute) // an open within a minute counts as a machine's
	for i, what := range []string{`"delivery_delayed"`, `"delivered"`, `"opened"`, `"clicked","link":"https://example.com/a","user_agent":"Reader/1","ip_address":"192.0.2.7"`,
		`"failed","diagnostic":"no"`, `"bounced","enhanced_code":"5.1.1","diagnostic":"smtp; 550 5.1.1 no such user"`, `"complained"`} {
		w := r.do("POST", "/ingest/generic/"+r.secret("generic"), fmt.Sprintf(`{"id":"%d","email_id":"%s","recipient":"bob@example.net","type":%s}`, i, id, what))
		wantStatus(r.t, w, http.StatusOK)
	}
	do("DELETE", "/suppressions/eve@example.net", "")
	r.setOutcome(reputation.Outcome{Sent: 200, HardBounced: 9})
	r.setOutcome(reputation.Outcome{HardBounced: 100})
}

// setOutcome has a team's mail fare so, and its rates be looked at.
func (r *testAPI) setOutcome(o reputation.Outcome) {
	r.t.Helper()
	r.write(func(tx *db.Tx) error {
		r.server.Delivery.CountOutcome(tx, counters.Key{TeamID: r.team.ID, Region: app.CaptureRegion, Domain: "example.com"}, o)
		return nil
	})
	if err := r.server.Guardrails.Judge(r.t.Context()); err != nil {
		r.t.Fatal(err)
	}
}
