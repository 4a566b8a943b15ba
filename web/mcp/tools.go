package mcp

import (
	"cmp"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"mailer/web/rest"
)

// excludedOperations are the operations that need a key and are no tools all the same, and
// why. Those that need none are for probes, browsers and providers, those that need a
// session for people.
var excludedOperations = map[string]string{
	"call-mcp":                "is what tools are called through",
	"listen":                  "answers without end",
	"create-contact-import":   "takes a file in a form; put_contacts takes the same rows",
	"rotate-signing-secret":   "answers with nothing but a secret",
	"send-email-old":          "is send_email under its old address",
	"create-audience":         "is create_segment under its old name",
	"list-audiences":          "is list_segments under its old name",
	"get-audience":            "is get_segment under its old name",
	"delete-audience":         "is delete_segment under its old name",
	"list-audience-contacts":  "is list_segment_contacts under its old name",
	"create-audience-contact": "is create_contact under its old name",
	"get-audience-contact":    "is get_contact under its old name",
	"update-audience-contact": "is update_contact under its old name",
	"delete-audience-contact": "is delete_contact under its old name",
}

// secretMembers are members of answers that open something. No tool returns
// them but the creation of a key, whose answer is of no use without.
var secretMembers = []string{"signing_secret", "token"}

// secretLinks are the operations whose answers hold a link that lets somebody in, as "url",
// which is no secret elsewhere.
var secretLinks = []string{"add-member", "create-invitation"}

const keyCreation = "create-api-key"

// listArguments are the names under which tools take bodies that are arrays.
var listArguments = map[string]string{"send-batch": "emails", "put-contacts": "contacts"}

// sameItems are the tools that do for one object what another does for many: the items of
// the list are the arguments of the former, which describes them.
var sameItems = map[string]string{"send-batch": "send_email", "put-contacts": "create_contact"}

// hiddenArguments are arguments that agents have no use for, and why. They are not in the
// schemas, and taken all the same.
var hiddenArguments = map[string]string{
	"audience_id": "is segment_id under its old name",
	"before":      "walks a list backwards; after is enough to read it",
	"design":      "is what a visual editor keeps of a text",
}

// tool is an operation as agents see it.
type tool struct {
	name        string
	group       string
	description string
	operation   *rest.Operation        // as it is described, which can't be run
	served      *rest.Operation        // as it is run
	parameters  map[string]*huma.Param // by the name of the argument
	takesBody   bool
	list        string // the argument that is the whole body; empty: the other arguments are its members
	secrets     []string
	schema      map[string]any
}

// tools makes the tools from the operations that are registered.
func tools(h *rest.Handler) []*tool {
	var out []*tool
	described := h.WithDescriptions()
	operations := described.Operations()
	for _, id := range slices.Sorted(maps.Keys(operations)) {
		o := operations[id]
		if o.Route.Public || o.Route.Person || o.Route.Operator || excludedOperations[id] != "" {
			continue
		}
		t := newTool(described, &rest.Operation{Operation: o.Operation, Route: o.Route})
		t.served = h.Operations()[id]
		out = append(out, t)
	}
	return out
}

func newTool(h *rest.Handler, o *rest.Operation) *tool {
	t := &tool{
		name: strings.ReplaceAll(o.OperationID, "-", "_"), group: groupOf(o), description: o.Summary, operation: o,
		parameters: map[string]*huma.Param{},
	}
	if o.Description != "" {
		t.description += ". " + o.Description
	}
	if o.OperationID != keyCreation {
		t.secrets = secrets(h, o)
	}
	if len(t.secrets) > 0 {
		t.description += ". The answer leaves out " + strings.Join(t.secrets, " and ") + ", which the API shows"
	}
	t.schema = arguments(h, t)
	return t
}

// definition is the tool as the protocol lists it.
func (t *tool) definition() *sdk.Tool {
	verb, _, _ := strings.Cut(t.name, "_")
	destructive := verb == "delete" || verb == "remove" || verb == "drop"
	notes := &sdk.ToolAnnotations{ReadOnlyHint: t.operation.Method == http.MethodGet, IdempotentHint: destructive}
	if !notes.ReadOnlyHint {
		notes.DestructiveHint = &destructive
	}
	return &sdk.Tool{Name: t.name, Description: t.description, InputSchema: t.schema, Annotations: notes}
}

// arguments makes the schema of a tool's input: parameters and members of the
// body side by side.
func arguments(h *rest.Handler, t *tool) map[string]any {
	properties, required := map[string]any{}, []string{}
	if body := t.operation.RequestBody; body != nil {
		t.takesBody = true
		schema := object(inlined(h, body.Content["application/json"].Schema))
		if schema["type"] == "array" {
			t.list = cmp.Or(listArguments[t.operation.OperationID], "items")
			list := portable(schema)
			if one := sameItems[t.operation.OperationID]; one != "" {
				withoutDescriptions(list)
				list["description"] = "Each as the arguments of " + one
			}
			properties[t.list] = list
			required = append(required, t.list)
		} else {
			properties, _ = portable(schema)["properties"].(map[string]any)
			names, _ := schema["required"].([]any)
			for _, name := range names {
				required = append(required, name.(string))
			}
		}
	}
	for _, p := range t.operation.Parameters {
		name := argumentName(p)
		t.parameters[name] = p
		schema := inlined(h, p.Schema)
		// Arguments are no part of an address.
		schema["description"] = strings.ReplaceAll(p.Description, ", percent-encoded", "")
		properties[name] = portable(schema)
		if p.Required {
			required = append(required, name)
		}
	}
	maps.DeleteFunc(properties, func(name string, _ any) bool { return hiddenArguments[name] != "" })
	out := map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
	if slices.Sort(required); len(required) > 0 {
		out["required"] = slices.Compact(required)
	}
	return out
}

// argumentName is the name of a parameter as an argument: Idempotency-Key is
// idempotency_key, x-batch-validation is batch_validation.
func argumentName(p *huma.Param) string {
	if p.In != "header" {
		return p.Name
	}
	return strings.ReplaceAll(strings.TrimPrefix(strings.ToLower(p.Name), "x-"), "-", "_")
}

// secrets are the members of an operation's answer that are secret.
func secrets(h *rest.Handler, o *rest.Operation) (out []string) {
	for status, response := range o.Responses {
		media := response.Content["application/json"]
		if status[0] != '2' || media == nil {
			continue
		}
		properties, _ := inlined(h, media.Schema)["properties"].(map[string]any)
		for _, name := range secretMembers {
			if properties[name] != nil {
				out = append(out, name)
			}
		}
		if slices.Contains(secretLinks, o.OperationID) {
			out = append(out, "url")
		}
	}
	return out
}
