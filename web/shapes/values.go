package shapes

import (
	"strconv"

	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"mailer/app"
	"mailer/web/rest"
	"mailer/web/rest/openapi"
)

// PropertyValue is a string or a number in a body.
type PropertyValue app.PropertyValue

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (v *PropertyValue) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	switch d.PeekKind() {
	case '"':
		token, err := d.ReadToken()
		if err != nil {
			return err
		}
		*v = PropertyValue{Type: app.StringProperty, Text: token.String()}
		return nil
	case '0':
		token, err := d.ReadToken()
		if err != nil {
			return err
		}
		n, err := strconv.ParseFloat(token.String(), 64)
		if err != nil {
			return rest.NewShapeError(d.StackPointer(), "must be a number that a 64-bit float holds")
		}
		*v = PropertyValue{Type: app.NumberProperty, Number: n}
		return nil
	}
	return rest.WrongShape(d, "a string or a number")
}

// Plain returns the value for encoding as JSON.
func (v PropertyValue) Plain() any {
	if v.Type == app.NumberProperty {
		return v.Number
	}
	return v.Text
}

// Schema implements openapi.SchemaProvider.
func (PropertyValue) Schema(*openapi.Registry) *openapi.Schema {
	return &openapi.Schema{OneOf: []*openapi.Schema{{Type: openapi.TypeString}, {Type: openapi.TypeNumber}}}
}

// FallbackValue is a fallback in an answer: a string, a number, or null.
type FallbackValue struct{ Value *app.PropertyValue }

// MarshalJSON implements json.Marshaler.
func (f FallbackValue) MarshalJSON() ([]byte, error) {
	if f.Value == nil {
		return []byte("null"), nil
	}
	return json.Marshal(PropertyValue(*f.Value).Plain())
}

// Schema implements openapi.SchemaProvider.
func (FallbackValue) Schema(*openapi.Registry) *openapi.Schema {
	return &openapi.Schema{OneOf: []*openapi.Schema{{Type: openapi.TypeString, Nullable: true}, {Type: openapi.TypeNumber}},
		Description: "Value for contacts that have none"}
}

// FallbackInput is a fallback in a body.
type FallbackInput struct{ rest.Change[PropertyValue] }

// Schema implements openapi.SchemaProvider.
func (FallbackInput) Schema(r *openapi.Registry) *openapi.Schema {
	s := FallbackValue{}.Schema(r)
	s.Description += "; it must be of the property's type. null: none"
	return s
}

// VariableValues are strings and numbers by key, of bounded number. Null means absent; an empty
// string is a value.
type VariableValues map[string]app.PropertyValue

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (m *VariableValues) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	*m = nil
	if d.PeekKind() == '"' {
		return rest.EmptyOnly(d, "must be an object")
	}
	open, err := rest.BeginObject(d, "an object")
	if !open {
		return err
	}
	out := VariableValues{}
	for n := 0; d.PeekKind() != '}'; n++ {
		if n == app.MaxTemplateVariables {
			return rest.NewShapeError(d.StackPointer().Parent(), fmt.Sprintf("can hold at most %d variables", app.MaxTemplateVariables))
		}
		var key string
		if err := json.UnmarshalDecode(d, &key); err != nil {
			return err
		}
		var value rest.Change[PropertyValue]
		if err := json.UnmarshalDecode(d, &value); err != nil {
			return err
		}
		if !value.Null {
			out[key] = app.PropertyValue(value.Value)
		}
	}
	*m = out
	_, err = d.ReadToken()
	return err
}

// Schema implements openapi.SchemaProvider.
func (VariableValues) Schema(r *openapi.Registry) *openapi.Schema {
	most := app.MaxTemplateVariables
	return &openapi.Schema{Type: openapi.TypeObject, AdditionalProperties: PropertyValue{}.Schema(r), MaxProperties: &most,
		Description: "A value for each variable of the template; variables with a fallback may be left out"}
}
