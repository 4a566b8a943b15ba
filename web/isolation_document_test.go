package web

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// apiDocument is openapi.json.
type apiDocument struct {
	Paths      map[string]map[string]*apiOperation
	Components struct{ Schemas map[string]*apiSchema }
}

type apiOperation struct {
	Parameters  []apiParameter
	Security    []map[string]any
	RequestBody *struct {
		Content map[string]struct{ Schema *apiSchema }
	}
	method, path string
}

type apiParameter struct {
	Name, In string
	Schema   *apiSchema
}

type apiSchema struct {
	Ref        string `json:"$ref"`
	Type       any    // a string, or several
	Format     string
	Enum       []any
	Properties map[string]*apiSchema
	Required   []string
	Items      *apiSchema
	AnyOf      []*apiSchema
	OneOf      []*apiSchema
}

// site is a position in a request that names a resource by its id.
type site struct {
	in    string   // path, query, cursor or body
	name  string   // of the parameter; "": each of the path together
	steps []string // to the position in the body
	list  string   // the path of the list that gives such ids
	plain bool     // without a format: it may accept other names than ids
}

func (s site) String() string { return s.in + " " + s.name + strings.Join(s.steps, ".") }

func readDocument(t testing.TB, raw []byte) (doc apiDocument) {
	t.Helper()
	if err := json.Unmarshal(raw, &doc); err != nil {
		t.Fatal(err)
	}
	return doc
}

// operations returns the operations that accept a key: reads first and deletions last, so that
// their resources still exist.
func (d *apiDocument) operations() []*apiOperation {
	return slices.DeleteFunc(d.every(), func(op *apiOperation) bool { return !op.opensTo("bearer") })
}

// every lists all operations in that order.
func (d *apiDocument) every() (out []*apiOperation) {
	order := []string{"get", "post", "patch", "put", "delete"}
	for _, path := range slices.Sorted(maps.Keys(d.Paths)) {
		for method, op := range d.Paths[path] {
			op.method, op.path = strings.ToUpper(method), path
			out = append(out, op)
		}
	}
	slices.SortStableFunc(out, func(a, b *apiOperation) int {
		rank := func(op *apiOperation) int {
			return 100*slices.Index(order, strings.ToLower(op.method)) - strings.Count(op.path, "/")
		}
		return rank(a) - rank(b)
	})
	return out
}

// opensTo reports whether an operation asks for what a scheme of the document names.
func (op *apiOperation) opensTo(scheme string) bool {
	return slices.ContainsFunc(op.Security, func(s map[string]any) bool { _, ok := s[scheme]; return ok })
}

func (op *apiOperation) String() string { return op.method + " " + op.path }

// body returns the media type and the schema of the body; none: "".
func (op *apiOperation) body() (media string, s *apiSchema) {
	if op.RequestBody == nil {
		return "", nil
	}
	for media, content := range op.RequestBody.Content {
		return media, content.Schema
	}
	return "", nil
}

var pathParameter = regexp.MustCompile(`\{(\w+)\}`)

// listBefore returns the list that has the ids for the last parameter of a path.
func listBefore(path string) string {
	at := strings.LastIndex(path, "/{")
	if at < 0 {
		return ""
	}
	return path[:at]
}

// sites returns every position of an operation that takes an id. It fails for an id whose list the
// document does not tell.
func (d *apiDocument) sites(t testing.TB, op *apiOperation) (out []site) {
	t.Helper()
	for _, p := range op.Parameters {
		switch {
		case p.In == "path":
			list := op.path[:strings.Index(op.path, "/{"+p.Name+"}")]
			out = append(out, site{in: "path", name: p.Name, list: list, plain: p.Schema.Format != "uuid"})
		case p.In == "query" && (p.Name == "after" || p.Name == "before"):
			out = append(out, site{in: "cursor", name: p.Name, list: op.path})
		case p.In == "query" && isID(p.Name, p.Schema):
			out = append(out, site{in: "query", name: p.Name, list: listNamed(p.Name, op.path)})
		}
	}
	if len(pathParameter.FindAllString(op.path, -1)) > 1 {
		out = append(out, site{in: "path", list: listBefore(op.path[:strings.LastIndex(op.path, "}")+1])})
	}
	if _, schema := op.body(); schema != nil {
		out = append(out, d.bodySites(op, schema, nil)...)
	}
	for _, s := range out {
		if item := d.Paths[s.list]; item == nil || item["get"] == nil {
			t.Errorf("%s: %s takes an id, and there is no list GET %s that gives such ones", op, s, s.list)
		}
	}
	return out
}

