package mcp

import (
	"cmp"
	"maps"
	"net/http"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"mailer/web/rest"
	"mailer/web/rest/openapi"
)

// excludedOperations are operations with a key that are no tools, and why. Operations without a key
// are for probes, browsers and providers; those with a session are for people.
var excludedOperations = map[string]string{
	"call-mcp":                 "is what tools are called through",
	"listen":                   "answers without end",
	"create-contact-import":    "takes a file in a form; put_contacts takes the same rows",
	"create-image":             "takes a file; people upload images in the dashboard, and programs by the API",
	"list-images":              "belongs to create-image",
	"get-image":                "belongs to create-image",
	"update-image":             "belongs to create-image",
	"get-image-content":        "answers with a picture",
	"delete-image":             "belongs to create-image",
	"rotate-signing-secret":    "answers with nothing but a secret",
	"import-domain-reports":    "takes a file",
	"publish-domain":           "takes the token of a DNS zone",
	"forget-domain-dns":        "belongs to publish-domain",
	"send-email-old":           "is send_email under its old address",
	"create-audience":          "is create_segment under its old name",
	"list-audiences":           "is list_segments under its old name",
	"get-audience":             "is get_segment under its old name",
	"delete-audience":          "is delete_segment under its old name",
	"list-audience-contacts":   "is list_segment_contacts under its old name",
	"create-audience-contact":  "is create_contact under its old name",
	"get-audience-contact":     "is get_contact under its old name",
	"update-audience-contact":  "is update_contact under its old name",
	"delete-audience-contact":  "is delete_contact under its old name",
	"simulate-automation":      "shows mails, which people look at in the dashboard",
	"list-contact-automations": "is answered by explain_automation",
}

// secretMembers are secret members of answers. No tool returns them, except the creation of a key.
var secretMembers = []string{"signing_secret", "token"}

// secretLinks are operations whose "url" member is a link that grants access; in other answers
// "url" is no secret.
var secretLinks = []string{"add-member", "create-invitation"}

const keyCreation = "create-api-key"

// listArguments are the arguments for bodies that are arrays.
var listArguments = map[string]string{"send-batch": "emails", "put-contacts": "contacts"}

// sameItems maps tools for many objects to the tool for one object, whose arguments describe the
// items.
var sameItems = map[string]string{"send-batch": "send_email", "put-contacts": "create_contact"}

// hiddenArguments are arguments that agents don't need, and why; a name may follow its operation.
// They are not in the schemas, but accepted.
var hiddenArguments = map[string]string{
	"audience_id":                  "is segment_id under its old name",
	"before":                       "walks a list backwards; after is enough to read it",
	"design":                       "is what a visual editor keeps of a text",
	"create-broadcast attachments": "are files that people add; their schema is long",
	"create-webhook scope":         "is for operators in a session",
	"syntax":                       "is explained on a page of the manual, which no description of an argument replaces",
	"variants":                     "are documents in other languages; their schema is long",
	"update-broadcast attachments": "are files that people add; their schema is long",
}

// tool is an operation as a tool.
type tool struct {
	name        string
	group       string
	description string
	operation   *rest.Operation
	parameters  map[string]*openapi.Param // by the name of the argument
	takesBody   bool
	list        string // the argument that is the whole body; empty: the other arguments are its members
	secrets     []string
	schema      map[string]any
}

// tools makes the tools of the registered operations.
func tools(h *rest.Handler) []*tool {
	var out []*tool
	operations := h.Operations()
	for _, id := range slices.Sorted(maps.Keys(operations)) {
		o := operations[id]
		if o.Route.Public || o.Route.Person || o.Route.Operator || excludedOperations[id] != "" {
			continue
		}
		out = append(out, newTool(h, o))
	}
	return out
}

func newTool(h *rest.Handler, o *rest.Operation) *tool {
	t := &tool{
		name: strings.ReplaceAll(o.OperationID, "-", "_"), group: groupOf(o), description: o.Summary, operation: o,
		parameters: map[string]*openapi.Param{},
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

// definition returns the tool for the protocol's list.
func (t *tool) definition() *sdk.Tool {
	verb, _, _ := strings.Cut(t.name, "_")
	destructive := verb == "delete" || verb == "remove" || verb == "drop" || verb == "stop"
	notes := &sdk.ToolAnnotations{ReadOnlyHint: t.operation.Method == http.MethodGet, IdempotentHint: destructive}
	if !notes.ReadOnlyHint {
		notes.DestructiveHint = &destructive
	}
	return &sdk.Tool{Name: t.name, Description: t.description, InputSchema: t.schema, Annotations: notes}
}

// arguments makes the schema of a tool's input, with parameters and body members in one object.
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
		// Arguments are not part of a URL.
		schema["description"] = strings.ReplaceAll(p.Description, ", percent-encoded", "")
		properties[name] = portable(schema)
		if p.Required {
			required = append(required, name)
		}
	}
	maps.DeleteFunc(properties, func(name string, _ any) bool { return t.hides(name) })
	out := map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
	if slices.Sort(required); len(required) > 0 {
		out["required"] = slices.Compact(required)
	}
	return out
}

// hides reports whether the tool has an argument in hiddenArguments.
func (t *tool) hides(name string) bool {
	return hiddenArguments[name] != "" || hiddenArguments[t.operation.OperationID+" "+name] != ""
}

// argumentName converts a parameter's name: Idempotency-Key becomes idempotency_key,
// x-batch-validation becomes batch_validation.
func argumentName(p *openapi.Param) string {
	if p.In != "header" {
		return p.Name
	}
	return strings.ReplaceAll(strings.TrimPrefix(strings.ToLower(p.Name), "x-"), "-", "_")
}

// secrets returns the secret members of an operation's answer.
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
