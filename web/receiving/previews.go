package receiving

import (
	"context"
	"net/http"

	"mailer/app"
	"mailer/web/rest"
	"mailer/web/rest/openapi"
	"mailer/web/shapes"
)

// previewRequest is the optional body of POST /emails/receiving/{id}/preview.
type previewRequest struct {
	Images bool `json:"images,omitempty" doc:"Load remote images: their servers learn that the page was opened"`
}

type receivedPreview struct {
	Object string `json:"object" enum:"received_preview"`
	ID     string `json:"id" format:"uuid"`
	shapes.MailFrame
}

type previewOutput struct{ Body receivedPreview }

// addPreview adds the route of a preview for a frame.
func (r Routes) addPreview(h *rest.Handler) {
	rest.RegisterBody(h, rest.Route{ReadOnly: true, Optional: true, Priority: true}, openapi.Operation{
		OperationID: "preview-received-email", Method: http.MethodPost, Path: "/emails/receiving/{id}/preview",
		Summary: "Create a temporary URL of a page that shows a received email, for use in a frame", Tags: tags,
		Errors: []int{http.StatusNotFound},
	}, r.preview)
}

// preview keeps the email with its inline images. If they are too large to be kept, they are left out; if the email
// is too large without them, there is no URL.
func (r Routes) preview(ctx context.Context, key *app.Key, in *emailPath, request *previewRequest) (*previewOutput, error) {
	ctx = rest.WithBudget(ctx)
	m, err := r.Service.Get(ctx, key, in.ID)
	if err != nil {
		return nil, err
	}
	content, err := r.Service.InlineImages(ctx, &m)
	if err != nil {
		return nil, err
	}
	p, err := r.EmailPreviews.KeepDraft(ctx, key, content, m.Text, nil, request.Images)
	if err == nil && p.Token == "" && content != m.HTML {
		p, err = r.EmailPreviews.KeepDraft(ctx, key, m.HTML, m.Text, nil, request.Images)
	}
	if err != nil {
		return nil, err
	}
	return &previewOutput{receivedPreview{Object: "received_preview", ID: in.ID, MailFrame: shapes.NewMailFrame(r.BaseURL, p)}}, nil
}
