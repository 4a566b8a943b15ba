package web

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestMCPEveryOperationIsAToolOrLeftOutWithAReason reads the document.
func TestMCPEveryOperationIsAToolOrLeftOutWithAReason(t *testing.T) {
	r := newReal(t, captured())
	var doc struct {
		Paths map[string]map[string]struct {
			OperationID string
			Security    []any
		}
	}
	if err := json.Unmarshal(r.handler.document(), &doc); err != nil {
		t.Fatal(err)
	}
	tools := map[string]bool{}
	for _, tool := range r.handler.tools() {
		tools[tool.name] = true
		verb, _, _ := strings.Cut(tool.name, "_")
		if !regexp.MustCompile(`^[a-z]+(_[a-z]+)+$`).MatchString(tool.name) || !slices.Contains(verbs, verb) {
			t.Errorf("%s is not snake case with a verb first", tool.name)
		}
	}
	seen := map[string]bool{}
	for path, item := range doc.Paths {
		for method, op := range item {
			seen[op.OperationID] = true
			_, left := notTools[op.OperationID]
			if left = left || op.Security == nil; tools[strings.ReplaceAll(op.OperationID, "-", "_")] == left {
				t.Errorf("%s %s (%s): a tool %v, left out %v", method, path, op.OperationID, !left, left)
			}
		}
	}
	for id, reason := range notTools {
		if !seen[id] || reason == "" {
			t.Errorf("%s is left out (%q), and no operation", id, reason)
		}
	}
	for _, name := range []string{"send_email", "send_batch", "get_email", "list_emails", "cancel_email", "reschedule_email", "create_contact",
		"get_contact", "list_contacts", "update_contact", "delete_contact", "create_segment", "create_topic", "create_template", "publish_template",
		"create_broadcast", "send_broadcast", "cancel_broadcast", "add_domain", "verify_domain", "add_suppression", "create_webhook", "list_webhooks", "create_api_key", "list_api_keys"} {
		if !tools[name] {
			t.Errorf("there is no %s", name)
		}
	}
}

var verbs = []string{"add", "cancel", "create", "delete", "duplicate", "get", "list", "publish", "put", "remove", "replay", "rename", "reschedule",
	"send", "set", "test", "update", "verify"}

// TestMCPArgumentsDoNotCollide: a parameter that hid a member of the body would
// make that member unreachable.
func TestMCPArgumentsDoNotCollide(t *testing.T) {
	r := newReal(t, captured())
	for _, tool := range r.handler.tools() {
		n := len(tool.operation.Parameters)
		if body := tool.operation.RequestBody; body != nil && tool.list != "" {
			n++
		} else if body != nil {
			members, _ := object(r.handler.inlined(body.Content["application/json"].Schema))["properties"].(map[string]any)
			n += len(members)
		}
		if got := len(tool.schema["properties"].(map[string]any)); got != n {
			t.Errorf("%s has %d arguments for %d parameters and members", tool.name, got, n)
		}
		if tool.list == "items" {
			t.Errorf("%s: its list needs a name of its own", tool.name)
		}
		b, err := json.Marshal(tool.declared())
		if err != nil || strings.Contains(string(b), "$ref") || strings.Contains(string(b), "percent-encoded") {
			t.Errorf("%s: %v %s", tool.name, err, b)
		}
	}
}

// TestMCPNoSchemaOfAToolHoldsASecret finds members that sound like secrets
// anywhere in what tools may answer.
func TestMCPNoSchemaOfAToolHoldsASecret(t *testing.T) {
	r := newReal(t, captured())
	suspicious := regexp.MustCompile(`(?i)secret|token|password|private|credential`)
	for _, tool := range r.handler.tools() {
		for status, response := range tool.operation.Responses {
			media := response.Content["application/json"]
			if status[0] != '2' || media == nil || tool.operation.OperationID == keyCreation {
				continue
			}
			for _, name := range memberNames(r.handler.inlined(media.Schema)) {
				if suspicious.MatchString(name) && !slices.Contains(tool.secrets, name) {
					t.Errorf("%s answers with %s", tool.name, name)
				}
			}
		}
	}
}

func memberNames(v any) (out []string) {
	switch v := v.(type) {
	case map[string]any:
		if properties, ok := v["properties"].(map[string]any); ok {
			for name := range properties {
				out = append(out, name)
			}
		}
		for _, member := range v {
			out = append(out, memberNames(member)...)
		}
	case []any:
		for _, item := range v {
			out = append(out, memberNames(item)...)
		}
	}
	return out
}
