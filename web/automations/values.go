package automations

import (
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"mailer/app"
	"mailer/web/rest"
	"mailer/web/rest/openapi"
)

// rawObject is any JSON object, or null. Its members are checked by the service.
type rawObject jsontext.Value

// UnmarshalJSONFrom implements json.UnmarshalerFrom. An empty array is the empty object of PHP.
func (o *rawObject) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	v, err := d.ReadValue()
	switch {
	case err != nil:
		return err
	case rest.IsEmptyArray(v):
		v = jsontext.Value("{}")
	case v.Kind() == 'n':
		*o = nil
		return nil
	case v.Kind() != '{':
		return rest.NewShapeError(d.StackPointer(), "must be an object")
	}
	*o = rawObject(slices.Clone(v))
	return nil
}

// MarshalJSON implements json.Marshaler.
func (o rawObject) MarshalJSON() ([]byte, error) {
	if o == nil {
		return []byte("null"), nil
	}
	return o, nil
}

// Schema implements openapi.SchemaProvider.
func (rawObject) Schema(*openapi.Registry) *openapi.Schema {
	return &openapi.Schema{Type: openapi.TypeObject, Nullable: true, AdditionalProperties: &openapi.Schema{}}
}

func (o rawObject) value() jsontext.Value { return jsontext.Value(o) }

// stepConfig is the configuration of a step: a JSON object.
type stepConfig struct{ rawObject }

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (c *stepConfig) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	return c.rawObject.UnmarshalJSONFrom(d)
}

// MarshalJSON implements json.Marshaler.
func (c stepConfig) MarshalJSON() ([]byte, error) { return c.rawObject.MarshalJSON() }

// Schema implements openapi.SchemaProvider.
func (stepConfig) Schema(*openapi.Registry) *openapi.Schema {
	return &openapi.Schema{Type: openapi.TypeObject, AdditionalProperties: &openapi.Schema{},
		Description: "Depends on the type; see Automations in the manual"}
}

// eventSchema holds the types of a payload's members; null: any payload.
type eventSchema map[string]app.EventFieldType

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (s *eventSchema) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	*s = nil
	if d.PeekKind() == '[' {
		return rest.EmptyOnly(d, "must be an object")
	}
	return json.UnmarshalDecode(d, (*map[string]app.EventFieldType)(s))
}

// Schema implements openapi.SchemaProvider.
func (eventSchema) Schema(*openapi.Registry) *openapi.Schema {
	most := app.MaxEventFields
	return &openapi.Schema{Type: openapi.TypeObject, Nullable: true, MaxProperties: &most,
		AdditionalProperties: &openapi.Schema{Type: openapi.TypeString, Enum: []any{"string", "number", "boolean", "date"}},
		Description:          "The types of the payload's members; null: any payload"}
}
