package rest

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"

	"mailer/app"
	"mailer/web/rest/openapi"
)

// Each Register function only names its types; everything else works by reflection. The type
// parameters are pointers: Go compiles a generic function once for all pointers, but once for each
// struct. This saves much of the binary's size.

// Register adds an operation without a body. I is a pointer to the parameters in path, query and
// header, O a pointer to the output. ErrorFor turns the handler's errors into answers.
func Register[I, O any](h *Handler, rt Route, op openapi.Operation, handler func(ctx context.Context, key *app.Key, in I) (O, error)) {
	types := operationTypes{input: elemOf[I](), output: elemOf[O]()}
	h.addList(&rt, &op, types, func(ctx context.Context, x *Exchange, in, _ any) (any, error) {
		return handler(ctx, x.Key, in.(I))
	})
}

// RegisterBody adds an operation with a JSON body that B points to, from which both the schema and
// the decoder are derived. It returns the operation in the document.
func RegisterBody[I, B, O any](h *Handler, rt Route, op openapi.Operation, handler func(ctx context.Context, key *app.Key, in I, body B) (O, error)) *openapi.Operation {
	types := operationTypes{input: elemOf[I](), body: elemOf[B](), output: elemOf[O]()}
	return h.add(&rt, &op, types, func(ctx context.Context, x *Exchange, in, body any) (any, error) {
		return handler(ctx, x.Key, in.(I), body.(B))
	})
}

// RegisterPublic adds an operation without a key and without a body.
func RegisterPublic[I, O any](h *Handler, rt Route, op openapi.Operation, handler func(ctx context.Context, in I) (O, error)) {
	rt.Public = true
	RegisterRaw(h, rt, op, func(ctx context.Context, _ *Exchange, in I) (O, error) { return handler(ctx, in) })
}

// RegisterRaw adds an operation whose handler gets the exchange, to read the body or write the
// answer itself. The caller must document the body in the operation that is returned (OnDocument).
func RegisterRaw[I, O any](h *Handler, rt Route, op openapi.Operation, handler func(ctx context.Context, x *Exchange, in I) (O, error)) *openapi.Operation {
	types := operationTypes{input: elemOf[I](), output: elemOf[O]()}
	return h.add(&rt, &op, types, func(ctx context.Context, x *Exchange, in, _ any) (any, error) {
		return handler(ctx, x, in.(I))
	})
}

// elemOf returns the type that P points to. It panics, at startup, if P is no pointer.
func elemOf[P any]() reflect.Type { return reflect.TypeFor[P]().Elem() }

// operationTypes are the types of an operation.
type operationTypes struct{ input, body, output reflect.Type } // body nil: not decoded

// callHandler calls a handler. in, body and the result are pointers to operationTypes.
type callHandler func(ctx context.Context, x *Exchange, in, body any) (any, error)

// endpoint is an operation and everything that serves it.
type endpoint struct {
	h    *Handler
	rt   *Route
	op   *openapi.Operation
	in   *inputPlan
	body reflect.Type // nil: not decoded
	out  *outputPlan
	call callHandler
}

// addList is add for an operation whose output may be a list, which is then available as CSV too.
func (h *Handler) addList(rt *Route, op *openapi.Operation, types operationTypes, call callHandler) {
	rt.table = tableOf(op, types.input, types.output)
	h.add(rt, op, types, call)
}

