package rest

import "mailer/web/rest/openapi"

// Names of the security schemes: API keys, and sessions of people.
const (
	bearerScheme  = "bearer"
	sessionScheme = "session"
)

// newDocument makes the document without operations.
func newDocument(h *Handler) *openapi.Document {
	doc := &openapi.Document{
		OpenAPI: "3.1.0",
		Info: openapi.Info{
			Title: "Mailer", Version: "1.0.0",
			Description: "A self-hosted email sending service.",
			License:     openapi.License{Name: "MIT", Identifier: "MIT"},
			Contact:     openapi.Contact{Name: "The operator of this server", URL: h.baseURL},
		},
		Paths: map[string]openapi.PathItem{},
		Components: openapi.Components{
			Schemas: openapi.NewRegistry(),
			SecuritySchemes: map[string]*openapi.SecurityScheme{
				bearerScheme:  {Type: "http", Scheme: "bearer", Description: "An API key."},
				sessionScheme: {Type: "apiKey", In: "cookie", Name: secureCookie, Description: "A person who is signed in; without TLS the cookie is called " + plainCookie + "."},
			},
		},
	}
	if h.baseURL != "" {
		doc.Servers = []openapi.Server{{URL: h.baseURL}}
	}
	return doc
}
