package web

import (
	"strconv"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-json-experiment/json/jsontext"

	"mailer/app"
)

// propertyValue is a string or a number in a body.
type propertyValue app.PropertyValue

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (v *propertyValue) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	switch d.PeekKind() {
	case '"':
		token, err := d.ReadToken()
		if err != nil {
			return err
		}
		*v = propertyValue{Type: app.StringProperty, Text: token.String()}
		return nil
	case '0':
		token, err := d.ReadToken()
		if err != nil {
			return err
		}
		n, err := strconv.ParseFloat(token.String(), 64)
		if err != nil {
			return &shapeError{d.StackPointer(), "must be a number that a 64-bit float holds"}
		}
		*v = propertyValue{Type: app.NumberProperty, Number: n}
		return nil
	}
	return wrongShape(d, "a string or a number")
}

// plain gives the value alone, for answers.
func (v propertyValue) plain() any {
	if v.Type == app.NumberProperty {
		return v.Number
	}
	return v.Text
}

// Schema implements huma.SchemaProvider.
func (propertyValue) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{OneOf: []*huma.Schema{{Type: huma.TypeString}, {Type: huma.TypeNumber}}}
}
