package webhook

import (
	"mailer/app"
)

// ReceivedData is the data of email.received and email.replied.
type ReceivedData struct {
	EmailID     string                   `json:"email_id"` // of the received email
	CreatedAt   string                   `json:"created_at"`
	From        string                   `json:"from"` // the address alone
	To          []string                 `json:"to"`
	Cc          []string                 `json:"cc"`
	Bcc         []string                 `json:"bcc"`
	ReceivedFor []string                 `json:"received_for"` // envelope recipients
	MessageID   string                   `json:"message_id"`   // with angle brackets
	Subject     string                   `json:"subject"`
	Attachments []ReceivedAttachmentData `json:"attachments"`

	Text      string           `json:"text"`
	HTML      string           `json:"html"`
	ReplyText string           `json:"reply_text"`         // text without quotes and signature
	Truncated bool             `json:"truncated,omitzero"` // text, html or reply_text is cut
	Auth      app.ReceivedAuth `json:"auth"`
	// InReplyToEmailID is the email that it answers, or claims to if Proven is false; null: none.
	InReplyToEmailID *string            `json:"in_reply_to_email_id"`
	Proven           bool               `json:"reply_proven"`
	ContactID        *string            `json:"contact_id"`
	Spam             *app.ReceivedSpam  `json:"spam,omitzero"`
	AutoSubmitted    *app.AutoSubmitted `json:"auto_submitted"` // null: a person wrote it
	Size             int64              `json:"size"`
}

// ReceivedAttachmentData describes an attachment of a received email.
type ReceivedAttachmentData struct {
	ID                 string  `json:"id"`
	Filename           string  `json:"filename"`
	ContentType        string  `json:"content_type"`
	ContentDisposition string  `json:"content_disposition"`
	ContentID          *string `json:"content_id"`
}

// ReceivedDataOf returns the data of a received email.
func ReceivedDataOf(m *app.Received) ReceivedData {
	d := ReceivedData{EmailID: m.ID, CreatedAt: app.FormatTime(m.CreatedAt), From: m.FromEmail, To: list(m.To), Cc: list(m.Cc), Bcc: list(m.Bcc), ReceivedFor: list(m.Recipients),
		MessageID: m.MessageID, Subject: m.Subject, Attachments: []ReceivedAttachmentData{}, Auth: m.Auth, Proven: m.Proven, Spam: m.Spam, Size: m.Size}
	for _, f := range m.Files {
		d.Attachments = append(d.Attachments, ReceivedAttachmentData{f.ID, f.Filename, f.ContentType, f.Disposition(), optional(f.ContentID)})
	}
	for _, part := range []struct {
		to   *string
		text string
	}{{&d.Text, m.Text}, {&d.HTML, m.HTML}, {&d.ReplyText, m.ReplyText}} {
		*part.to = app.CutText(part.text, app.MaxReceivedText)
		d.Truncated = d.Truncated || len(*part.to) < len(part.text)
	}
	d.InReplyToEmailID, d.ContactID = optional(m.Answers), optional(m.ContactID)
	if m.AutoSubmitted != app.AutoNone {
		d.AutoSubmitted = &m.AutoSubmitted
	}
	return d
}

func list(addresses []string) []string {
	if addresses == nil {
		return []string{}
	}
	return addresses
}

func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
