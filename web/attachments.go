package web

import (
	"context"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"mailer/app"
	"mailer/web/rest"
)

// AttachmentMeta is an attachment without its content.
type AttachmentMeta struct {
	ID                 string `json:"id" format:"uuid"`
	Filename           string `json:"filename"`
	Size               int64  `json:"size" doc:"In bytes"`
	ContentType        string `json:"content_type"`
	ContentDisposition string `json:"content_disposition" enum:"attachment,inline"`
	ContentID          string `json:"content_id,omitempty" doc:"Where the HTML shows the file: as cid: and this"`
}

// AttachmentItem is an attachment with an address to download it from.
type AttachmentItem struct {
	AttachmentMeta
	DownloadURL string `json:"download_url" format:"uri" doc:"Needs no key; whoever has it can read the file until it expires"`
	ExpiresAt   string `json:"expires_at" format:"date-time"`
}

type attachmentRecord struct {
	Object string `json:"object" enum:"attachment"`
	AttachmentItem
}

// attachmentPath names an email and an attachment of it.
type attachmentPath struct {
	EmailPath
	AttachmentID string `path:"attachment_id" format:"uuid"`
}

// Check implements Checker.
func (p *attachmentPath) Check() error {
	if err := p.EmailPath.Check(); err != nil {
		return err
	}
	return rest.CheckID("attachment", &p.AttachmentID)
}

type (
	attachmentOutput struct{ Body attachmentRecord }
	downloadInput    struct {
		Token string `path:"token"`
	}
	downloadOutput struct {
		ContentType        string `header:"Content-Type" hidden:"true"`
		ContentDisposition string `header:"Content-Disposition"`
		ContentSecurity    string `header:"Content-Security-Policy"`
		CacheControl       string `header:"Cache-Control"`
		Body               []byte
	}
)

// attachmentService is what the routes of attachments need of the services.
type attachmentService interface {
	ListAttachments(ctx context.Context, key *app.Key, emailID string, page app.Page) ([]app.Attachment, bool, error)
	GetAttachment(ctx context.Context, key *app.Key, emailID, id string) (*app.Attachment, error)
	AttachmentToken(key *app.Key, emailID, id string) (token string, expires time.Time)
	OpenAttachment(ctx context.Context, token string) (*app.Attachment, error)
}

// attachmentRoutes are the routes of attachments.
type attachmentRoutes struct {
	service attachmentService
	baseURL string
}

func (r attachmentRoutes) add(h *rest.Handler) {
	rest.Register(h, rest.Route{}, huma.Operation{
		OperationID: "list-attachments", Method: http.MethodGet, Path: "/emails/{id}/attachments",
		Summary: "List the attachments of an email", Tags: emailTags,
		Errors: []int{http.StatusNotFound, http.StatusUnprocessableEntity},
	}, r.listAttachments)
	rest.Register(h, rest.Route{}, huma.Operation{
		OperationID: "get-attachment", Method: http.MethodGet, Path: "/emails/{id}/attachments/{attachment_id}",
		Summary: "Get an attachment's metadata and download address", Tags: emailTags,
		Errors: []int{http.StatusNotFound},
	}, r.getAttachment)
	rest.RegisterPublic(h, rest.Route{}, huma.Operation{
		OperationID: "download-attachment", Method: http.MethodGet, Path: "/attachments/{token}",
		Summary: "Download an attachment by its signed address", Tags: emailTags,
		Errors: []int{http.StatusNotFound},
		Responses: map[string]*huma.Response{"200": {
			Description: "The file",
			Content: map[string]*huma.MediaType{
				"*/*": {Schema: &huma.Schema{Type: huma.TypeString, Format: "binary"}}, // the type of the attachment
			},
		}},
	}, r.download)
}

func (r attachmentRoutes) listAttachments(ctx context.Context, key *app.Key, in *emailPageInput) (*rest.ListOutput[AttachmentItem], error) {
	page, err := in.Page()
	if err != nil {
		return nil, err
	}
	rows, more, err := r.service.ListAttachments(ctx, key, in.ID, page)
	if err != nil {
		return nil, err
	}
	return rest.NewList(rows, more, func(a *app.Attachment) AttachmentItem {
		return r.newAttachmentItem(key, in.ID, a)
	}), nil
}

func (r attachmentRoutes) getAttachment(ctx context.Context, key *app.Key, in *attachmentPath) (*attachmentOutput, error) {
	a, err := r.service.GetAttachment(ctx, key, in.ID, in.AttachmentID)
	if err != nil {
		return nil, err
	}
	return &attachmentOutput{attachmentRecord{"attachment", r.newAttachmentItem(key, in.ID, a)}}, nil
}

// download serves bytes that some caller chose to whoever holds the address. A
// browser must never take them for a page of this server.
func (r attachmentRoutes) download(ctx context.Context, in *downloadInput) (*downloadOutput, error) {
	a, err := r.service.OpenAttachment(ctx, in.Token)
	if err != nil {
		return nil, err
	}
	return &downloadOutput{
		ContentType:        mediaType(a.ContentType),
		ContentDisposition: disposition(a.Filename),
		ContentSecurity:    "default-src 'none'; sandbox",
		CacheControl:       "private, no-store",
		Body:               a.Content,
	}, nil
}

func newAttachmentMeta(a *app.Attachment) AttachmentMeta {
	meta := AttachmentMeta{
		ID: a.ID, Filename: a.Filename, Size: a.Size,
		ContentType: a.ContentType, ContentDisposition: "attachment", ContentID: a.ContentID,
	}
	if a.Inline() {
		meta.ContentDisposition = "inline"
	}
	return meta
}

func (r attachmentRoutes) newAttachmentItem(key *app.Key, emailID string, a *app.Attachment) AttachmentItem {
	token, expires := r.service.AttachmentToken(key, emailID, a.ID)
	return AttachmentItem{
		AttachmentMeta: newAttachmentMeta(a),
		DownloadURL:    r.baseURL + "/attachments/" + token,
		ExpiresAt:      app.FormatTime(expires),
	}
}

func mediaType(s string) string {
	t, params, err := mime.ParseMediaType(s)
	if err != nil || !strings.Contains(t, "/") {
		return "application/octet-stream"
	}
	if out := mime.FormatMediaType(t, params); out != "" {
		return out
	}
	return "application/octet-stream"
}

// disposition names the file (RFC 6266); without a usable name the browser
// makes one up.
func disposition(filename string) string {
	if s := mime.FormatMediaType("attachment", map[string]string{"filename": filename}); s != "" {
		return s
	}
	return "attachment"
}