// add adds an operation to the routes and the document, and returns the operation in the document.
func (h *Handler) add(rt *Route, op *openapi.Operation, types operationTypes, call callHandler) *openapi.Operation {
	rt.Body = rt.Body || types.body != nil
	prepare(rt, op, types.input, types.output)
	e := &endpoint{h: h, rt: rt, op: op, in: inputPlanOf(types.input), body: types.body, out: outputPlanOf(types.output), call: call}
	e.out.setStatus(op)
	h.route(e)
	if op.Method == http.MethodOptions {
		return op // only browsers send preflights: they are no operations of the document
	}
	h.OnDocument(func(doc *openapi.Document) {
		e.in.document(doc.Components.Schemas, op)
		e.out.document(doc.Components.Schemas, op)
		h.documentErrors(op)
		if doc.Paths[op.Path] == nil {
			doc.Paths[op.Path] = openapi.PathItem{}
		}
		doc.Paths[op.Path][strings.ToLower(op.Method)] = op
		if types.body != nil {
			documentBody(h, op, types.body, !rt.Optional)
		}
	})
	return op
}

// serve answers an admitted request.
func (e *endpoint) serve(x *Exchange, r *http.Request) {
	ctx := r.Context()
	out, answer, err := e.prepare(ctx, x, r)
	switch {
	case err != nil:
		refusal := e.h.ErrorFor(x, err)
		answer, _ = encode(refusal) // texts and a number can't fail
		writeJSON(ctx, x, refusal.StatusCode, answer)
	case !x.answered:
		e.out.write(ctx, x, e.op.DefaultStatus, out, answer)
	}
}

// prepare calls the handler and encodes the JSON of its output. Lists take turns: between the
// reading of their rows and their encoding they are large.
func (e *endpoint) prepare(ctx context.Context, x *Exchange, r *http.Request) (out any, answer encoded, err error) {
	if e.rt.table != nil && !x.csv {
		var owner memoryOwner
		if x.Key != nil {
			owner.team = x.Key.TeamID
		}
		if _, err := e.h.answerBudget.lists.acquire(ctx, owner, 1); err != nil {
			return nil, answer, err
		}
		defer e.h.answerBudget.lists.Release(owner, 1)
	}
	out, err = e.answer(ctx, x, r)
	if err == nil && !x.answered {
		answer, err = e.out.encode(x, out)
	}
	return out, answer, err
}

// answer binds the input and calls the handler. It writes lists as CSV itself.
func (e *endpoint) answer(ctx context.Context, x *Exchange, r *http.Request) (out any, err error) {
	in := e.in.bind(x, r)
	if err := checkInput(in, x.RequestHeader); err != nil {
		return nil, err
	}
	var body any
	if e.body != nil {
		body = reflect.New(e.body).Interface()
		if err := decodeInto(ctx, x, e.rt, body); err != nil {
			return nil, err
		}
	}
	if x.csv {
		return nil, e.h.export(ctx, x, in, func() (any, error) { return e.call(ctx, x, in, nil) })
	}
	return e.call(ctx, x, in, body)
}

// Checker is an input that checks its parameters before the body is decoded, after those of a
// ResourcePath. Errors: CodeNotFound for invalid ids, CodeValidation.
type Checker interface{ Check() error }

// HeaderReader is an input that must distinguish an empty header from an absent one.
type HeaderReader interface{ ReadHeader(http.Header) }

// prepare completes an operation with what all routes of its kind share.
func prepare(rt *Route, op *openapi.Operation, input, output reflect.Type) {
	checkInputType(op.Path, input)
	rt.redundant, rt.query = redundantIDsOf(op.Path), newQueryRule(op.Method, input, output)
	op.Errors = slices.Concat(commonErrors(*rt), op.Errors)
	if op.Responses == nil {
		op.Responses = map[string]*openapi.Response{}
	}
	op.Security = []map[string][]string{} // explicitly empty: absent would mean unknown
	switch {
	case rt.Person || rt.Operator:
		op.Security = []map[string][]string{{sessionScheme: {}}}
	case !rt.Public:
		op.Security = []map[string][]string{{bearerScheme: {}}}
	}
}

// knownFields holds the results of visibleFields by type.
var knownFields sync.Map

