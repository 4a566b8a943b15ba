package receiving

import (
	"context"
	"net/http"
	"strings"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/sending/mail"
	"mailer/app/sending/receiving"
	"mailer/web/rest"
	"mailer/web/rest/openapi"
	"mailer/web/shapes"
)

// ReceivedItem is a received email in a list.
type ReceivedItem struct {
	ID          string         `json:"id" format:"uuid"`
	To          []string       `json:"to" doc:"Addresses of the To field, with their names"`
	From        string         `json:"from" doc:"The From field. Anybody can write anything into it: see auth"`
	CreatedAt   string         `json:"created_at" format:"date-time"`
	Subject     string         `json:"subject"`
	Bcc         []string       `json:"bcc"`
	Cc          []string       `json:"cc"`
	ReplyTo     []string       `json:"reply_to"`
	ReceivedFor []string       `json:"received_for" doc:"The addresses of this team to which it was delivered, whatever its fields say"`
	MessageID   string         `json:"message_id" doc:"With angle brackets; empty: the message has none"`
	Attachments []receivedFile `json:"attachments"`

	Auth             app.ReceivedAuth  `json:"auth" doc:"How far the sender of the email was authenticated"`
	InReplyToEmailID *string           `json:"in_reply_to_email_id" format:"uuid" doc:"The email of this team that it answers, or claims to answer unless reply_proven; null: none"`
	ReplyProven      bool              `json:"reply_proven" doc:"A recipient of that email wrote it, and DMARC or a DKIM signature of its domain passes"`
	ContactID        *string           `json:"contact_id" format:"uuid" doc:"The contact with the address of the From field; null: none"`
	Spam             *app.ReceivedSpam `json:"spam,omitempty" doc:"What a spam filter says; absent: none was asked"`
	AutoSubmitted    *string           `json:"auto_submitted" enum:"auto-replied,auto-generated,bulk,bounce" doc:"How a program made it, like an out-of-office reply; null: a person wrote it"`
	Size             int64             `json:"size" doc:"Of the message, in bytes"`
	Effects          []routeEffect     `json:"effects" doc:"What routes did with it, besides storing and announcing"`
}

// routeEffect is what a route did with a received email.
type routeEffect struct {
	Type    app.RouteActionType `json:"type" enum:"forward,reply_with"`
	RouteID string              `json:"route_id" format:"uuid" doc:"The route may be gone"`
	To      *string             `json:"to" doc:"Of forward: the address; null: of another type, or deleted"`
	Status  app.EffectStatus    `json:"status" enum:"waiting,accepted,skipped" doc:"waiting: the new email is being made. skipped: there is none"`
	EmailID *string             `json:"email_id" format:"uuid" doc:"The new email; null: none"`
	Reason  *string             `json:"reason" doc:"Why it was skipped"`
}

// receivedFile is an attachment in a received email.
type receivedFile struct {
	ID                 string  `json:"id" format:"uuid"`
	Filename           *string `json:"filename"`
	Size               int64   `json:"size" doc:"In bytes"`
	ContentType        string  `json:"content_type"`
	ContentID          *string `json:"content_id" doc:"Where the HTML shows the file: as cid: and this"`
	ContentDisposition string  `json:"content_disposition" enum:"attachment,inline"`
}

// receivedEmail is one received email.
type receivedEmail struct {
	Object string `json:"object" enum:"email"`
	ReceivedItem
	HTML       *string           `json:"html" doc:"As the sender wrote it: show it in a sandbox only"`
	HTMLFormat string            `json:"html_format" enum:"data_uri,cid" doc:"How html shows inline images"`
	Text       *string           `json:"text"`
	ReplyText  *string           `json:"reply_text" doc:"The text without quotes and signature"`
	Headers    map[string]string `json:"headers" doc:"By name in lower case. Values of fields with the same name have a line break between them"`
	Raw        receivedRaw       `json:"raw"`
}

// receivedRaw is the URL of the message as it was transferred.
type receivedRaw struct {
	DownloadURL string `json:"download_url" format:"uri" doc:"Needs no key; anyone with it can read the message until it expires"`
	ExpiresAt   string `json:"expires_at" format:"date-time"`
}

