package broadcasts

import (
	"mailer/app"
	"mailer/web/rest"
	"mailer/web/shapes"
)

// createBroadcastRequest is the body of POST /broadcasts.
type createBroadcastRequest struct {
	Name        string                `json:"name,omitempty" maxLength:"255" doc:"Internal name; default: the subject"`
	SegmentID   string                `json:"segment_id,omitempty" format:"uuid" doc:"The segment that gets the broadcast; default: all contacts"`
	AudienceID  string                `json:"audience_id,omitempty" format:"uuid" doc:"segment_id under its old name"`
	TopicID     string                `json:"topic_id,omitempty" format:"uuid" doc:"Send only to contacts who are opted in to this topic"`
	From        string                `json:"from" doc:"The sender, at a verified domain" example:"Acme <news@example.com>"`
	ReplyTo     shapes.AddressList    `json:"reply_to,omitempty"`
	Subject     string                `json:"subject" maxLength:"2000" doc:"May contain placeholders"`
	PreviewText string                `json:"preview_text,omitempty" maxLength:"1000" doc:"Mail clients show it by the subject"`
	HTML        string                `json:"html,omitempty" doc:"Placeholders like {{{FIRST_NAME|there}}}, {{{UNSUBSCRIBE_URL}}}, {{{VIEW_URL}}}; html or text is needed"`
	Text        *string               `json:"text,omitempty" doc:"Plain text body; default: made from html. An empty string sends none"`
	Design      string                `json:"design,omitempty" maxLength:"262144" doc:"JSON of a visual editor, kept for html"`
	Syntax      string                `json:"syntax,omitempty" enum:"plain,liquid" doc:"liquid: subject, preview_text, html and text are Liquid; default: plain"`
	Variants    shapes.VariantChanges `json:"variants,omitempty"`
	Attachments shapes.AttachmentList `json:"attachments,omitempty"`
	Archive     *bool                 `json:"archive,omitempty" doc:"In the archive of its topic; default: without a segment"`
	Send        bool                  `json:"send,omitempty" doc:"true: send it now or at scheduled_at; default: keep it as a draft"`
	ScheduledAt string                `json:"scheduled_at,omitempty" doc:"When to send, with send: ISO 8601, or English like in 2 hours or tomorrow at 9am; at most 30 days ahead" example:"in 1 hour"`
}

func (r *createBroadcastRequest) input() app.BroadcastInput {
	return app.BroadcastInput{
		Name: r.Name, SegmentID: r.SegmentID, AudienceID: r.AudienceID, TopicID: r.TopicID, From: r.From, ReplyTo: r.ReplyTo,
		Subject: r.Subject, Preview: r.PreviewText, HTML: r.HTML, Text: r.Text, Design: r.Design, Syntax: r.Syntax, Variants: r.Variants.Changes(), Attachments: r.Attachments.Files(), Archive: r.Archive, Send: r.Send, ScheduledAt: r.ScheduledAt,
	}
}

// updateBroadcastRequest is the body of PATCH /broadcasts/{id}.
type updateBroadcastRequest struct {
	Name        rest.Change[string]                     `json:"name,omitempty" maxLength:"255" doc:"null: the subject"`
	SegmentID   rest.Change[string]                     `json:"segment_id,omitempty" doc:"null: all contacts"`
	AudienceID  rest.Change[string]                     `json:"audience_id,omitempty" doc:"segment_id under its old name"`
	TopicID     rest.Change[string]                     `json:"topic_id,omitempty" doc:"null: none"`
	From        string                                  `json:"from,omitempty"`
	ReplyTo     rest.Change[shapes.AddressList]         `json:"reply_to,omitempty" doc:"null clears"`
	Subject     string                                  `json:"subject,omitempty" maxLength:"2000"`
	PreviewText rest.Change[string]                     `json:"preview_text,omitempty" doc:"null clears"`
	HTML        rest.Change[string]                     `json:"html,omitempty" doc:"null clears"`
	Text        rest.Change[string]                     `json:"text,omitempty" doc:"null: made from html; an empty string sends none"`
	Design      rest.Change[string]                     `json:"design,omitempty" doc:"JSON text that a visual editor made html of, kept for it: an object of at most 262144 bytes; another html without a design drops it. null clears"`
	Syntax      string                                  `json:"syntax,omitempty" enum:"plain,liquid"`
	Variants    rest.Change[shapes.VariantChanges]      `json:"variants,omitempty" doc:"Changes the given languages, null removes one of them; null removes all"`
	Attachments rest.Change[shapes.DraftAttachmentList] `json:"attachments,omitempty" doc:"Replaces all attachments; null or an empty array removes them"`
	Archive     rest.Change[bool]                       `json:"archive,omitempty" doc:"null: without a segment"`
	Revision    string                                  `json:"revision,omitempty" doc:"The revision that you read. If the draft was changed since, the update is refused as a conflict"`
}

func (r *updateBroadcastRequest) patch() app.BroadcastPatch {
	return app.BroadcastPatch{
		Name: app.Change[string](r.Name), SegmentID: app.Change[string](r.SegmentID), AudienceID: app.Change[string](r.AudienceID),
		TopicID: app.Change[string](r.TopicID), From: r.From, Subject: r.Subject, Preview: app.Change[string](r.PreviewText),
		ReplyTo: app.Change[[]string]{Set: r.ReplyTo.Set, Null: r.ReplyTo.Null, Value: r.ReplyTo.Value},
		HTML:    app.Change[string](r.HTML), Text: app.Change[string](r.Text), Design: app.Change[string](r.Design), Revision: r.Revision,
		Syntax: r.Syntax, Variants: shapes.VariantChange(r.Variants),
		Attachments: app.Change[[]app.Attachment]{Set: r.Attachments.Set, Null: r.Attachments.Null, Value: r.Attachments.Value.Files()},
		Archive:     app.Change[bool](r.Archive),
	}
}

// sendBroadcastRequest is the optional body of POST /broadcasts/{id}/send.
type sendBroadcastRequest struct {
	ScheduledAt string `json:"scheduled_at,omitempty" doc:"When to send: ISO 8601, or English like in 2 hours or tomorrow at 9am; at most 30 days ahead. Default: now" example:"in 1 hour"`
}

// testBroadcastRequest is the body of POST /broadcasts/{id}/test.
type testBroadcastRequest struct {
	To       shapes.AddressList `json:"to" doc:"1 to 5 addresses"`
	Language string             `json:"language,omitempty" doc:"Whose variant to send; und: none. Default: by contact"`
}
