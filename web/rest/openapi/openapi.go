// Package openapi describes an HTTP API in OpenAPI 3.1 and derives the schemas of its JSON from Go
// types. It holds the parts of OpenAPI that this API needs, and neither reads requests nor checks
// them.
//
// A schema follows the rules of encoding/json and the tags of struct fields, which Registry.Field
// lists. A type that encodes itself implements SchemaProvider. A type without a schema, and a tag
// that can't be read, panic: both are mistakes of the program.
package openapi

import "encoding/json"

// Document is a document of OpenAPI.
type Document struct {
	OpenAPI    string              `json:"openapi"` // the version: 3.1.0
	Info       Info                `json:"info"`
	Servers    []Server            `json:"servers,omitempty"`
	Paths      map[string]PathItem `json:"paths,omitempty"`
	Webhooks   map[string]PathItem `json:"webhooks,omitempty"`
	Components Components          `json:"components"`
	Tags       []Tag               `json:"tags,omitempty"`
}

// Info describes the API as a whole.
type Info struct {
	Title       string  `json:"title"`
	Description string  `json:"description,omitempty"`
	Contact     Contact `json:"contact,omitzero"`
	License     License `json:"license,omitzero"`
	Version     string  `json:"version"`
}

// Contact names who answers for the API.
type Contact struct {
	Name string `json:"name,omitempty"`
	URL  string `json:"url,omitempty"`
}

// License is the license of the API. Identifier is one of SPDX.
type License struct {
	Name       string `json:"name"`
	Identifier string `json:"identifier,omitempty"`
}

// Server is a base URL of the API.
type Server struct {
	URL string `json:"url"`
}

// Components are the parts that operations refer to by name.
type Components struct {
	Schemas         *Registry                  `json:"schemas"`
	SecuritySchemes map[string]*SecurityScheme `json:"securitySchemes,omitempty"`
}

// SecurityScheme is a kind of credential.
type SecurityScheme struct {
	Type        string `json:"type"`
	Description string `json:"description,omitempty"`
	Name        string `json:"name,omitempty"`
	In          string `json:"in,omitempty"`
	Scheme      string `json:"scheme,omitempty"`
}

// Tag describes a group of operations.
type Tag struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
}

// PathItem holds the operations of a path by their methods in lower case.
type PathItem map[string]*Operation

// Operation is what a method does at a path.
type Operation struct {
	Method        string `json:"-"`
	Path          string `json:"-"` // with parameters as {name}
	DefaultStatus int    `json:"-"` // of a success
	Errors        []int  `json:"-"` // further statuses of answers

	OperationID string                `json:"operationId,omitempty"` // unique in the document
	Summary     string                `json:"summary,omitempty"`
	Description string                `json:"description,omitempty"`
	Tags        []string              `json:"tags,omitempty"`
	Parameters  []*Param              `json:"parameters,omitempty"`
	RequestBody *RequestBody          `json:"requestBody,omitempty"`
	Responses   map[string]*Response  `json:"responses,omitempty"` // by status
	Deprecated  bool                  `json:"deprecated,omitempty"`
	Security    []map[string][]string `json:"security,omitzero"` // empty, but not nil: no credential
}

// Param is a parameter in the path, the query or the header.
type Param struct {
	Name        string  `json:"name"`
	In          string  `json:"in"`
	Description string  `json:"description,omitempty"`
	Required    bool    `json:"required,omitempty"`
	Explode     *bool   `json:"explode,omitempty"` // false: the items of a list are separated by commas
	Schema      *Schema `json:"schema,omitempty"`
}

// RequestBody describes a body by its media types.
type RequestBody struct {
	Content  map[string]*MediaType `json:"content"`
	Required bool                  `json:"required,omitempty"`
}

// Response describes an answer, and its body by its media types.
type Response struct {
	Description string                `json:"description"`
	Headers     map[string]*Header    `json:"headers,omitempty"`
	Content     map[string]*MediaType `json:"content,omitempty"`
}

// Header describes a header of an answer.
type Header struct {
	Schema *Schema `json:"schema,omitempty"`
}

// MediaType describes a body of one media type.
type MediaType struct {
	Schema *Schema `json:"schema,omitempty"`
}

// Types of JSON values.
const (
	TypeBoolean = "boolean"
	TypeInteger = "integer"
	TypeNumber  = "number"
	TypeString  = "string"
	TypeArray   = "array"
	TypeObject  = "object"
	TypeNull    = "null"
)

// Schema is a schema of JSON Schema 2020-12. The zero Schema allows every value.
type Schema struct {
	Ref         string `json:"$ref,omitempty"`
	Type        string `json:"type,omitempty"`
	Nullable    bool   `json:"-"` // null is allowed besides Type
	Description string `json:"description,omitempty"`
	Default     any    `json:"default,omitzero"`
	Examples    []any  `json:"examples,omitempty"`
	Enum        []any  `json:"enum,omitempty"`

	// Of strings. Lengths are in characters.
	Format           string  `json:"format,omitempty"`
	Pattern          string  `json:"pattern,omitempty"`
	MinLength        *int    `json:"minLength,omitempty"`
	MaxLength        *int    `json:"maxLength,omitempty"`
	ContentEncoding  string  `json:"contentEncoding,omitempty"`
	ContentMediaType string  `json:"contentMediaType,omitempty"`
	ContentSchema    *Schema `json:"contentSchema,omitempty"`

	// Of numbers.
	Minimum *float64 `json:"minimum,omitempty"`
	Maximum *float64 `json:"maximum,omitempty"`

	// Of arrays.
	Items    *Schema `json:"items,omitempty"`
	MinItems *int    `json:"minItems,omitempty"`
	MaxItems *int    `json:"maxItems,omitempty"`

	// Of objects. AdditionalProperties is a *Schema, true or false; nil allows all.
	Properties           map[string]*Schema `json:"properties,omitempty"`
	Required             []string           `json:"required,omitempty"`
	AdditionalProperties any                `json:"additionalProperties,omitzero"`
	MaxProperties        *int               `json:"maxProperties,omitempty"`

	OneOf []*Schema `json:"oneOf,omitempty"`
	AnyOf []*Schema `json:"anyOf,omitempty"`
}

// MarshalJSON implements json.Marshaler: a nullable schema has two types.
func (s *Schema) MarshalJSON() ([]byte, error) {
	type plain Schema
	if !s.Nullable {
		return json.Marshal((*plain)(s))
	}
	return json.Marshal(struct {
		Type []string `json:"type"`
		*plain
	}{[]string{s.Type, TypeNull}, (*plain)(s)})
}

// Binary returns the schema of a file.
func Binary() *Schema {
	return &Schema{Type: TypeString, Format: "binary", ContentMediaType: "application/octet-stream"}
}