// isID reports members that hold ids by their name or their format.
func isID(name string, s *apiSchema) bool {
	if name == "content_id" || name == "message_ids" { // the caller's own name for a file in a mail; events of the webhook in the path
		return false
	}
	return s.Format == "uuid" || name == "id" || name == "ids" || strings.HasSuffix(name, "_id") || strings.HasSuffix(name, "_ids")
}

// listNamed is the list of what a member is called after: segment_id is of
// /segments, and ids of what the path is about.
func listNamed(name, path string) string {
	if kind, ok := strings.CutSuffix(strings.TrimSuffix(name, "s"), "_id"); ok {
		if kind == "key" {
			kind = "api-key"
		}
		return "/" + plural(strings.ReplaceAll(kind, "_", "-"))
	}
	switch { // ids under the name of their kind
	case strings.HasSuffix(name, "_template"):
		return "/templates"
	case name == "form":
		return "/forms"
	}
	first, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	return "/" + first
}

func plural(s string) string {
	if rest, ok := strings.CutSuffix(s, "y"); ok && !strings.HasSuffix(s, "ey") {
		return rest + "ies"
	}
	return strings.TrimSuffix(s, "s") + "s"
}

func (d *apiDocument) resolve(s *apiSchema) *apiSchema {
	if s.Ref == "" {
		return s
	}
	return d.Components.Schemas[s.Ref[strings.LastIndex(s.Ref, "/")+1:]]
}

// bodySites walks a schema. Its steps are names of members, "[]" for an item,
// and "|n" for the n-th of alternatives.
func (d *apiDocument) bodySites(op *apiOperation, s *apiSchema, steps []string) (out []site) {
	s = d.resolve(s)
	down := func(step string, inner *apiSchema) {
		out = append(out, d.bodySites(op, inner, append(slices.Clip(steps), step))...)
	}
	if s.Format == "uuid" { // no own member: an id in a list, segments[]
		out = append(out, site{in: "body", steps: steps, list: "/" + plural(lastName(steps))})
	}
	for i, alternative := range slices.Concat(s.AnyOf, s.OneOf) {
		down(fmt.Sprintf("|%d", i), alternative)
	}
	if s.Items != nil {
		down("[]", s.Items)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		member := d.resolve(s.Properties[name])
		if !isID(name, member) {
			down(name, member)
			continue
		}
		list := listNamed(name, op.path)
		if parent := lastName(steps); name == "id" && parent != "" {
			list = "/" + plural(parent) // template.id, segments[].id
		} else if name == "id" && op.path != list && d.Paths[op.path]["get"] != nil {
			list = op.path // a bare array for the list at the same path
		}
		out = append(out, site{in: "body", steps: append(slices.Clip(steps), name), list: list, plain: name == "id" && member.Format != "uuid"})
	}
	return out
}

// lastName is the innermost member of the steps.
func lastName(steps []string) string {
	for _, step := range slices.Backward(steps) {
		if step != "[]" && step[0] != '|' {
			return step
		}
	}
	return ""
}

