package emails

import (
	"context"
	"net/http"
	"unicode/utf8"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/kit/membudget"
	"mailer/app/rules/verdict"
	"mailer/app/sending/mail"
	"mailer/app/sending/queue"
	"mailer/web/rest"
	"mailer/web/rest/openapi"
	"mailer/web/shapes"
)

// EmailItem is an email in a list.
type EmailItem struct {
	ID          string        `json:"id" format:"uuid"`
	MessageID   string        `json:"message_id" doc:"The Message-ID header, with its angle brackets"`
	From        string        `json:"from"`
	To          []string      `json:"to"`
	Cc          []string      `json:"cc"`
	Bcc         []string      `json:"bcc"`
	ReplyTo     []string      `json:"reply_to"`
	Subject     string        `json:"subject"`
	Tags        []app.Tag     `json:"tags"`
	CreatedAt   string        `json:"created_at" format:"date-time"`
	ScheduledAt *string       `json:"scheduled_at" format:"date-time"`
	LastEvent   app.LastEvent `json:"last_event" enum:"queued,scheduled,sent,delivery_delayed,delivered,opened,clicked,bounced,complained,suppressed,failed,canceled"`
	State       app.State     `json:"state" enum:"scheduled,queued,deferred,held,captured,sent,delivery_delayed,delivered,opened,clicked,bounced,complained,suppressed,failed,canceled" doc:"How the email is now: the last event, or what the email waits for. deferred: the relay put it off and it is tried again; held: it leaves only after a release; captured: kept instead of sent"`
}

type emailRecord struct {
	Object string `json:"object" enum:"email"`
	EmailItem
	HTML        *string                 `json:"html"`
	Text        *string                 `json:"text"`
	Headers     map[string]string       `json:"headers"`
	TopicID     *string                 `json:"topic_id"`
	BroadcastID *string                 `json:"broadcast_id,omitempty" format:"uuid" doc:"Of an email to a recipient of a broadcast; lists leave those out"`
	Attachments []shapes.AttachmentMeta `json:"attachments" doc:"Without their content"`
	Source      string                  `json:"source,omitempty" enum:"account,api,cli,dashboard,mcp,resend,smtp" doc:"How it came; account: of Mailer itself, to a person; resend: sent once more; absent of a broadcast's"`
	KeyID       string                  `json:"key_id,omitempty" format:"uuid" doc:"The API key or member that sent it; absent where it was the command line or a broadcast"`
	Size        int64                   `json:"size,omitempty" doc:"About how large the message is on the wire, in bytes; absent once its content was deleted"`
	Score       *float64                `json:"score"`
	Verdict     verdict.Verdict         `json:"verdict" doc:"The result of the email and its reason, in one sentence, and what to do"`
}

type emailRaw struct {
	Object  string `json:"object" enum:"email_raw"`
	ID      string `json:"id" format:"uuid"`
	Message string `json:"message" doc:"The message as it would have gone to the relay, for reading: bytes that are not UTF-8 are replaced in it"`
	// Raw or RawBase64 is the exact message.
	Raw       string `json:"raw,omitempty" doc:"The same to the byte, where it is UTF-8"`
	RawBase64 []byte `json:"raw_base64,omitempty" doc:"The same to the byte, where it is not UTF-8"`
}

type (
	sendOutput     struct{ Body shapes.CreatedEmail }
	recordOutput   struct{ Body emailRecord }
	rawOutput      struct{ Body emailRaw }
	emailPageInput struct {
		shapes.EmailPath
		rest.PageParams
	}
)

// Routes are the routes of emails and of batches of them.
type Routes struct {
	Service  *mail.Service
	Search   *mail.Search
	Verdicts *queue.Service
}

// Add adds the routes to a handler.
func (r Routes) Add(h *rest.Handler) {
	rest.RegisterBody(h, rest.Route{Sending: true, ReusesBuffer: true}, openapi.Operation{
		OperationID: "send-email", Method: http.MethodPost, Path: "/emails",
		Summary: "Send one email, now or at scheduled_at. The from address must be of a verified domain of the team", Tags: shapes.EmailTags,
		Errors: []int{http.StatusNotFound, http.StatusConflict},
	}, r.sendEmail)
	rest.RegisterBody(h, rest.Route{Sending: true, ReusesBuffer: true}, openapi.Operation{
		OperationID: "send-email-old", Method: http.MethodPost, Path: "/email", Deprecated: true,
		Summary: "Send an email, at the address that Resend's first clients use", Tags: shapes.EmailTags,
		Errors: []int{http.StatusNotFound, http.StatusConflict},
	}, r.sendEmail)
	rest.Register(h, rest.Route{}, openapi.Operation{
		OperationID: "list-emails", Method: http.MethodGet, Path: "/emails",
		Summary: "List emails, newest first, or search them", Tags: shapes.EmailTags,
		Errors: []int{http.StatusNotFound, http.StatusUnprocessableEntity},
	}, r.listEmails)
	rest.Register(h, rest.Route{}, openapi.Operation{
		OperationID: "get-email", Method: http.MethodGet, Path: "/emails/{id}",
		Summary: "Get an email with its content, its status and a verdict on its result", Tags: shapes.EmailTags,
		Errors: []int{http.StatusNotFound},
	}, r.getEmail)
	rest.Register(h, rest.Route{}, openapi.Operation{
		OperationID: "list-email-events", Method: http.MethodGet, Path: "/emails/{id}/events",
		Summary: "List the events of an email, newest first", Tags: shapes.EmailTags,
		Errors: []int{http.StatusNotFound, http.StatusUnprocessableEntity},
	}, rest.ListOf[*emailPageInput](r.Service.ListEvents, shapes.NewEventItem))
	raw := rest.RegisterRaw(h, rest.Route{}, openapi.Operation{
		OperationID: "get-raw-email", Method: http.MethodGet, Path: "/emails/{id}/raw",
		Summary: "Get the raw message of an email that was submitted by SMTP or captured for lack of a relay", Tags: shapes.EmailTags,
		Errors: []int{http.StatusNotFound},
	}, r.getRaw)
	h.OnDocument(func(*openapi.Document) {
		raw.Responses["200"].Content[messageType] = &openapi.MediaType{Schema: openapi.Binary()}
	})
	r.addBatches(h)
	r.addSchedules(h)
}

