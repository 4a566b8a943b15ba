package web

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"mailer/app"
	"mailer/app/mail"
	"mailer/web/rest"
)

// EmailItem is an email in a list. Like the other exported shapes it is exported
// because huma leaves out embedded structs that are not.
type EmailItem struct {
	ID          string        `json:"id" format:"uuid"`
	MessageID   string        `json:"message_id" doc:"The Message-ID header, with its angle brackets"`
	From        string        `json:"from"`
	To          []string      `json:"to"`
	Cc          []string      `json:"cc"`
	Bcc         []string      `json:"bcc"`
	ReplyTo     []string      `json:"reply_to"`
	Subject     string        `json:"subject"`
	CreatedAt   string        `json:"created_at" format:"date-time"`
	ScheduledAt *string       `json:"scheduled_at" format:"date-time"`
	LastEvent   app.LastEvent `json:"last_event" enum:"queued,scheduled,sent,delivery_delayed,delivered,opened,clicked,bounced,complained,suppressed,failed,canceled"`
}

type emailRecord struct {
	Object string `json:"object" enum:"email"`
	EmailItem
	HTML        *string           `json:"html"`
	Text        *string           `json:"text"`
	Tags        []app.Tag         `json:"tags"`
	Headers     map[string]string `json:"headers"`
	TopicID     *string           `json:"topic_id"`
	BroadcastID *string           `json:"broadcast_id,omitempty" format:"uuid" doc:"Of an email to a recipient of a broadcast; lists leave those out"`
	Attachments []AttachmentMeta  `json:"attachments" doc:"Without their content"`
	Score       *float64          `json:"score"`
}

type eventItem struct {
	ID        string          `json:"id" format:"uuid"`
	Type      app.EventType   `json:"type"`
	CreatedAt string          `json:"created_at" format:"date-time"`
	Recipient string          `json:"recipient,omitempty" doc:"Absent where the event is about the whole email"`
	Detail    app.EventDetail `json:"detail"`
}

type emailRaw struct {
	Object  string `json:"object" enum:"email_raw"`
	ID      string `json:"id" format:"uuid"`
	Message string `json:"message" doc:"The message as it would have gone to the relay"`
}

type createdEmail struct {
	ID string `json:"id" format:"uuid"`
}

// EmailPath is the path parameter of everything below an email.
type EmailPath struct {
	ID string `path:"id" format:"uuid" doc:"The id of the email"`
}

// Check implements Checker.
func (p *EmailPath) Check() error { return rest.CheckID("email", &p.ID) }

type (
	sendOutput     struct{ Body createdEmail }
	recordOutput   struct{ Body emailRecord }
	rawOutput      struct{ Body emailRaw }
	emailPageInput struct {
		EmailPath
		rest.PageParams
	}
)

var emailTags = []string{"Emails"}

// emailService is what the routes of emails need of the services.
type emailService interface {
	SendEmail(ctx context.Context, key *app.Key, in *app.EmailInput, opts mail.SendOptions) (string, error)
	SendBatch(ctx context.Context, key *app.Key, items []mail.BatchItem, permissive bool, opts mail.SendOptions) (*mail.BatchResult, error)
	RescheduleEmail(ctx context.Context, key *app.Key, id, scheduledAt string) error
	CancelEmail(ctx context.Context, key *app.Key, id string) error
	DeleteEmail(ctx context.Context, key *app.Key, id string) error
	ListEmails(ctx context.Context, key *app.Key, page app.Page) ([]app.Email, bool, error)
	GetEmail(ctx context.Context, key *app.Key, id string) (*app.Email, error)
	ListEvents(ctx context.Context, key *app.Key, emailID string, page app.Page) ([]app.Event, bool, error)
	GetCaptured(ctx context.Context, key *app.Key, emailID string) ([]byte, error)
}

// emailRoutes are the routes of emails and of batches of them.
type emailRoutes struct{ service emailService }

