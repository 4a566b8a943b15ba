package rest

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"

	"mailer/web/rest/openapi"
)

type documentOutput struct {
	ContentType string `header:"Content-Type" hidden:"true"`
	Body        []byte
}

// ServeDocument adds GET /openapi.json and GET /openapi-3.0.json. It must be the last route, so
// that the document has all routes. Each form is made on its first request, and again after a
// change.
func (h *Handler) ServeDocument() {
	h.serveVariant("get-openapi", "/openapi.json", "Get this document", func(document) {})
	h.serveVariant("get-openapi-30", "/openapi-3.0.json", "Get this document in the form of OpenAPI 3.0, without the webhooks", document.downgrade)
}

func (h *Handler) serveVariant(id, path, summary string, shape func(document)) {
	written := Cached(h, func() []byte { return h.write(shape) })
	RegisterPublic(h, Route{}, openapi.Operation{
		OperationID: id, Method: http.MethodGet, Path: path, Summary: summary, Tags: []string{"Health"},
		Responses: map[string]*openapi.Response{"200": {
			Description: "OK",
			Content:     map[string]*openapi.MediaType{"application/json": {Schema: &openapi.Schema{Type: "object", AdditionalProperties: true}}},
		}},
	}, func(context.Context, *struct{}) (*documentOutput, error) {
		return &documentOutput{ContentType: "application/json", Body: written()}, nil
	})
}

// BeforeDocument registers a function that is called before the document, or what follows from it,
// is made: on the first request, and after each change of Config.DocumentVersion.
func (h *Handler) BeforeDocument(complete func()) { h.completions = append(h.completions, complete) }

// Cached returns a function that caches the result of make, until the document changes.
func Cached[T any](h *Handler, make func() T) func() T {
	var (
		made   bool
		of     string
		result T
	)
	return func() T {
		h.documentMu.Lock()
		defer h.documentMu.Unlock()
		now := ""
		if h.documentVersion != nil {
			now = h.documentVersion()
		}
		if !made || of != now {
			h.OpenAPI()
			for _, complete := range h.completions {
				complete()
			}
			made, of, result = true, now, make()
		}
		return result
	}
}

// write makes the document in one form. It takes many times the memory of its result, once, so the
// memory is returned to the system.
func (h *Handler) write(shape func(document)) []byte {
	defer debug.FreeOSMemory()
	d := h.document()
	shape(d)
	out, err := json.Marshal(d)
	if err != nil {
		panic(fmt.Sprintf("writing the API's document: %v", err))
	}
	return out
}

// object is a JSON object of the document.
type object = map[string]any

// document is the API's document as it is served: what the code knows of requests and answers,
// completed for readers.
type document object

// document returns the document as it is served.
func (h *Handler) document() document {
	var d document
	raw, err := json.Marshal(h.OpenAPI())
	if err == nil {
		err = json.Unmarshal(raw, &d)
	}
	if err != nil {
		panic(fmt.Sprintf("making the API's document: %v", err))
	}
	d.dropUnusedSchemas()
	d.splitSchemas()
	walk(object(d), allowNull)
	for _, o := range h.operations {
		d.describe(o)
	}
	return d
}

// schemas returns the named schemas.
func (d document) schemas() object { return d["components"].(object)["schemas"].(object) }

// operations returns all operations in the paths.
func (d document) operations() (all []object) {
	for _, item := range d["paths"].(object) {
		for _, op := range item.(object) {
			all = append(all, op.(object))
		}
	}
	return all
}

// dropUnusedSchemas drops the named schemas that nothing refers to.
func (d document) dropUnusedSchemas() {
	used := d.reachableSchemas([]any{d["paths"], d["webhooks"]})
	maps.DeleteFunc(d.schemas(), func(name string, _ any) bool { return !used[name] })
}

