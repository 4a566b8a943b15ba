package sdktest

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// everything creates a team with one of everything through the API, and returns its key and that of
// a further team. The sink is its relay.
func everything(t *testing.T, in *instance, s *sink) (api client, further string) {
	t.Helper()
	in.run(t, "domains", "add", "example.test", "--trust")
	api = client{in.url, in.newKey(t)}
	put := func(method, path string, body any) (made struct{ ID, Token string }) {
		t.Helper()
		status, b := api.do(t, method, path, body)
		if status/100 != 2 {
			t.Fatalf("%s %s: %d %s", method, path, status, b)
		}
		if err := json.Unmarshal(b, &made); err != nil {
			t.Fatalf("%s %s: %v\n%s", method, path, err, b)
		}
		return made
	}
	type object = map[string]any
	put("POST", "/contact-properties", object{"key": "city", "type": "string", "fallback_value": "nowhere"})
	put("POST", "/contact-properties", object{"key": "visits", "type": "number", "fallback_value": 7})
	put("POST", "/contact-properties", object{"key": "plan", "type": "string"})
	hand := put("POST", "/segments", object{"name": "By hand"}).ID
	put("POST", "/segments", object{"name": "Rich", "filter": object{"match": "all", "conditions": []object{{"field": "property:visits", "op": "greater_than", "value": "3"}}}})
	news := put("POST", "/topics", object{"name": "News", "description": "What is new", "default_subscription": "opt_in", "visibility": "public"}).ID
	offers := put("POST", "/topics", object{"name": "Offers", "default_subscription": "opt_out", "visibility": "private"}).ID
	for n := range 12 {
		c := object{"email": personAddress(n), "first_name": fmt.Sprintf("Ann %d", n), "properties": object{"city": "Riga, \"old\"", "visits": n}, "unsubscribed": n == 3}
		if n%2 == 0 {
			c["segments"] = []object{{"id": hand}}
		}
		if n%3 == 1 {
			c["topics"] = []object{{"id": news, "subscription": "opt_out"}, {"id": offers, "subscription": "opt_in"}}
		}
		put("POST", "/contacts", c)
	}
	put("POST", "/contacts", object{"email": "jürgen@bücher.example", "last_name": "=1+1"})
	put("PATCH", "/contacts/"+personAddress(4), object{"email": "moved@people.example"})
	status, b := api.do(t, "DELETE", "/contacts/"+personAddress(7), nil)
	if status != http.StatusOK {
		t.Fatalf("DELETE a contact: %d %s", status, b)
	}
	for i, origin := range []string{"bounce", "complaint", "manual", "unsubscribe"} {
		if origin != "unsubscribe" { // a new contact with such an address counts as unsubscribed, even if it does not in the source
			put("POST", "/suppressions", object{"email": personAddress(8 + i), "origin": origin})
		}
		put("POST", "/suppressions", object{"email": "stranger-" + origin + "@people.example", "origin": origin})
	}
	content := func(text string) object {
		return object{"html": "<p>" + text + " {{{name}}}</p>", "subject": text, "from": "Ann <ann@example.test>", "reply_to": []string{"b@example.test"},
			"variables": []object{{"key": "name", "type": "string", "fallback_value": "you"}, {"key": "count", "type": "number"}}}
	}
	for _, name := range []string{"Draft", "Published", "Edited since"} {
		body := content(name)
		body["name"], body["alias"] = name, strings.ToLower(strings.ReplaceAll(name, " ", "-"))
		id := put("POST", "/templates", body).ID
		if name != "Draft" {
			put("POST", "/templates/"+id+"/publish", nil)
		}
		if name == "Edited since" {
			put("PATCH", "/templates/"+id, object{"html": "<p>Another {{{name}}}</p>", "text": ""})
		}
	}
	put("POST", "/broadcasts", object{"name": "Draft", "from": "ann@example.test", "subject": "Soon", "html": "<p>{{{FIRST_NAME|you}}}</p>", "segment_id": hand, "topic_id": news, "preview_text": "Look", "reply_to": []string{"b@example.test"}})
	sent := put("POST", "/broadcasts", object{"name": "Sent", "from": "ann@example.test", "subject": "Now", "text": "Hello {{{FIRST_NAME}}}", "html": "<p>Hello</p>", "segment_id": hand, "send": true}).ID
	canceled := put("POST", "/broadcasts", object{"name": "Canceled", "from": "ann@example.test", "subject": "Never", "html": "<p>x</p>", "send": true, "scheduled_at": "in 2 days"}).ID
	put("POST", "/broadcasts/"+canceled+"/cancel", nil)
	put("POST", "/domains", object{"name": "tracked.test", "custom_return_path": "bounce", "open_tracking": true, "click_tracking": true, "tracking_subdomain": "links"})
	put("POST", "/webhooks", object{"endpoint": "https://hooks.example.com/one", "events": []string{"email.complained", "domain.deleted"}})
	put("POST", "/webhooks", object{"endpoint": "https://hooks.example.com/two", "events": []string{"email.bounced"}, "status": "disabled"})
	further = put("POST", "/api-keys", object{"name": "Sending", "permission": "sending_access", "allowed_ips": []string{"127.0.0.0/8"}}).Token
	eventually(t, stopTimeout, "the broadcast is sent", func() (bool, string) {
		var b broadcastState
		api.get(t, "/broadcasts/"+sent, &b)
		return b.Status == "sent", fmt.Sprintf("%+v, %d arrived", b, len(s.messages()))
	})
	return api, further
}