// receivedAttachment is an attachment with the URL of its content.
type receivedAttachment struct {
	shapes.AttachmentMeta
	DownloadURL string `json:"download_url" format:"uri" doc:"Needs no key; anyone with it can read the file until it expires"`
	ExpiresAt   string `json:"expires_at" format:"date-time"`
}

type receivedFileRecord struct {
	Object string `json:"object" enum:"attachment"`
	receivedAttachment
}

// emailPath is the path parameter of everything below a received email.
type emailPath struct {
	ID string `path:"id" format:"uuid" doc:"The id of the received email"`
}

// Resource implements rest.ResourcePath.
func (p *emailPath) Resource() (kind string, id *string) { return "email", &p.ID }

type attachmentPath struct {
	emailPath
	AttachmentID string `path:"attachment_id" format:"uuid"`
}

// Check implements rest.Checker.
func (p *attachmentPath) Check() error { return rest.CheckID("attachment", &p.AttachmentID) }

type (
	listInput struct{ rest.PageParams }
	getInput  struct {
		emailPath
		HTMLFormat string `query:"html_format" enum:"data_uri,cid" doc:"How html shows inline images: as data: URLs, which is the default, or as the cid: URLs of the message. Very large images, and those of a message with very many, stay cid: URLs"`
	}
	filesInput struct {
		emailPath
		rest.PageParams
	}
	emailOutput      struct{ Body receivedEmail }
	attachmentOutput struct{ Body receivedFileRecord }
)

// The values of html_format.
const (
	formatDataURI = "data_uri"
	formatCID     = "cid"
)

var tags = []string{"Received emails"}

// Routes are the routes of received email.
type Routes struct {
	Service *receiving.Service
	// FilesBase returns the URL, without a path, with which download URLs begin.
	FilesBase     func() string
	EmailPreviews *mail.Previews
	BaseURL       string // of the server; preview URLs begin with it
}

// Add adds the routes to a handler.
func (r Routes) Add(h *rest.Handler) {
	rest.Register(h, rest.Route{}, openapi.Operation{
		OperationID: "list-received-emails", Method: http.MethodGet, Path: "/emails/receiving",
		Summary: "List received emails, newest first", Tags: tags,
		Errors: []int{http.StatusUnprocessableEntity},
	}, r.list)
	rest.Register(h, rest.Route{Priority: true}, openapi.Operation{
		OperationID: "get-received-email", Method: http.MethodGet, Path: "/emails/receiving/{id}",
		Summary: "Get a received email with its content, and a URL of the whole message", Tags: tags,
		Errors: []int{http.StatusNotFound, http.StatusUnprocessableEntity},
	}, r.get)
	rest.Register(h, rest.Route{Priority: true}, openapi.Operation{
		OperationID: "list-received-attachments", Method: http.MethodGet, Path: "/emails/receiving/{id}/attachments",
		Summary: "List the attachments of a received email, in the order of the message", Tags: tags,
		Errors: []int{http.StatusNotFound, http.StatusUnprocessableEntity},
	}, r.listAttachments)
	rest.Register(h, rest.Route{Priority: true}, openapi.Operation{
		OperationID: "get-received-attachment", Method: http.MethodGet, Path: "/emails/receiving/{id}/attachments/{attachment_id}",
		Summary: "Get the metadata and the download URL of an attachment of a received email", Tags: tags,
		Errors: []int{http.StatusNotFound},
	}, r.getAttachment)
	r.addPreview(h)
	r.addDownloads(h)
}

func (r Routes) list(ctx context.Context, key *app.Key, in *listInput) (*rest.ListOutput[ReceivedItem], error) {
	page, err := in.Page()
	if err != nil {
		return nil, err
	}
	rows, more, err := r.Service.List(ctx, key, page)
	if err != nil {
		return nil, err
	}
	return rest.NewList(rows, more, newItem), nil
}

