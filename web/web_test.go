package web

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"mailer/app"
	"mailer/app/live"
	"mailer/app/mail"
	"mailer/app/verdict"
	"mailer/web/audience"
	"mailer/web/broadcasts"
	"mailer/web/emails"
	"mailer/web/operator"
	"mailer/web/pages"
	"mailer/web/rest"
)

const (
	fullToken    = "full"
	sendingToken = "sending"
	emailID      = "01920000-0000-7000-8000-000000000001"
	attachmentID = "01920000-0000-7000-8000-000000000002"
	unknownID    = "01920000-0000-7000-8000-0000000000ff"
)

// everyService is whatever can stand for all services at once.
type everyService interface {
	rest.Authenticator
	healthService
	emails.Service
	emails.AttachmentService
	audience.SuppressionService
	domainService
	audience.TopicService
	audience.PropertyService
	audience.ContactTopicService
	audience.ContactService
	audience.SegmentService
	audience.PreviewService
	pages.Service
	pages.TrackingService
	audience.ImportService
	broadcasts.TemplateService
	ingestService
	broadcasts.Service
	broadcasts.StatsService
	broadcasts.ReviewService
	webhookService
	usageService
	deliverabilityService
	keyService
	emails.VerdictService
	operator.QueueService
}

func servicesOf(s everyService) Services {
	return Services{
		Auth:           s,
		Health:         s,
		Emails:         s,
		Verdicts:       s,
		Attachments:    s,
		Suppressions:   s,
		Domains:        s,
		Topics:         s,
		Properties:     s,
		ContactTopics:  s,
		Contacts:       s,
		Segments:       s,
		Previews:       s,
		Pages:          s,
		Tracking:       s,
		Imports:        s,
		Templates:      s,
		Ingest:         s,
		Broadcasts:     s,
		BroadcastStats: s,
		Reviews:        s,
		Webhooks:       s,
		Usage:          s,
		Deliverability: s,
		Queue:          s,
		Keys:           s,
		Live:           live.New(),
	}
}

// fakeService is a service that keeps one email and remembers the last send.
type fakeService struct {
	everyService            // what the tests of the handler do not reach: real_test.go does
	mu           sync.Mutex // of sent and opts
	sent         *app.EmailInput
	opts         mail.SendOptions
	page         app.Page
	err          error // of every method, when set
	ready        error
	panicky      bool
	blocking     chan struct{} // SendEmail waits for it to close, when set
	entered      chan struct{} // SendEmail says that it began, when set
}

var testTime = time.Date(2026, 8, 17, 12, 0, 0, 0, time.UTC)

func testEmail() app.Email {
	return app.Email{
		ID: emailID, TeamID: "t", MessageID: emailID + "@example.com", CreatedAt: testTime, LastEvent: app.Sent,
		Mail: app.Mail{
			From:    app.Address{Name: "Doe, Jane", Local: "jane", Domain: "example.com"},
			To:      []app.Address{{Local: "a", Domain: "example.org"}, {Name: "Bo", Local: "b", Domain: "example.org"}},
			Subject: "Hello",
		},
	}
}

func (f *fakeService) Authenticate(_ context.Context, token string) (*app.Key, error) {
	switch token {
	case fullToken:
		return &app.Key{ID: "k-full", Permission: app.FullAccess}, nil
	case sendingToken:
		return &app.Key{ID: "k-sending", Permission: app.SendingAccess}, nil
	case "broken":
		return nil, io.ErrUnexpectedEOF
	}
	return nil, app.Errorf(app.CodeInvalidAPIKey, "API key is invalid")
}