func (r emailRoutes) add(h *rest.Handler) {
	rest.RegisterBody(h, rest.Route{Sending: true, Passing: true}, huma.Operation{
		OperationID: "send-email", Method: http.MethodPost, Path: "/emails",
		Summary: "Send an email", Tags: emailTags,
		Errors: []int{http.StatusNotFound, http.StatusConflict},
	}, r.sendEmail)
	rest.Register(h, rest.Route{}, huma.Operation{
		OperationID: "list-emails", Method: http.MethodGet, Path: "/emails",
		Summary: "List emails, newest first", Tags: emailTags,
		Errors: []int{http.StatusUnprocessableEntity},
	}, r.listEmails)
	rest.Register(h, rest.Route{}, huma.Operation{
		OperationID: "get-email", Method: http.MethodGet, Path: "/emails/{id}",
		Summary: "Get an email", Tags: emailTags,
		Errors: []int{http.StatusNotFound},
	}, r.getEmail)
	rest.Register(h, rest.Route{}, huma.Operation{
		OperationID: "list-email-events", Method: http.MethodGet, Path: "/emails/{id}/events",
		Summary: "List what happened to an email, newest first", Tags: emailTags,
		Errors: []int{http.StatusNotFound, http.StatusUnprocessableEntity},
	}, r.listEvents)
	rest.Register(h, rest.Route{}, huma.Operation{
		OperationID: "get-raw-email", Method: http.MethodGet, Path: "/emails/{id}/raw",
		Summary: "Get the whole message, where no relay is configured", Tags: emailTags,
		Errors: []int{http.StatusNotFound},
	}, r.getRaw)
	r.addBatches(h)
	r.addSchedules(h)
}

func (r emailRoutes) sendEmail(ctx context.Context, key *app.Key, in *OnceHeader, request *sendEmailRequest) (*sendOutput, error) {
	email := request.input()
	opts, err := in.options(email)
	if err != nil {
		return nil, err
	}
	id, err := r.service.SendEmail(ctx, key, email, opts)
	if err != nil {
		return nil, err
	}
	return &sendOutput{createdEmail{id}}, nil
}

func (r emailRoutes) listEmails(ctx context.Context, key *app.Key, in *rest.PageParams) (*rest.ListOutput[EmailItem], error) {
	page, err := in.Page()
	if err != nil {
		return nil, err
	}
	emails, more, err := r.service.ListEmails(ctx, key, page)
	if err != nil {
		return nil, err
	}
	return rest.NewList(emails, more, newEmailItem), nil
}

func (r emailRoutes) getEmail(ctx context.Context, key *app.Key, in *EmailPath) (*recordOutput, error) {
	email, err := r.service.GetEmail(ctx, key, in.ID)
	if err != nil {
		return nil, err
	}
	return &recordOutput{newEmailRecord(email)}, nil
}

func (r emailRoutes) listEvents(ctx context.Context, key *app.Key, in *emailPageInput) (*rest.ListOutput[eventItem], error) {
	page, err := in.Page()
	if err != nil {
		return nil, err
	}
	events, more, err := r.service.ListEvents(ctx, key, in.ID, page)
	if err != nil {
		return nil, err
	}
	return rest.NewList(events, more, newEventItem), nil
}

func (r emailRoutes) getRaw(ctx context.Context, key *app.Key, in *EmailPath) (*rawOutput, error) {
	message, err := r.service.GetCaptured(ctx, key, in.ID)
	if err != nil {
		return nil, err
	}
	return &rawOutput{emailRaw{Object: "email_raw", ID: in.ID, Message: string(message)}}, nil
}

func newEmailItem(e *app.Email) EmailItem {
	return EmailItem{
		ID:          e.ID,
		MessageID:   "<" + e.MessageID + ">",
		From:        e.From.String(),
		To:          formatAddresses(e.To),
		Cc:          formatAddresses(e.Cc),
		Bcc:         formatAddresses(e.Bcc),
		ReplyTo:     formatAddresses(e.ReplyTo),
		Subject:     e.Subject,
		CreatedAt:   app.FormatTime(e.CreatedAt),
		ScheduledAt: app.FormatTimePtr(e.ScheduledAt),
		LastEvent:   e.LastEvent,
	}
}

func newEmailRecord(e *app.Email) emailRecord {
	r := emailRecord{
		Object: "email", EmailItem: newEmailItem(e),
		HTML: orNull(e.HTML), Text: orNull(e.Text), TopicID: orNull(e.TopicID), BroadcastID: orNull(e.BroadcastID),
		Tags: append([]app.Tag{}, e.Tags...), Headers: make(map[string]string, len(e.Headers)),
		Attachments: make([]AttachmentMeta, len(e.Attachments)),
	}
	if e.Insights != nil {
		score := e.Insights.Score()
		r.Score = &score
	}
	for _, header := range e.Headers {
		r.Headers[header.Name] = header.Value
	}
	for i := range e.Attachments {
		r.Attachments[i] = newAttachmentMeta(&e.Attachments[i])
	}
	return r
}

func newEventItem(e *app.Event) eventItem {
	return eventItem{
		ID: e.ID, Type: e.Type, CreatedAt: app.FormatTime(e.CreatedAt),
		Recipient: e.Recipient, Detail: e.Detail,
	}
}

func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func formatAddresses(list []app.Address) []string {
	out := make([]string, len(list))
	for i, a := range list {
		out[i] = a.String()
	}
	return out
}
