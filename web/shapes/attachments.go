package shapes

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
)

// AttachmentRequest is a file of an email or a broadcast to be sent.
type AttachmentRequest struct {
	Filename    string            `json:"filename,omitempty"`
	Content     attachmentContent `json:"content,omitempty"`
	ContentType string            `json:"content_type,omitempty" doc:"Media type; default: by the file name"`
	ContentID   contentID         `json:"content_id,omitempty" maxLength:"128" doc:"With --compat resend: the HTML shows the file as cid:content_id"`

	Path            contentID `json:"path,omitempty" doc:"With --fetch-attachments: URL of the file"`
	InlineContentID contentID `json:"inline_content_id" hidden:"true"`
}

// AttachmentList is an array of files of bounded length.
type AttachmentList []AttachmentRequest

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (l *AttachmentList) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	if err := rest.DecodeList(d, (*[]AttachmentRequest)(l), app.MaxAttachments, "an array"); err != nil {
		return err
	}
	for i := range *l {
		if err := (*l)[i].checkNames(d, i); err != nil {
			return err
		}
	}
	return nil
}

// checkNames refuses two Content-IDs. i is the index of the file.
func (r *AttachmentRequest) checkNames(d *jsontext.Decoder, i int) error {
	if r.InlineContentID != "" && r.ContentID != "" && r.InlineContentID != r.ContentID {
		at := d.StackPointer() + jsontext.Pointer(fmt.Sprintf("/%d/inline_content_id", i))
		return rest.NewShapeError(at, "is another than `content_id`, whose older name it is")
	}
	return nil
}

func (r *AttachmentRequest) file() app.Attachment {
	return app.Attachment{
		Filename: r.Filename, ContentType: r.ContentType, ContentID: string(cmp.Or(r.ContentID, r.InlineContentID)),
		Size: int64(len(r.Content.octets)), Content: r.Content.octets, Text: r.Content.text, Path: string(r.Path),
	}
}

// Files converts the files for the service.
func (l AttachmentList) Files() (out []app.Attachment) {
	for i := range l {
		out = append(out, l[i].file())
	}
	return out
}

// DraftAttachment is a file of a draft: a new one, or one that the draft has.
type DraftAttachment struct {
	ID string `json:"id,omitempty" format:"uuid" doc:"In place of the rest: keeps this attachment of the draft"`
	AttachmentRequest
}

// DraftAttachmentList is an array of files of bounded length.
type DraftAttachmentList []DraftAttachment

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (l *DraftAttachmentList) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	if err := rest.DecodeList(d, (*[]DraftAttachment)(l), app.MaxAttachments, "an array"); err != nil {
		return err
	}
	for i := range *l {
		a := &(*l)[i]
		if err := a.checkNames(d, i); err != nil {
			return err
		}
		if a.ID == "" {
			continue
		}
		file, at := a.file(), d.StackPointer()+jsontext.Pointer(fmt.Sprintf("/%d/id", i))
		if file.Filename+file.ContentType+file.ContentID+file.Text+file.Path != "" || file.Content != nil {
			return rest.NewShapeError(at, "can't be combined with other members")
		}
		if _, ok := app.ParseID(a.ID); !ok {
			return rest.NewShapeError(at, "must be the id of an attachment of this broadcast")
		}
	}
	return nil
}

// Files converts the files for the service.
func (l DraftAttachmentList) Files() (out []app.Attachment) {
	for i := range l {
		file := l[i].file()
		file.ID, _ = app.ParseID(l[i].ID)
		out = append(out, file)
	}
	return out
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

// AttachmentMeta is an attachment without its content.
type AttachmentMeta struct {
	ID                 string `json:"id" format:"uuid"`
	Filename           string `json:"filename"`
	Size               int64  `json:"size" doc:"In bytes"`
	ContentType        string `json:"content_type"`
	ContentDisposition string `json:"content_disposition" enum:"attachment,inline"`
	ContentID          string `json:"content_id,omitempty" doc:"Where the HTML shows the file: as cid: and this"`
}

// NewAttachmentMeta describes a file.
func NewAttachmentMeta(a *app.Attachment) AttachmentMeta {
	meta := AttachmentMeta{
		ID: a.ID, Filename: a.Filename, Size: a.Size,
		ContentType: a.ContentType, ContentDisposition: "attachment", ContentID: a.ContentID,
	}
	if a.Inline() {
		meta.ContentDisposition = "inline"
	}
	return meta
}

// NewAttachmentMetas describes files.
func NewAttachmentMetas(files []app.Attachment) []AttachmentMeta {
	out := make([]AttachmentMeta, len(files))
	for i := range files {
		out[i] = NewAttachmentMeta(&files[i])
	}
	return out
}
