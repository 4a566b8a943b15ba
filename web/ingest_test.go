package web

import (
	"context"
	"crypto"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"net/http"
	"net/url"
	"strconv"
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

// ingestCredential returns the header with the password of a source with ProofPassword; empty: none.
func (r *testAPI) ingestCredential(source string) (header string) {
	r.t.Helper()
	endpoints, err := r.server.ProviderEvents.IngestEndpoints(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	for _, e := range endpoints {
		if e.Source == source && e.Proof == feedback.ProofPassword {
			password := e.Password
			if password == "" {
				u, err := url.Parse(e.URL)
				if err != nil {
					r.t.Fatal(err)
				}
				password, _ = u.User.Password()
			}
			return "Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte("mailer:"+password))
		}
	}
	return "X-None: 1"
}

// TestIngestProofs tries each provider with and without its proof. The right one suppresses the
// recipient for the team of the email only.
func TestIngestProofs(t *testing.T) {
	testserver.BothEngines(t)
	t.Parallel()
	r := newTestAPI(t, relayed())
	r.domain(r.team.ID, "example.com", true)
	_, other := r.newTeam("Other")
	const lettermintKey = "whsec_0123456789abcdef"
	private, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil {
		t.Fatal(err)
	}
	der, _ := x509.MarshalPKIXPublicKey(&private.PublicKey)
	signed := func(provider, body string) string {
		switch provider {
		case "postal":
			sum := sha256.Sum256([]byte(body))
			signature, _ := rsa.SignPKCS1v15(nil, private, crypto.SHA256, sum[:])
			return "X-Postal-Signature-256: " + base64.StdEncoding.EncodeToString(signature)
		case "lettermint":
			now := strconv.FormatInt(time.Now().Unix(), 10)
			mac := hmac.New(sha256.New, []byte(lettermintKey))
			mac.Write([]byte(now + "." + body))
			return "X-Lettermint-Signature: t=" + now + ",v1=" + hex.EncodeToString(mac.Sum(nil))
		}
		return r.ingestCredential(provider)
	}
	now := strconv.FormatInt(time.Now().Unix(), 10)
	bodies := map[string]string{
		"mailjet":      `[{"event":"bounce","time":` + now + `,"email":"TO","CustomID":"EMAIL","hard_bounce":true,"error_related_to":"recipient","error":"user unknown"}]`,
		"brevo":        `{"event":"hard_bounce","email":"TO","ts_event":` + now + `,"X-Mailin-custom":"EMAIL","reason":"550 5.1.1 no such user"}`,
		"sparkpost":    `[{"msys":{"message_event":{"type":"bounce","bounce_class":"10","event_id":"1","raw_rcpt_to":"TO","rcpt_meta":{"mailer-email-id":"EMAIL"}}}}]`,
		"azure":        `[{"id":"1","eventType":"Microsoft.Communication.EmailDeliveryReportReceived","data":{"recipient":"TO","internetMessageId":"<EMAIL@example.com>","status":"Bounced","deliveryStatusDetails":{"statusMessage":"550 5.1.1 no such user"}}}]`,
		"postal":       `{"event":"MessageDeliveryFailed","timestamp":` + now + `,"uuid":"1","payload":{"message":{"direction":"outgoing","message_id":"EMAIL@example.com","to":"TO"},"output":"550 5.1.1 no such user"}}`,
		"lettermint":   `{"id":"1","event":"message.hard_bounced","data":{"recipient":"TO","response":{"status_code":550,"enhanced_status_code":"5.1.1"},"metadata":{"mailer-email-id":"EMAIL"}}}`,
		"smtp2go":      `event=bounce&bounce=hard&rcpt=TO&message=550+5.1.1&id=1&X-Mailer-Email-ID=EMAIL`,
		"elasticemail": `status=Error&category=NoMailbox&to=TO&postback=EMAIL`,
	}
	for _, p := range feedback.Providers() {
		body, found := bodies[p.Source]
		if !found {
			continue
		}
		delete(bodies, p.Source)
		to := p.Source + "@example.org"
		id := r.send(r.full, `{"from":"a@example.com","to":"`+to+`","subject":"s","text":"x"}`)
		r.eventually(r.full, "/emails/"+id, `"last_event":"sent"`)
		body = strings.NewReplacer("TO", to, "EMAIL", id).Replace(body)
		path := "/ingest/" + p.Source + "/" + r.secret(p.Source)
		if p.Proof == feedback.ProofSignature {
			wantError(t, r.do("POST", path, body, signed(p.Source, body)), 401, app.CodeInvalidCredentials)
			key := map[string]string{"lettermint": lettermintKey, "postal": base64.StdEncoding.EncodeToString(der)}[p.Source]
			if _, err := r.server.ProviderEvents.SetIngestKey(t.Context(), p.Source, key); err != nil {
				t.Fatal(err)
			}
		}
		if p.Proof != feedback.ProofURL {
			for _, forged := range []string{
				"X-None: 1", "Authorization: Basic bWFpbGVyOg==", "Authorization: Bearer", "Authorization: Bearer " + r.secret(p.Source),
				"Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte("other:"+r.secret(p.Source))), "Aeg-Event-Type: SubscriptionValidation",
				"X-Lettermint-Signature: t=" + now + ",v1=00", "X-Postal-Signature-256: AAAA",
			} {
				w := r.do("POST", path, body, forged)
				wantError(t, w, 401, app.CodeInvalidCredentials)
				if w.Header().Get("WWW-Authenticate") == "" {
					t.Errorf("%s: no WWW-Authenticate", p.Source)
				}
			}
			wantStatus(t, r.as(r.full, "GET", "/suppressions/"+to, ""), 404)
		}
		for range 2 {
			if w := r.do("POST", path, body, signed(p.Source, body)); w.Code != 200 || !strings.Contains(w.Body.String(), `"received":1`) {
				t.Fatalf("%s: %d %s", p.Source, w.Code, w.Body)
			}
		}
		wantStatus(t, r.as(r.full, "GET", "/suppressions/"+to, ""), 200)
		wantStatus(t, r.as(other, "GET", "/suppressions/"+to, ""), 404)
		if n := strings.Count(r.as(r.full, "GET", "/emails/"+id+"/events", "").Body.String(), `"type":"bounced"`); n != 1 {
			t.Errorf("%s: %d bounces", p.Source, n)
		}
	}
	if len(bodies) > 0 {
		t.Errorf("not in the table: %v", bodies)
	}
}

func TestIngestHandshakes(t *testing.T) {
	t.Parallel()
	r := newTestAPI(t, captured())
	validation := `[{"id":"1","eventType":"Microsoft.EventGrid.SubscriptionValidationEvent","data":{"validationCode":"512d38b6","validationUrl":"https://127.0.0.1:1/x"}}]`
	w := r.do("POST", "/ingest/azure/"+r.secret("azure"), validation, "Aeg-Event-Type: SubscriptionValidation")
	wantStatus(t, w, 200)
	if !strings.Contains(w.Body.String(), `"validationResponse":"512d38b6"`) {
		t.Errorf("%s", w.Body)
	}
	wantError(t, r.do("POST", "/ingest/azure/"+r.secret("azure"), validation), 401, app.CodeInvalidCredentials)
	wantError(t, r.do("POST", "/ingest/azure/"+r.secret("mailjet"), validation, "Aeg-Event-Type: SubscriptionValidation"), 404, app.CodeNotFound)

	elastic := "/ingest/elasticemail/" + r.secret("elasticemail")
	wantStatus(t, r.do("GET", elastic, ""), 200)
	if w := r.do("GET", elastic+"?status=Sent&to=a%40example.org&postback="+unknownID, ""); w.Code != 200 || !strings.Contains(w.Body.String(), `"received":1`) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if w := r.do("GET", elastic+"?status=Unsubscribed&to=a%40example.org&postback="+unknownID, ""); w.Code != 200 || !strings.Contains(w.Body.String(), `"ignored":1`) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	wantError(t, r.do("GET", "/ingest/elasticemail/"+r.secret("generic")+"?status=Sent", ""), 404, app.CodeNotFound)
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
	for _, provider := range feedback.Sources() {
		path := "/ingest/" + provider + "/" + r.secret(provider)
		credential := r.ingestCredential(provider)
		if feedback.ProviderBySource(provider).Proof != feedback.ProofSignature { // those bodies are not read
			wantError(t, r.do("POST", path, "x", credential), 400, app.CodeInvalidPayload)
			wantError(t, r.do("POST", path, "", credential), 400, app.CodeInvalidPayload)
		}
		wantError(t, r.do("POST", path, `"`+strings.Repeat("x", maxIngest)+`"`, credential), 413, app.CodePayloadTooLarge)
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
