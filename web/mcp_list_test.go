package web

import (
	"encoding/json"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"mailer/app"
)

// Limits of the default list: clients take at most 128 tools, some only 40 KB.
const (
	mostListed      = 60
	mostListedBytes = 40_000
)

// listing asks for the tools at an address and returns their names and the size of the
// answer in bytes.
func (r *testAPI) listing(key, address string) (names []string, size int) {
	r.t.Helper()
	w := r.do("POST", address, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, "Authorization: Bearer "+key)
	wantStatus(r.t, w, http.StatusOK)
	size = w.Body.Len()
	for _, tool := range decoded[struct {
		Result struct{ Tools []struct{ Name string } }
	}](r.t, w).Result.Tools {
		names = append(names, tool.Name)
	}
	return names, size
}

func TestMCPListPerKey(t *testing.T) {
	t.Parallel()
	r := newTestAPI(t, captured())
	member := r.key(r.team.ID, app.KeyInput{Permission: app.FullAccess, Role: app.RoleMember})
	admin := r.key(r.team.ID, app.KeyInput{Permission: app.FullAccess, Role: app.RoleAdmin})
	sending := r.key(r.team.ID, app.KeyInput{Permission: app.SendingAccess})
	onlySending := []string{"cancel_email", "reschedule_email", "send_batch", "send_email"}
	for _, tt := range []struct {
		name, key, address string
		least, most, bytes int
		has, lacks         []string
	}{
		{"an owner", r.full, "/mcp", 50, mostListed, mostListedBytes, []string{"send_email", "create_webhook", "create_api_key"}, []string{"hold_queue", "list_audit_logs"}},
		{"an admin", admin, "/mcp", 50, mostListed, mostListedBytes, []string{"send_email", "add_domain"}, []string{"hold_queue"}},
		{"a member", member, "/mcp", 40, mostListed, mostListedBytes, []string{"send_email", "list_domains", "send_broadcast"}, []string{"add_domain", "create_webhook", "create_api_key"}},
		{"a key that may only send", sending, "/mcp", 4, 4, 10_000, onlySending, nil},
		{"everything of an owner", r.full, "/mcp?tools=all", 120, 220, 130_000, []string{"hold_queue", "list_audit_logs", "add_domain"}, nil},
		{"everything of a member", member, "/mcp?tools=all", 80, 199, 120_000, []string{"list_queue"}, []string{"add_domain"}},
		{"everything of a key that may only send", sending, "/mcp?tools=all", 4, 4, 10_000, onlySending, nil},
		{"two groups", r.full, "/mcp?tools=queue,audit-log", 5, 20, 20_000, []string{"hold_queue", "list_audit_logs"}, []string{"send_email"}},
		{"a group besides", r.full, "/mcp?tools=default,queue", 55, 80, 60_000, []string{"hold_queue", "send_email"}, nil},
		{"a group that the key may use nothing of", sending, "/mcp?tools=queue", 0, 0, 1000, nil, nil},
	} {
		names, size := r.listing(tt.key, tt.address)
		if len(names) < tt.least || len(names) > tt.most || size > tt.bytes {
			t.Errorf("%s: %d tools in %d bytes, want %d to %d in %d", tt.name, len(names), size, tt.least, tt.most, tt.bytes)
		}
		for _, name := range tt.has {
			if !slices.Contains(names, name) {
				t.Errorf("%s: there is no %s", tt.name, name)
			}
		}
		for _, name := range tt.lacks {
			if slices.Contains(names, name) {
				t.Errorf("%s: there is %s", tt.name, name)
			}
		}
	}
	wantError(t, r.do("POST", "/mcp?tools=quue", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, "Authorization: Bearer "+r.full),
		422, app.CodeValidation, "`tools`", "queue", "all", "default")
	manual, err := os.ReadFile("manual/agents.md")
	if err != nil {
		t.Fatal(err)
	}
	for name, op := range r.tools() {
		if group := strings.ReplaceAll(strings.ToLower(op.Tags[0]), " ", "-"); !strings.Contains(string(manual), "`"+group+"`") {
			t.Errorf("the manual does not name the group %s, of %s", group, name)
		}
	}
}

