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

// Each Register is compiled anew for each route. What does not depend on the types
// stands in functions that are compiled once; that is a part of the binary's size.

// Register adds an operation that takes no body to routes and document. I has
// the parameters of path, query and header. The handler's error may be anything;
// ErrorFor decides what goes out.
func Register[I, O any](h *Handler, rt Route, op huma.Operation, handler func(ctx context.Context, key *app.Key, in *I) (*O, error)) {
	rt.table = tableOf(&op, reflect.TypeFor[I](), reflect.TypeFor[O]())
	op = prepared(&rt, op, reflect.TypeFor[I](), reflect.TypeFor[O]())
	huma.Register(h.api, op, func(ctx context.Context, in *I) (*O, error) {
		x, err := h.enter(ctx, in)
		if err != nil {
			return nil, err
		}
		if x.csv {
			return nil, h.refusal(x, h.export(ctx, x, in, func() (any, error) { return handler(ctx, x.Key, in) }))
		}
		out, err := handler(ctx, x.Key, in)
		return out, h.refusal(x, err)
	})
	added := h.added(&op)
	if rt.table != nil {
		rt.table.document(added)
	}
}

// RegisterBody adds an operation whose body is a JSON value of type B: the
// document's schema and the decoder both come from B. It returns the operation
// as it stands in the document.
func RegisterBody[I, B, O any](h *Handler, rt Route, op huma.Operation, handler func(ctx context.Context, key *app.Key, in *I, body *B) (*O, error)) *huma.Operation {
	rt.Body = true
	op = prepared(&rt, op, reflect.TypeFor[I](), reflect.TypeFor[O]())
	huma.Register(h.api, op, func(ctx context.Context, in *I) (*O, error) {
		var body B
		x, err := h.enterWithBody(ctx, in, &rt, &body)
		if err != nil {
			return nil, err
		}
		out, err := handler(ctx, x.Key, in, &body)
		return out, h.refusal(x, err)
	})
	added := h.added(&op)
	DocumentBody[B](h, added, !rt.Optional)
	return added
}

// RegisterPublic adds an operation that needs no key and takes no body.
func RegisterPublic[I, O any](h *Handler, rt Route, op huma.Operation, handler func(ctx context.Context, in *I) (*O, error)) {
	rt.Public = true
	RegisterRaw(h, rt, op, func(ctx context.Context, _ *Exchange, in *I) (*O, error) { return handler(ctx, in) })
}

// RegisterRaw adds an operation whose handler reads the body itself, or writes
// the answer: it gets the whole exchange. What the body is has to be put into
// the operation that it returns.
func RegisterRaw[I, O any](h *Handler, rt Route, op huma.Operation, handler func(ctx context.Context, x *Exchange, in *I) (*O, error)) *huma.Operation {
	op = prepared(&rt, op, reflect.TypeFor[I](), reflect.TypeFor[O]())
	huma.Register(h.api, op, func(ctx context.Context, in *I) (*O, error) {
		x, err := h.enter(ctx, in)
		if err != nil {
			return nil, err
		}
		out, err := handler(ctx, x, in)
		return out, h.refusal(x, err)
	})
	return h.added(&op)
}

// Checker is an input that checks its own parameters, before the body is
// looked at. Errors: CodeNotFound for what is no id, CodeValidation.
type Checker interface{ Check() error }

// HeaderReader is an input that has to know which headers are there: an empty
// one looks like none to huma.
type HeaderReader interface{ ReadHeader(http.Header) }

// prepared completes an operation with what is so for every route of its kind.
func prepared(rt *Route, op huma.Operation, input, output reflect.Type) huma.Operation {
	soundInput(op.Path, input)
	rt.echoes, rt.query = echoesOf(op.Path), newQueryRule(op.Method, input, output)
	op.Metadata = map[string]any{routeMetadata: rt}
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
	// Parameters are strings that the handlers check, so that their errors have
	// the same words everywhere; the body is read and bounded by readBody.
	op.SkipValidateParams = true
	op.MaxBodyBytes, op.BodyReadTimeout = -1, -1
	return op
}

// added returns an operation as it stands in the document.
func (h *Handler) added(op *huma.Operation) *huma.Operation {
	if !slices.Contains(op.Errors, http.StatusUnprocessableEntity) {
		delete(op.Responses, "422") // huma's guess wherever a path has a parameter
	}
	return h.operations[op.OperationID].Operation
}

// enter returns the exchange of a request whose parameters are sound. Errors: as
// they go out.
func (h *Handler) enter(ctx context.Context, in any) (*Exchange, error) {
	x := exchangeOf(ctx)
	return x, h.refusal(x, checkInput(in, x.RequestHeader))
}

// enterWithBody is enter for a request whose body is decoded into body, after its
// parameters were found sound.
func (h *Handler) enterWithBody(ctx context.Context, in any, rt *Route, body any) (*Exchange, error) {
	x, err := h.enter(ctx, in)
	if err != nil {
		return nil, err
	}
	return x, h.refusal(x, decodeInto(x, rt, body))
}

// refusal returns an error as it goes out; nil for none.
func (h *Handler) refusal(x *Exchange, err error) error {
	if err == nil {
		return nil
	}
	return h.ErrorFor(x, err)
}

// soundInput panics for an input with a body, which huma would read and check, in
// words of its own; and for one of two parts that check themselves without a Check
// for both, since Go promotes neither of two.
func soundInput(path string, input reflect.Type) {
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
// Errors: those of DecodeBody.
func decodeInto(x *Exchange, rt *Route, v any) error {
	if rt.Optional && (len(bytes.TrimSpace(x.Body)) == 0 || IsEmptyArray(x.Body)) {
		return nil
	}
	if d, ok := v.(BodyDecoder); ok {
		return d.DecodeBody(x.Body)
	}
	if len(x.params) > 0 && len(x.Body) > 0 {
		return rt.echoes.decodeBeside(x.params, x.Body, v)
	}
	return DecodeBody(x.Body, v)
}

// DocumentBody puts the schema of a body into the document. huma is told only
// afterwards, so that it reads no body there.
func DocumentBody[B any](h *Handler, op *huma.Operation, required bool) {
	documentBody(h, op, reflect.TypeFor[B](), required)
}

func documentBody(h *Handler, op *huma.Operation, body reflect.Type, required bool) {
	registry := h.api.OpenAPI().Components.Schemas
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
	h.api.OpenAPI().Components.Schemas.Map()[name] = schema
	return &huma.Schema{Ref: schemaPrefix + name}
}
