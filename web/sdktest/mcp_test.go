package sdktest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// mcpOutput is what mcp.mjs printed.
type mcpOutput struct {
	Server  struct{ Name string }
	Tools   []string
	ID      string
	Saved   map[string]string
	Results []struct {
		Text            string
		IsError, Thrown bool
	}
}

// mcpRoute is a transport to an MCP server.
type mcpRoute struct {
	url, key string   // over HTTP
	command  []string // or over standard streams
	env      map[string]string
	client   string // of methods.tsv; empty: none of Resend's
}

func (r mcpRoute) call(t *testing.T, line string, called ...[]any) mcpOutput {
	t.Helper()
	encode := func(v any) string {
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	for _, c := range called {
		if r.client != "" {
			calls.note(r.client, fmt.Sprint(c[0]))
		}
	}
	env := []string{"LINE=" + line, "CALLS=" + encode(called), "URL=" + r.url, "KEY=" + r.key}
	if r.command != nil {
		env = append(env, "COMMAND="+encode(r.command), "COMMAND_ENV="+encode(r.env))
	}
	out, err := runJS(t, env, filepath.Join("node", "mcp.mjs"))
	if err != nil {
		t.Fatal(err)
	}
	var got mcpOutput
	out.into(t, &got)
	if len(got.Results) != len(called) {
		t.Fatalf("%d results of %d calls", len(got.Results), len(called))
	}
	return got
}

func needMCP(t *testing.T) {
	t.Helper()
	needNode(t)
	for _, name := range []string{"@modelcontextprotocol/sdk", "@modelcontextprotocol/client", "resend-mcp"} {
		_, err := os.Stat(filepath.Join("node_modules", name, "package.json"))
		need(t, err == nil, name+": run `npm ci --ignore-scripts` in this folder")
	}
}

// TestMCPOfficialClients sends through both lines of the official client, over
// HTTP and through `mailer mcp`.
func TestMCPOfficialClients(t *testing.T) {
	part(t, "clients", shortForm)
	t.Parallel()
	needMCP(t)
	w := newFixture(t, &fixtureOptions{direct: true})
	for _, line := range []string{"v1", "v2"} {
		for name, route := range map[string]mcpRoute{
			"http":  {url: w.in.url + "/mcp", key: w.in.newKey(t)},
			"stdio": {command: []string{binary.path, "mcp", "--url", w.in.url}, env: map[string]string{"MAILER_API_KEY": w.in.newKey(t)}},
		} {
			t.Run(line+" "+name, func(t *testing.T) { w.checkTools(t, line, route) })
		}
	}
}

func (w *fixture) checkTools(t *testing.T, line string, route mcpRoute) {
	mail := map[string]any{"from": "Shop <shop@example.test>", "to": []string{"ann@example.com"}, "subject": "from a tool", "text": "Hello <Ann> & co"}
	foreign := map[string]any{"from": "a@elsewhere.test", "to": "ann@example.com", "subject": "s", "text": "t"}
	got := route.call(t, line,
		[]any{"send_email", mail}, []any{"get_email", map[string]any{"id": "$ID"}},
		[]any{"send_email", foreign}, []any{"get_email", map[string]any{"id": "no"}}, []any{"drop_tables", map[string]any{}})
	for _, name := range []string{"send_email", "send_batch", "list_contacts", "create_broadcast", "create_webhook"} {
		if !slices.Contains(got.Tools, name) {
			t.Errorf("no tool %s among %d", name, len(got.Tools))
		}
	}
	if got.Server.Name != "mailer" || got.ID == "" || got.Results[0].IsError {
		t.Fatalf("server %+v, sent %+v", got.Server, got.Results[0])
	}
	if r := got.Results[1]; r.IsError || !strings.Contains(r.Text, `"subject":"from a tool"`) || !strings.Contains(r.Text, got.ID) {
		t.Errorf("read back: %+v", r)
	}
	for i, want := range map[int]apiError{2: {422, "validation_error", "elsewhere.test"}, 3: {404, "not_found", "email"}} {
		var e apiError
		if err := json.Unmarshal([]byte(got.Results[i].Text), &e); err != nil || !got.Results[i].IsError {
			t.Fatalf("refusal: %v, %+v", err, got.Results[i])
		}
		if e.StatusCode != want.StatusCode || e.Name != want.Name || !strings.Contains(e.Message, want.Message) {
			t.Errorf("refused with %+v, want %+v", e, want)
		}
	}
	if r := got.Results[4]; !r.IsError && !r.Thrown {
		t.Errorf("an unknown tool answered %+v", r)
	}
	w.checkArrived(t, arrival{id: got.ID, subject: "from a tool", from: "shop@example.test", envelope: []string{"ann@example.com"},
		header: map[string]string{"To": "ann@example.com"}, text: "Hello <Ann> & co"})
}

const resendMCP = "node_modules/resend-mcp/dist/index.js"

// TestResendMCP runs Resend's own MCP server against this server, over both of its transports.
func TestResendMCP(t *testing.T) {
	part(t, "clients")
	inBothModes(t, resendMCPServer)
}

func resendMCPServer(t *testing.T, mode compat) {
	needMCP(t)
	w := newFixture(t, &fixtureOptions{compat: mode, direct: true})
	env := map[string]string{"RESEND_BASE_URL": w.in.url, "HOME": t.TempDir()}
	check := func(t *testing.T, route mcpRoute) {
		mail := map[string]any{"from": "shop@example.test", "to": []string{"ann@example.com"}, "subject": "by resend-mcp", "text": "Hello, Ann"}
		foreign := map[string]any{"from": "a@elsewhere.test", "to": []string{"ann@example.com"}, "subject": "s", "text": "t"}
		got := route.call(t, "v1", []any{"send-email", mail}, []any{"get-email", map[string]any{"id": "$ID"}},
			[]any{"send-email", foreign}, []any{"list-emails", map[string]any{}}, []any{"create-contact", map[string]any{"email": "c@example.com"}})
		if len(got.Tools) < 50 || got.ID == "" || got.Results[0].IsError {
			t.Fatalf("%d tools, sent %+v", len(got.Tools), got.Results[0])
		}
		for _, i := range []int{1, 3} {
			if r := got.Results[i]; r.IsError || !strings.Contains(r.Text, "by resend-mcp") {
				t.Errorf("read back: %+v", r)
			}
		}
		if r := got.Results[2]; !(r.IsError || r.Thrown) || !strings.Contains(r.Text, "elsewhere.test") {
			t.Errorf("refused: %+v", r)
		}
		w.checkArrived(t, arrival{id: got.ID, subject: "by resend-mcp", from: "shop@example.test", envelope: []string{"ann@example.com"}, text: "Hello, Ann"})
	}
	t.Run("stdio", func(t *testing.T) {
		check(t, mcpRoute{command: []string{"node", resendMCP, "--key", w.key}, env: env, client: mcpClient})
	})
	t.Run("http", func(t *testing.T) {
		check(t, mcpRoute{url: serveResendMCP(t, env), key: w.key, client: mcpClient})
	})
}

// serveResendMCP runs Resend's server and returns its address.
func serveResendMCP(t *testing.T, env map[string]string) string {
	t.Helper()
	addr := freeAddr(t)
	_, port, _ := net.SplitHostPort(addr)
	cmd := exec.Command("node", resendMCP, "--http", "--port", port)
	cmd.Env = cleanEnv(t.TempDir())
	for k, v := range env {
		cmd.Env = append(cmd.Env, k+"="+v)
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("resend-mcp: %s", out.String())
		}
	})
	eventually(t, time.Minute, "resend-mcp listens", func() (bool, string) {
		c, err := net.DialTimeout("tcp", addr, time.Second)
		if err != nil {
			return false, err.Error()
		}
		c.Close()
		return true, ""
	})
	return "http://" + addr + "/mcp"
}

