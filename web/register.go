package web

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

// register adds an operation that takes no body to routes and document. I has
// the parameters of path, query and header. The handler's error may be anything;
// errorFor decides what goes out.
func register[I, O any](h *Handler, rt route, op huma.Operation, handler func(ctx context.Context, key *app.Key, in *I) (*O, error)) {
	bind(h, rt, op, func(ctx context.Context, x *exchange, in *I) (*O, error) { return handler(ctx, x.key, in) })
}

// registerBody adds an operation whose body is a JSON value of type B: the
// document's schema and the decoder both come from B. It returns the operation
// as it stands in the document.
func registerBody[I, B, O any](h *Handler, rt route, op huma.Operation, handler func(ctx context.Context, key *app.Key, in *I, body *B) (*O, error)) *huma.Operation {
	rt.body = true
	added := bind(h, rt, op, func(ctx context.Context, x *exchange, in *I) (*O, error) {
		var body B
		if err := decodeInto(x.body, rt.optional, &body); err != nil {
			return nil, err
		}
		return handler(ctx, x.key, in, &body)
	})
	documentBody[B](h, added, !rt.optional)
	return added
}

// registerPublic adds an operation that needs no key and takes no body.
func registerPublic[I, O any](h *Handler, rt route, op huma.Operation, handler func(ctx context.Context, in *I) (*O, error)) {
	rt.public = true
	bind(h, rt, op, func(ctx context.Context, _ *exchange, in *I) (*O, error) { return handler(ctx, in) })
}

// registerRaw adds an operation whose handler reads the body itself, or writes
// the answer: it gets the whole exchange. What the body is has to be put into
// the operation that it returns.
func registerRaw[I, O any](h *Handler, rt route, op huma.Operation, handler func(ctx context.Context, x *exchange, in *I) (*O, error)) *huma.Operation {
	return bind(h, rt, op, handler)
}

// selfChecker is an input that checks its own parameters, before the body is
// looked at. Errors: CodeNotFound for what is no id, CodeValidation.
type selfChecker interface{ Check() error }

// headerReader is an input that has to know which headers are there: an empty
// one looks like none to huma.
type headerReader interface{ readHeader(http.Header) }

// bind adds an operation to routes and document, and returns it as it stands
// there.
func bind[I, O any](h *Handler, rt route, op huma.Operation, handler func(context.Context, *exchange, *I) (*O, error)) *huma.Operation {
	bodiless[I](op.Path)
	op.Metadata = map[string]any{routeMetadata: &rt}
	op.Errors = slices.Concat(commonErrors(rt), op.Errors)
	if op.Responses == nil {
		op.Responses = map[string]*huma.Response{}
	}
	validates := slices.Contains(op.Errors, http.StatusUnprocessableEntity)
	if !rt.public {
		op.Security = []map[string][]string{{bearerScheme: {}}}
	}
	// Parameters are strings that the handlers check, so that their errors have
	// the same words everywhere; the body is read and bounded by readBody.
	op.SkipValidateParams = true
	op.MaxBodyBytes, op.BodyReadTimeout = -1, -1
	huma.Register(h.api, op, func(ctx context.Context, in *I) (*O, error) {
		x := exchangeOf(ctx)
		err := checkInput(in, x.header)
		if err != nil {
			return nil, h.errorFor(x, err)
		}
		out, err := handler(ctx, x, in)
		if err != nil {
			return nil, h.errorFor(x, err)
		}
		return out, nil
	})
	if !validates {
		delete(op.Responses, "422") // huma's guess wherever a path has a parameter
	}
	return h.operations[op.OperationID].Operation
}

// bodiless panics for an input with a body. huma would read and check it, in
// words of its own.
func bodiless[I any](path string) {
	for _, name := range []string{"Body", "RawBody"} {
		if _, has := reflect.TypeFor[I]().FieldByName(name); has {
			panic(fmt.Sprintf("%s: the input has a %s; bodies are a parameter of registerBody", path, name))
		}
	}
}

func checkInput(in any, header http.Header) error {
	if r, ok := in.(headerReader); ok {
		r.readHeader(header)
	}
	if c, ok := in.(selfChecker); ok {
		return c.Check()
	}
	return nil
}

func commonErrors(rt route) []int {
	var out []int
	if !rt.public {
		out = append(out, http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests)
	}
	if rt.body || rt.stream {
		out = append(out, http.StatusBadRequest, http.StatusRequestTimeout, http.StatusRequestEntityTooLarge,
			http.StatusUnprocessableEntity, http.StatusServiceUnavailable)
	}
	return append(out, http.StatusInternalServerError)
}

// bodyDecoder is a body that is not decoded as one JSON object.
type bodyDecoder interface{ decodeBody([]byte) error }

// decodeInto reads a body. An optional one may be left out. Errors: those of
// decodeBody.
func decodeInto(body []byte, optional bool, v any) error {
	if optional && len(bytes.TrimSpace(body)) == 0 {
		return nil
	}
	if d, ok := v.(bodyDecoder); ok {
		return d.decodeBody(body)
	}
	return decodeBody(body, v)
}

// documentBody puts the schema of a body into the document. huma is told only
// afterwards, so that it reads no body there.
func documentBody[B any](h *Handler, op *huma.Operation, required bool) {
	schema := huma.SchemaFromType(h.api.OpenAPI().Components.Schemas, typeOf[B]())
	op.RequestBody = &huma.RequestBody{
		Required: required,
		Content:  map[string]*huma.MediaType{"application/json": {Schema: schema}},
	}
}
