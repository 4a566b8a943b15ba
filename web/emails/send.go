package emails

import (
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"mailer/app"
	"mailer/web/rest"
	"mailer/web/shapes"
)

// SendEmailRequest is the body of a send. It is decoded in one pass and checked by its types: in
// values of type any, an attachment written as an array of numbers needs thirty times the memory.
// The length of lists is checked while they are decoded, for the same reason.
type SendEmailRequest struct {
	From        string                `json:"from,omitempty" doc:"The sender, with or without a display name; required unless the template has one" example:"Acme <hello@example.com>"`
	To          shapes.AddressList    `json:"to" doc:"Recipients; at most 50 in to, cc and bcc"`
	Cc          shapes.AddressList    `json:"cc,omitempty"`
	Bcc         shapes.AddressList    `json:"bcc,omitempty"`
	ReplyTo     shapes.AddressList    `json:"reply_to,omitempty"`
	Subject     string                `json:"subject,omitempty" maxLength:"2000" doc:"Required unless the template has one"`
	HTML        rest.LongText         `json:"html,omitempty" doc:"HTML body; html or text is required"`
	Text        *rest.LongText        `json:"text,omitempty" doc:"Plain text body; default: made from html. An empty string sends none"`
	Headers     headerMap             `json:"headers,omitempty" doc:"Custom headers: X-* and some others"`
	Tags        tagList               `json:"tags,omitempty"`
	Attachments shapes.AttachmentList `json:"attachments,omitempty"`
	ScheduledAt string                `json:"scheduled_at,omitempty" doc:"ISO 8601, or English like in 2 hours, tomorrow at 9am; at most 30 days ahead" example:"in 1 hour"`
	ExpiresIn   string                `json:"expires_in,omitempty" minLength:"1" doc:"How long the email may wait for its relay, 1m to 30d; then it fails with the reason expired. Default: the setting of the server" example:"10m"`
	TopicID     string                `json:"topic_id,omitempty" format:"uuid" doc:"Topic of the email: recipients who opted out of it or of all mail are skipped; the email gets one-click unsubscribe headers"`
	Template    templateUse           `json:"template,omitempty" doc:"A published template in place of html and text; from, subject and reply_to of the send go before the template's"`
}

// Input converts the request for the service.
func (r *SendEmailRequest) Input() *app.EmailInput {
	return &app.EmailInput{
		From: r.From, To: r.To, Cc: r.Cc, Bcc: r.Bcc, ReplyTo: r.ReplyTo,
		Subject: r.Subject, HTML: string(r.HTML), Text: (*string)(r.Text), Headers: r.Headers, Tags: r.Tags,
		Attachments: r.Attachments.Files(), ScheduledAt: r.ScheduledAt, ExpiresIn: r.ExpiresIn, TopicID: r.TopicID, Template: r.Template.use,
	}
}

// tagList is an array of bounded length.
type tagList []app.Tag

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (l *tagList) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	return rest.DecodeList(d, (*[]app.Tag)(l), app.MaxTags, "an array")
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