// visibleFields is reflect.VisibleFields, found once for each type: a route asks ten times, and many
// routes have types in common. Callers must not change the result.
func visibleFields(t reflect.Type) []reflect.StructField {
	if fields, ok := knownFields.Load(t); ok {
		return fields.([]reflect.StructField)
	}
	fields := reflect.VisibleFields(t)
	knownFields.Store(t, fields)
	return fields
}

// checkInputType panics for an input with a body, which nothing would read, and for an input with
// two embedded Checkers, or two embedded ResourcePaths, and no method of its own: Go promotes
// neither.
func checkInputType(path string, input reflect.Type) {
	checks := []reflect.Type{reflect.TypeFor[Checker](), reflect.TypeFor[ResourcePath]()}
	for _, f := range visibleFields(input) {
		if f.Name == "Body" || f.Name == "RawBody" {
			panic(fmt.Sprintf("%s: the input has a %s; bodies are a parameter of RegisterBody", path, f.Name))
		}
		for _, check := range checks {
			if f.Anonymous && reflect.PointerTo(f.Type).Implements(check) && !reflect.PointerTo(input).Implements(check) {
				panic(fmt.Sprintf("%s: nothing checks the %s of %s", path, check.Name(), f.Name))
			}
		}
	}
}

func checkInput(in any, header http.Header) error {
	if r, ok := in.(HeaderReader); ok {
		r.ReadHeader(header)
	}
	if p, ok := in.(ResourcePath); ok {
		if kind, id := p.Resource(); kind != "" {
			if err := CheckID(kind, id); err != nil {
				return err
			}
		}
	}
	if c, ok := in.(Checker); ok {
		return c.Check()
	}
	return nil
}

func commonErrors(rt Route) []int {
	var out []int
	if !rt.Public {
		out = append(out, http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests, http.StatusServiceUnavailable)
	}
	if !rt.Public && !rt.Person && !rt.Operator {
		out = append(out, http.StatusNotFound) // a team of which the person is no member
	}
	if rt.Body || rt.Stream {
		out = append(out, http.StatusBadRequest, http.StatusRequestTimeout, http.StatusRequestEntityTooLarge,
			http.StatusUnprocessableEntity, http.StatusServiceUnavailable) // public routes too
	}
	return append(out, http.StatusInternalServerError)
}

// BodyDecoder is a body that is not decoded as one JSON object.
type BodyDecoder interface{ DecodeBody([]byte) error }

// decodeInto decodes a body. An optional body may be absent, or the empty array that PHP makes of
// no arguments. Members that only repeat the path are dropped. Errors: those of DecodeBody and of
// the route's IDOf.
func decodeInto(ctx context.Context, x *Exchange, rt *Route, v any) error {
	if rt.Optional && (len(bytes.TrimSpace(x.Body)) == 0 || IsEmptyArray(x.Body)) {
		return nil
	}
	ReplaceLoneSurrogates(x.Body)
	if d, ok := v.(BodyDecoder); ok {
		return d.DecodeBody(x.Body)
	}
	if len(x.params) > 0 && len(x.Body) > 0 {
		return rt.redundant.decode(x.params, sameResourceOf(ctx, x, rt), x.Body, v)
	}
	return DecodeBody(x.Body, v)
}

// DocumentBody adds the schema of a body to an operation of RegisterRaw.
func DocumentBody[B any](h *Handler, op *openapi.Operation, required bool) {
	h.OnDocument(func(*openapi.Document) { documentBody(h, op, reflect.TypeFor[B](), required) })
}

func documentBody(h *Handler, op *openapi.Operation, body reflect.Type, required bool) {
	schema := h.doc.Components.Schemas.Component(body)
	op.RequestBody = &openapi.RequestBody{
		Required: required,
		Content:  map[string]*openapi.MediaType{"application/json": {Schema: schema}},
	}
}

// Component adds a named schema, whose name generated clients use, and returns a reference to it.
func (h *Handler) Component(name string, schema *openapi.Schema) *openapi.Schema {
	return h.doc.Components.Schemas.Add(name, schema)
}
