package sdktest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// toolCall is a call of a tool of Resend's MCP server and what its answer must
// hold. "$NAME" is an id that an earlier call saved.
type toolCall struct {
	tool string
	args map[string]any
	want string // parts that the answer holds, between bars
	save string // name for the first id in the answer
	wait bool   // ask until it answers so
}

// m is the arguments of a tool, names and values in turn.
func m(pairs ...any) map[string]any {
	out := map[string]any{}
	for i := 0; i+1 < len(pairs); i += 2 {
		out[pairs[i].(string)] = pairs[i+1]
	}
	return out
}

// checkCalls makes the calls in one session and looks at each answer.
func (r mcpRoute) checkCalls(t *testing.T, steps []toolCall) {
	t.Helper()
	var all [][]any
	for _, s := range steps {
		more := map[string]any{"save": s.save}
		if s.wait {
			more["until"] = strings.Split(s.want, "|")[0]
		}
		all = append(all, []any{s.tool, s.args, more})
	}
	got := r.call(t, "v1", all...)
	for i, s := range steps {
		result := got.Results[i]
		if result.IsError || result.Thrown {
			t.Errorf("%s: %+v", s.tool, result)
			continue
		}
		for _, want := range strings.Split(s.want, "|") {
			for name, id := range got.Saved {
				want = strings.ReplaceAll(want, "$"+name, id)
			}
			if !strings.Contains(result.Text, want) {
				t.Errorf("%s: no %q in %s", s.tool, want, result.Text)
			}
		}
	}
}

func resendMCPAt(t *testing.T, w *world) mcpRoute {
	return mcpRoute{
		command: []string{"node", resendMCP, "--key", w.key, "--sender", "shop@example.test"}, client: mcpClient,
		env: map[string]string{"RESEND_BASE_URL": w.in.url, "HOME": t.TempDir()},
	}
}

// TestResendMCPEveryTool calls each tool that this service has something for,
// changes what it made, and reads it back.
func TestResendMCPEveryTool(t *testing.T) {
	t.Parallel()
	needMCP(t)
	w := newWorld(t, &worldOptions{direct: true, args: []string{"--webhook-allow", "127.0.0.0/8"}})
	hooks := newReceiver(t)
	file := filepath.Join(t.TempDir(), "contacts.csv")
	must(t, os.WriteFile(file, []byte("email,first_name\nzoe@example.com,Zoe\n"), 0o600))
	route := resendMCPAt(t, w)
	t.Run("audience", func(t *testing.T) { route.checkCalls(t, mcpAudience()) })
	t.Run("sending", func(t *testing.T) { route.checkCalls(t, mcpSending()) })
	t.Run("broadcasts", func(t *testing.T) { route.checkCalls(t, mcpBroadcasts()) })
	t.Run("settings", func(t *testing.T) { route.checkCalls(t, mcpSettings(hooks.URL)) })
	w.checkBroadcast(t, "for Ann", "ann@example.com")
}

func mcpAudience() []toolCall {
	return []toolCall{
		{"create-contact-property", m("key", "plan", "type", "string", "fallbackValue", "free"), "successfully", "PROPERTY", false},
		{"update-contact-property", m("contactPropertyId", "$PROPERTY", "fallbackValue", "none"), "$PROPERTY", "", false},
		{"get-contact-property", m("contactPropertyId", "$PROPERTY"), "plan|none", "", false},
		{"list-contact-properties", m(), "plan|$PROPERTY", "", false},
		{"create-segment", m("name", "Customers"), "$SEGMENT", "SEGMENT", false},
		{"update-segment", m("id", "$SEGMENT", "name", "Buyers"), "$SEGMENT", "", false},
		{"get-segment", m("id", "$SEGMENT"), "Buyers", "", false},
		{"list-segments", m(), "Buyers|$SEGMENT", "", false},
		{"create-topic", m("name", "News", "defaultSubscription", "opt_in"), "$TOPIC", "TOPIC", false},
		{"update-topic", m("id", "$TOPIC", "name", "Stories", "description", "Long"), "$TOPIC", "", false},
		{"get-topic", m("id", "$TOPIC"), "Stories|Long|opt_in", "", false},
		{"list-topics", m(), "Stories", "", false},
		{"create-contact", m("email", "ann@example.com", "firstName", "Ann", "properties", m("plan", "pro")), "$CONTACT", "CONTACT", false},
		{"update-contact", m("email", "ann@example.com", "lastName", "Example"), "$CONTACT", "", false},
		{"get-contact", m("id", "$CONTACT"), "ann@example.com|Ann|Example|pro", "", false},
		{"add-contact-to-segment", m("email", "ann@example.com", "segmentId", "$SEGMENT"), "success", "", false},
		{"list-contacts", m("segmentId", "$SEGMENT"), "ann@example.com", "", false},
		{"list-contact-segments", m("contactId", "$CONTACT"), "Buyers", "", false},
		{"remove-contact-from-segment", m("contactId", "$CONTACT", "segmentId", "$SEGMENT"), "success", "", false},
		{"update-contact-topics", m("id", "$CONTACT", "topics", []any{m("id", "$TOPIC", "subscription", "opt_out")}), "success", "", false},
		{"list-contact-topics", m("email", "ann@example.com"), "Stories|opt_out", "", false},
		{"create-contact-import", m("content", "email,first_name\nzoe@example.com,Zoe\n", "filename", "x.csv", "segmentIds", []string{"$SEGMENT"}), "$IMPORT", "IMPORT", false},
		{"get-contact-import", m("id", "$IMPORT"), "completed|$IMPORT", "", true},
		{"list-contact-imports", m("status", "completed"), "$IMPORT", "", false},
		{"list-contacts", m("segmentId", "$SEGMENT"), "zoe@example.com", "", false},
		{"add-suppression", m("email", "gone@example.com"), "$SUPPRESSION", "SUPPRESSION", false},
		{"batch-add-suppressions", m("emails", []string{"b@example.com", "c@example.com"}), "2", "", false},
		{"get-suppression", m("idOrEmail", "gone@example.com"), "gone@example.com|manual|$SUPPRESSION", "", false},
		{"list-suppressions", m("origin", "manual"), "gone@example.com|b@example.com|c@example.com", "", false},
		{"batch-remove-suppressions", m("emails", []string{"b@example.com", "c@example.com"}), "2", "", false},
		{"remove-suppression", m("idOrEmail", "$SUPPRESSION"), "success", "", false},
		{"list-suppressions", m(), "No suppressions", "", false},
		{"remove-contact", m("email", "zoe@example.com"), "success", "", false},
		{"remove-contact-property", m("contactPropertyId", "$PROPERTY"), "success", "", false},
		{"remove-topic", m("id", "$TOPIC"), "success", "", false},
		{"remove-segment", m("id", "$SEGMENT"), "success", "", false},
		{"list-segments", m(), "No segments", "", false},
	}
}

