package web

import (
	"context"
	"errors"
	"net/http"
	"strings"
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
	for _, source := range feedback.Sources() {
		schema.Enum = append(schema.Enum, source)
	}
	return schema
}

type ingestInput struct {
	Provider feedbackSource `path:"provider"`
	secretInput
}

type secretInput struct {
	Secret string `path:"secret" doc:"As the command mailer ingest shows it"`
}

type ingested struct {
	Object   string `json:"object" enum:"ingest"`
	Received int    `json:"received" doc:"How many reports about recipients were read and stored, repeated ones too"`
	Ignored  int    `json:"ignored" doc:"How many events were ignored, since they say nothing about what happened to an email"`
	// ValidationResponse answers the handshake of Azure Event Grid.
	ValidationResponse string `json:"validationResponse,omitempty" doc:"The validation code, in the answer to the handshake of Azure Event Grid"`
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
		Description: "The body is what the provider's webhooks send; for generic, one event as the example or an array of up to 1,000. Some providers must also send a password or sign the body.",
		Errors:      []int{http.StatusUnauthorized, http.StatusNotFound},
	}, in.provider)
	rest.DocumentBody[providerEvents](h, provider, true)
	byURL := rest.Route{Public: true, Precheck: in.checkElastic}
	rest.RegisterRaw(h, byURL, openapi.Operation{
		OperationID: "ingest-elasticemail", Method: http.MethodGet, Path: "/ingest/elasticemail/{secret}",
		Summary: "Take an event of Elastic Email, which is in the query", Tags: tags,
		Description: "Without a query, the answer shows that the address works.",
		Errors:      []int{http.StatusNotFound},
	}, in.elastic)
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

// checkSecret refuses requests with a wrong secret or password before their body is read, except the
// handshake of Azure, which carries no password: provider checks it.
func (in *ingest) checkSecret(ctx context.Context, x *rest.Exchange, param func(string) string) error {
	source := param("provider")
	ok, authorized, err := in.service.CheckIngestSecret(ctx, source, param("secret"), passwordOf(x.RequestHeader))
	switch {
	case err != nil:
		return err
	case !ok:
		why := errors.New("the secret in the path is wrong")
		in.service.NoteRefused(source, why.Error())
		return in.refuse(x, "", app.CodeNotFound, "There is nothing at this address", why)
	case !authorized && !isHandshake(x, source):
		return in.unauthorized(x, source, errNoPassword)
	}
	return nil
}

var errNoPassword = errors.New("the Authorization header has not the password that mailer ingest shows")

// isHandshake reports whether a request claims to be the handshake of Azure Event Grid.
func isHandshake(x *rest.Exchange, source string) bool {
	return source == "azure" && x.RequestHeader.Get("Aeg-Event-Type") == "SubscriptionValidation"
}

// passwordOf returns the password in an Authorization header, of the scheme Basic with the user
// PasswordUser or of the scheme Bearer; empty: none.
func passwordOf(header http.Header) string {
	scheme, value, _ := strings.Cut(header.Get("Authorization"), " ")
	if strings.EqualFold(scheme, "Bearer") {
		return strings.TrimSpace(value)
	}
	user, password, ok := (&http.Request{Header: header}).BasicAuth()
	if !ok || user != feedback.PasswordUser {
		return ""
	}
	return password
}

// unauthorized refuses a request with the right secret, but without the other proof.
func (in *ingest) unauthorized(x *rest.Exchange, source string, why error) error {
	x.Header().Set("WWW-Authenticate", `Basic realm="mailer"`)
	return in.refuse(x, source, app.CodeInvalidCredentials, "This request is not believed", why)
}

// checkElastic is checkSecret for the route with the events in the query.
func (in *ingest) checkElastic(ctx context.Context, x *rest.Exchange, param func(string) string) error {
	return in.checkSecret(ctx, x, func(name string) string {
		if name == "provider" {
			return elasticSource
		}
		return param(name)
	})
}

const elasticSource = "elasticemail"

// elastic accepts an event of Elastic Email in the query. Elastic Email checks an address without
// one.
func (in *ingest) elastic(ctx context.Context, x *rest.Exchange, path *secretInput) (*ingestOutput, error) {
	if x.Query() == "" {
		return &ingestOutput{ingested{Object: "ingest"}}, nil
	}
	return in.read(ctx, x, elasticSource, []byte(x.Query()))
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
	return in.store(ctx, app.SourceSES, feedback.Reading{Reports: reports})
}

// provider accepts events of a provider that checkSecret let pass, if their signature is right.
func (in *ingest) provider(ctx context.Context, x *rest.Exchange, path *ingestInput) (*ingestOutput, error) {
	source := string(path.Provider)
	why, err := in.service.VerifyIngest(ctx, source, x.RequestHeader, x.Body)
	if err != nil {
		return nil, err
	}
	if why != nil {
		return nil, in.unauthorized(x, source, why)
	}
	return in.read(ctx, x, source, x.Body)
}

// read reads and stores events.
func (in *ingest) read(ctx context.Context, x *rest.Exchange, source string, body []byte) (*ingestOutput, error) {
	reading, err := feedback.Read(source, body)
	var refusal *app.Error
	if errors.As(err, &refusal) {
		return nil, in.refuse(x, source, refusal.Code, refusal.Message, errors.New(refusal.Message))
	}
	if err != nil {
		return nil, err
	}
	if reading.Challenge != "" {
		in.h.Log().Info("a provider's handshake is answered", "request_id", x.ID, "source", source)
		return &ingestOutput{ingested{Object: "ingest", ValidationResponse: reading.Challenge}}, nil
	}
	if isHandshake(x, source) { // checkSecret may have let it pass
		return nil, in.unauthorized(x, source, errNoPassword)
	}
	return in.store(ctx, source, reading)
}

// store answers after everything is on disk.
func (in *ingest) store(ctx context.Context, source string, reading feedback.Reading) (*ingestOutput, error) {
	// The events are stored even if the sender hangs up.
	if err := in.service.TakeFeedback(context.WithoutCancel(ctx), reading.Reports); err != nil {
		return nil, err
	}
	in.service.NoteSeen(source)
	return &ingestOutput{ingested{Object: "ingest", Received: len(reading.Reports), Ignored: reading.Ignored}}, nil
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
