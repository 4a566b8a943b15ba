package rest

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"reflect"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"mailer/app"
)

// Each Register names its types and does nothing else: all the rest stands in functions that
// know them by reflection. Its type parameters are the pointers to what a handler takes and
// returns, since Go compiles a generic function once for all pointers, and anew for each
// struct. Together that is a good part of the binary's size.

// Register adds an operation that takes no body to routes and document. I is a pointer to
// the parameters of path, query and header, O one to the answer. The handler's error may be
// anything; ErrorFor decides what goes out.
func Register[I, O any](h *Handler, rt Route, op huma.Operation, handler func(ctx context.Context, key *app.Key, in I) (O, error)) {
	types := operands{input: pointed[I](), output: pointed[O]()}
	h.addList(&rt, &op, types, func(ctx context.Context, x *Exchange, in, _ any) (any, error) {
		return handler(ctx, x.Key, in.(I))
	})
}

// RegisterBody adds an operation whose body is a JSON value that B points to: the
// document's schema and the decoder both come from it. It returns the operation
// as it stands in the document.
func RegisterBody[I, B, O any](h *Handler, rt Route, op huma.Operation, handler func(ctx context.Context, key *app.Key, in I, body B) (O, error)) *huma.Operation {
	types := operands{input: pointed[I](), body: pointed[B](), output: pointed[O]()}
	return h.add(&rt, &op, types, func(ctx context.Context, x *Exchange, in, body any) (any, error) {
		return handler(ctx, x.Key, in.(I), body.(B))
	})
}

// RegisterPublic adds an operation that needs no key and takes no body.
func RegisterPublic[I, O any](h *Handler, rt Route, op huma.Operation, handler func(ctx context.Context, in I) (O, error)) {
	rt.Public = true
	RegisterRaw(h, rt, op, func(ctx context.Context, _ *Exchange, in I) (O, error) { return handler(ctx, in) })
}

// RegisterRaw adds an operation whose handler reads the body itself, or writes
// the answer: it gets the whole exchange. What the body is has to be put into
// the operation that it returns.
func RegisterRaw[I, O any](h *Handler, rt Route, op huma.Operation, handler func(ctx context.Context, x *Exchange, in I) (O, error)) *huma.Operation {
	types := operands{input: pointed[I](), output: pointed[O]()}
	return h.add(&rt, &op, types, func(ctx context.Context, x *Exchange, in, _ any) (any, error) {
		return handler(ctx, x, in.(I))
	})
}

// pointed is the type that P points to. No operation can be made of what is no pointer: it
// panics, at the start.
func pointed[P any]() reflect.Type { return reflect.TypeFor[P]().Elem() }

// operands are the types that an operation is made of.
type operands struct{ input, body, output reflect.Type } // body nil: it is not decoded

// callHandler calls a handler. in, body and what it returns are pointers to operands.
type callHandler func(ctx context.Context, x *Exchange, in, body any) (any, error)

// endpoint is an operation with all that answers its requests.
type endpoint struct {
	h    *Handler
	rt   *Route
	op   *huma.Operation
	in   *inputPlan
	body reflect.Type // nil: it is not decoded
	out  *outputPlan
	call callHandler
}

// addList is add for what may answer a list, which is then there as CSV too.
func (h *Handler) addList(rt *Route, op *huma.Operation, types operands, call callHandler) {
	rt.table = tableOf(op, types.input, types.output)
	h.add(rt, op, types, call)
}

// add adds an operation to routes and document, and returns it as it stands there.
func (h *Handler) add(rt *Route, op *huma.Operation, types operands, call callHandler) *huma.Operation {
	rt.Body = rt.Body || types.body != nil
	prepare(rt, op, types.input, types.output)
	e := &endpoint{h: h, rt: rt, op: op, in: inputPlanOf(types.input), body: types.body, out: outputPlanOf(types.output), call: call}
	registry := h.doc.Components.Schemas
	e.in.document(registry, op)
	e.out.document(registry, op)
	h.documentErrors(op)
	h.doc.AddOperation(op)
	h.route(e)
	if types.body != nil {
		documentBody(h, op, types.body, !rt.Optional)
	}
	return op
}

// serve answers a request that was let in.
func (e *endpoint) serve(x *Exchange, r *http.Request) {
	ctx := r.Context()
	out, err := e.answer(ctx, x, r)
	switch {
	case err != nil:
		refusal := e.h.ErrorFor(x, err)
		writeJSON(ctx, x, refusal.StatusCode, refusal)
	case !x.answered:
		e.out.write(ctx, x, e.op.DefaultStatus, out)
	}
}