func (r Routes) get(ctx context.Context, key *app.Key, in *getInput) (*emailOutput, error) {
	format := in.HTMLFormat
	switch format {
	case "":
		format = formatDataURI
	case formatDataURI, formatCID:
	default:
		return nil, app.Invalid("html_format", "must be data_uri or cid")
	}
	m, err := r.Service.Get(ctx, key, in.ID)
	if err != nil {
		return nil, err
	}
	if format == formatDataURI {
		if m.HTML, err = r.Service.InlineImages(ctx, &m); err != nil {
			return nil, err
		}
	}
	out := receivedEmail{Object: "email", ReceivedItem: newItem(&m), HTML: base.TextOrNull(m.HTML), HTMLFormat: format, Text: base.TextOrNull(m.Text),
		ReplyText: base.TextOrNull(m.ReplyText), Headers: headersOf(m.Headers)}
	out.Raw.DownloadURL, out.Raw.ExpiresAt = r.download(key, m.ID, "")
	return &emailOutput{out}, nil
}

func (r Routes) listAttachments(ctx context.Context, key *app.Key, in *filesInput) (*rest.ListOutput[receivedAttachment], error) {
	page, err := in.Page()
	if err != nil {
		return nil, err
	}
	files, more, err := r.Service.Files(ctx, key, in.ID, page)
	if err != nil {
		return nil, err
	}
	return rest.NewList(files, more, func(f *app.ReceivedFile) receivedAttachment { return r.newAttachment(key, in.ID, f) }), nil
}

func (r Routes) getAttachment(ctx context.Context, key *app.Key, in *attachmentPath) (*attachmentOutput, error) {
	f, err := r.Service.File(ctx, key, in.ID, in.AttachmentID)
	if err != nil {
		return nil, err
	}
	return &attachmentOutput{receivedFileRecord{"attachment", r.newAttachment(key, in.ID, &f)}}, nil
}

func (r Routes) newAttachment(key *app.Key, id string, f *app.ReceivedFile) receivedAttachment {
	out := receivedAttachment{AttachmentMeta: shapes.AttachmentMeta{ID: f.ID, Filename: f.Filename, Size: f.Size, ContentType: f.ContentType, ContentDisposition: f.Disposition(), ContentID: f.ContentID}}
	out.DownloadURL, out.ExpiresAt = r.download(key, id, f.ID)
	return out
}

// download returns the URL of a message, or of one of its files, and when the URL expires.
func (r Routes) download(key *app.Key, id, fileID string) (address, expires string) {
	token, at := r.Service.DownloadToken(key, id, fileID)
	return r.FilesBase() + "/received/" + token, app.FormatTime(at)
}

func newItem(m *app.Received) ReceivedItem {
	out := ReceivedItem{ID: m.ID, To: list(m.To), From: m.From, CreatedAt: app.FormatTime(m.CreatedAt), Subject: m.Subject, Bcc: list(m.Bcc), Cc: list(m.Cc), ReplyTo: list(m.ReplyTo),
		ReceivedFor: list(m.Recipients), MessageID: m.MessageID, Attachments: make([]receivedFile, len(m.Files)), Auth: m.Auth, InReplyToEmailID: base.TextOrNull(m.Answers), ReplyProven: m.Proven,
		ContactID: base.TextOrNull(m.ContactID), Spam: m.Spam, AutoSubmitted: base.TextOrNull(string(m.AutoSubmitted)), Size: m.Size, Effects: make([]routeEffect, len(m.Effects))}
	for i := range m.Effects {
		e := &m.Effects[i]
		out.Effects[i] = routeEffect{Type: e.Type, RouteID: e.RouteID, To: base.TextOrNull(e.To), Status: e.Status, EmailID: base.TextOrNull(e.EmailID), Reason: base.TextOrNull(e.Reason)}
	}
	for i, f := range m.Files {
		out.Attachments[i] = receivedFile{ID: f.ID, Filename: base.TextOrNull(f.Filename), Size: f.Size, ContentType: f.ContentType, ContentID: base.TextOrNull(f.ContentID), ContentDisposition: f.Disposition()}
	}
	return out
}

// list returns a list that is [] in JSON if it is empty.
func list(s []string) []string {
	if s == nil {
		return []string{}
	}
	return s
}

// headersOf returns the header fields of a message as an object.
func headersOf(fields []app.Header) map[string]string {
	out := make(map[string]string, len(fields))
	for _, f := range fields {
		name := strings.ToLower(f.Name)
		if before, again := out[name]; again {
			f.Value = before + "\n" + f.Value
		}
		out[name] = f.Value
	}
	return out
}