func (f *fakeService) SendEmail(_ context.Context, _ *app.Key, in *app.EmailInput, opts mail.SendOptions) (string, error) {
	if f.panicky {
		panic("out of cheese")
	}
	if f.entered != nil {
		f.entered <- struct{}{}
	}
	if f.blocking != nil {
		<-f.blocking
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sent, f.opts = in, opts
	return emailID, f.err
}

func (f *fakeService) ListEmails(_ context.Context, _ *app.Key, page app.Page) ([]app.Email, bool, error) {
	f.page = page
	return []app.Email{testEmail()}, true, f.err
}

func (f *fakeService) GetEmail(_ context.Context, _ *app.Key, id string) (*app.Email, error) {
	if id != emailID {
		return nil, app.NotFound("email")
	}
	e := testEmail()
	e.HTML = "<p>hi</p>"
	e.ScheduledAt = testTime
	e.Tags = []app.Tag{{Name: "a", Value: "b"}}
	e.Headers = []app.Header{{Name: "X-A", Value: "1"}}
	e.Attachments = []app.Attachment{{ID: attachmentID, Filename: "a.txt", ContentType: "text/plain", Size: 2}}
	return &e, f.err
}

func (f *fakeService) Verdict(context.Context, *app.Key, string) (verdict.Verdict, error) {
	return verdict.Of(&verdict.Facts{Relay: "us-east-1", Recipients: []verdict.Recipient{{Address: "a@example.org", State: app.Delivered}}}), f.err
}

func (f *fakeService) ListEvents(_ context.Context, _ *app.Key, id string, page app.Page) ([]app.Event, bool, error) {
	f.page = page
	if id != emailID {
		return nil, false, app.NotFound("email")
	}
	return []app.Event{
		{ID: unknownID, Type: "sent", Recipient: "a@example.org", CreatedAt: testTime,
			Detail: app.EventDetail{Message: "taken", ReplyCode: 250, Stage: app.StageDot}},
		{ID: emailID, Type: "queued", CreatedAt: testTime, Detail: app.EventDetail{Message: "accepted"}},
	}, false, f.err
}

func (f *fakeService) ListAttachments(_ context.Context, _ *app.Key, _ string, page app.Page) ([]app.Attachment, bool, error) {
	f.page = page
	return []app.Attachment{{ID: attachmentID, Filename: "a.txt", ContentType: "text/plain", Size: 2}}, false, f.err
}

func (f *fakeService) GetAttachment(_ context.Context, _ *app.Key, _, id string) (*app.Attachment, error) {
	if id != attachmentID {
		return nil, app.NotFound("attachment")
	}
	return &app.Attachment{ID: attachmentID, Filename: "a.txt", ContentType: "text/plain", Size: 2}, f.err
}

func (f *fakeService) AttachmentToken(*app.Key, string, string) (string, time.Time) {
	return "tok", testTime.Add(time.Hour)
}

func (f *fakeService) OpenAttachment(_ context.Context, token string) (*mail.Download, error) {
	if token != "tok" {
		return nil, app.NotFound("attachment")
	}
	content := []byte("<b>hi</b>")
	a := app.Attachment{Filename: "grüße.html", ContentType: "text/html\r\nX-Evil: 1", Size: int64(len(content))}
	return &mail.Download{Attachment: a, Next: func(context.Context) (piece []byte, err error) {
		piece, content = content, nil
		return piece, nil
	}}, nil
}

func (f *fakeService) GetCaptured(_ context.Context, _ *app.Key, id string) ([]byte, error) {
	if id != emailID {
		return nil, app.NotFound("message")
	}
	return []byte("Subject: hi\r\n\r\nbad \xff byte\r\n"), f.err
}

func (f *fakeService) Ready() error { return f.ready }

func (f *fakeService) Relay() string      { return "configured" }
func (f *fakeService) Beside() bool       { return false }
func (f *fakeService) Compat() app.Compat { return app.CompatStrict }

func (f *fakeService) Regions() []string { return []string{"us-east-1", "eu-west-1"} }

// bench is a handler with everything around it that a test may want to look at.
type bench struct {
	t       testing.TB
	service *fakeService
	handler *rest.Handler
	clock   time.Time
	log     bytes.Buffer
	cfg     Config
	limits  rest.Limits
	route   atomic.Value // of the last request, a string
}

func newBench(t testing.TB, change ...func(*Config, *rest.Limits)) *bench {
	b := &bench{t: t, service: &fakeService{}, clock: testTime}
	cfg := Config{BaseURL: "https://mail.example.com/", Bounds: Bounds{RateLimit: 1000}}
	cfg.Log = slog.New(routeSpy{slog.NewTextHandler(&b.log, &slog.HandlerOptions{Level: slog.LevelDebug}), &b.route})
	l := rest.DefaultLimits()
	for _, f := range change {
		f(&cfg, &l)
	}
	b.cfg, b.limits = cfg, l
	b.behind(servicesOf(b.service))
	return b
}

// behind makes the handler anew, with another service behind it.
func (b *bench) behind(s Services) {
	b.handler = newHandler(b.cfg, s, b.limits, func() time.Time { return b.clock })
}

// do sends a request; headers are "Name: value" lines.
func (b *bench) do(method, target, body string, headers ...string) *httptest.ResponseRecorder {
	b.t.Helper()
	r := httptest.NewRequest(method, "http://mail.example.com/", strings.NewReader(body))
	u, err := r.URL.Parse("http://mail.example.com" + target)
	if err != nil {
		b.t.Fatal(err)
	}
	r.URL = u
	for _, line := range headers {
		name, value, _ := strings.Cut(line, ": ")
		r.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	b.handler.ServeHTTP(w, r)
	b.checkAnswer(method, w)
	return w
}

// auth is do with a full-access key.
func (b *bench) auth(method, target, body string, headers ...string) *httptest.ResponseRecorder {
	b.t.Helper()
	return b.do(method, target, body, append([]string{"Authorization: Bearer " + fullToken}, headers...)...)
}

// checkAnswer checks what is true of every answer, and the answer's body
// against the schema that openapi.json has for it.
func (b *bench) checkAnswer(method string, w *httptest.ResponseRecorder) {
	b.t.Helper()
	head := w.Header()
	if _, ok := app.ParseID(head.Get("X-Request-Id")); !ok {
		b.t.Errorf("x-request-id is %q", head.Get("X-Request-Id"))
	}
	if b.cfg.RateLimit > 0 && (head.Get("Ratelimit-Limit") == "" || head.Get("Ratelimit-Remaining") == "" ||
		head.Get("Ratelimit-Reset") != "1" || !strings.HasSuffix(head.Get("Ratelimit-Policy"), ";w=1")) {
		b.t.Errorf("ratelimit headers missing: %v", head)
	}
	pattern := b.route.Load().(string)
	response := b.response(method, pattern, w.Code)
	if response == nil {
		b.t.Errorf("%s %s answers %d, which openapi.json does not list", method, pattern, w.Code)
		return
	}
	media := response.Content["application/json"]
	if media == nil {
		return // the attachment download and the pages; their own tests look at them
	}
	if got := head.Get("Content-Type"); strings.HasPrefix(got, "text/csv") && method == http.MethodGet && w.Code == http.StatusOK {
		return // a list that was asked for so
	} else if got != "application/json" {
		b.t.Errorf("content type is %q", got)
	}
	var v any
	if err := json.Unmarshal(w.Body.Bytes(), &v); err != nil {
		b.t.Fatalf("answer is no JSON: %v: %s", err, w.Body)
	}
	registry := b.handler.OpenAPI().Components.Schemas
	var res huma.ValidateResult
	huma.Validate(registry, media.Schema, huma.NewPathBuffer(nil, 0), huma.ModeReadFromServer, v, &res)
	for _, err := range res.Errors {
		b.t.Errorf("%s %s: answer does not fit its schema: %v", method, pattern, err)
	}
}

func (b *bench) response(method, pattern string, status int) *huma.Response {
	paths := b.handler.OpenAPI().Paths
	item := paths[pattern]
	if item == nil { // 404 and 405 of the router
		return paths["/emails"].Post.Responses["500"]
	}
	op := map[string]*huma.Operation{"GET": item.Get, "HEAD": item.Head, "POST": item.Post, "PATCH": item.Patch, "DELETE": item.Delete}[method]
	return op.Responses[itoa(status)]
}

// routeSpy notes the route of each request's log line on its way to the log.
type routeSpy struct {
	slog.Handler
	route *atomic.Value
}

func (s routeSpy) Enabled(context.Context, slog.Level) bool { return true }

func (s routeSpy) Handle(ctx context.Context, r slog.Record) error {
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == "route" {
			s.route.Store(a.Value.String())
		}
		return true
	})
	if !s.Handler.Enabled(ctx, r.Level) {
		return nil
	}
	return s.Handler.Handle(ctx, r)
}