// splitSchemas makes the schemas of requests closed, since unknown fields are refused, and those of
// answers and events open: an older client must accept new fields. A schema that both use is split
// in two.
func (d document) splitSchemas() {
	var received, sent []any
	for _, op := range d.operations() {
		received = append(received, op["requestBody"])
		sent = append(sent, op["responses"])
	}
	sent = append(sent, d["webhooks"])
	in, out, schemas := d.reachableSchemas(received), d.reachableSchemas(sent), d.schemas()
	for name := range in {
		if out[name] {
			schemas[name+"Request"] = deepCopy(schemas[name])
			received = append(received, schemas[name+"Request"])
		} else {
			received = append(received, schemas[name])
		}
	}
	walk(received, func(m object) {
		if name := refName(m); out[name] {
			m["$ref"] = openapi.RefPrefix + name + "Request"
		}
	})
	for name := range out {
		sent = append(sent, schemas[name])
	}
	walk(sent, func(m object) {
		if m["additionalProperties"] == false {
			delete(m, "additionalProperties")
		}
	})
}

// reachableSchemas returns the names of the schemas that v refers to, directly or not.
func (d document) reachableSchemas(v any) map[string]bool {
	names := map[string]bool{}
	var follow func(m object)
	follow = func(m object) {
		if name := refName(m); name != "" && !names[name] {
			names[name] = true
			walk(d.schemas()[name], follow)
		}
	}
	walk(v, follow)
	return names
}

// refName returns the name of the schema that m refers to; empty if none.
func refName(m object) string {
	ref, _ := m["$ref"].(string)
	return strings.TrimPrefix(ref, openapi.RefPrefix)
}

// deepCopy returns a copy that shares nothing with v.
func deepCopy(v any) any {
	switch v := v.(type) {
	case object:
		out := maps.Clone(v)
		for k := range out {
			out[k] = deepCopy(out[k])
		}
		return out
	case []any:
		out := slices.Clone(v)
		for i := range out {
			out[i] = deepCopy(out[i])
		}
		return out
	}
	return v
}

// walk calls visit for every object in v, outer objects first. It skips enums, defaults and
// examples, and treats property names as names.
func walk(v any, visit func(object)) {
	switch v := v.(type) {
	case object:
		visit(v)
		for k, inner := range v {
			switch k {
			case "default", "enum", "example", "examples", "const":
			case "properties":
				for _, property := range inner.(object) {
					walk(property, visit)
				}
			default:
				walk(inner, visit)
			}
		}
	case []any:
		for _, item := range v {
			walk(item, visit)
		}
	}
}

// allowNull adds null to the enum of a nullable schema: its type alone does not allow it.
func allowNull(m object) {
	types, _ := m["type"].([]any)
	values, _ := m["enum"].([]any)
	if slices.Contains(types, any("null")) && values != nil && !slices.Contains(values, nil) {
		m["enum"] = append(values, nil)
	}
}

// describe adds to an operation who may call it, and the answer of any server to a header that is
// too long.
func (d document) describe(o *Operation) {
	item := d["paths"].(object)[o.Path].(object)
	op := item[strings.ToLower(o.Method)].(object)
	text, _ := op["description"].(string)
	if text != "" && !strings.HasSuffix(text, ".") {
		text += "."
	}
	if o.Route.table != nil {
		text = strings.TrimPrefix(text+"\n\n"+csvNote, "\n\n")
	}
	op["description"] = strings.TrimSpace(text + " " + o.Route.accessText())
	responses := op["responses"].(object)
	for status := range responses {
		if status[0] == '4' {
			return
		}
	}
	responses["431"] = object{"description": "The header of the request is too long"}
}

// accessText describes who may call a route.
func (rt *Route) accessText() string {
	switch {
	case rt.Public:
		return "It needs no API key."
	case rt.Admin:
		return "It needs an API key with full access whose role is admin or owner."
	case rt.Sending:
		return "It needs an API key; one that may only send will do."
	}
	return "It needs an API key with full access."
}
