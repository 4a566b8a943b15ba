package emails

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"mailer/app"
	"mailer/web/rest"
	"mailer/web/rest/openapi"
	"mailer/web/shapes"
)

// SendEmailRequest is the body of a send. It is decoded in one pass and checked by its types: in
// values of type any, an attachment written as an array of numbers needs thirty times the memory.
// The length of lists is checked while they are decoded, for the same reason.
type SendEmailRequest struct {
	From        string             `json:"from,omitempty" doc:"The sender, with or without a display name; required unless the template has one" example:"Acme <hello@example.com>"`
	To          shapes.AddressList `json:"to" doc:"Recipients; at most 50 in to, cc and bcc"`
	Cc          shapes.AddressList `json:"cc,omitempty"`
	Bcc         shapes.AddressList `json:"bcc,omitempty"`
	ReplyTo     shapes.AddressList `json:"reply_to,omitempty"`
	Subject     string             `json:"subject,omitempty" maxLength:"2000" doc:"Required unless the template has one"`
	HTML        rest.LongText      `json:"html,omitempty" doc:"HTML body; html or text is required"`
	Text        *rest.LongText     `json:"text,omitempty" doc:"Plain text body; default: made from html. An empty string sends none"`
	Headers     headerMap          `json:"headers,omitempty" doc:"Custom headers: X-* and some others"`
	Tags        tagList            `json:"tags,omitempty"`
	Attachments attachmentList     `json:"attachments,omitempty"`
	ScheduledAt string             `json:"scheduled_at,omitempty" doc:"ISO 8601, or English like in 2 hours, tomorrow at 9am; at most 30 days ahead" example:"in 1 hour"`
	ExpiresIn   string             `json:"expires_in,omitempty" minLength:"1" doc:"How long the email may wait for its relay, 1m to 30d; then it fails with the reason expired. Default: the setting of the server" example:"10m"`
	TopicID     string             `json:"topic_id,omitempty" format:"uuid" doc:"Topic of the email: recipients who opted out of it or of all mail are skipped; the email gets one-click unsubscribe headers"`
	Template    templateUse        `json:"template,omitempty" doc:"A published template in place of html and text; from, subject and reply_to of the send go before the template's"`
}

type attachmentRequest struct {
	Filename    string            `json:"filename,omitempty"`
	Content     attachmentContent `json:"content,omitempty"`
	ContentType string            `json:"content_type,omitempty" doc:"Media type; default: by the file name"`
	ContentID   contentID         `json:"content_id,omitempty" maxLength:"128" doc:"With --compat resend: the HTML shows the file as cid:content_id"`

	Path            contentID `json:"path,omitempty" doc:"With --fetch-attachments: URL of the file"`
	InlineContentID contentID `json:"inline_content_id" hidden:"true"`
}

// Input converts the request for the service.
func (r *SendEmailRequest) Input() *app.EmailInput {
	in := &app.EmailInput{
		From: r.From, To: r.To, Cc: r.Cc, Bcc: r.Bcc, ReplyTo: r.ReplyTo,
		Subject: r.Subject, HTML: string(r.HTML), Text: (*string)(r.Text), Headers: r.Headers, Tags: r.Tags,
		ScheduledAt: r.ScheduledAt, ExpiresIn: r.ExpiresIn, TopicID: r.TopicID, Template: r.Template.use,
	}
	for i := range r.Attachments {
		a := &r.Attachments[i]
		in.Attachments = append(in.Attachments, app.Attachment{
			Filename: a.Filename, ContentType: a.ContentType, ContentID: string(cmp.Or(a.ContentID, a.InlineContentID)),
			Size: int64(len(a.Content.octets)), Content: a.Content.octets, Text: a.Content.text, Path: string(a.Path),
		})
	}
	return in
}

// Arrays of bounded length.
type (
	tagList        []app.Tag
	attachmentList []attachmentRequest
)

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (l *tagList) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	return rest.DecodeList(d, (*[]app.Tag)(l), app.MaxTags, "an array")
}

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (l *attachmentList) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	if err := rest.DecodeList(d, (*[]attachmentRequest)(l), app.MaxAttachments, "an array"); err != nil {
		return err
	}
	for i, a := range *l {
		if a.InlineContentID != "" && a.ContentID != "" && a.InlineContentID != a.ContentID {
			at := d.StackPointer() + jsontext.Pointer(fmt.Sprintf("/%d/inline_content_id", i))
			return rest.NewShapeError(at, "is another than `content_id`, whose older name it is")
		}
	}
	return nil
}

// maxHeaders bounds the number of custom headers.
const maxHeaders = 200

// headerMap is an object of strings with a bounded number of members, or an array of objects with
// name and value, as Elixir's clients write it.
type headerMap map[string]string

// headerItem is a header in an array.
type headerItem struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

