package web

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"mailer/app"
	"mailer/app/rules/relayurl"
	"mailer/app/sending/delivery"
	"mailer/app/server"
	"mailer/db"
	"mailer/web/rest"
)

// refusal is one way to get an error.
type refusal struct {
	name    app.Code
	status  int
	how     string
	headers []string // "Name: value"; "Name: *" for any value
	// provoke gets a server that rows share; rows that change it make their own.
	provoke func(t *testing.T, shared *testAPI) *httptest.ResponseRecorder
}

// refusals is the table of errors, Resend's names and own ones, with a way to get each. To add one:
// a row here, or a function that returns rows, appended in allRefusals.
func refusals() []refusal {
	unauthorized := []string{"Www-Authenticate: Bearer"}
	return []refusal{
		{"missing_api_key", 401, "no header", unauthorized, asked("", "GET", "/emails", "")},
		{"missing_api_key", 401, "no Bearer header", unauthorized, asked("", "POST", "/emails", validSend, "Authorization: Basic x")},
		{"invalid_api_key", 401, "unknown", unauthorized, asked("unknown", "GET", "/emails", "")},
		{"invalid_api_key", 401, "revoked", unauthorized, asked("revoked", "GET", "/emails", "")},
		{"restricted_api_key", 403, "outside of emails", nil, asked("sending", "GET", "/domains", "")},
		{"restricted_api_key", 403, "the list of emails", nil, asked("sending", "GET", "/emails", "")},
		{"restricted_api_key", 403, "one email", nil, asked("sending", "GET", "/emails/"+unknownID, "")},
		{"restricted_api_key", 403, "deleting an email", nil, asked("sending", "DELETE", "/emails/"+unknownID, "")},
		{"restricted_api_key", 403, "from another domain", nil, asked("domain", "POST", "/emails", sendFrom("a@other.example"))},
		{"restricted_api_key", 403, "a batch from another domain", nil, asked("domain", "POST", "/emails/batch", array(validSend, sendFrom("a@other.example")))},
		{"forbidden", 403, "a domain by a member", nil, asked("member", "POST", "/domains", `{"name":"new.example"}`)},
		{"forbidden", 403, "a webhook by a member", nil, asked("member", "POST", "/webhooks", validWebhook)},
		{"forbidden", 403, "a key by a member", nil, asked("member", "POST", "/api-keys", `{"name":"k"}`)},
		{"forbidden", 403, "an owner's key by an admin", nil, asked("admin", "POST", "/api-keys", `{"name":"k","role":"owner"}`)},
		{"invalid_credentials", 401, "a password of nobody", nil, asked("", "POST", "/auth/sign-in", `{"email":"nobody@example.com","password":"x"}`)},
		{"invalid_credentials", 401, "nobody is signed in", nil, asked("", "GET", "/users/me", "")},
		{"reauthentication_required", 403, "a secret without a fresh proof", nil, withoutProof},
		{"not_found", 404, "unknown id", nil, asked("owner", "GET", "/emails/"+unknownID, "")},
		{"not_found", 404, "no id", nil, asked("owner", "DELETE", "/topics/x", "")},
		{"not_found", 404, "unknown address", nil, asked("owner", "GET", "/nothing", "")},
		{"conflict", 409, "a second domain of that name", nil, asked("owner", "POST", "/domains", `{"name":"EXAMPLE.com"}`)},
		{"concurrent_idempotent_requests", 409, "in flight", nil, inFlight},
		{"invalid_idempotent_request", 409, "another payload", nil, anotherPayload},
		{"invalid_idempotency_key", 400, "too long", nil, asked("owner", "POST", "/emails", validSend, "Idempotency-Key: "+strings.Repeat("k", 257))},
		{"invalid_parameter", 400, "editing a sent broadcast", nil, sentBroadcast},
		{"invalid_payload", 400, "no JSON", nil, asked("owner", "POST", "/emails", `{"from":`)},
		{"invalid_payload", 400, "no body", nil, asked("owner", "POST", "/segments", ``)},
		{"validation_error", 422, "no recipient", nil, asked("owner", "POST", "/emails", `{"from":"a@example.com","subject":"s","text":"x"}`)},
		{"validation_error", 422, "unknown field", nil, asked("owner", "POST", "/emails", member(`"colour":"red"`))},
		{"validation_error", 422, "remote attachment", nil, asked("owner", "POST", "/emails", member(`"attachments":[{"filename":"a","path":"https://example.com/a"}]`))},
		{"validation_error", 422, "content_id", nil, asked("owner", "POST", "/emails", member(`"attachments":[{"filename":"a","content":"aGk=","content_id":"a"}]`))},
		{"validation_error", 422, "header outside the allowlist", nil, asked("owner", "POST", "/emails", member(`"headers":{"Received":"x"}`))},
		{"validation_error", 422, "bad region", nil, asked("owner", "POST", "/domains", `{"name":"new.example","region":"mars"}`)},
		{"validation_error", 422, "tls of a domain", nil, asked("owner", "POST", "/domains", `{"name":"new.example","tls":"enforced"}`)},
		{"validation_error", 422, "101 in a batch", nil, asked("owner", "POST", "/emails/batch", array(repeat(validSend, 101)...))},
		{"validation_error", 422, "limit", nil, asked("owner", "GET", "/emails?limit=101", "")},
		{"all_recipients_suppressed", 422, "on the list", nil, asked("owner", "POST", "/emails", sendTo("gone@example.org"))},
		{"broadcast_too_large", 422, "more than 24 days", nil, tooLarge},
		{"payload_too_large", 413, "attachments", nil, asked("owner", "POST", "/emails", member(`"attachments":[{"filename":"a","content":"`+strings.Repeat("AAAA", 50)+`"}]`))},
		{"method_not_allowed", 405, "PUT", []string{"Allow: GET, POST"}, asked("owner", "PUT", "/emails", "")},
		{"rate_limit_exceeded", 429, "a key", []string{"Retry-After: 1", "Ratelimit-Remaining: 0"}, tooOften},
		{"rate_limit_exceeded", 429, "wrong keys", []string{"Retry-After: *"}, tooManyWrongKeys},
		{"internal_server_error", 500, "a fault", nil, faulty},
		{"service_unavailable", 503, "draining", nil, draining},
	}
}

