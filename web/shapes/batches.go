package shapes

import (
	"bytes"
	"io"
	"reflect"

	"github.com/go-json-experiment/json/jsontext"

	"mailer/app"
	"mailer/web/rest"
	"mailer/web/rest/openapi"
)

// Values of the header x-batch-validation.
const (
	ValidateStrict     = "strict"
	ValidatePermissive = "permissive"
)

// BatchItem is an item of a batch, or the error of decoding it.
type BatchItem[T any] struct {
	Raw   jsontext.Value
	Value T
	Err   error
}

// DecodeBatch decodes the array of a batch. Errors: those of splitBatch; errors of an item are
// returned with it.
func DecodeBatch[T any](body []byte, limit int, what string) ([]BatchItem[T], error) {
	values, err := splitBatch(body, limit, what)
	if err != nil {
		return nil, err
	}
	items := make([]BatchItem[T], len(values))
	for i, value := range values {
		items[i].Raw = value
		items[i].Err = rest.DecodeBody(value, &items[i].Value)
	}
	return items, nil
}

// BatchSchema is the schema of an array of 1 to limit items.
func BatchSchema[T any](r *openapi.Registry, limit int) *openapi.Schema {
	least := 1
	schema := r.Inline(reflect.TypeFor[[]T]())
	schema.MinItems, schema.MaxItems = &least, &limit
	return schema
}

// ReadValidation parses the header x-batch-validation. Errors: CodeValidation.
func ReadValidation(s string) (permissive bool, err error) {
	switch s {
	case "", ValidateStrict:
		return false, nil
	case ValidatePermissive:
		return true, nil
	}
	return false, app.Invalid("x-batch-validation", "must be strict or permissive")
}

// splitBatch splits an array into its items. They are decoded separately: in a permissive batch an
// invalid item must not fail the others. It fails at more than limit items. what names the items in
// errors.
func splitBatch(body []byte, limit int, what string) ([]jsontext.Value, error) {
	if len(body) == 0 {
		return nil, app.Errorf(app.CodeInvalidPayload, "The request needs a body of JSON")
	}
	d := jsontext.NewDecoder(bytes.NewBuffer(body)) // the decoder reads a Buffer without a copy
	if d.PeekKind() != '[' {
		if _, err := d.ReadValue(); err != nil {
			return nil, rest.BodyError(err)
		}
		return nil, app.Invalid("body", "must be an array of %s", what)
	}
	if _, err := d.ReadToken(); err != nil {
		return nil, rest.BodyError(err)
	}
	var items []jsontext.Value
	for d.PeekKind() != ']' && len(items) <= limit {
		value, err := d.ReadValue()
		if err != nil {
			return nil, rest.BodyError(err)
		}
		end := int(d.InputOffset())
		items = append(items, body[end-len(value):end])
	}
	if len(items) > limit {
		return items, nil
	}
	if _, err := d.ReadToken(); err != nil {
		return nil, rest.BodyError(err)
	}
	if _, err := d.ReadToken(); err != io.EOF {
		return nil, app.Errorf(app.CodeInvalidPayload, "The request body has more than one JSON value")
	}
	return items, nil
}
