package sdktest

import (
	"slices"
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

// object makes arguments of alternating names and values.
func object(pairs ...any) map[string]any {
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

func resendMCPAt(t *testing.T, w *fixture) mcpRoute {
	return mcpRoute{
		command: []string{"node", resendMCP, "--key", w.key, "--sender", "shop@example.test"}, client: mcpClient,
		env: map[string]string{"RESEND_BASE_URL": w.in.url, "HOME": t.TempDir()},
	}
}

// TestResendMCPEveryTool calls each tool that this server supports, changes what it created, and
// reads it back.
func TestResendMCPEveryTool(t *testing.T) {
	part(t, "clients")
	inBothModes(t, resendMCPEveryTool)
}

func resendMCPEveryTool(t *testing.T, mode compat) {
	needMCP(t)
	w := newFixture(t, &fixtureOptions{compat: mode, direct: true, args: []string{"--webhook-allow", "127.0.0.0/8"}})
	hooks := newReceiver(t)
	// One session: a new one costs a second.
	resendMCPAt(t, w).checkCalls(t, slices.Concat(mcpAudience(), mcpSending(), mcpBroadcasts(), mcpSettings(hooks.URL)))
	w.checkBroadcast(t, "for Ann", "ann@example.com")
}

func mcpAudience() []toolCall {
	return []toolCall{
		{"create-contact-property", object("key", "plan", "type", "string", "fallbackValue", "free"), "successfully", "PROPERTY", false},
		{"update-contact-property", object("contactPropertyId", "$PROPERTY", "fallbackValue", "none"), "$PROPERTY", "", false},
		{"get-contact-property", object("contactPropertyId", "$PROPERTY"), "plan|none", "", false},
		{"list-contact-properties", object(), "plan|$PROPERTY", "", false},
		{"create-segment", object("name", "Customers"), "$SEGMENT", "SEGMENT", false},
		{"update-segment", object("id", "$SEGMENT", "name", "Buyers"), "$SEGMENT", "", false},
		{"get-segment", object("id", "$SEGMENT"), "Buyers", "", false},
		{"list-segments", object(), "Buyers|$SEGMENT", "", false},
		{"create-topic", object("name", "News", "defaultSubscription", "opt_in"), "$TOPIC", "TOPIC", false},
		{"update-topic", object("id", "$TOPIC", "name", "Stories", "description", "Long"), "$TOPIC", "", false},
		{"get-topic", object("id", "$TOPIC"), "Stories|Long|opt_in", "", false},
		{"list-topics", object(), "Stories", "", false},
		{"create-contact", object("email", "ann@example.com", "firstName", "Ann", "properties", object("plan", "pro")), "$CONTACT", "CONTACT", false},
		{"update-contact", object("email", "ann@example.com", "lastName", "Example"), "$CONTACT", "", false},
		{"get-contact", object("id", "$CONTACT"), "ann@example.com|Ann|Example|pro", "", false},
		{"add-contact-to-segment", object("email", "ann@example.com", "segmentId", "$SEGMENT"), "success", "", false},
		{"list-contacts", object("segmentId", "$SEGMENT"), "ann@example.com", "", false},
		{"list-contact-segments", object("contactId", "$CONTACT"), "Buyers", "", false},
		{"remove-contact-from-segment", object("contactId", "$CONTACT", "segmentId", "$SEGMENT"), "success", "", false},
		{"update-contact-topics", object("id", "$CONTACT", "topics", []any{object("id", "$TOPIC", "subscription", "opt_out")}), "success", "", false},
		{"list-contact-topics", object("email", "ann@example.com"), "Stories|opt_out", "", false},
		{"create-contact-import", object("content", "email,first_name\nzoe@example.com,Zoe\n", "filename", "x.csv", "segmentIds", []string{"$SEGMENT"}), "$IMPORT", "IMPORT", false},
		{"get-contact-import", object("id", "$IMPORT"), "completed|$IMPORT", "", true},
		{"list-contact-imports", object("status", "completed"), "$IMPORT", "", false},
		{"list-contacts", object("segmentId", "$SEGMENT"), "zoe@example.com", "", false},
		{"add-suppression", object("email", "gone@example.com"), "$SUPPRESSION", "SUPPRESSION", false},
		{"batch-add-suppressions", object("emails", []string{"b@example.com", "c@example.com"}), "2", "", false},
		{"get-suppression", object("idOrEmail", "gone@example.com"), "gone@example.com|manual|$SUPPRESSION", "", false},
		{"list-suppressions", object("origin", "manual"), "gone@example.com|b@example.com|c@example.com", "", false},
		{"batch-remove-suppressions", object("emails", []string{"b@example.com", "c@example.com"}), "2", "", false},
		{"remove-suppression", object("idOrEmail", "$SUPPRESSION"), "success", "", false},
		{"list-suppressions", object(), "No suppressions", "", false},
		{"remove-contact", object("email", "zoe@example.com"), "success", "", false},
		{"remove-contact-property", object("contactPropertyId", "$PROPERTY"), "success", "", false},
		{"remove-topic", object("id", "$TOPIC"), "success", "", false},
		{"remove-segment", object("id", "$SEGMENT"), "success", "", false},
		{"list-segments", object(), "No segments", "", false},
	}
}

func mcpSending() []toolCall {
	mail := func(to string, more ...any) map[string]any {
		out := object("from", "shop@example.test", "to", []string{to}, "subject", "to "+to, "text", "hello")
		for k, v := range object(more...) {
			out[k] = v
		}
		return out
	}
	attached := []any{object("filename", "note.txt", "content", "aGVsbG8=")}
	return []toolCall{
		{"send-email", mail("one@example.com", "attachments", attached), "$EMAIL", "EMAIL", false},
		{"list-sent-email-attachments", object("emailId", "$EMAIL"), "note.txt", "ATTACHMENT", false},
		{"get-sent-email-attachment", object("emailId", "$EMAIL", "id", "$ATTACHMENT"), "note.txt|/attachments/", "", false},
		{"share-email", object("id", "$EMAIL"), "/shared/", "", false},
		{"send-email", mail("later@example.com", "scheduledAt", "in 1 hour"), "$LATER", "LATER", false},
		{"update-email", object("id", "$LATER", "scheduledAt", "in 2 hours"), "$LATER", "", false},
		{"cancel-email", object("id", "$LATER"), "$LATER", "", false},
		{"get-email", object("id", "$LATER"), "canceled|later@example.com", "", false},
		{"send-batch-emails", object("emails", []any{mail("two@example.com"), mail("three@example.com")}), "2", "", false},
		{"list-emails", object("limit", 10), "two@example.com|three@example.com|one@example.com", "", false},
		{"create-template", object("name", "Welcome", "alias", "welcome", "html", "<p>{{{NAME}}}</p>", "subject", "Hello",
			"variables", []any{object("key", "NAME", "type", "string", "fallbackValue", "you")}), "$TEMPLATE", "TEMPLATE", false},
		{"update-template", object("id", "$TEMPLATE", "name", "Greeting"), "$TEMPLATE", "", false},
		{"publish-template", object("id", "$TEMPLATE"), "success", "", false},
		{"get-template", object("id", "welcome"), "Greeting|published|NAME", "", false},
		{"duplicate-template", object("id", "$TEMPLATE"), "success", "COPY", false},
		{"list-templates", object(), "Greeting|$TEMPLATE", "", false},
		{"remove-template", object("id", "$TEMPLATE"), "success", "", false},
	}
}

func mcpBroadcasts() []toolCall {
	return []toolCall{
		{"create-segment", object("name", "Readers"), "$READERS", "READERS", false},
		{"add-contact-to-segment", object("email", "ann@example.com", "segmentId", "$READERS"), "success", "", false},
		{"create-broadcast", object("name", "June", "segmentId", "$READERS", "subject", "draft for {{{FIRST_NAME}}}", "html", "<p>Hi</p>", "from", "news@example.test"), "$BROADCAST", "BROADCAST", false},
		{"update-broadcast", object("broadcastId", "$BROADCAST", "name", "July", "subject", "for {{{FIRST_NAME}}}"), "$BROADCAST", "", false},
		{"get-broadcast", object("broadcastId", "$BROADCAST"), "July|for {{{FIRST_NAME}}}|draft", "", false},
		{"duplicate-broadcast", object("broadcastId", "$BROADCAST"), "success", "COPIED", false},
		{"list-broadcasts", object(), "July|July (copy)|$COPIED", "", false},
		{"send-broadcast", object("broadcastId", "$BROADCAST"), "success", "", false},
		{"list-broadcast-recipients", object("broadcastId", "$BROADCAST", "type", "sent"), "ann@example.com", "", true},
		{"list-broadcast-clicked-links", object("broadcastId", "$BROADCAST"), "No clicked links", "", false},
		{"duplicate-broadcast", object("broadcastId", "$BROADCAST"), "success", "POSTPONED", false},
		{"send-broadcast", object("broadcastId", "$POSTPONED", "scheduledAt", "in 1 hour"), "success", "", false},
		{"cancel-broadcast", object("broadcastId", "$POSTPONED"), "$POSTPONED", "", false},
		{"get-broadcast", object("broadcastId", "$POSTPONED"), "canceled", "", false},
		{"remove-broadcast", object("broadcastId", "$COPIED"), "success", "", false},
	}
}

func mcpSettings(endpoint string) []toolCall {
	return []toolCall{
		{"create-domain", object("name", "acme.test", "customReturnPath", "bounce"), "acme.test|mailer._domainkey.acme.test", "DOMAIN", false},
		{"update-domain", object("id", "$DOMAIN", "openTracking", true), "success", "", false},
		{"get-domain", object("id", "$DOMAIN"), "acme.test|bounce.acme.test", "", false},
		{"verify-domain", object("id", "$DOMAIN"), "verif", "", false},
		{"list-domains", object(), "acme.test|example.test", "", false},
		{"create-api-key", object("name", "agent", "permission", "sending_access"), "agent|mlr_", "KEY", false},
		{"update-api-key", object("id", "$KEY", "name", "renamed"), "success", "", false},
		{"list-api-keys", object(), "renamed|$KEY", "", false},
		{"remove-api-key", object("id", "$KEY"), "success", "", false},
		{"create-webhook", object("endpoint", endpoint, "events", []string{"suppression.added"}), "whsec_|$HOOK", "HOOK", false},
		{"add-suppression", object("email", "told@example.com"), "success", "", false},
		{"list-webhook-events", object("webhookId", "$HOOK"), "success", "EVENT", true},
		{"get-webhook-event", object("webhookId", "$HOOK", "eventId", "$EVENT"), "told@example.com|suppression.added", "", false},
		{"list-webhook-event-attempts", object("webhookId", "$HOOK", "eventId", "$EVENT"), "200", "", false},
		{"replay-webhook-event", object("webhookId", "$HOOK", "eventId", "$EVENT"), "$EVENT", "", false},
		{"rotate-webhook-signing-secret", object("webhookId", "$HOOK"), "whsec_", "", false},
		{"update-webhook", object("webhookId", "$HOOK", "status", "disabled"), "success", "", false},
		{"get-webhook", object("webhookId", "$HOOK"), "disabled|suppression.added|whsec_", "", false},
		{"list-webhooks", object(), endpoint, "", false},
		{"remove-webhook", object("webhookId", "$HOOK"), "success", "", false},
		{"list-webhooks", object(), "Found 0 webhooks", "", false},
		{"remove-domain", object("id", "$DOMAIN"), "success", "", false},
	}
}

// TestResendMCPUnsupported calls the tools that this service has
// nothing for.
func TestResendMCPUnsupported(t *testing.T) {
	part(t, "clients")
	inBothModes(t, resendMCPUnsupported)
}

func resendMCPUnsupported(t *testing.T, mode compat) {
	needMCP(t)
	w := &fixture{in: start(t, mode.flags()...)}
	w.key = w.in.newKey(t)
	content := object("type", "doc", "content", []any{})
	arguments := map[string]map[string]any{
		"compose-broadcast":       object("broadcastId", someID, "content", content),
		"compose-template":        object("id", someID, "content", content),
		"connect-to-editor":       object("resource_type", "template", "resource_id", someID, "agent_name", "x"),
		"create-domain-claim":     object("name", "example.test"),
		"get-tiptap-json-content": object("resource_type", "broadcast", "resource_id", someID),
	}
	names := absentMethods(t, mcpClient)
	var all [][]any
	for _, name := range names {
		args := arguments[name]
		if args == nil {
			args = object("id", someID)
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
