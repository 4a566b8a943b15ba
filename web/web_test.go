package web

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/server"
	"mailer/app/tenants/domains"
	"mailer/db/dbtest"
	"mailer/web/rest"
	"mailer/web/rest/openapi"
)

const (
	emailID   = "01920000-0000-7000-8000-000000000001"
	unknownID = "01920000-0000-7000-8000-0000000000ff"
	validSend = `{"from":"a@example.com","to":"b@example.org","subject":"Hi","html":"<p>x</p>"}`
)

// member puts more members into validSend.
func member(extra string) string {
	if extra == "" {
		return validSend
	}
	return strings.TrimSuffix(validSend, "}") + "," + extra + "}"
}

var testTime = time.Date(2026, 8, 17, 12, 0, 0, 0, time.UTC)

// fixture is a handler with everything around it that a test may want to look at.
type fixture struct {
	t       testing.TB
	handler *rest.Handler
	clock   time.Time
	log     bytes.Buffer
	cfg     Config
	limits  rest.Limits
	route   atomic.Value // of the last request, a string
}

// newFixture returns a handler without services, for answers that need none.
func newFixture(t testing.TB) *fixture {
	b := &fixture{t: t, clock: testTime, limits: rest.DefaultLimits()}
	b.cfg = Config{Server: nothing(), BaseURL: "https://mail.example.com/", Bounds: Bounds{RateLimit: 1000}, Log: b.logger()}
	b.remake()
	return b
}

// nothing is a server that has two regions and no parts to answer with.
func nothing() *server.Server {
	b := &base.Base{}
	b.Settings.SetRelays(base.Relays{Regions: []base.Region{{Name: "us-east-1"}, {Name: "eu-west-1"}}})
	return &server.Server{Base: b, Domains: &domains.Service{Base: b}}
}

// logger writes to the log of the bench, which notes the route of each request.
func (b *fixture) logger() *slog.Logger {
	return slog.New(routeSpy{slog.NewTextHandler(&b.log, &slog.HandlerOptions{Level: slog.LevelDebug}), &b.route})
}

// remake makes the handler again with the current configuration, limits and server.
func (b *fixture) remake() {
	b.handler = newHandler(b.cfg, b.limits, func() time.Time { return b.clock })
}

// do sends a request; headers are "Name: value" lines.
func (b *fixture) do(method, target, body string, headers ...string) *httptest.ResponseRecorder {
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

// checkAnswer checks properties of all answers, and the body against its schema in openapi.json.
func (b *fixture) checkAnswer(method string, w *httptest.ResponseRecorder) {
	b.t.Helper()
	head := w.Header()
	if _, ok := app.ParseID(head.Get("X-Request-Id")); !ok {
		b.t.Errorf("x-request-id is %q", head.Get("X-Request-Id"))
	}
	if b.cfg.RateLimit > 0 && (head.Get("Ratelimit-Limit") == "" || head.Get("Ratelimit-Remaining") == "" ||
		head.Get("Ratelimit-Reset") != "1" || !strings.HasSuffix(head.Get("Ratelimit-Policy"), ";w=1")) {
		b.t.Errorf("ratelimit headers missing: %v", head)
	}
	pattern, logged := b.route.Load().(string)
	if !logged { // the log is silent
		return
	}
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
	for _, misfit := range misfits(b.document().Components.Schemas, media.Schema, v, "the answer") {
		b.t.Errorf("%s %s: the answer does not fit its schema: %s", method, pattern, misfit)
	}
}

// documents holds one document for each list of regions, the only thing in which documents of servers
// differ. Describing all operations again in each test takes longer than most tests.
var documents struct {
	sync.Mutex
	of map[string]*openapi.Document
}

// document describes the operations of the handler.
func (b *fixture) document() *openapi.Document {
	regions := fmt.Sprint(b.cfg.Server.Domains.Regions())
	documents.Lock()
	defer documents.Unlock()
	if documents.of == nil {
		documents.of = map[string]*openapi.Document{}
	}
	if documents.of[regions] == nil {
		documents.of[regions] = b.handler.OpenAPI()
	}
	return documents.of[regions]
}

func (b *fixture) response(method, pattern string, status int) *openapi.Response {
	paths := b.document().Paths
	item := paths[pattern]
	if item == nil { // 404 and 405 of the router
		return paths["/emails"]["post"].Responses["500"]
	}
	return item[strings.ToLower(method)].Responses[itoa(status)]
}

// routeSpy records the route of each request's log line.
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

// document is openapi.json of a server with two regions.
var document = sync.OnceValue(func() []byte {
	w := httptest.NewRecorder()
	newFixture(nil).handler.ServeHTTP(w, httptest.NewRequest("GET", "/openapi.json", nil))
	return w.Body.Bytes()
})

// TestMain reduces garbage collection: most garbage is that of stopped servers.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	dbtest.RaiseParallelism()
	code := m.Run()
	endChromium()
	os.Exit(code)
}

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