// relayed returns a server with everything, and the key of its team.
func relayed(t *testing.T, args ...string) (in *instance, s *sink) {
	t.Helper()
	s = newSink(t, sinkOptions{})
	return startBare(t, append([]string{"--relay", fmt.Sprintf("smtp://%s?tls=off&connections=4&timeout=5s", s.addr), "--rate-limit", "0"}, args...)...), s
}

// ofEachContact are requests for each contact, if there are few.
var ofEachContact = []string{"/contacts/%s", "/contacts/%s/topics", "/contacts/%s/segments"}

// samePlan fails the test where a plan said something else than was done then.
func samePlan(t *testing.T, plan, apply *imported) {
	t.Helper()
	var said, done map[string]any
	must(t, json.Unmarshal(plan.text, &said))
	must(t, json.Unmarshal(apply.text, &done))
	if said["applied"] != false || done["applied"] != true {
		t.Errorf("applied: %v, then %v", said["applied"], done["applied"])
	}
	for _, report := range []map[string]any{said, done} {
		delete(report, "applied")
		domains, _ := report["domains"].([]any)
		for i := range domains { // a key that --apply makes is known only then
			delete(domains[i].(map[string]any), "records")
		}
	}
	for field, value := range done {
		if !reflect.DeepEqual(said[field], value) {
			t.Errorf("%s: the plan says %v, and done was %v", field, said[field], value)
		}
	}
	if !slices.Equal(slices.Sorted(maps.Keys(said)), slices.Sorted(maps.Keys(done))) {
		t.Errorf("the plan says of %v, and the apply of %v", slices.Sorted(maps.Keys(said)), slices.Sorted(maps.Keys(done)))
	}
}

// nothingNew fails the test where a report says that something was done.
func nothingNew(t *testing.T, again *imported) {
	t.Helper()
	suppressed := 0
	for origin, n := range again.Suppressions {
		if origin != "left" {
			suppressed += n
		}
	}
	if again.Contacts.New != 0 || again.OptedOut != 0 || again.TopicChoices != 0 || suppressed != 0 {
		t.Errorf("a second run did something: %s", tail(again.text, 2000))
	}
	for kind, things := range again.things() {
		for _, thing := range things {
			if thing.New {
				t.Errorf("a second run made %s %q", kind, thing.Name)
			}
		}
	}
}

// planThenApply plans, applies and applies again, looking at all lists before and after.
func planThenApply(t *testing.T, in *instance, e *importSource) {
	t.Helper()
	api := in.newTeam(t, "Mine")
	in.newTeam(t, "Other")
	args := append(slices.Clone(e.args), "--team", "Mine")
	empty := api.lists(t, ofEachContact...)
	plan := in.importAll(t, append(args, "--plan")...)
	sameLists(t, "after a plan", api.lists(t, ofEachContact...), empty)
	samePlan(t, plan, in.importAll(t, append(args, "--apply")...))
	if n := len(api.pages(t, "/contacts")); n != plan.Contacts.New {
		t.Errorf("%d contacts, planned were %d", n, plan.Contacts.New)
	}
	origins := map[string]int{}
	for _, item := range api.pages(t, "/suppressions") {
		var s struct{ Origin string }
		must(t, json.Unmarshal(item, &s))
		origins[s.Origin]++
	}
	for origin, n := range plan.Suppressions {
		if origin != "left" && origins[origin] != n {
			t.Errorf("%d suppressions for %s, planned were %d", origins[origin], origin, n)
		}
	}
	before := api.lists(t)
	nothingNew(t, in.importAll(t, append(args, "--apply")...))
	sameLists(t, "after a second run", api.lists(t), before)
	samePlan(t, in.importAll(t, append(args, "--plan")...), in.importAll(t, append(args, "--apply")...))
}

func TestImportPlanAndRepeat(t *testing.T) {
	part(t, "imports")
	t.Parallel()
	dir := t.TempDir()
	sources := sheetSources(t, dir)
	sources["mailer directory"], sources["mailer database"] = mailerSources(t)
	sources["listmonk"] = listmonkSource(t, mkdir(t, dir, "of listmonk"))
	sources["resend"] = resendSource(t, mkdir(t, dir, "of resend"))
	for name, e := range sources {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			planThenApply(t, startBare(t, "--rate-limit", "0"), &e)
		})
	}
}

func mkdir(t *testing.T, dir, name string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	must(t, os.MkdirAll(path, 0o700))
	return path
}