// TestMCPListMatchesAccess calls every tool without arguments: a listed tool is not refused because
// of the key, every other one is.
func TestMCPListMatchesAccess(t *testing.T) {
	t.Parallel()
	r := newTestAPI(t, captured())
	all := r.tools()
	for _, in := range []app.KeyInput{{Permission: app.FullAccess, Role: app.RoleMember}, {Permission: app.SendingAccess}} {
		key := r.key(r.team.ID, in)
		listed, _ := r.listing(key, "/mcp?tools=all")
		for i, name := range slices.Sorted(maps.Keys(all)) {
			if i%50 == 0 {
				r.clock = r.clock.Add(2 * 60e9) // the next minute of the call budget
			}
			arguments := m{}
			for _, p := range all[name].Parameters {
				if p.In == "path" {
					arguments[p.Name] = unknownID
				}
			}
			text, _ := r.tool(key, name, arguments)
			refused := strings.Contains(text, `"restricted_api_key"`) || strings.Contains(text, "role") && strings.Contains(text, `"forbidden"`)
			if refused == slices.Contains(listed, name) {
				t.Errorf("%s %s: listed %v, answers %s", in.Permission, name, !refused, text)
			}
		}
	}
}

// TestMCPListCacheScope: the list depends on the key, and clients may share it unless told
// otherwise.
func TestMCPListCacheScope(t *testing.T) {
	t.Parallel()
	r := newTestAPI(t, captured())
	w := r.rpc(r.full, `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"a","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`, "Mcp-Protocol-Version: 2026-07-28", "Mcp-Method: tools/list")
	if got := decoded[struct{ Result struct{ CacheScope string } }](t, w).Result.CacheScope; got != "private" {
		t.Errorf("the scope is %q: %.300s", got, w.Body)
	}
}

// TestMCPCallUnlistedTool: a list is short for the agent's sake; what the
// key may use is not narrowed by it.
func TestMCPCallUnlistedTool(t *testing.T) {
	t.Parallel()
	r := newTestAPI(t, captured())
	if names, _ := r.listing(r.full, "/mcp"); slices.Contains(names, "list_audit_logs") {
		t.Fatal("list_audit_logs is listed")
	}
	r.ok(r.full, "list_audit_logs", m{}, nil)
}

// TestMCPHiddenArguments: schemas have one form of a value; the API accepts several.
func TestMCPHiddenArguments(t *testing.T) {
	t.Parallel()
	r := newTestAPI(t, captured())
	var sent struct{ ID string }
	r.ok(r.full, "send_email", m{
		"from": "a@example.com", "to": "b@example.org", "reply_to": "c@example.com", "subject": "s", "text": "t",
		"attachments": []m{{"filename": "a.txt", "content": []int{104, 105}}},
	}, &sent)
	r.ok(r.full, "list_emails", m{"before": sent.ID}, nil)
}

// TestMCPPortableSchemas: Gemini and similar clients refuse a list of types, oneOf, siblings of
// anyOf, and most formats.
func TestMCPPortableSchemas(t *testing.T) {
	t.Parallel()
	r := newTestAPI(t, captured())
	w := r.do("POST", "/mcp?tools=all", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, "Authorization: Bearer "+r.full)
	seen := 0
	for _, tool := range decoded[struct {
		Result struct {
			Tools []struct {
				Name        string
				Description string
				InputSchema map[string]any
			}
		}
	}](t, w).Result.Tools {
		if strings.Contains(tool.Description, "Accept:") {
			t.Errorf("%s: no tool answers CSV: %s", tool.Name, tool.Description)
		}
		eachSchema(tool.InputSchema, func(s map[string]any) {
			seen++
			_, list := s["type"].([]any)
			format, formatted := s["format"]
			if list || s["oneOf"] != nil || s["anyOf"] != nil && len(s) > 1 || formatted && format != "date-time" {
				b, _ := json.Marshal(s)
				t.Errorf("%s: %s", tool.Name, b)
			}
		})
	}
	if seen < 500 {
		t.Errorf("only %d schemas", seen)
	}
}

// eachSchema visits a schema and all nested ones.
func eachSchema(schema map[string]any, visit func(map[string]any)) {
	visit(schema)
	properties, _ := schema["properties"].(map[string]any)
	for _, s := range properties {
		eachSchema(s.(map[string]any), visit)
	}
	for _, name := range []string{"items", "additionalProperties"} {
		if s, ok := schema[name].(map[string]any); ok {
			eachSchema(s, visit)
		}
	}
	for _, name := range []string{"anyOf", "oneOf", "allOf"} {
		alternatives, _ := schema[name].([]any)
		for _, s := range alternatives {
			eachSchema(s.(map[string]any), visit)
		}
	}
}
