package web

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"mailer/app"
	"mailer/app/delivery"
	"mailer/app/relays"
	"mailer/app/seal"
	"mailer/app/server"
	"mailer/app/world"
	"mailer/db"
	"mailer/smtpout"
	"mailer/web/rest"
)

// real is a handler on the real server, a real database and a transport that
// sends nothing.
type real struct {
	*bench
	server *server.Server
	store  *db.DB
	sealer *app.Sealer
	team   app.Team
	full   string // a key of team
}

// taker is a relay that takes everything.
type taker struct{}

func (taker) Close() {}

func (taker) Drain() {}

func (taker) Bound() int { return 0 }

func (taker) Send(ctx context.Context, m *app.Outgoing, hold func(context.Context, string) error) app.Result {
	if hold(ctx, "") != nil {
		return app.Result{Kind: app.ResultWithdrawn}
	}
	res := app.Result{Kind: app.ResultDone, Stage: app.StageDot, Reply: app.Reply{Code: 250}}
	for _, address := range m.Recipients {
		res.Recipients = append(res.Recipients, app.RecipientResult{Address: address, Verdict: app.Accepted, Stage: app.StageDot, Reply: res.Reply})
	}
	return res
}

// captured and relayed are the two kinds of server.
func captured() server.Config {
	relay := relays.Relay{Region: app.CaptureRegion, Connections: 4, DKIM: true}
	sender := smtpout.WithSimulator(smtpout.NewCapture(smtpout.Options{}))
	return server.Config{Capture: true, Routes: []delivery.Route{{Relay: relay, Sender: sender}}}
}

func relayed() server.Config {
	relay := relays.Relay{Region: app.DefaultRegion, Host: "relay.test", Port: 25, Connections: 4, DKIM: true}
	return server.Config{Routes: []delivery.Route{{Relay: relay, Sender: taker{}}}}
}

func newReal(t testing.TB, cfg server.Config, change ...func(*Config, *rest.Limits)) *real {
	t.Helper()
	return newRealOn(t, world.NewDatabase(t, schemaText(t)), cfg, change...)
}

func schemaText(t testing.TB) string {
	t.Helper()
	schema, err := os.ReadFile(filepath.Join("..", "schema.sql"))
	if err != nil {
		t.Fatal(err)
	}
	return string(schema)
}

