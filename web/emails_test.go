package web

import (
	"net/http"
	"reflect"
	"strings"
	"testing"

	"mailer/app"
)

const goodSend = `{"from":"a@example.com","to":"b@example.org","subject":"Hi","html":"<p>x</p>"}`

func text(s string) *string { return &s }

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
		{"topic", `"topic_id":"` + emailID + `"`, with(func(in *app.EmailInput) { in.TopicID = emailID })},
		{"text opted out", `"text":""`, with(func(in *app.EmailInput) { in.Text = text("") })},
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
			b := newBench(t)
			w := b.auth("POST", "/emails", member(tt.extra))
			wantJSON(t, w, `{"id":"`+emailID+`"}`)
			if !reflect.DeepEqual(*b.service.sent, tt.want) {
				t.Errorf("service got %+v\nwant %+v", *b.service.sent, tt.want)
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
		{"path", `{"attachments":[{"path":"https://x"}]}`, 422, app.CodeValidation, "`attachments[0].path` is not supported"},
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
			b := newBench(t)
			w := b.auth("POST", "/emails", tt.body)
			wantError(t, w, tt.status, tt.code, tt.message)
			if b.service.sent != nil {
				t.Error("the service was asked")
			}
		})
	}
}

func TestSendErrorsEchoNoValues(t *testing.T) {
	b := newBench(t)
	for _, body := range []string{
		`{"subject":{"s3cret":1}}`, `{"to":{"s3cret":1}}`, `{"html":["s3cret"]}`,
		`{"attachments":[{"content":["s3cret!"]}]}`, `{"topic_id":["s3cret"]}`, `{"x":"s3cret"`,
	} {
		w := b.auth("POST", "/emails", body)
		if w.Code < 400 || strings.Contains(w.Body.String(), "s3cret") {
			t.Errorf("%s gives %d %s", body, w.Code, w.Body)
		}
	}
	if strings.Contains(b.log.String(), "s3cret") {
		t.Error("the log holds a value of the body")
	}
}

func TestSendAnyContentType(t *testing.T) {
	for _, ct := range []string{"", "application/x-www-form-urlencoded", "text/plain; charset=x+y", "application/json; charset=utf-8"} {
		b := newBench(t)
		w := b.auth("POST", "//emails", goodSend, "Content-Type: "+ct, "Accept: text/html")
		wantStatus(t, w, http.StatusOK)
	}
}

func TestIdempotencyKey(t *testing.T) {
	send := func(body string, headers ...string) *bench {
		b := newBench(t)
		wantStatus(t, b.auth("POST", "/emails", body, headers...), http.StatusOK)
		return b
	}
	if opts := send(goodSend).service.opts; opts.IdempotencyKey != "" || opts.Payload != nil {
		t.Errorf("options without a key: %+v", opts)
	}
	one := send(goodSend, "Idempotency-Key: k").service.opts
	if one.IdempotencyKey != "k" || len(one.Payload) == 0 {
		t.Fatalf("options: %+v", one)
	}
	same := send(`{ "subject":"Hi","to":["b@example.org"],"from":"a@example.com","html":"<p>x</p>","cc":null}`, "Idempotency-Key: k").service.opts
	if string(same.Payload) != string(one.Payload) {
		t.Error("the same send in other words has another payload")
	}
	for _, extra := range []string{`"cc":"c@x.y"`, `"text":""`, `"headers":{"X-A":"1"}`, `"tags":[{"name":"a","value":"b"}]`, `"attachments":[{"filename":"a","content":"aGk="}]`} {
		if other := send(member(extra), "Idempotency-Key: k").service.opts; string(other.Payload) == string(one.Payload) {
			t.Errorf("%s does not change the payload", extra)
		}
	}
	wantError(t, newBench(t).auth("POST", "/emails", goodSend, "Idempotency-Key: "), 400, app.CodeInvalidIdempotencyKey)
}

func TestListEmails(t *testing.T) {
	b := newBench(t)
	w := b.auth("GET", "/emails", "{}")
	wantJSON(t, w, `{"object":"list","has_more":true,"data":[{"id":"`+emailID+`","message_id":"<`+emailID+`@example.com>",
		"from":"\"Doe, Jane\" <jane@example.com>","to":["a@example.org","Bo <b@example.org>"],"cc":[],"bcc":[],"reply_to":[],
		"subject":"Hello","tags":[],"created_at":"2026-08-17T12:00:00.000Z","scheduled_at":null,"last_event":"sent"}]}`)
	if b.service.page != (app.Page{Limit: 20}) {
		t.Errorf("page is %+v", b.service.page)
	}
	wantStatus(t, b.auth("GET", "/emails?limit=3&after="+strings.ToUpper(emailID)+"&foo=bar", ""), 200)
	if b.service.page != (app.Page{Limit: 3, After: emailID}) {
		t.Errorf("page is %+v", b.service.page)
	}
	for query, field := range map[string]string{
		"limit=0": "`limit`", "limit=101": "`limit`", "limit=x": "`limit`", "limit=1.5": "`limit`",
		"limit=99999999999999999999": "`limit`", "after=x": "`after`", "before=1": "`before`",
		"after=" + emailID + "&before=" + emailID: "`after`",
	} {
		wantError(t, b.auth("GET", "/emails?"+query, ""), 422, app.CodeValidation, field)
	}
}