// allRefusals are the rows of every mode.
func allRefusals() []refusal { return append(refusals(), guardrailRefusals()...) }

// notYet are names that nothing answers with so far.
var notYet = map[app.Code]bool{
	app.CodePlanLimitReached: true, app.CodeDailyQuotaExceeded: true, app.CodeMonthlyQuotaExceeded: true,
}

func TestErrorTable(t *testing.T) {
	t.Parallel()
	shared := refusing(t)
	provoked := map[app.Code]bool{}
	for _, row := range allRefusals() {
		provoked[row.name] = true
		t.Run(string(row.name)+"/"+row.how, func(t *testing.T) {
			w := row.provoke(t, shared)
			wantError(t, w, row.status, row.name)
			(&testAPI{fixture: &fixture{t: t}}).checkErrorBody(w)
			for _, line := range row.headers {
				name, want, _ := strings.Cut(line, ": ")
				if got := w.Header().Get(name); got != want && (want != "*" || got == "") {
					t.Errorf("%s is %q, want %q", name, got, want)
				}
			}
			for _, name := range []string{"Ratelimit-Limit", "Ratelimit-Reset", "Ratelimit-Policy", "X-Request-Id"} {
				if w.Header().Get(name) == "" {
					t.Errorf("no %s", name)
				}
			}
		})
	}
	for _, code := range codes(t) {
		if provoked[code] == notYet[code] {
			t.Errorf("%s: provoked %v, said not to exist yet %v", code, provoked[code], notYet[code])
		}
	}
}

// codes reads the names of errors out of the source.
func codes(t *testing.T) (out []app.Code) {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), "../app/errors.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(f, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok && len(spec.Values) == 1 && strings.HasPrefix(spec.Names[0].Name, "Code") {
			text, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, app.Code(text))
		}
		return true
	})
	if len(out) < 20 {
		t.Fatalf("only %d names", len(out))
	}
	return out
}

// refusing is a server on which most errors can be met.
func refusing(t *testing.T, change ...func(*Config, *rest.Limits)) *testAPI {
	t.Helper()
	cfg := relayed()
	cfg.MaxAttachments = 100
	r := newTestAPI(t, cfg, change...)
	r.domain(r.team.ID, "example.com", true)
	r.domain(r.team.ID, "other.example", true)
	wantStatus(t, r.as(r.full, "POST", "/suppressions", `{"email":"gone@example.org"}`), 201)
	return r
}

// asked makes one request to the shared server with a key of a kind; none for "".
func asked(kind, method, target, body string, headers ...string) func(*testing.T, *testAPI) *httptest.ResponseRecorder {
	return func(_ *testing.T, r *testAPI) *httptest.ResponseRecorder {
		if kind != "" {
			headers = append(headers, "Authorization: Bearer "+r.kind(kind))
		}
		return r.do(method, target, body, headers...)
	}
}