func (r Routes) sendEmail(ctx context.Context, key *app.Key, in *shapes.IdempotencyHeader, request *SendEmailRequest) (*sendOutput, error) {
	email := request.Input()
	opts, err := in.Options(email)
	if err != nil {
		return nil, err
	}
	id, err := r.Service.SendEmail(ctx, key, email, opts)
	if err != nil {
		rest.RecordRefusedEmail(ctx, err)
		return nil, err
	}
	rest.RecordEmail(ctx, id)
	return &sendOutput{shapes.CreatedEmail{ID: id}}, nil
}

func (r Routes) getEmail(ctx context.Context, key *app.Key, in *shapes.EmailPath) (*recordOutput, error) {
	email, err := r.Service.GetEmail(ctx, key, in.ID)
	if err != nil {
		return nil, err
	}
	record := newEmailRecord(email)
	if record.Verdict, err = r.Verdicts.Verdict(ctx, key, in.ID); err != nil {
		return nil, err
	}
	return &recordOutput{record}, nil
}

// messageType is the media type of a whole message (RFC 2046 5.2.1).
const messageType = "message/rfc822"

// rawOf returns the exact message, as text if it is UTF-8.
func rawOf(id string, message []byte) emailRaw {
	out := emailRaw{Object: "email_raw", ID: id, Message: string(message)}
	if utf8.Valid(message) {
		out.Raw = out.Message
	} else {
		out.RawBase64 = message
	}
	return out
}

// getRaw answers JSON, or the message itself if the request prefers that.
func (r Routes) getRaw(ctx context.Context, x *rest.Exchange, in *shapes.EmailPath) (*rawOutput, error) {
	message, err := r.Service.GetCaptured(ctx, x.Key, in.ID)
	if err != nil {
		return nil, err
	}
	if rest.Prefers(x.RequestHeader, messageType) {
		x.Header().Set("Content-Disposition", `attachment; filename="`+in.ID+`.eml"`)
		x.Header().Set("Content-Security-Policy", "default-src 'none'; sandbox")
		x.Answer(messageType, message)
		return nil, nil
	}
	if len(message) > membudget.FreeBytes { // the answer holds it twice
		if err := x.ReserveFor(ctx, in.ID, 2*int64(len(message))); err != nil {
			return nil, err
		}
	}
	return &rawOutput{rawOf(in.ID, message)}, nil
}

func newEmailItem(e *app.Email) EmailItem {
	return EmailItem{
		ID:          e.ID,
		MessageID:   "<" + e.MessageID + ">",
		From:        e.From.String(),
		To:          shapes.FormatAddresses(e.To),
		Cc:          shapes.FormatAddresses(e.Cc),
		Bcc:         shapes.FormatAddresses(e.Bcc),
		ReplyTo:     shapes.FormatAddresses(e.ReplyTo),
		Subject:     e.Subject,
		Tags:        append([]app.Tag{}, e.Tags...),
		CreatedAt:   app.FormatTime(e.CreatedAt),
		ScheduledAt: app.FormatTimePtr(e.ScheduledAt),
		LastEvent:   e.LastEvent,
		State:       e.State(),
	}
}

func newEmailRecord(e *app.Email) emailRecord {
	r := emailRecord{
		Object: "email", EmailItem: newEmailItem(e),
		HTML: base.TextOrNull(e.HTML), Text: base.TextOrNull(e.Text), TopicID: base.TextOrNull(e.TopicID), BroadcastID: base.TextOrNull(e.BroadcastID), Source: e.Source,
		Headers:     make(map[string]string, len(e.Headers)),
		Attachments: shapes.NewAttachmentMetas(e.Attachments),
	}
	if e.BroadcastID == "" {
		r.KeyID = e.KeyID
	}
	if e.ContentDeletedAt.IsZero() && !e.Unsent {
		r.Size = e.Mail.Size()
	}
	if e.Insights != nil {
		score := e.Insights.Score()
		r.Score = &score
	}
	for _, header := range e.Headers {
		r.Headers[header.Name] = header.Value
	}
	return r
}