func TestGetEmail(t *testing.T) {
	b := newBench(t)
	w := b.auth("GET", "/emails/"+strings.ToUpper(emailID), "{}", "Content-Type: application/json")
	wantJSON(t, w, `{"object":"email","id":"`+emailID+`","message_id":"<`+emailID+`@example.com>",
		"from":"\"Doe, Jane\" <jane@example.com>","to":["a@example.org","Bo <b@example.org>"],"cc":[],"bcc":[],"reply_to":[],
		"subject":"Hello","created_at":"2026-08-17T12:00:00.000Z","scheduled_at":"2026-08-17T12:00:00.000Z","last_event":"sent",
		"html":"<p>hi</p>","text":null,"tags":[{"name":"a","value":"b"}],"headers":{"X-A":"1"},"topic_id":null,
		"attachments":[{"id":"`+attachmentID+`","filename":"a.txt","size":2,"content_type":"text/plain","content_disposition":"attachment"}],
		"score":null,"verdict":{"code":"delivered","tone":"good","text":"Delivered to a@example.org.","fix":"Nothing to do: the recipient's mail server took it.",
		"params":{"address":"a@example.org","domain":"example.org","relay":"us-east-1","count":1}}}`)
	for _, id := range []string{unknownID, "nonsense", "batch", "%2F", emailID + "%00"} {
		wantError(t, b.auth("GET", "/emails/"+id, ""), 404, app.CodeNotFound, "email")
	}
}

func TestEmailEvents(t *testing.T) {
	b := newBench(t)
	wantJSON(t, b.auth("GET", "/emails/"+emailID+"/events?limit=2", ""), `{"object":"list","has_more":false,"data":[
		{"id":"`+unknownID+`","type":"sent","created_at":"2026-08-17T12:00:00.000Z","recipient":"a@example.org",
		 "detail":{"message":"taken","reply_code":250,"stage":"dot"}},
		{"id":"`+emailID+`","type":"queued","created_at":"2026-08-17T12:00:00.000Z","detail":{"message":"accepted"}}]}`)
	if b.service.page.Limit != 2 {
		t.Errorf("page is %+v", b.service.page)
	}
	wantError(t, b.auth("GET", "/emails/"+unknownID+"/events", ""), 404, app.CodeNotFound)
	wantError(t, b.auth("GET", "/emails/x/events?limit=0", ""), 404, app.CodeNotFound)
	wantError(t, b.auth("GET", "/emails/"+emailID+"/events?limit=0", ""), 422, app.CodeValidation, "`limit`")
}

func TestRawEmail(t *testing.T) {
	b := newBench(t)
	wantJSON(t, b.auth("GET", "/emails/"+emailID+"/raw", ""),
		`{"object":"email_raw","id":"`+emailID+`","message":"Subject: hi\r\n\r\nbad � byte\r\n","raw_base64":"U3ViamVjdDogaGkNCg0KYmFkIP8gYnl0ZQ0K"}`)
	wantError(t, b.auth("GET", "/emails/"+unknownID+"/raw", ""), 404, app.CodeNotFound)
	wantError(t, b.auth("GET", "/emails/x/raw", ""), 404, app.CodeNotFound)
}

func TestAttachments(t *testing.T) {
	const one = `"id":"` + attachmentID + `","filename":"a.txt","size":2,"content_type":"text/plain","content_disposition":"attachment",
		"download_url":"https://mail.example.com/attachments/tok","expires_at":"2026-08-17T13:00:00.000Z"`
	b := newBench(t)
	at := "/emails/" + emailID + "/attachments"
	wantJSON(t, b.auth("GET", at, ""), `{"object":"list","has_more":false,"data":[{`+one+`}]}`)
	wantJSON(t, b.auth("GET", at+"/"+attachmentID, ""), `{"object":"attachment",`+one+`}`)
	wantError(t, b.auth("GET", at+"/"+unknownID, ""), 404, app.CodeNotFound, "attachment")
	wantError(t, b.auth("GET", at+"/x", ""), 404, app.CodeNotFound, "attachment")
	wantError(t, b.auth("GET", "/emails/x/attachments", ""), 404, app.CodeNotFound, "email")
	wantError(t, b.auth("GET", at+"?before=x", ""), 422, app.CodeValidation, "`before`")
}

func TestDownload(t *testing.T) {
	b := newBench(t)
	w := b.do("GET", "/attachments/tok", "")
	wantStatus(t, w, 200)
	if w.Body.String() != "<b>hi</b>" {
		t.Errorf("body %q", w.Body)
	}
	for name, want := range map[string]string{
		"Content-Type":            "application/octet-stream", // not what a header was smuggled in with
		"Content-Disposition":     "attachment; filename*=utf-8''gr%C3%BC%C3%9Fe.html",
		"X-Content-Type-Options":  "nosniff",
		"Content-Security-Policy": "default-src 'none'; sandbox",
		"X-Evil":                  "",
	} {
		if got := w.Header().Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	wantError(t, b.do("GET", "/attachments/forged", ""), 404, app.CodeNotFound)
}