func mcpSending() []toolCall {
	mail := func(to string, more ...any) map[string]any {
		out := m("from", "shop@example.test", "to", []string{to}, "subject", "to "+to, "text", "hello")
		for k, v := range m(more...) {
			out[k] = v
		}
		return out
	}
	attached := []any{m("filename", "note.txt", "content", "aGVsbG8=")}
	return []toolCall{
		{"send-email", mail("one@example.com", "attachments", attached), "$EMAIL", "EMAIL", false},
		{"list-sent-email-attachments", m("emailId", "$EMAIL"), "note.txt", "ATTACHMENT", false},
		{"get-sent-email-attachment", m("emailId", "$EMAIL", "id", "$ATTACHMENT"), "note.txt|/attachments/", "", false},
		{"send-email", mail("later@example.com", "scheduledAt", "in 1 hour"), "$LATER", "LATER", false},
		{"update-email", m("id", "$LATER", "scheduledAt", "in 2 hours"), "$LATER", "", false},
		{"cancel-email", m("id", "$LATER"), "$LATER", "", false},
		{"get-email", m("id", "$LATER"), "canceled|later@example.com", "", false},
		{"send-batch-emails", m("emails", []any{mail("two@example.com"), mail("three@example.com")}), "2", "", false},
		{"list-emails", m("limit", 10), "two@example.com|three@example.com|one@example.com", "", false},
		{"create-template", m("name", "Welcome", "alias", "welcome", "html", "<p>{{{NAME}}}</p>", "subject", "Hello",
			"variables", []any{m("key", "NAME", "type", "string", "fallbackValue", "you")}), "$TEMPLATE", "TEMPLATE", false},
		{"update-template", m("id", "$TEMPLATE", "name", "Greeting"), "$TEMPLATE", "", false},
		{"publish-template", m("id", "$TEMPLATE"), "success", "", false},
		{"get-template", m("id", "welcome"), "Greeting|published|NAME", "", false},
		{"duplicate-template", m("id", "$TEMPLATE"), "success", "COPY", false},
		{"list-templates", m(), "Greeting|$TEMPLATE", "", false},
		{"remove-template", m("id", "$TEMPLATE"), "success", "", false},
	}
}

func mcpBroadcasts() []toolCall {
	return []toolCall{
		{"create-segment", m("name", "Readers"), "$SEGMENT", "SEGMENT", false},
		{"add-contact-to-segment", m("email", "ann@example.com", "segmentId", "$SEGMENT"), "success", "", false},
		{"create-broadcast", m("name", "June", "segmentId", "$SEGMENT", "subject", "draft for {{{FIRST_NAME}}}", "html", "<p>Hi</p>", "from", "news@example.test"), "$BROADCAST", "BROADCAST", false},
		{"update-broadcast", m("broadcastId", "$BROADCAST", "name", "July", "subject", "for {{{FIRST_NAME}}}"), "$BROADCAST", "", false},
		{"get-broadcast", m("broadcastId", "$BROADCAST"), "July|for {{{FIRST_NAME}}}|draft", "", false},
		{"duplicate-broadcast", m("broadcastId", "$BROADCAST"), "success", "COPY", false},
		{"list-broadcasts", m(), "July|July (copy)|$COPY", "", false},
		{"send-broadcast", m("broadcastId", "$BROADCAST"), "success", "", false},
		{"list-broadcast-recipients", m("broadcastId", "$BROADCAST", "type", "sent"), "ann@example.com", "", true},
		{"list-broadcast-clicked-links", m("broadcastId", "$BROADCAST"), "No clicked links", "", false},
		{"duplicate-broadcast", m("broadcastId", "$BROADCAST"), "success", "LATER", false},
		{"send-broadcast", m("broadcastId", "$LATER", "scheduledAt", "in 1 hour"), "success", "", false},
		{"cancel-broadcast", m("broadcastId", "$LATER"), "$LATER", "", false},
		{"get-broadcast", m("broadcastId", "$LATER"), "canceled", "", false},
		{"remove-broadcast", m("broadcastId", "$COPY"), "success", "", false},
	}
}