const headersShape = "an object, or an array of objects with name and value"

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (m *headerMap) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	*m = nil
	if d.PeekKind() == '[' {
		return m.list(d)
	}
	open, err := rest.BeginObject(d, headersShape)
	if !open {
		return err
	}
	out := headerMap{}
	for d.PeekKind() != '}' {
		if len(out) == maxHeaders {
			return rest.NewShapeError(d.StackPointer().Parent(), fmt.Sprintf("can hold at most %d items", maxHeaders))
		}
		var name, value string
		if err := json.UnmarshalDecode(d, &name); err != nil {
			return err
		}
		if err := json.UnmarshalDecode(d, &value); err != nil {
			return err
		}
		out[name] = value
	}
	*m = out
	_, err = d.ReadToken()
	return err
}

func (m *headerMap) list(d *jsontext.Decoder) error {
	var items []headerItem
	if err := rest.DecodeList(d, &items, maxHeaders, headersShape); err != nil || len(items) == 0 {
		return err
	}
	at := d.StackPointer()
	out := make(headerMap, len(items))
	for i, item := range items {
		if _, twice := out[item.Name]; twice {
			return rest.NewShapeError(at+jsontext.Pointer(fmt.Sprintf("/%d/name", i)), "is given twice")
		}
		out[item.Name] = item.Value
	}
	*m = out
	return nil
}

// contentID is a string; an empty list or object is an empty string. So is the path of a file.
type contentID string

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (c *contentID) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	if d.PeekKind() != '"' {
		return rest.EmptyOnly(d, "must be a string")
	}
	return json.UnmarshalDecode(d, (*string)(c))
}

// attachmentContent is the content of a file: a base64 string, an array of byte values, or the JSON
// of Node's Buffer. A string that is not base64 is kept as text: the service decides whether a file
// may be text.
type attachmentContent struct {
	octets []byte // nil: none, or text
	text   string
}

const contentShape = "a base64 string or an array of byte values"

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (c *attachmentContent) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	kind := d.PeekKind()
	v, err := d.ReadValue()
	if err != nil {
		return err
	}
	*c = attachmentContent{}
	if kind == '"' {
		return c.decodeText(v)
	}
	if c.octets, err = decodeContent(kind, v); err != nil {
		return rest.NewShapeError(d.StackPointer(), err.Error())
	}
	return nil
}

// Schema implements openapi.SchemaProvider.
func (attachmentContent) Schema(*openapi.Registry) *openapi.Schema {
	least, most := 0.0, 255.0
	octets := &openapi.Schema{
		Type:  openapi.TypeArray,
		Items: &openapi.Schema{Type: openapi.TypeInteger, Minimum: &least, Maximum: &most},
	}
	return &openapi.Schema{AnyOf: []*openapi.Schema{
		{Type: openapi.TypeString, ContentEncoding: "base64"},
		octets,
		{
			Type: openapi.TypeObject, Required: []string{"type", "data"}, AdditionalProperties: false,
			Properties: map[string]*openapi.Schema{
				"type": {Type: openapi.TypeString, Enum: []any{"Buffer"}},
				"data": octets,
			},
		},
	}}
}

var errContent = fmt.Errorf("must be %s", contentShape)

func decodeContent(kind jsontext.Kind, v jsontext.Value) ([]byte, error) {
	switch kind {
	case 'n':
		return nil, nil
	case '[':
		return decodeOctets(v)
	case '{':
		var buffer struct {
			Type string         `json:"type"`
			Data jsontext.Value `json:"data"`
		}
		err := json.Unmarshal(v, &buffer, json.RejectUnknownMembers(true))
		if err != nil || buffer.Type != "Buffer" || buffer.Data.Kind() != '[' {
			return nil, errContent
		}
		return decodeOctets(buffer.Data)
	}
	return nil, errContent
}

// decodeText decodes padded base64 (RFC 4648 section 4). Line breaks of MIME encoders are allowed,
// other white space is not.
func (c *attachmentContent) decodeText(v jsontext.Value) (err error) {
	text := []byte(v[1 : len(v)-1])
	if bytes.IndexByte(text, '\\') >= 0 {
		if text, err = jsontext.AppendUnquote(nil, v); err != nil {
			return err
		}
	}
	out := make([]byte, base64.StdEncoding.DecodedLen(len(text)))
	n, err := base64.StdEncoding.Decode(out, text) // Decode skips CR and LF
	if err != nil {
		c.text = string(text)
		return nil
	}
	c.octets = out[:n]
	return nil
}

// decodeOctets decodes a valid JSON array of whole numbers from 0 to 255, byte by byte: such arrays
// have millions of items.
func decodeOctets(v jsontext.Value) ([]byte, error) {
	out := make([]byte, 0, bytes.Count(v, []byte(","))+1)
	number, digits := 0, 0
	for _, c := range v[1:] {
		switch {
		case c >= '0' && c <= '9':
			number = number*10 + int(c-'0')
			digits++
			if number > 255 {
				return nil, errContent
			}
		case c == ',' || c == ']':
			if digits > 0 { // false only for an empty array
				out = append(out, byte(number))
			}
			number, digits = 0, 0
		case c == ' ' || c == '\t' || c == '\r' || c == '\n':
		default:
			return nil, errContent
		}
	}
	return out, nil
}
