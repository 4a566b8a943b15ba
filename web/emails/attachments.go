package emails

import (
	"context"
	"net/http"
	"strconv"

	"mailer/app"
	"mailer/app/kit/membudget"
	"mailer/app/sending/mail"
	"mailer/web/rest"
	"mailer/web/rest/openapi"
	"mailer/web/shapes"
)

// AttachmentItem is an attachment with a download URL.
type AttachmentItem struct {
	shapes.AttachmentMeta
	DownloadURL string `json:"download_url" format:"uri" doc:"Needs no key; anyone with it can read the file until it expires"`
	ExpiresAt   string `json:"expires_at" format:"date-time"`
}

type attachmentRecord struct {
	Object string `json:"object" enum:"attachment"`
	AttachmentItem
}

// attachmentPath names an email and one of its attachments.
type attachmentPath struct {
	shapes.EmailPath
	AttachmentID string `path:"attachment_id" format:"uuid"`
}

// Check implements Checker.
func (p *attachmentPath) Check() error { return rest.CheckID("attachment", &p.AttachmentID) }

type (
	attachmentOutput struct{ Body attachmentRecord }
	downloadInput    struct {
		Token string `path:"token"`
	}
	downloadOutput struct {
		ContentType        string `header:"Content-Type" hidden:"true"`
		ContentLength      string `header:"Content-Length" hidden:"true"`
		ContentDisposition string `header:"Content-Disposition"`
		ContentSecurity    string `header:"Content-Security-Policy"`
		ResourcePolicy     string `header:"Cross-Origin-Resource-Policy"`
		CacheControl       string `header:"Cache-Control"`
		Body               func()
	}
)

// AttachmentRoutes are the routes of attachments.
type AttachmentRoutes struct {
	Service *mail.Service
	BaseURL string // of the server; download URLs begin with it
}

// Add adds the routes to a handler.
func (r AttachmentRoutes) Add(h *rest.Handler) {
	rest.Register(h, rest.Route{}, openapi.Operation{
		OperationID: "list-attachments", Method: http.MethodGet, Path: "/emails/{id}/attachments",
		Summary: "List the attachments of an email", Tags: shapes.EmailTags,
		Errors: []int{http.StatusNotFound, http.StatusUnprocessableEntity},
	}, r.listAttachments)
	rest.Register(h, rest.Route{}, openapi.Operation{
		OperationID: "get-attachment", Method: http.MethodGet, Path: "/emails/{id}/attachments/{attachment_id}",
		Summary: "Get the metadata and the download URL of an attachment", Tags: shapes.EmailTags,
		Errors: []int{http.StatusNotFound},
	}, r.getAttachment)
	r.addDownload(h, http.MethodGet, "download-attachment", "Download an attachment by its signed address", map[string]*openapi.MediaType{
		"*/*": {Schema: openapi.Binary()}, // the type of the attachment
	})
	r.addDownload(h, http.MethodHead, "head-attachment", "Check the signed address of an attachment", nil)
}

// addDownload adds GET, or HEAD, which reads no content.
func (r AttachmentRoutes) addDownload(h *rest.Handler, method, id, summary string, content map[string]*openapi.MediaType) {
	rest.RegisterRaw(h, rest.Route{Public: true}, openapi.Operation{
		OperationID: id, Method: method, Path: "/attachments/{token}",
		Summary: summary, Tags: shapes.EmailTags,
		Errors:    []int{http.StatusForbidden, http.StatusNotFound, http.StatusServiceUnavailable},
		Responses: map[string]*openapi.Response{"200": {Description: "The file", Content: content}},
	}, func(ctx context.Context, x *rest.Exchange, in *downloadInput) (*downloadOutput, error) {
		if shapes.ReadByScript(x.RequestHeader) {
			return nil, app.Errorf(app.CodeForbidden, "A browser downloads a file by opening its address; scripts of pages can't read it")
		}
		d, err := r.Service.OpenAttachment(ctx, in.Token)
		if err != nil {
			return nil, err
		}
		if method == http.MethodHead {
			return newDownload(d, func() { x.WriteHeader(http.StatusOK) }), nil
		}
		return r.download(ctx, h, x, d)
	})
}

func (r AttachmentRoutes) listAttachments(ctx context.Context, key *app.Key, in *emailPageInput) (*rest.ListOutput[AttachmentItem], error) {
	page, err := in.Page()
	if err != nil {
		return nil, err
	}
	rows, more, err := r.Service.ListAttachments(ctx, key, in.ID, page)
	if err != nil {
		return nil, err
	}
	return rest.NewList(rows, more, func(a *app.Attachment) AttachmentItem {
		return r.newAttachmentItem(key, in.ID, a)
	}), nil
}

func (r AttachmentRoutes) getAttachment(ctx context.Context, key *app.Key, in *attachmentPath) (*attachmentOutput, error) {
	a, err := r.Service.GetAttachment(ctx, key, in.ID, in.AttachmentID)
	if err != nil {
		return nil, err
	}
	return &attachmentOutput{attachmentRecord{"attachment", r.newAttachmentItem(key, in.ID, a)}}, nil
}

// download sends an attachment in pieces, each read after the client has received the one before.
// If the attachment is deleted meanwhile the connection is closed, since the length was announced.
func (r AttachmentRoutes) download(ctx context.Context, h *rest.Handler, x *rest.Exchange, d *mail.Download) (*downloadOutput, error) {
	if d.Size > membudget.FreeBytes {
		const copies = 2 // one from the database, one being sent
		if err := x.ReserveFor(ctx, d.ID, copies*min(d.Size, mail.AttachmentPiece)); err != nil {
			return nil, err
		}
	}
	piece, err := d.Next(ctx)
	if err != nil {
		return nil, err
	}
	return newDownload(d, func() {
		x.WriteHeader(http.StatusOK)
		for len(piece) > 0 {
			if _, err = x.Write(piece); err != nil {
				return // the client left or was disconnected
			}
			if piece, err = d.Next(ctx); err != nil {
				h.ErrorFor(x, err) // logs it
				panic(http.ErrAbortHandler)
			}
		}
	}), nil
}

// newDownload answers with bytes that a caller chose, for anybody who has the URL. Browsers must
// never take them for a page of this server.
func newDownload(d *mail.Download, body func()) *downloadOutput {
	return &downloadOutput{
		ContentType:        shapes.MediaType(d.ContentType),
		ContentLength:      strconv.FormatInt(d.Size, 10),
		ContentDisposition: shapes.Disposition(d.Filename),
		ContentSecurity:    shapes.FilePolicy,
		ResourcePolicy:     "same-origin",
		CacheControl:       "private, no-store",
		Body:               body,
	}
}

func (r AttachmentRoutes) newAttachmentItem(key *app.Key, emailID string, a *app.Attachment) AttachmentItem {
	token, expires := r.Service.AttachmentToken(key, emailID, a.ID)
	return AttachmentItem{
		AttachmentMeta: shapes.NewAttachmentMeta(a),
		DownloadURL:    r.BaseURL + "/attachments/" + token,
		ExpiresAt:      app.FormatTime(expires),
	}
}