// newRealOn is newReal on a database of that name, which is empty.
func newRealOn(t testing.TB, name string, cfg server.Config, change ...func(*Config, *rest.Limits)) *real {
	t.Helper()
	store, err := db.Open(t.Context(), db.Options{Path: name, Schema: schemaText(t), Create: true, Lock: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	cfg.DB, cfg.BaseURL = store, "https://mail.example.com"
	if cfg.Sealer, err = app.NewSealer(seal.MasterKey{Key: seal.NewMasterKey()}); err != nil {
		t.Fatal(err)
	}
	e, err := server.New(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		e.Stop(ctx)
	})
	r := &real{bench: &bench{t: t, clock: testTime}, server: e, store: store, sealer: cfg.Sealer}
	webCfg := Config{Server: e, BaseURL: "https://mail.example.com/", Bounds: Bounds{RateLimit: 100_000}}
	webCfg.Log = r.logger()
	l := rest.DefaultLimits()
	for _, f := range change {
		f(&webCfg, &l)
	}
	r.cfg, r.limits = webCfg, l
	r.remake()
	if r.team, err = e.Teams.FindTeam(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	r.full = r.key(r.team.ID, app.KeyInput{})
	return r
}

// key makes a key; by default one that may do everything.
func (r *real) key(teamID string, in app.KeyInput) string {
	r.t.Helper()
	in.Name, in.Role = "test", app.RoleOwner
	if in.Permission == "" {
		in.Permission = app.FullAccess
	}
	token, _, err := r.server.Teams.CreateKey(r.t.Context(), teamID, in)
	if err != nil {
		r.t.Fatal(err)
	}
	return token
}

func (r *real) newTeam(name string) (app.Team, string) {
	r.t.Helper()
	team, err := r.server.Teams.CreateTeam(r.t.Context(), name)
	if err != nil {
		r.t.Fatal(err)
	}
	return team, r.key(team.ID, app.KeyInput{})
}

func (r *real) domain(teamID, name string, trust bool) app.Domain {
	r.t.Helper()
	d, err := r.server.Domains.AddDomain(r.t.Context(), teamID, app.DomainInput{Name: name, Trusted: trust})
	if err != nil {
		r.t.Fatal(err)
	}
	return d
}

// repeated are the names that Resend does not have, whose errors stand in `error`
// too.
// service_unavailable is one more that Resend does not have.
var repeated = []string{"invalid_credentials", "reauthentication_required", "all_recipients_suppressed", "sending_paused", "broadcasts_paused", "plan_limit_reached", "forbidden",
	"conflict", "invalid_payload", "payload_too_large", "broadcast_too_large", "service_unavailable"}

// as sends a request with a key and checks the members of an error's body.
func (r *real) as(key, method, target, body string, headers ...string) *httptest.ResponseRecorder {
	r.t.Helper()
	w := r.do(method, target, body, append(headers, "Authorization: Bearer "+key)...)
	if w.Code >= 400 {
		r.checkErrorBody(w)
	}
	return w
}

func (r *real) checkErrorBody(w *httptest.ResponseRecorder) {
	r.t.Helper()
	var body map[string]any
	if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil {
		r.t.Fatalf("no JSON: %s", w.Body)
	}
	want := []string{"message", "name", "statusCode"}
	name, _ := body["name"].(string)
	if slices.Contains(repeated, name) {
		want = append([]string{"error"}, want...)
		whole := map[string]any{"name": name, "message": body["message"], "statusCode": body["statusCode"]}
		if !reflect.DeepEqual(body["error"], whole) {
			r.t.Errorf("error is %v in %s", body["error"], w.Body)
		}
	}
	if got := slices.Sorted(maps.Keys(body)); !slices.Equal(got, want) {
		r.t.Errorf("members %q, want %q: %s", got, want, w.Body)
	}
	if body["statusCode"] != float64(w.Code) || body["message"] == "" {
		r.t.Errorf("status %d with the body %s", w.Code, w.Body)
	}
}

// send sends and returns the id.
func (r *real) send(key, body string, headers ...string) string {
	r.t.Helper()
	w := r.as(key, "POST", "/emails", body, headers...)
	wantStatus(r.t, w, http.StatusOK)
	var created struct{ ID string }
	if err := json.Unmarshal(w.Body.Bytes(), &created); err != nil {
		r.t.Fatal(err)
	}
	return created.ID
}

type page struct {
	HasMore bool `json:"has_more"`
	Data    []struct {
		ID          string
		Type        string
		DownloadURL string `json:"download_url"`
	}
}

func (p page) ids() []string {
	var out []string
	for _, row := range p.Data {
		out = append(out, row.ID)
	}
	return out
}

func (r *real) page(key, target string) page {
	r.t.Helper()
	w := r.as(key, "GET", target, "")
	wantStatus(r.t, w, http.StatusOK)
	var p page
	if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil {
		r.t.Fatal(err)
	}
	return p
}

// eventually repeats a GET until it answers 200 with the text.
func (r *real) eventually(key, target, text string) *httptest.ResponseRecorder {
	r.t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for end := time.After(time.Minute); ; {
		w := r.as(key, "GET", target, "")
		if w.Code == http.StatusOK && strings.Contains(w.Body.String(), text) {
			return w
		}
		select {
		case <-tick.C:
		case <-end:
			r.t.Fatalf("GET %s stays %d %s", target, w.Code, w.Body)
		}
	}
}

// operations lists method and path of every route that answers to a key, with ids in
// the place of parameters.
func (r *real) operations(emailID, attachmentID string) (out [][2]string) {
	fill := strings.NewReplacer("{id}", emailID, "{attachment_id}", attachmentID)
	for path, item := range r.handler.OpenAPI().Paths {
		for method, op := range map[string]*huma.Operation{"GET": item.Get, "POST": item.Post, "PATCH": item.Patch, "DELETE": item.Delete} {
			if op != nil && len(op.Security) > 0 && op.Security[0]["bearer"] != nil {
				out = append(out, [2]string{method, fill.Replace(path)})
			}
		}
	}
	return out
}

func TestRealKeysOnEveryRoute(t *testing.T) {
	r := newReal(t, captured())
	id := r.send(r.full, goodSend)
	sending := r.key(r.team.ID, app.KeyInput{Permission: app.SendingAccess})
	_, other, _ := strings.Cut(r.full, "_")
	operations := r.operations(id, unknownID)
	if len(operations) < 7 {
		t.Fatalf("only %d routes need a key: %q", len(operations), operations)
	}
	for _, op := range operations {
		method, target := op[0], op[1]
		for _, header := range []string{"X-None: x", "Authorization: Basic " + r.full, "Authorization: " + r.full, "Authorization: Bearer "} {
			w := r.do(method, target, goodSend, header)
			wantError(t, w, 401, app.CodeMissingAPIKey)
			r.checkErrorBody(w)
		}
		for _, wrong := range []string{r.full[:len(r.full)-1] + "_", "re_123456789", other, strings.ToUpper(r.full)} {
			r.clock = r.clock.Add(time.Hour) // too many in a minute are refused before they are looked at
			wantError(t, r.as(wrong, method, target, goodSend), 401, app.CodeInvalidAPIKey)
		}
		// What a sending key may do, it may do to its own emails; id is another's.
		w := r.as(sending, method, target, goodSend)
		switch method + " " + strings.Replace(target, id, "{id}", 1) {
		case "POST /emails":
			wantStatus(t, w, 200)
		case "POST /emails/batch":
			wantError(t, w, 422, app.CodeValidation, "array")
		case "POST /emails/{id}/cancel":
			wantError(t, w, 404, app.CodeNotFound)
		case "PATCH /emails/{id}":
			wantError(t, r.as(sending, method, target, `{"scheduled_at":"in 1 hour"}`), 404, app.CodeNotFound)
		case "POST /mcp": // whose tools look at what the key may do
			wantError(t, w, 400, app.CodeInvalidPayload)
		default:
			wantError(t, w, 403, app.CodeRestrictedAPIKey)
		}
	}
}

func TestRealKeyOfOneDomain(t *testing.T) {
	r := newReal(t, relayed())
	r.domain(r.team.ID, "example.com", true)
	r.domain(r.team.ID, "other.example.com", true)
	scoped := r.key(r.team.ID, app.KeyInput{Permission: app.SendingAccess, Domain: "example.com"})
	for from, status := range map[string]int{
		"a@example.com": 200, "A <a@EXAMPLE.com>": 200,
		"a@other.example.com": 403, "a@unknown.test": 403, `"a@example.com" <a@other.example.com>`: 422,
	} {
		w := r.as(scoped, "POST", "/emails", sendFrom(from))
		if w.Code != status {
			t.Errorf("%s: %d %s, want %d", from, w.Code, w.Body, status)
		}
		if status == 403 {
			wantError(t, w, 403, app.CodeRestrictedAPIKey, "example.com")
		}
	}
	wantStatus(t, r.as(r.full, "POST", "/emails", sendFrom("a@other.example.com")), 200)
}

func sendFrom(from string) string {
	b, _ := json.Marshal(map[string]string{"from": from, "to": "b@example.org", "subject": "Hi", "text": "x"})
	return string(b)
}

func TestRealFromDomainMustBeVerified(t *testing.T) {
	r := newReal(t, relayed())
	other, otherKey := r.newTeam("Other")
	r.domain(r.team.ID, "ok.example.com", true)
	r.domain(r.team.ID, "new.example.com", false)
	r.domain(other.ID, "theirs.example.com", true)
	for _, tt := range []struct {
		key, from, words string
	}{
		{r.full, "a@unknown.test", "`from` uses the domain unknown.test"},
		{r.full, "a@new.example.com", "not verified"},
		{r.full, "a@theirs.example.com", "which this team has not added"},
		{r.full, "a@sub.ok.example.com", "sub.ok.example.com"},
		{otherKey, "a@ok.example.com", "which this team has not added"},
	} {
		wantError(t, r.as(tt.key, "POST", "/emails", sendFrom(tt.from)), 422, app.CodeValidation, tt.words)
	}
	id := r.send(r.full, sendFrom("a@OK.example.com"))
	r.eventually(r.full, "/emails/"+id, `"last_event":"sent"`)
	wantError(t, r.as(r.full, "GET", "/emails/"+id+"/raw", ""), 404, app.CodeNotFound)
}

func TestRealBodies(t *testing.T) {
	const most = 1000
	cfg := captured()
	cfg.MaxAttachments = most
	r := newReal(t, cfg, func(_ *Config, l *rest.Limits) { l.Body = 64 << 10 })
	files := func(sizes ...int) string {
		var items []string
		for _, n := range sizes {
			items = append(items, fmt.Sprintf(`{"filename":"a.bin","content":%q}`, base64.StdEncoding.EncodeToString(make([]byte, n))))
		}
		return member(`"attachments":[` + strings.Join(items, ",") + `]`)
	}
	for _, tt := range []struct {
		name, body string
		status     int
		code       app.Code
		words      string
	}{
		{"empty", "", 400, app.CodeInvalidPayload, "body"},
		{"cut off", `{"from":"a@example.com",`, 400, app.CodeInvalidPayload, "JSON"},
		{"not JSON", `from=a@example.com`, 400, app.CodeInvalidPayload, "JSON"},
		{"two objects", goodSend + goodSend, 400, app.CodeInvalidPayload, "JSON"},
		{"unknown field", member(`"colour":"red"`), 422, app.CodeValidation, "`colour`"},
		{"unknown field inside", member(`"tags":[{"name":"a","value":"b","x":1}]`), 422, app.CodeValidation, "`tags[0].x`"},
		{"no from", `{"to":"b@example.org","subject":"s","text":"x"}`, 422, app.CodeValidation, "`from`"},
		{"no to", `{"from":"a@example.com","subject":"s","text":"x"}`, 422, app.CodeValidation, "`to`"},
		{"empty to", `{"from":"a@example.com","to":[],"subject":"s","text":"x"}`, 422, app.CodeValidation, "`to`"},
		{"no subject", `{"from":"a@example.com","to":"b@example.org","text":"x"}`, 422, app.CodeValidation, "`subject`"},
		{"no body", `{"from":"a@example.com","to":"b@example.org","subject":"s"}`, 422, app.CodeValidation, "`html`"},
		{"too large", `{"text":"` + strings.Repeat("x", 65<<10) + `"}`, 413, app.CodePayloadTooLarge, "larger than"},
		{"one attachment too large", files(most + 1), 413, app.CodePayloadTooLarge, "`attachments`"},
		{"attachments too large together", files(most, 1), 413, app.CodePayloadTooLarge, "`attachments`"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			wantError(t, r.as(r.full, "POST", "/emails", tt.body), tt.status, tt.code, tt.words)
		})
	}
	r.send(r.full, files(most-1, 1))
	if p := r.page(r.full, "/emails"); len(p.Data) != 1 {
		t.Errorf("%d emails after one accepted send", len(p.Data))
	}
}

func TestRealForeignAndUnknownIDsAreNotFound(t *testing.T) {
	r := newReal(t, captured())
	_, otherKey := r.newTeam("Other")
	id := r.send(r.full, member(`"attachments":[{"filename":"a.txt","content":"aGk="}]`))
	r.eventually(r.full, "/emails/"+id+"/raw", "DKIM-Signature")
	attachment := r.page(r.full, "/emails/"+id+"/attachments").Data[0].ID
	otherID := r.send(otherKey, member(`"attachments":[{"filename":"b.txt","content":"aGk="}]`))
	with := 0
	for _, op := range r.operations(id, attachment) {
		if !strings.Contains(op[1], "/emails/"+id) {
			continue
		}
		with++
		body := ""
		switch op[0] {
		case "GET":
			wantStatus(t, r.as(r.full, op[0], op[1], ""), 200)
		case "PATCH":
			body = `{"scheduled_at":"in 1 hour"}`
		}
		wantError(t, r.as(otherKey, op[0], op[1], body), 404, app.CodeNotFound)
		for _, unknown := range []string{unknownID, app.NewID(), "x", "%00", strings.Repeat("9", 4000), id + "0", "..%2f" + id} {
			wantError(t, r.as(r.full, op[0], strings.Replace(op[1], id, unknown, 1), body), 404, app.CodeNotFound)
		}
		// One's own email does not open another's attachment.
		if strings.Contains(op[1], attachment) {
			wantError(t, r.as(otherKey, op[0], strings.Replace(op[1], id, otherID, 1), body), 404, app.CodeNotFound)
			wantError(t, r.as(r.full, op[0], strings.Replace(op[1], attachment, unknownID, 1), ""), 404, app.CodeNotFound)
		}
	}
	if with < 5 {
		t.Errorf("only %d routes have an id", with)
	}
	if got := r.page(otherKey, "/emails").ids(); !slices.Equal(got, []string{otherID}) {
		t.Errorf("the other team lists %q", got)
	}
	wantError(t, r.as(otherKey, "GET", "/emails?after="+id, ""), 422, app.CodeValidation, "`after`")
}

func TestRealAttachmentsDownload(t *testing.T) {
	r := newReal(t, captured())
	content := bytes.Repeat([]byte{0, 1, 255, '\n'}, 1000)
	id := r.send(r.full, member(`"attachments":[{"filename":"a.bin","content":"`+base64.StdEncoding.EncodeToString(content)+`"}]`))
	link := strings.TrimPrefix(r.page(r.full, "/emails/"+id+"/attachments").Data[0].DownloadURL, "https://mail.example.com")
	w := r.do("GET", link, "")
	wantStatus(t, w, 200)
	if !bytes.Equal(w.Body.Bytes(), content) {
		t.Error("other bytes come back")
	}
	token := link[len("/attachments/"):]
	for i := range token {
		c := byte('A')
		if token[i] == c {
			c = 'B'
		}
		if w := r.do("GET", "/attachments/"+token[:i]+string(c)+token[i+1:], ""); w.Code != 404 {
			t.Fatalf("with another byte %d: %d", i, w.Code)
		}
	}
}

func TestRealRateLimit(t *testing.T) {
	r := newReal(t, captured(), func(c *Config, _ *rest.Limits) { c.RateLimit = 2 })
	second := r.key(r.team.ID, app.KeyInput{})
	want := func(key string, status int, remaining string) {
		t.Helper()
		w := r.as(key, "GET", "/emails", "")
		head := w.Header()
		if w.Code != status || head.Get("Ratelimit-Remaining") != remaining || head.Get("Ratelimit-Limit") != "2" || head.Get("Ratelimit-Policy") != "2;w=1" {
			t.Errorf("%d %v", w.Code, head)
		}
		if (head.Get("Retry-After") != "") != (status == 429) {
			t.Errorf("%d with retry-after %q", status, head.Get("Retry-After"))
		}
		if status == 429 {
			wantError(t, w, 429, app.CodeRateLimitExceeded)
		}
	}
	want(r.full, 200, "1")
	want(r.full, 200, "0")
	want(r.full, 429, "0")
	want(second, 200, "1")
	r.clock = r.clock.Add(time.Second)
	want(r.full, 200, "1")
}

func TestRealDraining(t *testing.T) {
	r := newReal(t, captured())
	id := r.send(r.full, goodSend)
	wantStatus(t, r.do("GET", "/readyz", ""), 200)
	r.server.Drain()
	wantError(t, r.as(r.full, "POST", "/emails", goodSend), 503, app.CodeServiceUnavailable, "shutting down")
	wantError(t, r.do("GET", "/readyz", ""), 503, app.CodeServiceUnavailable)
	wantStatus(t, r.as(r.full, "GET", "/emails/"+id, ""), 200)
	wantStatus(t, r.do("GET", "/healthz", ""), 200)
}

func TestRealIdempotency(t *testing.T) {
	r := newReal(t, captured())
	_, otherKey := r.newTeam("Other")
	const key = "Idempotency-Key: order-7"
	wantError(t, r.as(r.full, "POST", "/emails", `{"from":"nobody"}`, key), 422, app.CodeValidation)
	first := r.send(r.full, goodSend, key)
	if again := r.send(r.full, goodSend, key); again != first {
		t.Errorf("the repeated send is %s, not %s", again, first)
	}
	wantError(t, r.as(r.full, "POST", "/emails", member(`"cc":"c@example.org"`), key), 409, app.CodeInvalidIdempotent)
	if r.send(r.full, goodSend) == first || r.send(otherKey, goodSend, key) == first {
		t.Error("another send has the same answer")
	}
	for _, bad := range []string{"", strings.Repeat("k", 257)} {
		wantError(t, r.as(r.full, "POST", "/emails", goodSend, "Idempotency-Key: "+bad), 400, app.CodeInvalidIdempotencyKey)
	}
	r.send(r.full, goodSend, "Idempotency-Key: "+strings.Repeat("k", 256))
	if p := r.page(r.full, "/emails"); len(p.Data) != 3 {
		t.Errorf("%d emails, want 3", len(p.Data))
	}
}
