package mcp

import (
	"context"
	"fmt"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"mailer/app"
	"mailer/web/rest"
)

// Values of the parameter tools besides names of groups.
const (
	listDefault = "default"
	listAll     = "all"
)

// defaultTools are listed by default: tools for everyday work, at most 60, since some clients limit
// the number of tools, and others stop at 40 KB.
var defaultTools = strings.Fields(`
	send_email send_batch list_emails get_email cancel_email reschedule_email get_email_metrics
	create_contact get_contact list_contacts update_contact delete_contact put_contacts
	add_contact_to_segment remove_contact_from_segment list_contact_topics set_contact_topics
	list_segments create_segment delete_segment
	list_topics create_topic
	create_broadcast list_broadcasts get_broadcast update_broadcast delete_broadcast
	plan_broadcast test_broadcast send_broadcast cancel_broadcast pause_broadcast resume_broadcast
	list_templates get_template create_template update_template publish_template delete_template
	add_domain list_domains get_domain verify_domain delete_domain
	list_suppressions add_suppression remove_suppression
	create_webhook list_webhooks delete_webhook
	create_api_key list_api_keys delete_api_key
	get_deliverability`)

// groupOf returns a tool's group: the tag of its operation in lower case with hyphens.
func groupOf(o *rest.Operation) string {
	return strings.ReplaceAll(strings.ToLower(o.Tags[0]), " ", "-")
}

// groupsOf returns the names of all groups, sorted.
func groupsOf(tools []*tool) (out []string) {
	for _, t := range tools {
		out = append(out, t.group)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// checkChosen validates the parameter tools. Errors: CodeValidation.
func checkChosen(chosen, groups []string) error {
	for _, name := range chosen {
		if name != listDefault && name != listAll && !slices.Contains(groups, name) {
			return app.Invalid("tools", "must be %s, %s or names of groups with commas between them: %s", listDefault, listAll, strings.Join(groups, ", "))
		}
	}
	return nil
}

// chosenBy reports whether the parameter tools includes the tool.
func (t *tool) chosenBy(chosen []string) bool {
	if len(chosen) == 0 {
		chosen = []string{listDefault}
	}
	return slices.ContainsFunc(chosen, func(name string) bool {
		return name == listAll || name == t.group || name == listDefault && slices.Contains(defaultTools, t.name)
	})
}

// listing reduces the answer to tools/list to the tools that the URL asks for and the key may use.
// All tools can be called.
func (m *server) listing(tools []*tool) sdk.Middleware {
	known := map[string]*tool{}
	for _, t := range tools {
		known[t.name] = t
	}
	return func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
			result, err := next(ctx, method, req)
			list, ok := result.(*sdk.ListToolsResult)
			if err != nil || !ok {
				return result, err
			}
			list.CacheScope = "private"
			in := ctx.Value(messageKey{}).(message)
			list.Tools = slices.DeleteFunc(list.Tools, func(declared *sdk.Tool) bool {
				t := known[declared.Name]
				return !t.chosenBy(in.chosen) || !m.h.MayUse(in.x.Key, t.operation)
			})
			return list, nil
		}
	}
}

// instructions tell an agent how to use the tools, and how to list more.
func instructions(groups []string) string {
	return "Tools of an email service, one for each operation of its API. " +
		"A list answers at most 100 rows: while has_more is true, call again with after set to the id of the last row. " +
		"A refused call answers an object with statusCode, name and message. A send with an idempotency_key may be repeated safely. " +
		fmt.Sprintf("tools/list shows the %d most used tools, as far as the API key may use them. ", len(defaultTools)) +
		"For all of them add ?tools=all to the address of this server, for single groups their names, as in ?tools=default,queue. " +
		"The groups are: " + strings.Join(groups, ", ") + "."
}
