package emails

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"mailer/app"
	"mailer/app/sending/mail"
	"mailer/web/rest"
	"mailer/web/rest/openapi"
	"mailer/web/shapes"
)

const anID = "01920000-0000-7000-8000-000000000001"

// sends is a handler with the route of sends, and keeps the last one.
type sends struct {
	handler *rest.Handler
	log     strings.Builder
	email   *app.EmailInput
	options mail.SendOptions
}

// anyKey accepts every token with full access.
type anyKey struct{}

// Authenticate implements rest.Authenticator.
func (anyKey) Authenticate(context.Context, string) (*app.Key, error) {
	return &app.Key{ID: "k", Permission: app.FullAccess}, nil
}

func newSends() *sends {
	s := &sends{}
	log := slog.New(slog.NewTextHandler(&s.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	s.handler = rest.New(rest.Config{Keys: anyKey{}, Log: log, Limits: rest.DefaultLimits(), Now: time.Now})
	op := openapi.Operation{OperationID: "send", Method: "POST", Path: "/emails"}
	rest.RegisterBody(s.handler, rest.Route{Sending: true}, op,
		func(_ context.Context, _ *app.Key, in *shapes.IdempotencyHeader, request *SendEmailRequest) (_ *sendOutput, err error) {
			s.email = request.Input()
			s.options, err = in.Options(s.email)
			return &sendOutput{shapes.CreatedEmail{ID: anID}}, err
		})
	return s
}

func (s *sends) post(body string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest("POST", "/emails", strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer x")
	for _, line := range headers {
		name, value, _ := strings.Cut(line, ": ")
		r.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	s.handler.ServeHTTP(w, r)
	return w
}

// wantRefused checks status, name and that the message has the text.
func wantRefused(t *testing.T, w *httptest.ResponseRecorder, status int, name app.Code, text string) {
	t.Helper()
	var e rest.Error
	if err := json.Unmarshal(w.Body.Bytes(), &e); err != nil {
		t.Fatalf("no JSON: %s", w.Body)
	}
	if w.Code != status || e.Name != name || !strings.Contains(e.Message, text) {
		t.Errorf("got %d %s, want %d %s %s", w.Code, w.Body, status, name, text)
	}
}

const goodSend = `{"from":"a@example.com","to":"b@example.org","subject":"Hi","html":"<p>x</p>"}`

func TestSendAccepted(t *testing.T) {
	base := app.EmailInput{From: "a@example.com", To: []string{"b@example.org"}, Subject: "Hi", HTML: "<p>x</p>"}
	with := func(change func(*app.EmailInput)) app.EmailInput {
		in := base
		change(&in)
		return in
	}
	attached := func(content string) app.EmailInput {
		return with(func(in *app.EmailInput) {
			in.Attachments = []app.Attachment{{Filename: "a.txt", Size: int64(len(content)), Content: []byte(content)}}
		})
	}
	raw := func(text string) app.EmailInput {
		return with(func(in *app.EmailInput) { in.Attachments = []app.Attachment{{Filename: "a.txt", Text: text}} })
	}
	shown := func(id string) app.EmailInput {
		in := attached("hi")
		in.Attachments[0].ContentID = id
		return in
	}
	tests := []struct {
		name  string
		extra string // members after those of goodSend
		want  app.EmailInput
	}{
		{"plain", ``, base},
		{"lists", `"cc":["c@x.y","d@x.y"],"bcc":"e@x.y","reply_to":["f@x.y"]`, with(func(in *app.EmailInput) {
			in.Cc, in.Bcc, in.ReplyTo = []string{"c@x.y", "d@x.y"}, []string{"e@x.y"}, []string{"f@x.y"}
		})},
		{"empty is absent", `"cc":[],"bcc":"","reply_to":null,"tags":[],"attachments":[],"headers":null,"text":null`, base},
		{"fields to come, empty", `"scheduled_at":"","topic_id":null,"template":null`, base},
		{"empty topic", `"topic_id":""`, base},
		{"topic", `"topic_id":"` + anID + `"`, with(func(in *app.EmailInput) { in.TopicID = anID })},
		{"text opted out", `"text":""`, with(func(in *app.EmailInput) { in.Text = new(string) })},
		{"headers and tags", `"headers":{"X-A":"1"},"tags":[{"name":"n","value":"v"}]`, with(func(in *app.EmailInput) {
			in.Headers, in.Tags = map[string]string{"X-A": "1"}, []app.Tag{{Name: "n", Value: "v"}}
		})},
		{"PHP's empty objects", `"headers":[ ],"template":[],"tags":[],"attachments":[]`, base},
		{"headers as a list", `"headers":[{"name":"X-A","value":"1"},{"name":"X-B","value":"2"}]`, with(func(in *app.EmailInput) {
			in.Headers = map[string]string{"X-A": "1", "X-B": "2"}
		})},
		{"base64", `"attachments":[{"filename":"a.txt","content":"aGk="}]`, attached("hi")},
		{"base64 with breaks", `"attachments":[{"filename":"a.txt","content":"aG\r\nk=\n"}]`, attached("hi")},
		{"no base64", `"attachments":[{"filename":"a.txt","content":"hello world"}]`, raw("hello world")},
		{"no padding", `"attachments":[{"filename":"a.txt","content":"aGk"}]`, raw("aGk")},
		{"too much padding", `"attachments":[{"filename":"a.txt","content":"aGk=="}]`, raw("aGk==")},
		{"blanks", `"attachments":[{"filename":"a.txt","content":"aG k="}]`, raw("aG k=")},
		{"tabs", `"attachments":[{"filename":"a.txt","content":"aG\tk="}]`, raw("aG\tk=")},
		{"other alphabet", `"attachments":[{"filename":"a.txt","content":"a_b-"}]`, raw("a_b-")},
		{"text behind base64", `"attachments":[{"filename":"a.txt","content":"aGk=aGk="}]`, raw("aGk=aGk=")},
		{"content id", `"attachments":[{"filename":"a.txt","content":"aGk=","content_id":"logo"}]`, shown("logo")},
		{"content id by its old name", `"attachments":[{"filename":"a.txt","content":"aGk=","inline_content_id":"logo"}]`, shown("logo")},
		{"content id by both", `"attachments":[{"filename":"a.txt","content":"aGk=","content_id":"logo","inline_content_id":"logo"}]`, shown("logo")},
		{"octets", `"attachments":[{"filename":"a.txt","content":[104, 105 ,0,255]}]`, attached("hi\x00\xff")},
		{"Buffer", `"attachments":[{"filename":"a.txt","content":{"type":"Buffer","data":[104,105]}}]`, attached("hi")},
		{"empty path", `"attachments":[{"filename":"a.txt","content":"aGk=","path":"","content_id":null,"inline_content_id":""}]`, attached("hi")},
		{"content type", `"attachments":[{"filename":"a.txt","content":"aGk=","content_type":"text/x"}]`, with(func(in *app.EmailInput) {
			in.Attachments = []app.Attachment{{Filename: "a.txt", ContentType: "text/x", Size: 2, Content: []byte("hi")}}
		})},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newSends()
			if w := b.post(member(tt.extra)); w.Code != 200 {
				t.Fatalf("%d %s", w.Code, w.Body)
			}
			if !reflect.DeepEqual(*b.email, tt.want) {
				t.Errorf("service got %+v\nwant %+v", *b.email, tt.want)
			}
		})
	}
}

// member puts more members into goodSend.
func member(extra string) string {
	if extra == "" {
		return goodSend
	}
	return strings.TrimSuffix(goodSend, "}") + "," + extra + "}"
}

func TestSendRefused(t *testing.T) {
	many := func(item string, n int) string { return strings.TrimSuffix(strings.Repeat(item+",", n), ",") }
	tests := []struct {
		name    string
		body    string
		status  int
		code    app.Code
		message string
	}{
		{"empty", ``, 400, app.CodeInvalidPayload, "body"},
		{"no JSON", `{"from":`, 400, app.CodeInvalidPayload, "not valid JSON"},
		{"trailing text", goodSend + `x`, 400, app.CodeInvalidPayload, "not valid JSON"},
		{"duplicate name", member(`"subject":"again"`), 400, app.CodeInvalidPayload, "`subject` more than once"},
		{"duplicate header", member(`"headers":{"X-A":"1","X-A":"2"}`), 400, app.CodeInvalidPayload, "`headers.X-A`"},
		{"invalid UTF-8", member("\"text\":\"\xff\""), 400, app.CodeInvalidPayload, "not valid JSON"},
		{"array", `[]`, 422, app.CodeValidation, "`body` must be an object"},
		{"unknown field", member(`"foo":1`), 422, app.CodeValidation, "`foo` is not a field that this endpoint supports"},
		{"other case", member(`"From":"x"`), 422, app.CodeValidation, "`From` is not a field"},
		{"number for subject", `{"subject":1}`, 422, app.CodeValidation, "`subject` must be a string"},
		{"number for text", `{"text":1}`, 422, app.CodeValidation, "`text` must be a string"},
		{"number for to", `{"to":7}`, 422, app.CodeValidation, "`to` must be a string or an array of strings"},
		{"number in to", `{"to":["a@b.c",7]}`, 422, app.CodeValidation, "`to[1]` must be a string"},
		{"51 in to", `{"to":[` + many(`"a@b.c"`, 51) + `]}`, 422, app.CodeValidation, "`to` can hold at most 50"},
		{"51 tags", `{"tags":[` + many(`{}`, 51) + `]}`, 422, app.CodeValidation, "`tags` can hold at most 50"},
		{"101 attachments", `{"attachments":[` + many(`{}`, 101) + `]}`, 422, app.CodeValidation, "`attachments` can hold at most 100"},
		{"headers as text", `{"headers":"X-A: 1"}`, 422, app.CodeValidation, "`headers` must be an object"},
		{"headers as list of texts", `{"headers":["X-A: 1"]}`, 422, app.CodeValidation, "`headers[0]` must be an object"},
		{"header twice in a list", `{"headers":[{"name":"X-A","value":"1"},{"name":"X-A","value":"2"}]}`, 422, app.CodeValidation, "`headers[1].name` is given twice"},
		{"header with a colour", `{"headers":[{"name":"X-A","colour":"1"}]}`, 422, app.CodeValidation, "`headers[0].colour` is not a field"},
		{"201 headers in a list", `{"headers":[` + many(`{}`, 201) + `]}`, 422, app.CodeValidation, "`headers` can hold at most 200"},
		{"header as number", `{"headers":{"X-A":1}}`, 422, app.CodeValidation, "`headers.X-A` must be a string"},
		{"tag field", `{"tags":[{"key":"a"}]}`, 422, app.CodeValidation, "`tags[0].key` is not a field"},
		{"tags as object", `{"tags":{}}`, 422, app.CodeValidation, "`tags` must be an array"},
		{"topic by number", member(`"topic_id":1`), 422, app.CodeValidation, "`topic_id` must be a string"},
		{"scheduled by number", member(`"scheduled_at":5`), 422, app.CodeValidation, "`scheduled_at` must be a string"},
		{"template", member(`"template":7`), 422, app.CodeValidation, "`template` must be an object"},
		{"content_id", `{"attachments":[{},{"content_id":7}]}`, 422, app.CodeValidation, "`attachments[1].content_id` must be a string"},
		{"two content ids", `{"attachments":[{"content_id":"x","inline_content_id":"y"}]}`, 422, app.CodeValidation, "`attachments[0].inline_content_id` is another than"},
		{"contentType", `{"attachments":[{"contentType":"x"}]}`, 422, app.CodeValidation, "`attachments[0].contentType` is not a field"},
		{"octet 256", `{"attachments":[{"content":[256]}]}`, 422, app.CodeValidation, "`attachments[0].content`"},
		{"octet -1", `{"attachments":[{"content":[-1]}]}`, 422, app.CodeValidation, "`attachments[0].content`"},
		{"octet 1.5", `{"attachments":[{"content":[1.5]}]}`, 422, app.CodeValidation, "`attachments[0].content`"},
		{"octets nested", `{"attachments":[{"content":[[1]]}]}`, 422, app.CodeValidation, "`attachments[0].content`"},
		{"octets of strings", `{"attachments":[{"content":["1"]}]}`, 422, app.CodeValidation, "`attachments[0].content`"},
		{"no Buffer", `{"attachments":[{"content":{"type":"Blob","data":[1]}}]}`, 422, app.CodeValidation, "`attachments[0].content`"},
		{"Buffer without data", `{"attachments":[{"content":{"type":"Buffer"}}]}`, 422, app.CodeValidation, "`attachments[0].content`"},
		{"content true", `{"attachments":[{"content":true}]}`, 422, app.CodeValidation, "`attachments[0].content`"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newSends()
			wantRefused(t, b.post(tt.body), tt.status, tt.code, tt.message)
			if b.email != nil {
				t.Error("the service was asked")
			}
		})
	}
}

func TestSendErrorsEchoNoValues(t *testing.T) {
	b := newSends()
	for _, body := range []string{
		`{"subject":{"s3cret":1}}`, `{"to":{"s3cret":1}}`, `{"html":["s3cret"]}`,
		`{"attachments":[{"content":["s3cret!"]}]}`, `{"topic_id":["s3cret"]}`, `{"x":"s3cret"`,
	} {
		w := b.post(body)
		if w.Code < 400 || strings.Contains(w.Body.String(), "s3cret") {
			t.Errorf("%s gives %d %s", body, w.Code, w.Body)
		}
	}
	if strings.Contains(b.log.String(), "s3cret") {
		t.Error("the log holds a value of the body")
	}
}

func TestIdempotencyKey(t *testing.T) {
	send := func(body string, headers ...string) mail.SendOptions {
		b := newSends()
		if w := b.post(body, headers...); w.Code != 200 {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
		return b.options
	}
	if opts := send(goodSend); opts.IdempotencyKey != "" || opts.Payload != nil {
		t.Errorf("options without a key: %+v", opts)
	}
	one := send(goodSend, "Idempotency-Key: k")
	if one.IdempotencyKey != "k" || len(one.Payload) == 0 {
		t.Fatalf("options: %+v", one)
	}
	same := send(`{ "subject":"Hi","to":["b@example.org"],"from":"a@example.com","html":"<p>x</p>","cc":null}`, "Idempotency-Key: k")
	if string(same.Payload) != string(one.Payload) {
		t.Error("the same send in other words has another payload")
	}
	for _, extra := range []string{`"cc":"c@x.y"`, `"text":""`, `"headers":{"X-A":"1"}`, `"tags":[{"name":"a","value":"b"}]`, `"attachments":[{"filename":"a","content":"aGk="}]`} {
		if other := send(member(extra), "Idempotency-Key: k"); string(other.Payload) == string(one.Payload) {
			t.Errorf("%s does not change the payload", extra)
		}
	}
	wantRefused(t, newSends().post(goodSend, "Idempotency-Key: "), 400, app.CodeInvalidIdempotencyKey, "")
}
