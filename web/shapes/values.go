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
	return json.Marshal(f.Value.Plain())
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

// VariableValue is the value of a template's variable in a body: any JSON but null.
type VariableValue app.PropertyValue

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (v *VariableValue) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	raw, err := d.ReadValue()
	if err != nil {
		return err
	}
	value, err := app.JSONValue(raw)
	if err != nil {
		return rest.NewShapeError(d.StackPointer(), err.Error())
	}
	*v = VariableValue(value)
	return nil
}

// Schema implements openapi.SchemaProvider.
func (VariableValue) Schema(*openapi.Registry) *openapi.Schema {
	return &openapi.Schema{}
}

// VariableFallback is the fallback of a template's variable in an answer, or null.
type VariableFallback struct{ FallbackValue }

// Schema implements openapi.SchemaProvider.
func (VariableFallback) Schema(*openapi.Registry) *openapi.Schema {
	return &openapi.Schema{Description: "null: none"}
}

// VariableFallbackInput is the fallback of a template's variable in a body.
type VariableFallbackInput struct{ rest.Change[VariableValue] }

// Schema implements openapi.SchemaProvider.
func (VariableFallbackInput) Schema(r *openapi.Registry) *openapi.Schema {
	return VariableFallback{}.Schema(r)
}

// VariableValues are values by key, of bounded number. Null means absent; an empty string is a value.
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
		var value rest.Change[VariableValue]
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
	return &openapi.Schema{Type: openapi.TypeObject, AdditionalProperties: VariableValue{}.Schema(r), MaxProperties: &most,
		Description: "A value for each variable of the template; variables with a fallback may be left out"}
}
