package rest

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"mailer/app"
	"mailer/app/kit/fair"
	"mailer/web/rest/openapi"
)

var testTime = time.Date(2026, 8, 17, 12, 0, 0, 0, time.UTC)

// fixture is a handler with the routes of a test.
type fixture struct {
	handler *Handler
	log     bytes.Buffer
}

// anyKey accepts every token with full access.
type anyKey struct{}

func (anyKey) Authenticate(_ context.Context, token string) (*app.Key, error) {
	return &app.Key{ID: token, Permission: app.FullAccess, Role: app.RoleOwner}, nil
}

func newFixture(t testing.TB, change ...func(*Config)) *fixture {
	t.Helper()
	b := &fixture{}
	cfg := Config{Keys: anyKey{}, Log: slog.New(slog.NewTextHandler(&b.log, nil)), Limits: DefaultLimits(), Now: func() time.Time { return testTime }}
	for _, f := range change {
		f(&cfg)
	}
	b.handler = New(cfg)
	return b
}

// get asks without the checks that only routes of the document can pass.
func get(h http.Handler, target string) *httptest.ResponseRecorder {
	r := httptest.NewRequest("GET", "/", nil)
	path, query, _ := strings.Cut(target, "?")
	decoded, err := url.PathUnescape(path)
	if err != nil {
		panic(err)
	}
	r.URL = &url.URL{Path: decoded, RawPath: path, RawQuery: query}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// wantError checks status, name and that the message holds each of the texts.
func wantError(t testing.TB, w *httptest.ResponseRecorder, status int, name app.Code, texts ...string) {
	t.Helper()
	var e Error
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

type echoInput struct {
	A string `path:"a"`
}
type echoOutput struct {
	Body struct {
		A string `json:"a"`
	}
}

type typedBody struct {
	Name string `json:"name" maxLength:"3"`
	Sub  []struct {
		ID string `json:"id"`
	} `json:"sub,omitempty"`
}

// TestRoutingPath runs paths through both trees: literals win over parameters,
// segments are decoded once, a plus stays a plus.
func TestRoutingPath(t *testing.T) {
	b := newFixture(t)
	echo := func(_ context.Context, in *echoInput) (*echoOutput, error) {
		var out echoOutput
		out.Body.A = in.A
		return &out, nil
	}
	RegisterPublic(b.handler, Route{}, openapi.Operation{Method: "GET", Path: "/echo/{a}"}, echo)
	RegisterPublic(b.handler, Route{}, openapi.Operation{Method: "GET", Path: "/echo/{a}/tail"}, echo)
	RegisterPublic(b.handler, Route{}, openapi.Operation{Method: "POST", Path: "/echo/{a}/tail"}, echo)
	RegisterPublic(b.handler, Route{}, openapi.Operation{Method: "GET", Path: "/echo/literal"}, echo)
	RegisterPublic(b.handler, Route{}, openapi.Operation{Method: "PUT", Path: "/echo/literal"}, echo)
	for path, want := range map[string]string{
		"/echo/x":                 "x",
		"//echo///x":              "x",
		"/%65cho/x":               "x",
		"/echo/literal":           "",
		"/echo/literal/tail":      "literal",
		"/echo/a+b@x.com":         "a+b@x.com",
		"/echo/a%2Bb%40x.com":     "a+b@x.com",
		"/echo/a%2Fb":             "a/b",
		"/echo/a%2fb%2B%25/tail":  "a/b+%",
		"/echo/%252F":             "%2F",
		"/echo/gr%C3%BC%C3%9Fe":   "grüße",
		"/echo/a%20b":             "a b",
		"/echo/%2F%2F/tail":       "//",
		"/echo/:a":                ":a",
		"/echo/a%00b":             "a\x00b",
		"/echo/*":                 "*",
		"/echo/a;b=c":             "a;b=c",
		"/echo/a%3Fb?c=d":         "a?b",
		"/echo/literal%2Fx/tail":  "literal/x",
		"/echo/x/tail?a=overlaid": "x",
	} {
		w := get(b.handler, path)
		if want := fmt.Sprintf(`{"a":%q}`, want); want != `{"a":"a\x00b"}` && strings.TrimSpace(w.Body.String()) != want {
			t.Errorf("%s gives %d %s, want %s", path, w.Code, w.Body, want)
		}
	}
	if w := get(b.handler, "/echo/../healthz"); w.Code != 404 {
		t.Errorf("dots are resolved: %d %s", w.Code, w.Body)
	}
	for method, allow := range map[string]string{"DELETE": "GET, PUT", "PATCH": "GET, PUT"} {
		r := httptest.NewRequest(method, "/echo/literal", nil)
		w := httptest.NewRecorder()
		b.handler.ServeHTTP(w, r)
		if w.Code != 405 || w.Header().Get("Allow") != allow {
			t.Errorf("%s: %d, allow %q", method, w.Code, w.Header().Get("Allow"))
		}
	}
}

func TestEveryCodeHasItsStatus(t *testing.T) {
	for code, want := range map[app.Code]int{
		app.CodeMissingAPIKey: 401, app.CodeInvalidAPIKey: 401, app.CodeRestrictedAPIKey: 403, app.CodeForbidden: 403,
		app.CodeSendingPaused: 403, app.CodeNotFound: 404, app.CodeConflict: 409, app.CodeConcurrentIdempotent: 409,
		app.CodeInvalidIdempotent: 409, app.CodeInvalidIdempotencyKey: 400, app.CodeInvalidParameter: 400,
		app.CodeInvalidPayload: 400, app.CodeValidation: 422, app.CodeAllRecipientsSuppressed: 422,
		app.CodePayloadTooLarge: 413, app.CodeMethodNotAllowed: 405, app.CodeRateLimitExceeded: 429,
		app.CodeDailyQuotaExceeded: 429, app.CodeInternal: 500, app.CodeServiceUnavailable: 503, "unheard_of": 500,
	} {
		if got := statusOf(code); got != want {
			t.Errorf("%s: %d, want %d", code, got, want)
		}
	}
}

// TestBodyRefusals checks that errors in a body name the field and not the value.
func TestBodyRefusals(t *testing.T) {
	b := newFixture(t)
	RegisterBody(b.handler, Route{Public: true}, openapi.Operation{Method: "PUT", Path: "/typed"},
		func(_ context.Context, _ *app.Key, _ *struct{}, body *typedBody) (*echoOutput, error) {
			var out echoOutput
			out.Body.A = body.Name
			return &out, nil
		})
	body := b.handler.OpenAPI().Paths["/typed"]["put"].RequestBody.Content["application/json"].Schema
	schema := b.handler.OpenAPI().Components.Schemas.Lookup(body.Ref)
	if schema.Properties["name"] == nil || *schema.Properties["name"].MaxLength != 3 {
		t.Errorf("the document has another body: %+v", schema)
	}
	for _, tt := range []struct {
		body   string
		status int
		code   app.Code
		text   string
	}{
		{`{"name":"abc"}`, 200, "", ""},
		{``, 400, app.CodeInvalidPayload, "JSON"},
		{`{"name"`, 400, app.CodeInvalidPayload, "JSON"},
		{`{"name":"a","name":"b"}`, 400, app.CodeInvalidPayload, "`name` more than once"},
		{`{"name":"a","foo":"s3cret"}`, 422, app.CodeValidation, "`foo` is not a field that this endpoint supports"},
		{`{"NAME":"a","name":"b"}`, 422, app.CodeValidation, "`NAME` is not a field"},
		{`{"name":"a","sub":[{"id":["s3cret"]}]}`, 422, app.CodeValidation, "`sub[0].id` must be a string"},
		{`{"name":"a","sub":[{"foo":"s3cret"}]}`, 422, app.CodeValidation, "`sub[0].foo` is not a field that this endpoint supports"},
		{`{"name":{"a":"s3cret"}}`, 422, app.CodeValidation, "`name`"},
		{`{"name":1}`, 422, app.CodeValidation, "`name`"},
	} {
		r := httptest.NewRequest("PUT", "/typed", strings.NewReader(tt.body))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		w := httptest.NewRecorder()
		b.handler.ServeHTTP(w, r)
		if tt.status == 200 {
			wantStatus(t, w, 200)
			continue
		}
		wantError(t, w, tt.status, tt.code, tt.text)
		if strings.Contains(w.Body.String(), "s3cret") {
			t.Errorf("a value comes back: %s", w.Body)
		}
	}
}

type (
	checkedA struct {
		A string `path:"a"`
	}
	checkedB struct {
		B string `path:"b"`
	}
)

func (*checkedA) Check() error { return nil }
func (*checkedB) Check() error { return nil }

type (
	resourceA struct {
		A string `path:"a"`
	}
	resourceB struct {
		B string `path:"b"`
	}
)

func (r *resourceA) Resource() (kind string, id *string) { return "a", &r.A }
func (r *resourceB) Resource() (kind string, id *string) { return "", &r.B }

// TestResourceIDs: an id is checked and made canonical if its resource has a kind, and any text
// names a resource without one.
func TestResourceIDs(t *testing.T) {
	const id = "019e0000-0000-7000-8000-00000000000a"
	read := func(in ResourcePath) string {
		if err := checkInput(in, nil); err != nil {
			return err.Error()
		}
		_, id := in.Resource()
		return *id
	}
	for _, tt := range []struct {
		in   ResourcePath
		want string
	}{
		{&resourceA{strings.ToUpper(id)}, id}, {&resourceA{"x"}, app.NotFound("a").Error()}, {&resourceB{"x"}, "x"},
	} {
		if got := read(tt.in); got != tt.want {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
}

// TestInvalidInputTypesPanic: nothing would read a body of an input, and nothing would check the
// ids of two embedded Checkers or ResourcePaths.
func TestInvalidInputTypesPanic(t *testing.T) {
	b := newFixture(t)
	op := openapi.Operation{Method: "POST", Path: "/typed/{a}/{b}"}
	for name, add := range map[string]func(){
		"a Body": func() {
			RegisterPublic(b.handler, Route{}, op, func(context.Context, *struct{ Body typedBody }) (*echoOutput, error) { return nil, nil })
		},
		"a RawBody": func() {
			RegisterPublic(b.handler, Route{}, op, func(context.Context, *struct{ RawBody []byte }) (*echoOutput, error) { return nil, nil })
		},
		"two Checks": func() {
			RegisterPublic(b.handler, Route{}, op, func(context.Context, *struct {
				checkedA
				checkedB
			}) (*echoOutput, error) {
				return nil, nil
			})
		},
		"two Resources": func() {
			RegisterPublic(b.handler, Route{}, op, func(context.Context, *struct {
				resourceA
				resourceB
			}) (*echoOutput, error) {
				return nil, nil
			})
		},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("an input with %s is taken", name)
				}
			}()
			add()
		}()
	}
}

func TestFailureLimiterIsBounded(t *testing.T) {
	clock := testTime
	l := newFailureLimiter(func() time.Time { return clock })
	addr := func(i int) string { return fmt.Sprintf("10.%d.%d.%d:1", i>>16, i>>8&255, i&255) }
	shared := 0
	for i := range maxFailureAddrs + 100 {
		if _, ok := l.count(fair.Network(peerAddress(addr(i)))); !ok {
			shared++
		}
	}
	if len(l.clients) > maxFailureAddrs+1 || shared != 100-maxFailures {
		t.Errorf("%d addresses are kept, %d refused", len(l.clients), shared)
	}
	clock = clock.Add(failureWindow)
	if _, ok := l.count(fair.Network(peerAddress(addr(maxFailureAddrs + 1)))); !ok || len(l.clients) != 1 {
		t.Errorf("after the window: taken %v, %d addresses are kept", ok, len(l.clients))
	}
}

// TestInternalCallsKeepLimits: the body of an internal call has the limits of its operation.
func TestInternalCallsKeepLimits(t *testing.T) {
	b := newFixture(t)
	RegisterBody(b.handler, Route{MaxBody: 10}, openapi.Operation{OperationID: "typed", Method: "POST", Path: "/typed"},
		func(context.Context, *app.Key, *struct{}, *typedBody) (*echoOutput, error) { return &echoOutput{}, nil })
	outer := &Exchange{ResponseWriter: NewRecorder(), Key: &app.Key{Permission: app.FullAccess}, memory: &answerMemory{budget: b.handler.answerBudget}}
	for n, want := range map[int]int{11: 413, 10: 200} {
		in := &Call{Header: http.Header{}, Body: []byte(`{}` + strings.Repeat(" ", n-2))}
		if w := b.handler.Perform(t.Context(), outer, b.handler.Operations()["typed"], in); w.Status != want {
			t.Errorf("%d bytes of 10: %d %s", n, w.Status, &w.Body)
		}
	}
}

// TestBodyBufferIsReused: on routes that keep no part of the body.
func TestBodyBufferIsReused(t *testing.T) {
	b := newFixture(t)
	RegisterBody(b.handler, Route{ReusesBuffer: true}, openapi.Operation{OperationID: "typed", Method: "POST", Path: "/typed"},
		func(context.Context, *app.Key, *struct{}, *typedBody) (*echoOutput, error) { return &echoOutput{}, nil })
	seen := 0
	for i := range 26 {
		body := fmt.Sprintf(`{"name":%q}`, strings.Repeat(string(rune('a'+i)), 20))
		r := httptest.NewRequest("POST", "/typed", strings.NewReader(body))
		r.Header.Set("Authorization", "Bearer x")
		b.handler.ServeHTTP(httptest.NewRecorder(), r)
		buffer := b.handler.bodyBudget.buffer(int64(len(body)))
		if string((*buffer)[:len(body)]) == body {
			seen++
		}
		b.handler.bodyBudget.buffers.Put(buffer)
	}
	if seen == 0 {
		t.Error("no room came back")
	}
}