func mcpSettings(endpoint string) []toolCall {
	return []toolCall{
		{"create-domain", m("name", "acme.test", "customReturnPath", "bounce"), "acme.test|mailer._domainkey.acme.test", "DOMAIN", false},
		{"update-domain", m("id", "$DOMAIN", "openTracking", true), "success", "", false},
		{"get-domain", m("id", "$DOMAIN"), "acme.test|bounce.acme.test", "", false},
		{"verify-domain", m("id", "$DOMAIN"), "verif", "", false},
		{"list-domains", m(), "acme.test|example.test", "", false},
		{"create-api-key", m("name", "agent", "permission", "sending_access"), "agent|mlr_", "KEY", false},
		{"update-api-key", m("id", "$KEY", "name", "renamed"), "success", "", false},
		{"list-api-keys", m(), "renamed|$KEY", "", false},
		{"remove-api-key", m("id", "$KEY"), "success", "", false},
		{"create-webhook", m("endpoint", endpoint, "events", []string{"suppression.added"}), "whsec_|$HOOK", "HOOK", false},
		{"add-suppression", m("email", "told@example.com"), "success", "", false},
		{"list-webhook-events", m("webhookId", "$HOOK"), "success", "EVENT", true},
		{"get-webhook-event", m("webhookId", "$HOOK", "eventId", "$EVENT"), "told@example.com|suppression.added", "", false},
		{"list-webhook-event-attempts", m("webhookId", "$HOOK", "eventId", "$EVENT"), "200", "", false},
		{"replay-webhook-event", m("webhookId", "$HOOK", "eventId", "$EVENT"), "$EVENT", "", false},
		{"rotate-webhook-signing-secret", m("webhookId", "$HOOK"), "whsec_", "", false},
		{"update-webhook", m("webhookId", "$HOOK", "status", "disabled"), "success", "", false},
		{"get-webhook", m("webhookId", "$HOOK"), "disabled|suppression.added|whsec_", "", false},
		{"list-webhooks", m(), endpoint, "", false},
		{"remove-webhook", m("webhookId", "$HOOK"), "success", "", false},
		{"list-webhooks", m(), "Found 0 webhooks", "", false},
		{"remove-domain", m("id", "$DOMAIN"), "success", "", false},
	}
}

// TestResendMCPIsToldWhatThereIsNot calls the tools that this service has
// nothing for.
func TestResendMCPIsToldWhatThereIsNot(t *testing.T) {
	t.Parallel()
	needMCP(t)
	w := &world{in: start(t)}
	w.key = w.in.newKey(t)
	workflow := m("steps", []any{m("key", "a", "type", "trigger", "config", m("eventName", "user.created"))})
	content := m("type", "doc", "content", []any{})
	arguments := map[string]map[string]any{
		"compose-broadcast":               m("broadcastId", someID, "content", content),
		"compose-template":                m("id", someID, "content", content),
		"connect-to-editor":               m("resource_type", "template", "resource_id", someID, "agent_name", "x"),
		"create-automation":               m("name", "x", "workflow", workflow),
		"create-domain-claim":             m("name", "example.test"),
		"get-automation-runs":             m("automationId", someID),
		"get-log":                         m("logId", someID),
		"get-received-email-attachment":   m("emailId", someID, "id", someID),
		"get-tiptap-json-content":         m("resource_type", "broadcast", "resource_id", someID),
		"list-received-email-attachments": m("emailId", someID),
		"manage-events":                   m("action", "list"),
		"send-event":                      m("event", "user.created", "email", "a@example.com"),
		"update-automation":               m("id", someID, "name", "y"),
	}
	names := absentMethods(t, mcpClient)
	var all [][]any
	for _, name := range names {
		args := arguments[name]
		if args == nil {
			args = m("id", someID)
		}
		all = append(all, []any{name, args})
	}
	got := resendMCPAt(t, w).call(t, "v1", all...)
	for i, name := range names {
		if r := got.Results[i]; !(r.IsError || r.Thrown) || !strings.Contains(r.Text, "This service has no ") {
			t.Errorf("%s: %+v", name, r)
		}
	}
}
