package mcp

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"mailer/web/rest"
)

// notTools are the operations that need a key and are no tools all the same, and
// why. Those that need none are for probes, browsers and providers, those that need a
// session for people.
var notTools = map[string]string{
	"call-mcp":                "is what tools are called through",
	"listen":                  "answers without end",
	"create-contact-import":   "takes a file in a form; put_contacts takes the same rows",
	"rotate-signing-secret":   "answers with nothing but a secret",
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

// tool is an operation as agents see it.
type tool struct {
	name        string
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
	described := h.Described()
	operations := described.Operations()
	for _, id := range slices.Sorted(maps.Keys(operations)) {
		o := operations[id]
		if o.Route.Public || o.Route.Person || o.Route.Operator || notTools[id] != "" {
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
		name: strings.ReplaceAll(o.OperationID, "-", "_"), description: o.Summary, operation: o,
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

// declared is the tool as the protocol lists it.
func (t *tool) declared() *sdk.Tool {
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
			properties[t.list] = schema
			required = append(required, t.list)
		} else {
			properties, _ = schema["properties"].(map[string]any)
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
		properties[name] = schema
		if p.Required {
			required = append(required, name)
		}
	}
	slices.Sort(required)
	return map[string]any{"type": "object", "properties": properties, "required": slices.Compact(required), "additionalProperties": false}
}

// argumentName is the name of a parameter as an argument: Idempotency-Key is
// idempotency_key, x-batch-validation is batch_validation.
func argumentName(p *huma.Param) string {
	if p.In != "header" {
		return p.Name
	}
	return strings.ReplaceAll(strings.TrimPrefix(strings.ToLower(p.Name), "x-"), "-", "_")
}

// object picks the alternative that is an object, where a schema has several.
func object(schema map[string]any) map[string]any {
	alternatives, _ := schema["oneOf"].([]any)
	for _, a := range alternatives {
		if one := a.(map[string]any); one["type"] == "object" {
			return one
		}
	}
	return schema
}

// inlined is a schema with everything that it refers to inside: not every agent
// follows references. None of ours refers to itself.
func inlined(h *rest.Handler, s *huma.Schema) map[string]any {
	out, _ := inline(h, plain(s)).(map[string]any)
	return out
}

func inline(h *rest.Handler, v any) any {
	switch v := v.(type) {
	case map[string]any:
		if ref, ok := v["$ref"].(string); ok {
			return inline(h, plain(h.OpenAPI().Components.Schemas.SchemaFromRef(ref)))
		}
		for name, member := range v {
			v[name] = inline(h, member)
		}
	case []any:
		for i, item := range v {
			v[i] = inline(h, item)
		}
	}
	return v
}

// plain turns a schema into maps and lists. It panics on one that can't be
// written down, which the document could not hold either.
func plain(s *huma.Schema) (out any) {
	b, err := json.Marshal(s)
	if err == nil {
		err = json.Unmarshal(b, &out)
	}
	if err != nil {
		panic(fmt.Sprintf("schema of a tool: %v", err))
	}
	return out
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