// answer reads what a request asks and calls the handler. A list as CSV is written by it.
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

// Checker is an input that checks its own parameters, before the body is
// looked at. Errors: CodeNotFound for what is no id, CodeValidation.
type Checker interface{ Check() error }

// HeaderReader is an input that has to know which headers are there: an empty
// one looks like none in its fields.
type HeaderReader interface{ ReadHeader(http.Header) }

// prepare completes an operation with what is so for every route of its kind.
func prepare(rt *Route, op *huma.Operation, input, output reflect.Type) {
	checkInputType(op.Path, input)
	rt.echoes, rt.query = redundantIDsOf(op.Path), newQueryRule(op.Method, input, output)
	op.Errors = slices.Concat(commonErrors(*rt), op.Errors)
	if op.Responses == nil {
		op.Responses = map[string]*huma.Response{}
	}
	op.Security = []map[string][]string{} // said, since nothing said means that nobody knows
	switch {
	case rt.Person || rt.Operator:
		op.Security = []map[string][]string{{sessionScheme: {}}}
	case !rt.Public:
		op.Security = []map[string][]string{{bearerScheme: {}}}
	}
}

// checkInputType panics for an input with a body, which nothing would read; and for one of two parts that check themselves without a Check
// for both, since Go promotes neither of two.
func checkInputType(path string, input reflect.Type) {
	checker := reflect.TypeFor[Checker]()
	for _, f := range reflect.VisibleFields(input) {
		if f.Name == "Body" || f.Name == "RawBody" {
			panic(fmt.Sprintf("%s: the input has a %s; bodies are a parameter of RegisterBody", path, f.Name))
		}
		if f.Anonymous && reflect.PointerTo(f.Type).Implements(checker) && !reflect.PointerTo(input).Implements(checker) {
			panic(fmt.Sprintf("%s: nothing calls the Check of %s", path, f.Name))
		}
	}
}

func checkInput(in any, header http.Header) error {
	if r, ok := in.(HeaderReader); ok {
		r.ReadHeader(header)
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
		out = append(out, http.StatusNotFound) // a person's team that is none of his
	}
	if rt.Body || rt.Stream {
		out = append(out, http.StatusBadRequest, http.StatusRequestTimeout, http.StatusRequestEntityTooLarge,
			http.StatusUnprocessableEntity, http.StatusServiceUnavailable) // public ones too
	}
	return append(out, http.StatusInternalServerError)
}

// BodyDecoder is a body that is not decoded as one JSON object.
type BodyDecoder interface{ DecodeBody([]byte) error }

// decodeInto reads a body. An optional one may be left out, or be the empty array
// that no arguments become in PHP; members that only repeat the path are left out.
// Errors: those of DecodeBody and of the route's IDOf.
func decodeInto(ctx context.Context, x *Exchange, rt *Route, v any) error {
	if rt.Optional && (len(bytes.TrimSpace(x.Body)) == 0 || IsEmptyArray(x.Body)) {
		return nil
	}
	ReplaceLoneSurrogates(x.Body)
	if d, ok := v.(BodyDecoder); ok {
		return d.DecodeBody(x.Body)
	}
	if len(x.params) > 0 && len(x.Body) > 0 {
		return rt.echoes.decode(x.params, sameResourceOf(ctx, x, rt), x.Body, v)
	}
	return DecodeBody(x.Body, v)
}

// DocumentBody puts the schema of a body into the document, for an operation that
// RegisterRaw added.
func DocumentBody[B any](h *Handler, op *huma.Operation, required bool) {
	documentBody(h, op, reflect.TypeFor[B](), required)
}

func documentBody(h *Handler, op *huma.Operation, body reflect.Type, required bool) {
	registry := h.doc.Components.Schemas
	schema := registry.Schema(body, true, "")
	if schema.Ref == "" { // it makes its schema itself
		schema = h.Component(huma.DefaultSchemaNamer(body, ""), schema)
	}
	op.RequestBody = &huma.RequestBody{
		Required: required,
		Content:  map[string]*huma.MediaType{"application/json": {Schema: schema}},
	}
}

// Component names a schema in the document, as generated clients will call
// it, and returns what refers to it.
func (h *Handler) Component(name string, schema *huma.Schema) *huma.Schema {
	h.doc.Components.Schemas.Map()[name] = schema
	return &huma.Schema{Ref: schemaPrefix + name}
}
