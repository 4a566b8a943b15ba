package web

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"mailer/app"
	"mailer/app/kit/window"
	"mailer/app/rules/feedback"
	"mailer/app/sending/providerevents"
	"mailer/web/rest"
	"mailer/web/rest/openapi"
)

const (
	// maxIngest bounds the body of one request, in bytes.
	maxIngest = 2 << 20
	// refusalsLogged is the number of refusals that are logged per minute: anybody can send
	// requests to these routes.
	refusalsLogged = 10
)

// SNS verifies messages of Amazon SNS, and returns the events of SES in them and a note on other
// messages. Errors: *app.Error for messages that are refused; others are temporary.
type SNS interface {
	Receive(ctx context.Context, body []byte) (reports []feedback.Report, note string, err error)
}

// feedbackSource is a provider with a secret in its URL, read as text.
type feedbackSource string

// Schema implements openapi.SchemaProvider.
func (feedbackSource) Schema(*openapi.Registry) *openapi.Schema {
	schema := &openapi.Schema{Type: openapi.TypeString}
	for _, source := range app.FeedbackSources() {
		schema.Enum = append(schema.Enum, source)
	}
	return schema
}

type ingestInput struct {
	Provider feedbackSource `path:"provider"`
	Secret   string         `path:"secret" doc:"As the command mailer ingest shows it"`
}

type ingested struct {
	Object   string `json:"object" enum:"ingest"`
	Received int    `json:"received" doc:"How many reports about recipients were read and stored, repeated ones too"`
}

type ingestOutput struct{ Body ingested }

// ingest serves the routes for provider events.
type ingest struct {
	h       *rest.Handler
	service *providerevents.Service
	sns     SNS // nil: no topic is configured
	refused logQuota
}

func registerIngest(h *rest.Handler, service *providerevents.Service, sns SNS) {
	in := &ingest{h: h, service: service, sns: sns}
	tags := []string{"Provider events"}
	rt := rest.Route{Public: true, Body: true, MaxBody: maxIngest}
	sesRoute := rt
	sesRoute.SignedBody, sesRoute.Precheck = true, in.checkTopics
	ses := rest.RegisterRaw(h, sesRoute, openapi.Operation{
		OperationID: "ingest-ses", Method: http.MethodPost, Path: "/ingest/ses",
		Summary: "Take an event of Amazon SES from Amazon SNS", Tags: tags,
		Description: "Believed only with a valid signature of a topic that the operator listed with --sns-topic.",
		Errors:      []int{http.StatusForbidden},
	}, in.ses)
	rest.DocumentBody[snsMessage](h, ses, true)
	rt.Precheck = in.checkSecret
	provider := rest.RegisterRaw(h, rt, openapi.Operation{
		OperationID: "ingest", Method: http.MethodPost, Path: "/ingest/{provider}/{secret}",
		Summary: "Take events of a provider", Tags: tags,
		Description: "The body is what the provider's webhooks send; for generic, one event as the example or an array of up to 1,000.",
		Errors:      []int{http.StatusNotFound},
	}, in.provider)
	rest.DocumentBody[providerEvents](h, provider, true)
}

// snsMessage is the body of the SES route.
type snsMessage map[string]any

// providerEvents is the body of the routes with a secret: any JSON, since each provider has its own
// format.
type providerEvents struct{}

// Schema implements openapi.SchemaProvider.
func (providerEvents) Schema(*openapi.Registry) *openapi.Schema {
	return &openapi.Schema{Description: "What the provider's webhooks send", Examples: []any{map[string]any{
		"type": "bounced", "email_id": "0197f2a4-5c1e-7b3a-9d84-2f6c1a0b3e57", "recipient": "ann@example.net",
		"enhanced_code": "5.1.1", "diagnostic": "smtp; 550 5.1.1 no such user", "created_at": "2026-08-01T09:30:00.000Z",
	}}}
}

// checkTopics refuses SNS messages before their body is read, if no topic is configured.
func (in *ingest) checkTopics(_ context.Context, x *rest.Exchange, _ func(string) string) error {
	if in.sns != nil {
		return nil
	}
	return in.refuse(x, "ses", app.CodeForbidden, "This message is not believed", errors.New("no topic is on the list: --sns-topic is not set"))
}

// checkSecret refuses requests with a wrong secret before their body is read.
func (in *ingest) checkSecret(ctx context.Context, x *rest.Exchange, param func(string) string) error {
	ok, err := in.service.CheckIngestSecret(ctx, param("provider"), param("secret"))
	if ok || err != nil {
		return err
	}
	why := errors.New("the secret in the path is wrong")
	in.service.NoteRefused(param("provider"), why.Error())
	return in.refuse(x, "", app.CodeNotFound, "There is nothing at this address", why)
}

// ses accepts a message of SNS. Messages that fail verification are answered with 400 or 403;
// temporary errors with 503, after which SNS retries.
func (in *ingest) ses(ctx context.Context, x *rest.Exchange, _ *struct{}) (*ingestOutput, error) {
	reports, note, err := in.sns.Receive(ctx, x.Body)
	var refusal *app.Error
	switch {
	case errors.As(err, &refusal):
		return nil, in.refuse(x, "ses", refusal.Code, refusal.Message, refusal.Err)
	case err != nil:
		return nil, in.refuse(x, "ses", app.CodeServiceUnavailable, "The message can't be checked now; try again later", err)
	case note != "":
		in.h.Log().Info("a message of SNS", "request_id", x.ID, "note", note)
	}
	return in.store(ctx, app.SourceSES, reports)
}

// provider accepts events of a provider, which checkSecret authenticated.
func (in *ingest) provider(ctx context.Context, x *rest.Exchange, path *ingestInput) (*ingestOutput, error) {
	source := string(path.Provider)
	reports, err := feedback.Read(source, x.Body)
	var refusal *app.Error
	if errors.As(err, &refusal) {
		return nil, in.refuse(x, source, refusal.Code, refusal.Message, errors.New(refusal.Message))
	}
	if err != nil {
		return nil, err
	}
	return in.store(ctx, source, reports)
}

// store answers after everything is on disk.
func (in *ingest) store(ctx context.Context, source string, reports []feedback.Report) (*ingestOutput, error) {
	// The events are stored even if the sender hangs up.
	if err := in.service.TakeFeedback(context.WithoutCancel(ctx), reports); err != nil {
		return nil, err
	}
	in.service.NoteSeen(source)
	return &ingestOutput{ingested{Object: "ingest", Received: len(reports)}}, nil
}

// refuse records and logs a refusal, and returns its error.
func (in *ingest) refuse(x *rest.Exchange, source string, code app.Code, message string, why error) *rest.Error {
	reason := message
	if why != nil {
		reason = why.Error()
	}
	in.service.NoteRefused(source, reason)
	if ok, missed := in.refused.take(in.h.Now()); ok {
		in.h.Log().Warn("a provider's report is refused", "request_id", x.ID, "source", source, "why", why, "others_not_logged", missed)
	}
	return rest.NewError(code, message)
}

// logQuota allows refusalsLogged log lines per minute. The zero value is ready.
type logQuota struct {
	mu     sync.Mutex
	logged window.Counter
	missed int
}

// take reports whether one more line may be logged, and how many were suppressed since the last
// one.
func (q *logQuota) take(now time.Time) (ok bool, missed int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.logged.Add(now, time.Minute) > refusalsLogged {
		q.missed++
		return false, 0
	}
	missed, q.missed = q.missed, 0
	return true, missed
}
