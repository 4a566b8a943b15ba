package rest

import (
	"context"
	"io"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"mailer/app"
	"mailer/web/rest/openapi"
)

const (
	fullToken    = "full"
	sendingToken = "sending"
	goodSend     = `{"from":"a@example.com","to":"b@example.org","subject":"Hi","html":"<p>x</p>"}`
)

// threeKeys knows a key with full access, a key that may send, and a token for which the database
// fails.
type threeKeys struct{}

// Authenticate implements Authenticator.
func (threeKeys) Authenticate(_ context.Context, token string) (*app.Key, error) {
	switch token {
	case fullToken:
		return &app.Key{ID: "k-full", Permission: app.FullAccess}, nil
	case sendingToken:
		return &app.Key{ID: "k-sending", Permission: app.SendingAccess}, nil
	case "broken":
		return nil, io.ErrUnexpectedEOF
	}
	return nil, app.InvalidKey()
}

// sender is a handler with a few routes that fail, panic or block on demand.
type sender struct {
	*fixture
	clock    time.Time
	err      error         // of every route, when set
	panicky  bool          // POST /emails panics
	blocking chan struct{} // POST /emails waits until it is closed, when set
	entered  chan struct{} // POST /emails sends a value when it begins, when set
}

type sentBody struct {
	From    string `json:"from,omitempty"`
	To      string `json:"to,omitempty"`
	Subject string `json:"subject,omitempty"`
	HTML    string `json:"html,omitempty"`
	Text    string `json:"text,omitempty"`
}

func newSender(t testing.TB, change ...func(*Config)) *sender {
	t.Helper()
	s := &sender{clock: testTime}
	s.fixture = newFixture(t, append([]func(*Config){func(c *Config) {
		c.Keys, c.RateLimit, c.Now = threeKeys{}, 1000, func() time.Time { return s.clock }
	}}, change...)...)
	RegisterBody(s.handler, Route{Sending: true}, openapi.Operation{OperationID: "send", Method: "POST", Path: "/emails"}, s.send)
	Register(s.handler, Route{}, openapi.Operation{OperationID: "list", Method: "GET", Path: "/emails"}, s.list)
	Register(s.handler, Route{}, openapi.Operation{OperationID: "get", Method: "GET", Path: "/emails/{a}"}, s.get)
	RegisterPublic(s.handler, Route{Quiet: true}, openapi.Operation{OperationID: "health", Method: "GET", Path: "/healthz"},
		func(context.Context, *struct{}) (*echoOutput, error) { return &echoOutput{}, nil })
	return s
}

func (s *sender) send(context.Context, *app.Key, *struct{}, *sentBody) (*echoOutput, error) {
	if s.panicky {
		panic("out of cheese")
	}
	if s.entered != nil {
		s.entered <- struct{}{}
	}
	if s.blocking != nil {
		<-s.blocking
	}
	return &echoOutput{}, s.err
}

func (s *sender) list(context.Context, *app.Key, *struct{}) (*echoOutput, error) {
	return &echoOutput{}, s.err
}

func (s *sender) get(context.Context, *app.Key, *echoInput) (*echoOutput, error) {
	return &echoOutput{}, s.err
}

// do sends a request; headers are "Name: value" lines.
func (s *sender) do(method, target, body string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, "/", strings.NewReader(body))
	r.URL.Path, r.URL.RawQuery, _ = strings.Cut(target, "?")
	for _, line := range headers {
		name, value, _ := strings.Cut(line, ": ")
		r.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	s.handler.ServeHTTP(w, r)
	return w
}

// auth is do with a key that may do everything.
func (s *sender) auth(method, target, body string, headers ...string) *httptest.ResponseRecorder {
	return s.do(method, target, body, append([]string{"Authorization: Bearer " + fullToken}, headers...)...)
}

func itoa(n int) string { return strconv.Itoa(n) }
