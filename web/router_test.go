package web

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"

	"mailer/app"
	"mailer/app/engine"
)

func TestUnknownPathsNeedNoKey(t *testing.T) {
	b := newBench(t)
	for _, path := range []string{"/", "/nothing", "/emails/", "/emails/x/y/z", "/EMAILS", "/openapi.yaml",
		"/openapi-3.0.json", "/docs", "/schemas/Error.json"} {
		wantError(t, b.do("GET", path, ""), 404, app.CodeNotFound)
	}
}

func TestMethodNotAllowed(t *testing.T) {
	b := newBench(t)
	for _, tt := range []struct{ method, path, allow string }{
		{"DELETE", "/emails", "GET, POST"},
		{"PUT", "//emails", "GET, POST"},
		{"OPTIONS", "/emails", "GET, POST"},
		{"HEAD", "/healthz", "GET"},
		{"POST", "/emails/" + emailID, "DELETE, GET, PATCH"},
		{"POST", "/emails/" + emailID + "/events", "GET"},
		{"PROPFIND", "/attachments/tok", "GET"},
	} {
		w := b.do(tt.method, tt.path, "")
		if got := w.Header().Get("Allow"); got != tt.allow {
			t.Errorf("%s %s: allow %q, want %q", tt.method, tt.path, got, tt.allow)
		}
		if tt.method != "HEAD" {
			wantError(t, w, 405, app.CodeMethodNotAllowed)
		}
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

// TestRoutingPath runs paths through both trees: literals win over parameters,
// segments are decoded once, a plus stays a plus.
func TestRoutingPath(t *testing.T) {
	b := newBench(t)
	echo := func(_ context.Context, in *echoInput) (*echoOutput, error) {
		var out echoOutput
		out.Body.A = in.A
		return &out, nil
	}
	registerPublic(b.handler, route{}, huma.Operation{Method: "GET", Path: "/echo/{a}"}, echo)
	registerPublic(b.handler, route{}, huma.Operation{Method: "GET", Path: "/echo/{a}/tail"}, echo)
	registerPublic(b.handler, route{}, huma.Operation{Method: "POST", Path: "/echo/{a}/tail"}, echo)
	registerPublic(b.handler, route{}, huma.Operation{Method: "GET", Path: "/echo/literal"}, echo)
	registerPublic(b.handler, route{}, huma.Operation{Method: "PUT", Path: "/echo/literal"}, echo)
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

func TestOptionsStar(t *testing.T) {
	b := newBench(t)
	r := httptest.NewRequest("OPTIONS", "/", nil)
	r.URL = &url.URL{Path: "*"}
	w := httptest.NewRecorder()
	b.handler.ServeHTTP(w, r)
	wantError(t, w, 404, app.CodeNotFound)
}

func TestPanicIsLoggedAndHidden(t *testing.T) {
	b := newBench(t)
	b.service.panicky = true
	w := b.auth("POST", "/emails", goodSend)
	wantError(t, w, 500, app.CodeInternal)
	if strings.Contains(w.Body.String(), "cheese") {
		t.Error("the answer tells of the panic")
	}
	log := b.log.String()
	if !strings.Contains(log, "out of cheese") || !strings.Contains(log, w.Header().Get("X-Request-Id")) {
		t.Errorf("log: %s", log)
	}
	b.service.panicky = false
	wantStatus(t, b.auth("POST", "/emails", goodSend), 200)
}

func TestUnknownErrorIsLoggedAndHidden(t *testing.T) {
	b := newBench(t)
	b.service.err = errors.New("disk on fire")
	w := b.auth("GET", "/emails", "")
	wantError(t, w, 500, app.CodeInternal)
	if strings.Contains(w.Body.String(), "fire") {
		t.Error("the answer tells of the cause")
	}
	if log := b.log.String(); !strings.Contains(log, "disk on fire") || !strings.Contains(log, w.Header().Get("X-Request-Id")) {
		t.Errorf("log: %s", log)
	}
	wantError(t, b.do("GET", "/emails", "", "Authorization: Bearer broken"), 500, app.CodeInternal)
}

func TestCauseOfAnAppErrorIsLogged(t *testing.T) {
	b := newBench(t)
	b.service.err = fmt.Errorf("sending: %w", &app.Error{Code: app.CodeServiceUnavailable, Message: "Later", Err: errors.New("disk on fire")})
	w := b.auth("POST", "/emails", goodSend)
	wantError(t, w, 503, app.CodeServiceUnavailable, "Later")
	if strings.Contains(w.Body.String(), "fire") || !strings.Contains(b.log.String(), "disk on fire") {
		t.Errorf("answer %s, log %s", w.Body, b.log.String())
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

func TestNamesUnknownToResendAreRepeated(t *testing.T) {
	for code, want := range map[app.Code]bool{
		app.CodeAllRecipientsSuppressed: true, app.CodeSendingPaused: true, app.CodeForbidden: true, app.CodeConflict: true,
		app.CodeInvalidPayload: true, app.CodePayloadTooLarge: true, app.CodeValidation: false, app.CodeNotFound: false,
		app.CodeRateLimitExceeded: false, app.CodeRestrictedAPIKey: false,
	} {
		b := newBench(t)
		b.service.err = app.Errorf(code, "no")
		r := httptest.NewRequest("POST", "/emails", strings.NewReader(goodSend))
		r.Header.Set("Authorization", "Bearer "+fullToken)
		w := httptest.NewRecorder()
		b.handler.ServeHTTP(w, r)
		if got := strings.Contains(w.Body.String(), fmt.Sprintf(`"error":%q`, code)); got != want {
			t.Errorf("%s: %s", code, w.Body)
		}
	}
}

type typedBody struct {
	Name string `json:"name" maxLength:"3"`
	Sub  []struct {
		ID string `json:"id"`
	} `json:"sub,omitempty"`
}

// TestBodyRefusals proves that the body of a route is refused in our words, with
// the field and without the value.
func TestBodyRefusals(t *testing.T) {
	b := newBench(t)
	registerBody(b.handler, route{public: true}, huma.Operation{Method: "PUT", Path: "/typed"},
		func(_ context.Context, _ *app.Key, _ *struct{}, body *typedBody) (*echoOutput, error) {
			var out echoOutput
			out.Body.A = body.Name
			return &out, nil
		})
	schema := b.handler.api.OpenAPI().Paths["/typed"].Put.RequestBody.Content["application/json"].Schema
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

// TestHumaReadsNoBody: it would refuse what is wrong in words of its own.
func TestHumaReadsNoBody(t *testing.T) {
	b := newBench(t)
	for name, add := range map[string]func(){
		"Body": func() {
			registerPublic(b.handler, route{}, huma.Operation{Method: "POST", Path: "/typed"},
				func(context.Context, *struct{ Body typedBody }) (*echoOutput, error) { return nil, nil })
		},
		"RawBody": func() {
			registerPublic(b.handler, route{}, huma.Operation{Method: "POST", Path: "/raw"},
				func(context.Context, *struct{ RawBody []byte }) (*echoOutput, error) { return nil, nil })
		},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("an input with a %s is taken", name)
				}
			}()
			add()
		}()
	}
}

func TestHumaStatuses(t *testing.T) {
	for status, want := range map[int]Error{
		408: {StatusCode: 408, Name: app.CodeInvalidPayload},
		413: {StatusCode: 413, Name: app.CodePayloadTooLarge},
		415: {StatusCode: 422, Name: app.CodeValidation},
		406: {StatusCode: 422, Name: app.CodeValidation},
		500: {StatusCode: 500, Name: app.CodeInternal},
		501: {StatusCode: 500, Name: app.CodeInternal},
	} {
		got := humaError(status, "x", errors.New("cause")).(*Error)
		if got.StatusCode != want.StatusCode || got.Name != want.Name || strings.Contains(got.Message, "cause") {
			t.Errorf("%d gives %+v", status, got)
		}
	}
}

func TestOneLogLineWithoutSecrets(t *testing.T) {
	b := newBench(t)
	w := b.auth("GET", "/emails/"+emailID+"?token=s3cret", "")
	log := b.log.String()
	if strings.Count(log, "\n") != 1 {
		t.Fatalf("log: %s", log)
	}
	for _, want := range []string{"level=INFO", "method=GET", "route=/emails/{id}", "status=200", "duration=", "key_id=k-full",
		"request_id=" + w.Header().Get("X-Request-Id")} {
		if !strings.Contains(log, want) {
			t.Errorf("log lacks %s: %s", want, log)
		}
	}
	for _, bad := range []string{fullToken + " ", "Bearer", "s3cret", "192.0.2.1", emailID} {
		if strings.Contains(log, bad) {
			t.Errorf("log holds %s: %s", bad, log)
		}
	}
}

func TestHealth(t *testing.T) {
	b := newBench(t)
	wantJSON(t, b.do("GET", "/healthz", ""), `{"status":"ok"}`)
	wantJSON(t, b.do("GET", "/readyz", ""), `{"status":"ready"}`)
	if b.log.Len() > 0 {
		t.Errorf("health checks fill the log: %s", b.log.String())
	}
	b.service.ready = app.Errorf(app.CodeServiceUnavailable, "The disk is full")
	wantError(t, b.do("GET", "/readyz", ""), 503, app.CodeServiceUnavailable, "disk is full")
	wantJSON(t, b.do("GET", "/healthz", ""), `{"status":"ok"}`)
	b.service.ready = nil
	b.handler.draining.Store(true)
	wantError(t, b.do("GET", "/readyz", ""), 503, app.CodeServiceUnavailable, "shutting down")
	wantJSON(t, b.do("GET", "/healthz", ""), `{"status":"ok"}`)
}

func TestNewNeedsNothingButAnEngine(t *testing.T) {
	h := New(Config{Engine: &engine.Engine{}, Log: slog.New(slog.DiscardHandler), RateLimit: DefaultRateLimit})
	w := get(h, "/healthz")
	wantJSON(t, w, `{"status":"ok"}`)
	if w.Header().Get("Ratelimit-Policy") != "100;w=1" {
		t.Errorf("headers: %v", w.Header())
	}
}

func TestCanceledRequestIsNoError(t *testing.T) {
	b := newBench(t, func(c *Config, _ *limits) {
		c.Log = slog.New(slog.DiscardHandler)
	})
	b.handler.log = slog.New(slog.NewTextHandler(&b.log, &slog.HandlerOptions{Level: slog.LevelError}))
	b.service.err = fmt.Errorf("reading: %w", context.Canceled)
	r := httptest.NewRequest("GET", "/emails", nil)
	r.Header.Set("Authorization", "Bearer full")
	b.handler.ServeHTTP(httptest.NewRecorder(), r)
	if b.log.Len() > 0 {
		t.Errorf("log: %s", b.log.String())
	}
}
