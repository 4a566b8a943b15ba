package web

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"

	"github.com/danielgtaylor/huma/v2"
	jsonv2 "github.com/go-json-experiment/json"
)

// bearerScheme is the name of the security scheme in the document.
const bearerScheme = "bearer"

func newAPI(h *Handler) huma.API {
	setHumaGlobals()
	registry := huma.NewMapRegistry("#/components/schemas/", huma.DefaultSchemaNamer)
	doc := &huma.OpenAPI{
		OpenAPI: "3.1.0",
		Info: &huma.Info{
			Title: "Mailer", Version: "1.0.0",
			Description: "A self-hosted email sending service.",
		},
		Components: &huma.Components{
			Schemas: registry,
			SecuritySchemes: map[string]*huma.SecurityScheme{
				bearerScheme: {Type: "http", Scheme: "bearer", Description: "An API key."},
			},
		},
	}
	if h.baseURL != "" {
		doc.Servers = []*huma.Server{{URL: h.baseURL}}
	}
	// No hooks, docs page, YAML or schema routes: /openapi.json is a route of
	// ours, and huma's docs page would load scripts from elsewhere.
	return huma.NewAPI(huma.Config{
		OpenAPI:       doc,
		Formats:       map[string]huma.Format{"application/json": {Marshal: marshal, Unmarshal: unmarshal}},
		DefaultFormat: "application/json",
	}, adapter{h})
}

// marshal writes answers with encoding/json, which takes half the time of
// version 2 for them, and turns invalid UTF-8 (of a captured message) into
// U+FFFD. Nil lists would be null: the handlers make empty ones.
func marshal(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false) // nothing of this is HTML, and <message ids> stay legible
	return enc.Encode(v)
}

// unmarshal refuses duplicate names and invalid UTF-8 besides what is no JSON.
func unmarshal(data []byte, v any) error { return jsonv2.Unmarshal(data, v) }

// register adds an operation to routes and document. The handler's error may be
// anything; errorFor decides what goes out.
func register[I, O any](h *Handler, rt route, op huma.Operation, handler func(context.Context, *I) (*O, error)) {
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
		out, err := handler(ctx, in)
		if err != nil {
			return nil, h.errorFor(exchangeOf(ctx), err)
		}
		return out, nil
	})
	if !validates {
		delete(op.Responses, "422") // huma's guess wherever a path has a parameter
	}
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

// documentBody puts the schema of a body into the document for an operation
// whose handler decodes the body itself. Since huma is told only afterwards, it
// reads no body there.
func documentBody[B any](h *Handler, method, path string) {
	schema := huma.SchemaFromType(h.api.OpenAPI().Components.Schemas, typeOf[B]())
	item := h.api.OpenAPI().Paths[path]
	operation := item.Post
	if method == http.MethodPatch {
		operation = item.Patch
	}
	operation.RequestBody = &huma.RequestBody{
		Required: true,
		Content:  map[string]*huma.MediaType{"application/json": {Schema: schema}},
	}
}

type documentOutput struct {
	ContentType string `header:"Content-Type" hidden:"true"`
	Body        []byte
}

// registerDocument adds GET /openapi.json. It comes last, for the document has
// every route in it; it is written down once, when it is first asked for.
func (h *Handler) registerDocument() {
	register(h, route{public: true}, huma.Operation{
		OperationID: "get-openapi", Method: http.MethodGet, Path: "/openapi.json",
		Summary: "Get this document", Tags: []string{"Health"},
		Responses: map[string]*huma.Response{"200": {
			Description: "OK",
			Content:     map[string]*huma.MediaType{"application/json": {Schema: &huma.Schema{Type: "object"}}},
		}},
	}, func(context.Context, *struct{}) (*documentOutput, error) {
		return &documentOutput{ContentType: "application/json", Body: h.document()}, nil
	})
	h.document = sync.OnceValue(func() []byte {
		document, err := json.Marshal(h.api.OpenAPI())
		if err != nil {
			panic(fmt.Sprintf("writing openapi.json: %v", err))
		}
		return document
	})
}
