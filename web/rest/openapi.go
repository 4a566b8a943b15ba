package rest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
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
		Formats:       map[string]huma.Format{"application/json": {Marshal: Marshal, Unmarshal: unmarshal}},
		DefaultFormat: "application/json",
	}, adapter{h})
}

// unmarshal refuses duplicate names and invalid UTF-8 besides what is no JSON.
func unmarshal(data []byte, v any) error { return jsonv2.Unmarshal(data, v) }

type documentOutput struct {
	ContentType string `header:"Content-Type" hidden:"true"`
	Body        []byte
}

// ServeDocument adds GET /openapi.json. It comes last, for the document has
// every route in it; it is written down once, when it is first asked for.
func (h *Handler) ServeDocument() {
	written := sync.OnceValue(func() []byte {
		document, err := json.Marshal(h.api.OpenAPI())
		if err != nil {
			panic(fmt.Sprintf("writing openapi.json: %v", err))
		}
		return document
	})
	RegisterPublic(h, Route{}, huma.Operation{
		OperationID: "get-openapi", Method: http.MethodGet, Path: "/openapi.json",
		Summary: "Get this document", Tags: []string{"Health"},
		Responses: map[string]*huma.Response{"200": {
			Description: "OK",
			Content:     map[string]*huma.MediaType{"application/json": {Schema: &huma.Schema{Type: "object"}}},
		}},
	}, func(context.Context, *struct{}) (*documentOutput, error) {
		return &documentOutput{ContentType: "application/json", Body: written()}, nil
	})
}