// kind makes a key that is called so.
func (r *testAPI) kind(kind string) string {
	r.t.Helper()
	switch kind {
	case "unknown":
		token, _, _ := app.NewKey()
		return token
	case "revoked":
		k := r.create(r.full, `{"name":"k"}`)
		wantStatus(r.t, r.as(r.full, "DELETE", "/api-keys/"+k.ID, ""), 200)
		return k.Token
	case "sending":
		return r.key(r.team.ID, app.KeyInput{Permission: app.SendingAccess})
	case "domain":
		return r.key(r.team.ID, app.KeyInput{Permission: app.SendingAccess, Domain: "example.com"})
	}
	return r.role(r.team.ID, app.Role(kind))
}

func repeat(item string, n int) (out []string) {
	for range n {
		out = append(out, item)
	}
	return out
}

func sendTo(to string) string {
	return fmt.Sprintf(`{"from":"a@example.com","to":%q,"subject":"s","text":"x"}`, to)
}

// inFlight holds the database's writer while two equal requests arrive.
func inFlight(t *testing.T, r *testAPI) *httptest.ResponseRecorder {
	release, held, wrote := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		wrote <- r.store.Write(t.Context(), func(*db.Tx) error {
			close(held)
			<-release
			return nil
		})
	}()
	<-held
	answers := make(chan *httptest.ResponseRecorder, 2)
	for range 2 {
		go func() {
			request := httptest.NewRequest("POST", "/emails", strings.NewReader(validSend))
			request.Header.Set("Authorization", "Bearer "+r.full)
			request.Header.Set("Idempotency-Key", "order-6")
			w := httptest.NewRecorder()
			r.handler.ServeHTTP(w, request)
			answers <- w
		}()
	}
	first := <-answers // the other one waits for the writer
	close(release)
	wantStatus(t, <-answers, 200)
	if err := <-wrote; err != nil {
		t.Error(err)
	}
	return first
}

func anotherPayload(t *testing.T, r *testAPI) *httptest.ResponseRecorder {
	const key = "Idempotency-Key: order-7"
	r.send(r.full, validSend, key)
	return r.as(r.full, "POST", "/emails", sendTo("other@example.org"), key)
}

// broadcastTo makes a draft to n contacts.
func (r *testAPI) broadcastTo(n int) (id string) {
	r.t.Helper()
	for i := range n {
		wantStatus(r.t, r.as(r.full, "POST", "/contacts", fmt.Sprintf(`{"email":"c%d@example.org"}`, i)), 201)
	}
	w := r.as(r.full, "POST", "/broadcasts", news(""))
	wantStatus(r.t, w, 201)
	return decoded[struct{ ID string }](r.t, w).ID
}

func sentBroadcast(t *testing.T, r *testAPI) *httptest.ResponseRecorder {
	id := r.broadcastTo(1)
	wantStatus(t, r.as(r.full, "POST", "/broadcasts/"+id+"/send", ""), 200)
	r.eventually(r.full, "/broadcasts/"+id, `"status":"sent"`)
	return r.as(r.full, "PATCH", "/broadcasts/"+id, `{"subject":"new"}`)
}

func tooLarge(t *testing.T, _ *testAPI) *httptest.ResponseRecorder {
	relay := relayurl.Relay{Region: app.DefaultRegion, Host: "relay.test", Port: 25, Connections: 1, Daily: 2}
	r := newTestAPI(t, server.Config{Routes: []delivery.Route{{Relay: relay, Sender: acceptingSender{}}}})
	r.domain(r.team.ID, "example.com", true)
	return r.as(r.full, "POST", "/broadcasts/"+r.broadcastTo(60)+"/send", "")
}

func tooOften(t *testing.T, _ *testAPI) *httptest.ResponseRecorder {
	r := refusing(t, func(c *Config, _ *rest.Limits) { c.RateLimit = 2 }) // one was used
	r.as(r.full, "GET", "/emails", "")
	return r.as(r.full, "GET", "/emails", "")
}

func tooManyWrongKeys(t *testing.T, _ *testAPI) *httptest.ResponseRecorder {
	r := refusing(t)
	for range 20 {
		r.as("wrong", "GET", "/emails", "")
	}
	return r.as("wrong", "GET", "/emails", "")
}

// breakEmails removes the service of emails: its use panics.
func (r *testAPI) breakEmails() {
	service := r.server.Mail
	r.server.Mail = nil
	r.remake()
	r.server.Mail = service
}

func faulty(t *testing.T, _ *testAPI) *httptest.ResponseRecorder {
	r := refusing(t)
	r.breakEmails()
	return r.as(r.full, "POST", "/emails", validSend)
}

func draining(t *testing.T, _ *testAPI) *httptest.ResponseRecorder {
	r := refusing(t)
	r.server.Drain()
	return r.as(r.full, "POST", "/emails", validSend)
}