// mcpTool is a tool as the server lists it.
type mcpTool struct {
	Name        string
	InputSchema struct {
		Properties map[string]struct{ Type any }
		Required   []string
	}
}

// rpc makes one call of the protocol.
func (c client) rpc(t *testing.T, method string, params, result any) {
	t.Helper()
	status, body := c.do(t, "POST", "/mcp?tools=all", map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	answer := struct{ Result any }{result}
	if err := json.Unmarshal(body, &answer); err != nil || status != http.StatusOK {
		t.Fatalf("%s: %d %v %s", method, status, err, body)
	}
}

func (c client) tool(t *testing.T, name string, arguments any) (text string, isError bool) {
	t.Helper()
	var result struct {
		IsError bool
		Content []struct{ Text string }
	}
	c.rpc(t, "tools/call", map[string]any{"name": name, "arguments": arguments}, &result)
	if len(result.Content) != 1 {
		t.Fatalf("%s: %+v", name, result)
	}
	return result.Content[0].Text, result.IsError
}

// mcpObjects makes one object of each kind with tools, and returns their ids by
// the kind.
func mcpObjects(t *testing.T, api client) map[string]string {
	t.Helper()
	ids := map[string]string{}
	for _, step := range []struct {
		kind, tool string
		arguments  map[string]any
	}{
		{"email", "send_email", map[string]any{"from": "a@example.test", "to": "b@example.com", "subject": "s", "text": "t",
			"attachments": []any{map[string]any{"filename": "a.txt", "content": "aGk="}}}},
		{"contact", "create_contact", map[string]any{"email": "c@example.com"}},
		{"property", "create_contact_property", map[string]any{"key": "k", "type": "string"}},
		{"segment", "create_segment", map[string]any{"name": "s"}},
		{"topic", "create_topic", map[string]any{"name": "t", "default_subscription": "opt_in"}},
		{"template", "create_template", map[string]any{"name": "t", "html": "<p>h</p>"}},
		{"broadcast", "create_broadcast", map[string]any{"from": "a@example.test", "subject": "s", "html": "<p>h</p>", "segment_id": "segment"}},
		{"domain", "add_domain", map[string]any{"name": "new.test"}},
		{"suppression", "add_suppression", map[string]any{"email": "gone@example.com"}},
		{"webhook", "create_webhook", map[string]any{"endpoint": "https://hooks.example.com/x", "events": []string{"topic.created"}}},
	} {
		for name, value := range step.arguments {
			if id := ids[fmt.Sprint(value)]; name == "segment_id" {
				step.arguments[name] = id
			}
		}
		text, isError := api.tool(t, step.tool, step.arguments)
		var made struct{ ID string }
		if err := json.Unmarshal([]byte(text), &made); err != nil || isError || made.ID == "" {
			t.Fatalf("%s: %s", step.tool, text)
		}
		mustNotHoldSecrets(t, step.tool, text)
		ids[step.kind] = made.ID
	}
	return ids
}

var secretInAnswer = regexp.MustCompile(`whsec_|mlr_[A-Za-z0-9]{16}_|signing_secret|PRIVATE KEY|"token"`)

func mustNotHoldSecrets(t *testing.T, tool, text string) {
	t.Helper()
	if found := secretInAnswer.FindString(text); found != "" {
		t.Errorf("%s answers with %s: %s", tool, found, text)
	}
}

// TestMCPNoToolShowsASecret calls every tool with an owner's key, and searches the answers for
// secrets.
func TestMCPNoToolShowsASecret(t *testing.T) {
	part(t, "clients")
	t.Parallel()
	w := newFixture(t, &fixtureOptions{direct: true})
	ids := mcpObjects(t, client{w.in.url, w.key})
	// A signing secret exists, and the API shows it.
	if _, body := (client{w.in.url, w.key}).do(t, "GET", "/webhooks/"+ids["webhook"], nil); !secretInAnswer.Match(body) {
		t.Fatalf("the API shows no secret: %s", body)
	}
	(client{w.in.url, w.key}).tool(t, "create_topic", map[string]any{"name": "t2", "default_subscription": "opt_in"}) // an event for the webhook
	var list struct{ Tools []mcpTool }
	(client{w.in.url, w.in.newKey(t)}).rpc(t, "tools/list", nil, &list)
	slices.SortFunc(list.Tools, func(a, b mcpTool) int { return deletesLast(a.Name) - deletesLast(b.Name) })
	answered := 0
	key := ""
	for i, tool := range list.Tools {
		if i%50 == 0 {
			key = w.in.newKey(t) // each has its budget
		}
		if tool.Name == "create_api_key" {
			continue
		}
		text, isError := (client{w.in.url, key}).tool(t, tool.Name, argumentsOf(tool, ids))
		mustNotHoldSecrets(t, tool.Name, text)
		if !isError {
			answered++
		}
	}
	if answered < 40 {
		t.Errorf("only %d of %d tools did something", answered, len(list.Tools))
	}
}

func deletesLast(name string) int {
	switch verb, _, _ := strings.Cut(name, "_"); verb {
	case "delete", "remove":
		return 1
	}
	return 0
}

// argumentsOf are the ids that a tool asks for, by the kind in its name.
func argumentsOf(tool mcpTool, ids map[string]string) map[string]any {
	out := map[string]any{}
	for _, name := range tool.InputSchema.Required {
		for _, kind := range []string{"property", "contact", "email", "segment", "topic", "template", "broadcast", "domain", "suppression", "webhook"} {
			if name == kind+"_id" || name == "id" && strings.Contains(strings.ReplaceAll(tool.Name, "preferences", "contact"), kind) {
				out[name] = ids[kind]
				break
			}
		}
	}
	return out
}
