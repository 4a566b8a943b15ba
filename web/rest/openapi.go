package rest

import (
	"reflect"

	"github.com/danielgtaylor/huma/v2"
)

// Names of the security schemes: API keys, and sessions of people.
const (
	bearerScheme  = "bearer"
	sessionScheme = "session"
)

// schemaPrefix begins references to named schemas.
const schemaPrefix = "#/components/schemas/"

// newDocument makes the document without operations. huma is used for schemas of Go types only.
func newDocument(h *Handler) *huma.OpenAPI {
	setHumaGlobals()
	registry := huma.NewMapRegistry(schemaPrefix, schemaName)
	doc := &huma.OpenAPI{
		OpenAPI: "3.1.0",
		Info: &huma.Info{
			Title: "Mailer", Version: "1.0.0",
			Description: "A self-hosted email sending service.",
			License:     &huma.License{Name: "MIT", Identifier: "MIT"},
			Contact:     &huma.Contact{Name: "The operator of this server", URL: h.baseURL},
		},
		Components: &huma.Components{
			Schemas: registry,
			SecuritySchemes: map[string]*huma.SecurityScheme{
				bearerScheme:  {Type: "http", Scheme: "bearer", Description: "An API key."},
				sessionScheme: {Type: "apiKey", In: "cookie", Name: secureCookie, Description: "A person who is signed in; without TLS the cookie is called " + plainCookie + "."},
			},
		},
	}
	if h.baseURL != "" {
		doc.Servers = []*huma.Server{{URL: h.baseURL}}
	}
	return doc
}

// schemaName returns the name of a type's schema. Generated clients know a schema by its name,
// so it stays when the Go type gets another one.
func schemaName(t reflect.Type, hint string) string {
	name := huma.DefaultSchemaNamer(t, hint)
	if name == "BreakerData" {
		return "RestData"
	}
	return name
}
