package web

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"reflect"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-json-experiment/json/jsontext"

	"mailer/app"
	"mailer/app/mail"
	"mailer/web/rest"
)

// How a batch treats an invalid item (header x-batch-validation).
const (
	validateStrict     = "strict"
	validatePermissive = "permissive"
)

type (
	batchInput struct {
		OnceHeader
		Validation string `header:"x-batch-validation" doc:"strict (default): one invalid item refuses the batch; permissive: it is listed in errors and the others are sent"`

		permissive bool
	}
	batchAnswer struct {
		Data   []createdEmail   `json:"data" doc:"What was accepted, in the order of the request"`
		Errors []app.BatchError `json:"errors" doc:"What was not, in permissive batches"`
	}
	batchOutput struct{ Body batchAnswer }
)

// Check implements Checker.
func (in *batchInput) Check() (err error) {
	in.permissive, err = readValidation(in.Validation)
	return err
}

// sendBatchRequest is the body of POST /emails/batch.
type sendBatchRequest struct{ items []batchItem[sendEmailRequest] }

// DecodeBody implements BodyDecoder.
func (r *sendBatchRequest) DecodeBody(body []byte) (err error) {
	r.items, err = decodeBatch[sendEmailRequest](body, app.MaxBatch, "emails")
	return err
}

// Schema implements huma.SchemaProvider.
func (sendBatchRequest) Schema(r huma.Registry) *huma.Schema {
	return batchSchema[sendEmailRequest](r, app.MaxBatch)
}

func (r emailRoutes) addBatches(h *rest.Handler) {
	rest.RegisterBody(h, rest.Route{Sending: true, Passing: true}, huma.Operation{
		OperationID: "send-batch", Method: http.MethodPost, Path: "/emails/batch",
		Summary: fmt.Sprintf("Send 1 to %d emails", app.MaxBatch), Tags: emailTags,
		Errors: []int{http.StatusNotFound, http.StatusConflict},
	}, r.sendBatch)
}

func (r emailRoutes) sendBatch(ctx context.Context, key *app.Key, in *batchInput, request *sendBatchRequest) (*batchOutput, error) {
	items := make([]mail.BatchItem, len(request.items))
	for i := range request.items {
		item := &request.items[i]
		if items[i].Err = item.err; item.err == nil {
			items[i].Input = item.value.input()
		}
	}
	opts, err := in.batchOptions(request, items)
	if err != nil {
		return nil, err
	}
	result, err := r.service.SendBatch(ctx, key, items, in.permissive, opts)
	if err != nil {
		return nil, err
	}
	out := batchAnswer{Data: make([]createdEmail, len(result.IDs)), Errors: result.Errors}
	for i, id := range result.IDs {
		out.Data[i] = createdEmail{id}
	}
	return &batchOutput{out}, nil
}

// batchItem is an item of a batch: what it says, or why it could not be read.
type batchItem[T any] struct {
	raw   jsontext.Value
	value T
	err   error
}

// decodeBatch reads the array of a batch item by item. Errors: those of
// splitBatch; an item's own is kept with it.
func decodeBatch[T any](body []byte, limit int, what string) ([]batchItem[T], error) {
	values, err := splitBatch(body, limit, what)
	if err != nil {
		return nil, err
	}
	items := make([]batchItem[T], len(values))
	for i, value := range values {
		items[i].raw = value
		items[i].err = rest.DecodeBody(value, &items[i].value)
	}
	return items, nil
}

// batchSchema is that of an array of 1 to limit items.
func batchSchema[T any](r huma.Registry, limit int) *huma.Schema {
	least := 1
	schema := huma.SchemaFromType(r, reflect.TypeFor[[]T]())
	schema.MinItems, schema.MaxItems = &least, &limit
	return schema
}

// readValidation reads the header x-batch-validation. Errors: CodeValidation.
func readValidation(s string) (permissive bool, err error) {
	switch s {
	case "", validateStrict:
		return false, nil
	case validatePermissive:
		return true, nil
	}
	return false, app.Invalid("x-batch-validation", "must be strict or permissive")
}

// splitBatch cuts the array of a batch into its items, which are decoded one by
// one: in a permissive batch an item of a wrong shape must not refuse the
// others. It stops at one more than limit. what names the items in words.
func splitBatch(body []byte, limit int, what string) ([]jsontext.Value, error) {
	if len(body) == 0 {
		return nil, app.Errorf(app.CodeInvalidPayload, "The request needs a body of JSON")
	}
	d := jsontext.NewDecoder(bytes.NewBuffer(body)) // a Buffer is read in place
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

// batchOptions is what idempotency compares: the mode, each item in its canonical
// form, and one that could not be read as it came.
func (in *batchInput) batchOptions(request *sendBatchRequest, items []mail.BatchItem) (mail.SendOptions, error) {
	return in.digested(func(digest io.Writer) error {
		mode := in.Validation
		if mode == "" {
			mode = validateStrict
		}
		_, _ = io.WriteString(digest, mode) // a hash never fails
		for i, item := range items {
			_, _ = digest.Write([]byte{0})
			if item.Err != nil {
				_, _ = digest.Write(request.items[i].raw)
				continue
			}
			if err := canonical(digest, item.Input); err != nil {
				return err
			}
		}
		return nil
	})
}
