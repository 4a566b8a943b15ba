package mcp_test

import (
	"encoding/json"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"

	"mailer/app/base"
	"mailer/app/server"
	"mailer/app/tenants/domains"
	"mailer/web"
	"mailer/web/mcp"
	"mailer/web/rest"
)

// handler has every route of the API, and nothing behind them.
func handler() *rest.Handler {
	return web.New(web.Config{Server: nothing(), Log: slog.New(slog.DiscardHandler)})
}

// document is openapi.json.
func document(h http.Handler) []byte {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", "/openapi.json", nil))
	return w.Body.Bytes()
}

// TestEveryOperationIsToolOrExcluded reads the document.
func TestEveryOperationIsToolOrExcluded(t *testing.T) {
	h := handler()
	var doc struct {
		Paths map[string]map[string]struct {
			OperationID string
			Security    []map[string]any
		}
	}
	if err := json.Unmarshal(document(h), &doc); err != nil {
		t.Fatal(err)
	}
	tools := map[string]bool{}
	for _, tool := range mcp.Tools(h) {
		tools[tool.Name()] = true
		verb, _, _ := strings.Cut(tool.Name(), "_")
		if !regexp.MustCompile(`^[a-z]+(_[a-z]+)+$`).MatchString(tool.Name()) || !slices.Contains(verbs, verb) {
			t.Errorf("%s is not snake case with a verb first", tool.Name())
		}
	}
	seen := map[string]bool{}
	for path, item := range doc.Paths {
		for method, op := range item {
			seen[op.OperationID] = true
			_, left := mcp.ExcludedOperations[op.OperationID]
			if left = left || len(op.Security) == 0 || op.Security[0]["bearer"] == nil; tools[strings.ReplaceAll(op.OperationID, "-", "_")] == left {
				t.Errorf("%s %s (%s): a tool %v, left out %v", method, path, op.OperationID, !left, left)
			}
		}
	}
	for id, reason := range mcp.ExcludedOperations {
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

var verbs = []string{"check", "hold", "inspect", "release", "retry", "drop", "requeue", "add", "cancel", "pause", "resume", "unschedule", "create", "delete", "duplicate", "explain", "get", "list", "publish", "put", "remove", "replay", "plan", "preview", "render", "restore", "rename", "reschedule",
	"resend", "rotate", "send", "set", "share", "stop", "test", "update", "verify"}

// TestArgumentsDoNotCollide: a parameter that hid a member of the body would
// make that member unreachable.
func TestArgumentsDoNotCollide(t *testing.T) {
	h := handler()
	hidden := map[string]bool{}
	for _, tool := range mcp.Tools(h) {
		names := argumentNames(h, tool.Operation(), tool.List())
		want := slices.DeleteFunc(slices.Clone(names), func(name string) bool {
			hidden[name], hidden[tool.Operation().OperationID+" "+name] = true, true
			return tool.Hides(name)
		})
		if got := len(tool.Schema()["properties"].(map[string]any)); got != len(want) {
			t.Errorf("%s has %d arguments for %d parameters and members", tool.Name(), got, len(want))
		}
		if tool.List() == "items" {
			t.Errorf("%s: its list needs a name of its own", tool.Name())
		}
		b, err := json.Marshal(tool.Definition())
		if err != nil || strings.Contains(string(b), "$ref") || strings.Contains(string(b), "percent-encoded") {
			t.Errorf("%s: %v %s", tool.Name(), err, b)
		}
	}
	for name, reason := range mcp.HiddenArguments {
		if !hidden[name] || reason == "" {
			t.Errorf("%s is hidden (%q), and no argument", name, reason)
		}
	}
}

// argumentNames returns the parameters of an operation, and the members of its body or the name of
// its list.
func argumentNames(h *rest.Handler, o *rest.Operation, list string) (names []string) {
	for _, p := range o.Parameters {
		names = append(names, p.Name)
	}
	switch {
	case list != "":
		names = append(names, list)
	case o.RequestBody != nil:
		members, _ := mcp.Object(mcp.Inlined(h, o.RequestBody.Content["application/json"].Schema))["properties"].(map[string]any)
		names = slices.AppendSeq(names, maps.Keys(members))
	}
	return names
}

// TestDefaultListNamesTools: a tool that was renamed would be missing in the list.
func TestDefaultListNamesTools(t *testing.T) {
	names := map[string]bool{}
	for _, tool := range mcp.Tools(handler()) {
		names[tool.Name()] = true
	}
	for i, name := range mcp.DefaultTools {
		if !names[name] || slices.Contains(mcp.DefaultTools[:i], name) {
			t.Errorf("%s is listed twice, or is no tool", name)
		}
	}
}

// TestSchemasHoldNoSecret finds members that sound like secrets
// anywhere in what tools may answer.
func TestSchemasHoldNoSecret(t *testing.T) {
	h := handler()
	suspicious := regexp.MustCompile(`(?i)secret|token|password|private|credential`)
	for _, tool := range mcp.Tools(h) {
		for status, response := range tool.Operation().Responses {
			media := response.Content["application/json"]
			if status[0] != '2' || media == nil || tool.Operation().OperationID == mcp.KeyCreation {
				continue
			}
			for _, name := range memberNames(mcp.Inlined(h, media.Schema)) {
				if suspicious.MatchString(name) && !slices.Contains(tool.Secrets(), name) {
					t.Errorf("%s answers with %s", tool.Name(), name)
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

// nothing is a server that has no parts to answer with.
func nothing() *server.Server {
	base := &base.Base{}
	return &server.Server{Base: base, Domains: &domains.Service{Base: base}}
}