func itoa(n int) string { b, _ := json.Marshal(n); return string(b) }

// document is openapi.json.
func (b *bench) document() []byte { return b.do("GET", "/openapi.json", "").Body.Bytes() }

// wrongKeys is how many wrong keys a client may try in a minute.
const wrongKeys = 20

// wantError checks status, name and that the message holds each of the texts.
func wantError(t testing.TB, w *httptest.ResponseRecorder, status int, name app.Code, texts ...string) {
	t.Helper()
	var e rest.Error
	if err := json.Unmarshal(w.Body.Bytes(), &e); err != nil {
		t.Fatalf("no JSON: %s", w.Body)
	}
	if w.Code != status || e.StatusCode != status || e.Name != name {
		t.Errorf("got %d %s, want %d %s", w.Code, w.Body, status, name)
	}
	for _, text := range texts {
		if !strings.Contains(e.Message, text) {
			t.Errorf("message %q does not contain %q", e.Message, text)
		}
	}
}

func wantStatus(t testing.TB, w *httptest.ResponseRecorder, status int) {
	t.Helper()
	if w.Code != status {
		t.Fatalf("got %d %s, want %d", w.Code, w.Body, status)
	}
}

// wantJSON compares the body of a success with literal JSON.
func wantJSON(t testing.TB, w *httptest.ResponseRecorder, want string) {
	t.Helper()
	if w.Code != http.StatusCreated {
		wantStatus(t, w, http.StatusOK)
	}
	var got, exp any
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(want), &exp); err != nil {
		t.Fatal(err)
	}
	a, _ := json.Marshal(got)
	b, _ := json.Marshal(exp)
	if !bytes.Equal(a, b) {
		t.Errorf("got  %s\nwant %s", a, b)
	}
}
