package web

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"mailer/app"
	"mailer/app/rules/feedback"
	"mailer/app/testing/testserver"
	"mailer/web/rest"
)

// fakeSNS answers what the test sets.
type fakeSNS struct {
	reports []feedback.Report
	note    string
	err     error
	body    string // received
}

func (f *fakeSNS) Receive(_ context.Context, body []byte) ([]feedback.Report, string, error) {
	f.body = string(body)
	return f.reports, f.note, f.err
}

func withSNS(sns SNS) func(*Config, *rest.Limits) {
	return func(c *Config, _ *rest.Limits) { c.SNS = sns }
}

// secret returns the secret of a source, or a text of the same length for a source without one.
func (r *testAPI) secret(source string) string {
	r.t.Helper()
	endpoints, err := r.server.ProviderEvents.IngestEndpoints(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	for _, endpoint := range endpoints {
		if at := strings.LastIndexByte(endpoint.URL, '/') + 1; endpoint.Source == source && source != app.SourceSES {
			return endpoint.URL[at:]
		}
	}
	return strings.Repeat("0", 32)
}

func TestProviderEventsAreStored(t *testing.T) {
	testserver.BothEngines(t)
	t.Parallel()
	r := newTestAPI(t, relayed())
	r.domain(r.team.ID, "example.com", true)
	for provider, body := range map[string]string{
		"postmark": `{"RecordType":"Bounce","ID":42,"Type":"HardBounce","Details":"smtp;550 5.1.1 gone","Email":"postmark@example.org","Metadata":{"mailer-email-id":"ID"}}`,
		"mailgun":  `{"signature":{},"event-data":{"event":"failed","severity":"permanent","id":"x","recipient":"mailgun@example.org","delivery-status":{"code":550,"enhanced-code":"5.1.1"},"message":{"headers":{"message-id":"ID@example.com"}}}}`,
		"sendgrid": `[{"event":"bounce","type":"bounce","email":"sendgrid@example.org","status":"5.1.1","sg_event_id":"e","smtp-id":"<ID@example.com>"}]`,
		"generic":  `{"type":"bounced","email_id":"ID","recipient":"generic@example.org","enhanced_code":"5.1.1"}`,
	} {
		id := r.send(r.full, `{"from":"a@example.com","to":"`+provider+`@example.org","subject":"s","text":"x"}`)
		r.eventually(r.full, "/emails/"+id, `"last_event":"sent"`)
		body = strings.ReplaceAll(body, "ID\"", id+"\"")
		body = strings.ReplaceAll(body, "ID@", id+"@")
		body = strings.ReplaceAll(body, `"`+id+`":42`, `"ID":42`)
		for range 3 {
			w := r.do("POST", "/ingest/"+provider+"/"+r.secret(provider), body)
			wantStatus(t, w, 200)
			if !strings.Contains(w.Body.String(), `"received":1`) {
				t.Errorf("%s: %s", provider, w.Body)
			}
		}
		w := r.as(r.full, "GET", "/emails/"+id, "")
		if !strings.Contains(w.Body.String(), `"last_event":"bounced"`) {
			t.Errorf("%s: %s", provider, w.Body)
		}
		wantStatus(t, r.as(r.full, "GET", "/suppressions/"+provider+"@example.org", ""), 200)
		if n := strings.Count(r.as(r.full, "GET", "/emails/"+id+"/events", "").Body.String(), `"type":"bounced"`); n != 1 {
			t.Errorf("%s: %d bounces", provider, n)
		}
	}
}

func TestIngestWrongSecret(t *testing.T) {
	t.Parallel()
	r := newTestAPI(t, captured())
	good := r.secret("generic")
	unknown := r.do("POST", "/ingest/nothing/here", "{}")
	wantError(t, unknown, 404, app.CodeNotFound)
	for _, path := range []string{
		"generic/" + good[1:], "generic/" + good + "0", "generic/" + strings.ToUpper(good) + "x", "generic/x", "mailgun/" + good, "postmark/" + r.secret("sendgrid"),
		"ses/" + r.secret("ses"), "bounce/" + r.secret("bounce"), "nothing/" + r.secret("nothing"), "%20generic/" + good,
	} {
		w := r.do("POST", "/ingest/"+path, `{"type":"delivered","email_id":"x"}`)
		if w.Code != 404 || w.Body.String() != unknown.Body.String() {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
	wantError(t, r.do("GET", "/ingest/generic/"+good, ""), 405, app.CodeMethodNotAllowed)
	wantStatus(t, r.do("POST", "/ingest/generic/"+good, `{"type":"delivered","email_id":"`+unknownID+`"}`), 200)
	if strings.Contains(r.log.String(), good) {
		t.Error("the secret stands in the log")
	}
	if r.secret("generic") == r.secret("mailgun") || len(good) != 32 {
		t.Errorf("secrets %q", good)
	}
}

func TestIngestBadBodies(t *testing.T) {
	t.Parallel()
	r := newTestAPI(t, captured())
	for _, provider := range app.FeedbackSources() {
		path := "/ingest/" + provider + "/" + r.secret(provider)
		wantError(t, r.do("POST", path, "x"), 400, app.CodeInvalidPayload)
		wantError(t, r.do("POST", path, ""), 400, app.CodeInvalidPayload)
		wantError(t, r.do("POST", path, `"`+strings.Repeat("x", maxIngest)+`"`), 413, app.CodePayloadTooLarge)
	}
	wantError(t, r.do("POST", "/ingest/generic/"+r.secret("generic"), `[{"type":"delivered"}]`), 422, app.CodeValidation, "`[0].email_id`")
}

func TestSNSMessages(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		sns    *fakeSNS
		status int
		code   app.Code
		log    string
	}{
		"event":     {&fakeSNS{}, 200, "", ""},
		"note":      {&fakeSNS{note: "subscription confirmed"}, 200, "", "subscription confirmed"},
		"malformed": {&fakeSNS{err: &app.Error{Code: app.CodeInvalidPayload, Message: "no", Err: errors.New("the Type is none")}}, 400, app.CodeInvalidPayload, "the Type is none"},
		"forged":    {&fakeSNS{err: &app.Error{Code: app.CodeForbidden, Message: "no", Err: errors.New("a foreign topic")}}, 403, app.CodeForbidden, "a foreign topic"},
		"trouble":   {&fakeSNS{err: errors.New("no route to Amazon")}, 503, app.CodeServiceUnavailable, "no route to Amazon"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newTestAPI(t, captured(), withSNS(tt.sns))
			w := r.do("POST", "/ingest/ses", "body", "Content-Type: text/plain; charset=UTF-8")
			if tt.sns.body != "body" {
				t.Errorf("body %q", tt.sns.body)
			}
			if tt.code == "" {
				wantStatus(t, w, tt.status)
			} else {
				wantError(t, w, tt.status, tt.code)
				if strings.Contains(w.Body.String(), tt.log) {
					t.Errorf("the caller reads why: %s", w.Body)
				}
			}
			if !strings.Contains(r.log.String(), tt.log) {
				t.Errorf("no %q in %s", tt.log, r.log.String())
			}
		})
	}
}

func TestSESNeedsTopic(t *testing.T) {
	t.Parallel()
	r := newTestAPI(t, captured())
	wantError(t, r.do("POST", "/ingest/ses", "{}"), 403, app.CodeForbidden)
}

func TestIngestRefusalLogIsBounded(t *testing.T) {
	t.Parallel()
	r := newTestAPI(t, captured())
	knock := func(n int) {
		for range n {
			wantStatus(t, r.do("POST", "/ingest/ses", "{}"), http.StatusForbidden)
		}
	}
	knock(50)
	if n := strings.Count(r.log.String(), "is refused"); n != refusalsLogged {
		t.Errorf("%d lines in a minute", n)
	}
	r.clock = r.clock.Add(time.Minute)
	knock(1)
	if n := strings.Count(r.log.String(), "is refused"); n != refusalsLogged+1 || !strings.Contains(r.log.String(), "others_not_logged=40") {
		t.Errorf("%d lines a minute later", n)
	}
}