// bases are bodies of operations whose schema requires less than the operation; for one position of
// the body, after a number sign. {/topics} is an id of that list.
var bases = map[string]string{
	"POST /emails":                               `{"from":"a@ours.example","to":"b@example.org","subject":"s","text":"x"}`,
	"POST /email":                                `{"from":"a@ours.example","to":"b@example.org","subject":"s","text":"x"}`,
	"POST /email#template.id":                    `{"from":"a@ours.example","to":"b@example.org","subject":"s"}`,
	"POST /emails#template.id":                   `{"from":"a@ours.example","to":"b@example.org","subject":"s"}`,
	"POST /emails/batch":                         `{"from":"a@ours.example","to":"b@example.org","subject":"s","text":"x"}`,
	"POST /emails/batch#[].template.id":          `{"from":"a@ours.example","to":"b@example.org","subject":"s"}`,
	"POST /broadcasts":                           `{"from":"a@ours.example","subject":"s","text":"x"}`,
	"POST /routes":                               `{"match":"+x","actions":[{"type":"drop"}]}`,
	"POST /routes#actions.[].template_id":        `{"match":"+x","actions":{"type":"reply_with"}}`,
	"PATCH /routes/{id}#actions.[].template_id":  `{"actions":{"type":"reply_with"}}`,
	"POST /forms":                                `{"name":"f","from":"a@ours.example"}`,
	"POST /topics/{id}/archive":                  `{"broadcast_id":"{/broadcasts}"}`,
	"POST /automations":                          `{"name":"a","steps":[{"key":"start","type":"trigger","config":{"event_name":"x"}}],"connections":[]}`,
	"POST /automations/{id}/simulate":            `{"contact":{"email":"b@example.org"}}`,
	"POST /automations/{id}/simulate#contact_id": `{}`,
	"POST /events/send":                          `{"event":"x"}`,
	"PATCH /events/{id}":                         `{"schema":null}`,
	"POST /feeds":                                `{"url":"https://ours.example/feed","topic_id":"{/topics}","template_id":"{/templates}","schedule":"daily 09:00"}`,
	"POST /api-keys#domain_id":                   `{"name":"k","permission":"sending_access"}`,
	"PATCH /emails/{id}":                         `{"scheduled_at":"in 1 hour"}`,
	"PATCH /api-keys/{id}":                       `{"name":"x"}`,
	"PATCH /contacts/{id}/topics":                `[{"id":"{/topics}","subscription":"opt_in"}]`,
	"POST /webhooks/{id}/signing-secret/rotate":  ``,
	"POST /webhooks/{id}/replay":                 `{"failed":true}`,
	"PATCH /domains/{id}/reports":                `{"own_sources":["192.0.2.1"]}`,
	"POST /domains/{id}/publish":                 `{"provider":"cloudflare","token":"x"}`,
	"POST /segments/preview#topic_id":            `{"filter":{"match":"all"}}`,
}

// values are values of members that the schema does not determine.
var values = map[string]string{
	"email": "new@ours.example", "from": "a@ours.example", "to": "b@example.org", "file": "email\nnew@ours.example",
	"endpoint": "https://hooks.example.com/", "emails": "new@ours.example", "subscription": "opt_in",
}

// build makes a body: what is required, and the value at the end of the steps.
func (d *apiDocument) build(s *apiSchema, base any, steps []string, value string) any {
	s = d.resolve(s)
	if len(steps) == 0 && value != "" {
		if s.Type == "array" {
			return []any{value}
		}
		return value
	}
	if list, ok := base.([]any); ok && len(steps) == 0 {
		return list
	}
	if alternatives := slices.Concat(s.AnyOf, s.OneOf); len(alternatives) > 0 {
		n := 0
		if len(steps) > 0 {
			_, _ = fmt.Sscanf(steps[0], "|%d", &n)
			steps = steps[1:]
		}
		return d.build(alternatives[n], base, steps, value)
	}
	switch {
	case s.Items != nil:
		if len(steps) > 0 {
			steps = steps[1:]
		}
		return []any{d.build(s.Items, base, steps, value)}
	case s.Properties != nil:
		return d.buildObject(s, base, steps, value)
	}
	return d.sample("", s)
}

func (d *apiDocument) buildObject(s *apiSchema, base any, steps []string, value string) map[string]any {
	out, ok := base.(map[string]any)
	out = maps.Clone(out)
	if !ok {
		out = map[string]any{}
		for _, name := range s.Required {
			out[name] = d.sample(name, s.Properties[name])
		}
	}
	if len(steps) > 0 {
		var item any // of a list, whose base is that of its items
		if d.resolve(s.Properties[steps[0]]).Items != nil {
			if one, ok := out[steps[0]].(map[string]any); ok {
				item = one
			}
		}
		out[steps[0]] = d.build(s.Properties[steps[0]], item, steps[1:], value)
	}
	return out
}

func (d *apiDocument) sample(name string, s *apiSchema) any {
	s = d.resolve(s)
	kind, _ := s.Type.(string)
	switch text, known := values[name]; {
	case len(s.Enum) > 0:
		return s.Enum[0]
	case s.Items != nil:
		return []any{d.sample(name, s.Items)}
	case known:
		return text
	case kind == "integer" || kind == "number":
		return 1
	case kind == "boolean":
		return true
	case s.Properties != nil || len(s.AnyOf)+len(s.OneOf) > 0:
		return d.build(s, nil, nil, "")
	}
	return "x"
}
