package web

import (
	"bytes"
	"context"
	"crypto/sha256"
	"io"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-json-experiment/json/jsontext"

	"mailer/app"
	"mailer/app/engine"
)

// How a batch treats an invalid item (header x-batch-validation).
const (
	validateStrict     = "strict"
	validatePermissive = "permissive"
)

type (
	batchInput struct {
		IdempotencyKey string `header:"Idempotency-Key" doc:"1 to 256 characters. The same key with the same body gives the first answer again and sends nothing"`
		Validation     string `header:"x-batch-validation" doc:"strict (default): one invalid item refuses the batch; permissive: it is listed in errors and the others are sent"`
	}
	batchAnswer struct {
		Data   []createdEmail      `json:"data" doc:"What was accepted, in the order of the request"`
		Errors []engine.BatchError `json:"errors" doc:"What was not, in permissive batches"`
	}
	batchOutput struct{ Body batchAnswer }
)

func (h *Handler) registerBatches() {
	register(h, route{sending: true, body: true, passing: true}, huma.Operation{
		OperationID: "send-batch", Method: http.MethodPost, Path: "/emails/batch",
		Summary: "Send 1 to 100 emails", Tags: emailTags,
		Errors: []int{http.StatusNotFound, http.StatusConflict},
	}, h.sendBatch)
	documentBody[[]sendEmailRequest](h, http.MethodPost, "/emails/batch")
	least, most := 1, app.MaxBatch
	schema := h.api.OpenAPI().Paths["/emails/batch"].Post.RequestBody.Content["application/json"].Schema
	schema.MinItems, schema.MaxItems = &least, &most
}

func (h *Handler) sendBatch(ctx context.Context, in *batchInput) (*batchOutput, error) {
	x := exchangeOf(ctx)
	permissive, err := readValidation(in.Validation)
	if err != nil {
		return nil, err
	}
	values, err := splitBatch(x.body, app.MaxBatch, "emails")
	if err != nil {
		return nil, err
	}
	items := make([]engine.BatchItem, len(values))
	for i, value := range values {
		var request sendEmailRequest
		if items[i].Err = decodeBody(value, &request); items[i].Err == nil {
			items[i].Input = request.input()
		}
	}
	opts, err := batchOptions(x.header, in, values, items)
	if err != nil {
		return nil, err
	}
	result, err := h.service.SendBatch(ctx, x.key, items, permissive, opts)
	if err != nil {
		return nil, err
	}
	out := batchAnswer{Data: make([]createdEmail, len(result.IDs)), Errors: result.Errors}
	for i, id := range result.IDs {
		out.Data[i] = createdEmail{id}
	}
	return &batchOutput{out}, nil
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
			return nil, bodyError(err)
		}
		return nil, app.Invalid("body", "must be an array of %s", what)
	}
	if _, err := d.ReadToken(); err != nil {
		return nil, bodyError(err)
	}
	var items []jsontext.Value
	for d.PeekKind() != ']' && len(items) <= limit {
		value, err := d.ReadValue()
		if err != nil {
			return nil, bodyError(err)
		}
		end := int(d.InputOffset())
		items = append(items, body[end-len(value):end])
	}
	if len(items) > limit {
		return items, nil
	}
	if _, err := d.ReadToken(); err != nil {
		return nil, bodyError(err)
	}
	if _, err := d.ReadToken(); err != io.EOF {
		return nil, app.Errorf(app.CodeInvalidPayload, "The request body has more than one JSON value")
	}
	return items, nil
}

// batchOptions adds what idempotency compares: the mode, each item in its
// canonical form, and one that could not be read as it came.
func batchOptions(header http.Header, in *batchInput, values []jsontext.Value, items []engine.BatchItem) (engine.SendOptions, error) {
	if given, err := keyGiven(header, in.IdempotencyKey); err != nil || !given {
		return engine.SendOptions{}, err
	}
	digest := sha256.New()
	mode := in.Validation
	if mode == "" {
		mode = validateStrict
	}
	_, _ = io.WriteString(digest, mode) // a hash never fails
	for i, item := range items {
		_, _ = digest.Write([]byte{0})
		if item.Err != nil {
			_, _ = digest.Write(values[i])
			continue
		}
		if err := canonical(digest, item.Input); err != nil {
			return engine.SendOptions{}, err
		}
	}
	return engine.SendOptions{IdempotencyKey: in.IdempotencyKey, Payload: digest.Sum(nil)}, nil
}
