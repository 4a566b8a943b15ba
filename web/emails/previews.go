package emails

import (
	"context"
	"html"
	"io"
	"net/http"
	"strconv"

	"mailer/app"
	"mailer/app/sending/mail"
	"mailer/web/rest"
	"mailer/web/rest/openapi"
	"mailer/web/shapes"
)

// previewEmailRequest is the optional body of POST /emails/{id}/preview.
type previewEmailRequest struct {
	Images bool `json:"images,omitempty" doc:"Load remote images: their servers learn that the page was opened"`
}

type emailPreview struct {
	Object string `json:"object" enum:"email_preview"`
	ID     string `json:"id" format:"uuid"`
	shapes.MailFrame
}

type (
	emailPreviewOutput struct{ Body emailPreview }
	showPreviewInput   struct {
		Token string `path:"token"`
	}
)

// PreviewRoutes are the routes of previews.
type PreviewRoutes struct {
	Service *mail.Previews
	BaseURL string // of the server; preview URLs begin with it
}

// Add adds the routes to a handler.
func (r PreviewRoutes) Add(h *rest.Handler) {
	rest.RegisterBody(h, rest.Route{ReadOnly: true, Optional: true}, openapi.Operation{
		OperationID: "preview-email", Method: http.MethodPost, Path: "/emails/{id}/preview",
		Summary: "Create a temporary URL of a page that shows an email, for use in a frame", Tags: shapes.EmailTags,
		Errors: []int{http.StatusNotFound},
	}, r.previewEmail)
	page := map[string]*openapi.MediaType{"text/html": {Schema: &openapi.Schema{Type: openapi.TypeString}}}
	responses := map[string]*openapi.Response{}
	for _, status := range []int{http.StatusOK, http.StatusForbidden, http.StatusNotFound, http.StatusInternalServerError, http.StatusServiceUnavailable} {
		responses[strconv.Itoa(status)] = &openapi.Response{Description: http.StatusText(status), Content: page}
	}
	rest.RegisterRaw(h, rest.Route{Public: true, Refuse: refusePreview}, openapi.Operation{
		OperationID: "show-preview", Method: http.MethodGet, Path: "/previews/{token}",
		Summary: "Show what a mail says, by the signed address of a preview", Tags: shapes.EmailTags, Responses: responses,
	}, func(ctx context.Context, x *rest.Exchange, in *showPreviewInput) (*rest.SelfWritten, error) {
		var shown *mail.PreviewContent
		var err error
		if rest.Framed(x.RequestHeader) {
			shown, err = r.Service.ShowPreview(ctx, in.Token)
		} else {
			err = app.Errorf(app.CodeForbidden, "This address shows a mail in a frame of the dashboard only")
		}
		if err != nil {
			return &rest.SelfWritten{Body: func() { refusePreview(x, h.ErrorFor(x, err)) }}, nil
		}
		return &rest.SelfWritten{Body: func() { showPreview(x, shown) }}, nil
	})
}

func (r PreviewRoutes) previewEmail(ctx context.Context, key *app.Key, in *shapes.EmailPath, request *previewEmailRequest) (*emailPreviewOutput, error) {
	p, err := r.Service.PreviewEmail(rest.WithBudget(ctx), key, in.ID, request.Images)
	if err != nil {
		return nil, err
	}
	return &emailPreviewOutput{emailPreview{Object: "email_preview", ID: in.ID, MailFrame: shapes.NewMailFrame(r.BaseURL, p)}}, nil
}

func showPreview(x *rest.Exchange, shown *mail.PreviewContent) {
	if shown.HTML == "" {
		writePreview(x, http.StatusOK, "text/plain; charset=utf-8", shown.Text, false)
		return
	}
	writePreview(x, http.StatusOK, "text/html; charset=utf-8", shown.HTML, shown.Images)
}

// writePreview answers with content of a caller or of a foreign sender. The policy sandboxes it: no
// scripts, no forms, no requests but images if wanted, and only own pages may frame it.
func writePreview(x *rest.Exchange, status int, kind, body string, images bool) {
	head, pictures := x.Header(), "data:"
	if images {
		pictures = "data: https: http:"
	}
	head.Set("Content-Type", kind)
	head.Set("Content-Length", strconv.Itoa(len(body)))
	head.Set("Content-Security-Policy", "sandbox; default-src 'none'; img-src "+pictures+"; style-src 'unsafe-inline'; frame-ancestors 'self'")
	head.Set("Cross-Origin-Resource-Policy", "same-origin")
	head.Set("Cache-Control", "no-store")
	head.Set("Referrer-Policy", "no-referrer")
	head.Set("X-DNS-Prefetch-Control", "off")
	head.Set("X-Robots-Tag", "noindex, nofollow")
	x.WriteHeader(status)
	_, _ = io.WriteString(x, body) // an error means that the connection is closed
}

// refusePreview shows an error in a frame.
func refusePreview(x *rest.Exchange, e *rest.Error) {
	writePreview(x, e.StatusCode, "text/html; charset=utf-8", "<!doctype html><meta charset=utf-8><p>"+html.EscapeString(e.Message)+"</p>\n", false)
}
