package emails

import (
	"context"
	"fmt"
	"io"
	"net/http"

	"mailer/app"
	"mailer/app/sending/mail"
	"mailer/web/rest"
	"mailer/web/rest/openapi"
	"mailer/web/shapes"
)

type (
	batchInput struct {
		shapes.IdempotencyHeader
		Validation string `header:"x-batch-validation" doc:"strict (default): one invalid item refuses the batch; permissive: it is listed in errors and the others are sent"`

		permissive bool
	}
	batchAnswer struct {
		Data   []shapes.CreatedEmail `json:"data" doc:"What was accepted, in the order of the request"`
		Errors []app.BatchError      `json:"errors" doc:"What was not, in permissive batches"`
	}
	batchOutput struct{ Body batchAnswer }
)

// Check implements Checker.
func (in *batchInput) Check() (err error) {
	in.permissive, err = shapes.ReadValidation(in.Validation)
	return err
}

// sendBatchRequest is the body of POST /emails/batch.
type sendBatchRequest struct {
	items []shapes.BatchItem[SendEmailRequest]
}

// DecodeBody implements BodyDecoder.
func (r *sendBatchRequest) DecodeBody(body []byte) (err error) {
	r.items, err = shapes.DecodeBatch[SendEmailRequest](body, app.MaxBatch, "emails")
	return err
}

// Schema implements openapi.SchemaProvider.
func (sendBatchRequest) Schema(r *openapi.Registry) *openapi.Schema {
	return shapes.BatchSchema[SendEmailRequest](r, app.MaxBatch)
}

func (r Routes) addBatches(h *rest.Handler) {
	rest.RegisterBody(h, rest.Route{Sending: true, ReusesBuffer: true}, openapi.Operation{
		OperationID: "send-batch", Method: http.MethodPost, Path: "/emails/batch",
		Summary: fmt.Sprintf("Send 1 to %d emails", app.MaxBatch), Tags: shapes.EmailTags,
		Errors: []int{http.StatusNotFound, http.StatusConflict},
	}, r.sendBatch)
}

func (r Routes) sendBatch(ctx context.Context, key *app.Key, in *batchInput, request *sendBatchRequest) (*batchOutput, error) {
	items := make([]mail.BatchItem, len(request.items))
	for i := range request.items {
		item := &request.items[i]
		if items[i].Err = item.Err; item.Err == nil {
			items[i].Input = item.Value.Input()
		}
	}
	opts, err := in.batchOptions(request, items)
	if err != nil {
		return nil, err
	}
	result, err := r.Service.SendBatch(ctx, key, items, in.permissive, opts)
	if err != nil {
		rest.RecordRefusedEmail(ctx, err)
		return nil, err
	}
	out := batchAnswer{Data: make([]shapes.CreatedEmail, len(result.IDs)), Errors: result.Errors}
	for i, id := range result.IDs {
		out.Data[i] = shapes.CreatedEmail{ID: id}
	}
	return &batchOutput{out}, nil
}

// batchOptions returns the digest that idempotency compares: the mode and the canonical form of
// each item, or the item as sent if it could not be decoded.
func (in *batchInput) batchOptions(request *sendBatchRequest, items []mail.BatchItem) (mail.SendOptions, error) {
	return in.Digested(func(digest io.Writer) error {
		mode := in.Validation
		if mode == "" {
			mode = shapes.ValidateStrict
		}
		_, _ = io.WriteString(digest, mode) // a hash never fails
		for i, item := range items {
			_, _ = digest.Write([]byte{0})
			if item.Err != nil {
				_, _ = digest.Write(request.items[i].Raw)
				continue
			}
			if err := shapes.Canonical(digest, item.Input); err != nil {
				return err
			}
		}
		return nil
	})
}
