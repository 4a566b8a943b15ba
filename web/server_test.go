package web

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"mailer/app"
	"mailer/app/kit/seal"
	"mailer/app/rules/relayurl"
	"mailer/app/sending/delivery"
	"mailer/app/server"
	"mailer/app/testing/testserver"
	"mailer/db"
	"mailer/smtpout"
	"mailer/web/rest"
)

// testAPI is a handler on the real server, a real database and a transport that
// sends nothing.
type testAPI struct {
	*fixture
	server *server.Server
	store  *db.DB
	sealer *app.Sealer
	team   app.Team
	full   string // a key of team
}

// acceptingSender is a relay that accepts everything.
type acceptingSender struct{}

func (acceptingSender) Close() {}

func (acceptingSender) Drain() {}

func (acceptingSender) Bound() int { return 0 }

func (acceptingSender) Send(ctx context.Context, m *app.Outgoing, finalCheck func(context.Context, string) error) app.Result {
	if finalCheck(ctx, "") != nil {
		return app.Result{Kind: app.ResultWithdrawn}
	}
	res := app.Result{Kind: app.ResultDone, Stage: app.StageDot, Reply: app.Reply{Code: 250}}
	for _, address := range m.Recipients {
		res.Recipients = append(res.Recipients, app.RecipientResult{Address: address, Outcome: app.Accepted, Stage: app.StageDot, Reply: res.Reply})
	}
	return res
}

// captured and relayed are the two kinds of server.
func captured() server.Config {
	relay := relayurl.Relay{Region: app.CaptureRegion, Connections: 4, DKIM: true}
	sender := smtpout.WithSimulator(smtpout.NewCapture(smtpout.Options{}))
	return server.Config{Capture: true, Routes: []delivery.Route{{Relay: relay, Sender: sender}}}
}

func relayed() server.Config {
	relay := relayurl.Relay{Region: app.DefaultRegion, Host: "relay.test", Port: 25, Connections: 4, DKIM: true}
	return server.Config{Routes: []delivery.Route{{Relay: relay, Sender: acceptingSender{}}}}
}

func newTestAPI(t testing.TB, cfg server.Config, change ...func(*Config, *rest.Limits)) *testAPI {
	t.Helper()
	return newTestAPIOn(t, testserver.NewDatabase(t, schemaText(t)), cfg, change...)
}

// schemaFile is schema.sql.
var schemaFile = sync.OnceValues(func() ([]byte, error) { return os.ReadFile(filepath.Join("..", "schema.sql")) })

func schemaText(t testing.TB) string {
	t.Helper()
	text, err := schemaFile()
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// newTestAPIOn is newTestAPI on a database of that name, which is empty.
func newTestAPIOn(t testing.TB, name string, cfg server.Config, change ...func(*Config, *rest.Limits)) *testAPI {
	t.Helper()
	store, err := db.Open(t.Context(), db.Options{Path: name, Schema: schemaText(t), Create: true, Lock: true, Lazy: true, Readers: 2, Reserve: 4096})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	cfg.DB, cfg.BaseURL = store, "https://mail.example.com"
	if cfg.NewDKIMKey == nil {
		cfg.NewDKIMKey = testserver.NextDKIMKey
	}
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
	r := &testAPI{fixture: &fixture{t: t, clock: testTime}, server: e, store: store, sealer: cfg.Sealer}
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

// key creates a key, by default with full access.
func (r *testAPI) key(teamID string, in app.KeyInput) string {
	r.t.Helper()
	in.Name, in.Role = "test", cmp.Or(in.Role, app.RoleOwner)
	if in.Permission == "" {
		in.Permission = app.FullAccess
	}
	token, _, err := r.server.Teams.CreateKey(r.t.Context(), teamID, in)
	if err != nil {
		r.t.Fatal(err)
	}
	return token
}

func (r *testAPI) newTeam(name string) (app.Team, string) {
	r.t.Helper()
	team, err := r.server.Teams.CreateTeam(r.t.Context(), name)
	if err != nil {
		r.t.Fatal(err)
	}
	return team, r.key(team.ID, app.KeyInput{})
}

func (r *testAPI) domain(teamID, name string, trust bool) app.Domain {
	r.t.Helper()
	d, err := r.server.Domains.AddDomain(r.t.Context(), teamID, app.DomainInput{Name: name, Trusted: trust})
	if err != nil {
		r.t.Fatal(err)
	}
	return d
}

// repeated are the codes that Resend does not have, whose errors are repeated in `error`;
// service_unavailable is another one.
var repeated = []string{"invalid_credentials", "reauthentication_required", "all_recipients_suppressed", "sending_paused", "broadcasts_paused", "plan_limit_reached", "forbidden",
	"conflict", "invalid_payload", "payload_too_large", "broadcast_too_large", "service_unavailable"}

// as sends a request with a key and checks the members of an error's body.
func (r *testAPI) as(key, method, target, body string, headers ...string) *httptest.ResponseRecorder {
	r.t.Helper()
	w := r.do(method, target, body, append(headers, "Authorization: Bearer "+key)...)
	if w.Code >= 400 {
		r.checkErrorBody(w)
	}
	return w
}

func (r *testAPI) checkErrorBody(w *httptest.ResponseRecorder) {
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
func (r *testAPI) send(key, body string, headers ...string) string {
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

func (r *testAPI) page(key, target string) page {
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
func (r *testAPI) eventually(key, target, text string) *httptest.ResponseRecorder {
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

// operations returns method and path of every route for keys, with ids as parameters.
func (r *testAPI) operations(emailID, attachmentID string) (out [][2]string) {
	fill := strings.NewReplacer("{id}", emailID, "{attachment_id}", attachmentID)
	for path, item := range r.handler.OpenAPI().Paths {
		for _, op := range item {
			if len(op.Security) > 0 && op.Security[0]["bearer"] != nil {
				out = append(out, [2]string{op.Method, fill.Replace(path)})
			}
		}
	}
	return out
}

func sendFrom(from string) string {
	b, _ := json.Marshal(map[string]string{"from": from, "to": "b@example.org", "subject": "Hi", "text": "x"})
	return string(b)
}
