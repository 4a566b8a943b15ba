package web

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"mailer/app"
	"mailer/app/rules/webhook"
	"mailer/app/server"
	"mailer/app/testing/testserver"
	"mailer/db"
)

// hookAnswer is any object of the routes of webhooks.
type hookAnswer struct {
	Object        string
	ID            string
	Endpoint      string
	Events        []string
	Status        string
	Type          string
	CreatedAt     string  `json:"created_at"`
	SigningSecret *string `json:"signing_secret"`
	FailingSince  *string `json:"failing_since"`
	NextAttemptAt *string `json:"next_attempt_at"`
	Payload       struct {
		Type string
		Data map[string]any
	}
	HTTPStatus *int   `json:"http_status_code"`
	LastStatus *int   `json:"last_http_status_code"`
	Response   string `json:"response"`
	SentAt     string `json:"sent_at"`
	Deleted    bool
	HasMore    bool `json:"has_more"`
	Data       []hookAnswer
}

// webhookAPI is a server whose webhook requests the test answers.
type webhookAPI struct {
	*testAPI
	member, foreign string
	mu              sync.Mutex
	status          int // that endpoints answer with; 0: 200
}

// RoundTrip implements http.RoundTripper.
func (s *webhookAPI) RoundTrip(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.status == 0 {
		s.status = 200
	}
	return &http.Response{StatusCode: s.status, Body: io.NopCloser(strings.NewReader("thanks for " + r.Header.Get("Webhook-Id")))}, nil
}

func newHooked(t *testing.T, change ...func(*server.Config)) *webhookAPI {
	t.Helper()
	s := &webhookAPI{}
	cfg := captured()
	cfg.WebhookTransport = s
	for _, f := range change {
		f(&cfg)
	}
	s.testAPI = newTestAPI(t, cfg)
	token, _, err := s.server.Teams.CreateKey(t.Context(), s.team.ID, app.KeyInput{Name: "m", Permission: app.FullAccess, Role: app.RoleMember})
	if err != nil {
		t.Fatal(err)
	}
	s.member = token
	_, s.foreign = s.newTeam("Other")
	return s
}

func (s *webhookAPI) want(code int, key, method, target, body string) (got hookAnswer) {
	s.t.Helper()
	w := s.as(key, method, target, body)
	wantStatus(s.t, w, code)
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
		s.t.Fatalf("%s %s: %v: %s", method, target, err, w.Body)
	}
	return got
}

const validWebhook = `{"endpoint":"https://hooks.example.com/in","events":["topic.created","email.sent"]}`

func TestWebhook(t *testing.T) {
	t.Parallel()
	s := newHooked(t)
	created := s.want(201, s.full, "POST", "/webhooks", validWebhook)
	if created.Object != "webhook" || created.SigningSecret == nil || !strings.HasPrefix(*created.SigningSecret, "whsec_") || created.Status != "enabled" {
		t.Fatalf("created %+v", created)
	}
	at := "/webhooks/" + created.ID
	got := s.want(200, s.full, "GET", at, "")
	if got.SigningSecret == nil || *got.SigningSecret != *created.SigningSecret || fmt.Sprint(got.Events) != "[topic.created email.sent]" ||
		got.Endpoint != "https://hooks.example.com/in" || got.CreatedAt != created.CreatedAt || got.FailingSince != nil {
		t.Errorf("got %+v", got)
	}
	list := s.want(200, s.full, "GET", "/webhooks", "")
	if len(list.Data) != 1 || list.Data[0].SigningSecret != nil || list.Data[0].ID != created.ID || list.Data[0].Status != "enabled" {
		t.Errorf("list %+v", list)
	}
	for _, body := range []string{
		`{"status":"disabled","webhook_id":"` + created.ID + `"}`, // Resend's Python client repeats the id
		`{"id":"` + created.ID + `","endpoint":"","events":[],"status":""}`,
		`{"events":null,"endpoint":null}`, `{}`,
	} {
		if got := s.want(200, s.full, "PATCH", at, body); got.Status != "disabled" || len(got.Events) != 2 || got.SigningSecret != nil {
			t.Errorf("%s: %+v", body, got)
		}
	}
	if got := s.want(200, s.full, "PATCH", at, `{"endpoint":"https://other.example.com","events":["topic.deleted"],"status":"enabled"}`); got.Endpoint != "https://other.example.com" || got.Status != "enabled" || fmt.Sprint(got.Events) != "[topic.deleted]" {
		t.Errorf("changed %+v", got)
	}
	for _, body := range []string{"", "{}", `{"overlap_hours":0}`, `{"overlap_hours":72,"webhook_id":"` + created.ID + `"}`, `{"overlap_hours":null}`} {
		rotated := s.want(200, s.full, "POST", at+"/signing-secret/rotate", body)
		if rotated.Object != "webhook" || rotated.ID != created.ID || *rotated.SigningSecret == *got.SigningSecret {
			t.Errorf("%s: %+v", body, rotated)
		}
		got = s.want(200, s.full, "GET", at, "")
		if *got.SigningSecret != *rotated.SigningSecret {
			t.Errorf("%s: %s is kept", body, *got.SigningSecret)
		}
	}
	if gone := s.want(200, s.full, "DELETE", at, "{}"); !gone.Deleted || gone.ID != created.ID || gone.Object != "webhook" {
		t.Errorf("deleted %+v", gone)
	}
	wantError(t, s.as(s.full, "GET", at, ""), 404, app.CodeNotFound)
}

func TestWebhookFieldErrors(t *testing.T) {
	t.Parallel()
	s := newHooked(t)
	id := s.want(201, s.full, "POST", "/webhooks", validWebhook).ID
	for _, tt := range []struct {
		body, words string
	}{
		{`{"events":["email.sent"]}`, "`endpoint`"},
		{`{"endpoint":"https://a.example"}`, "`events`"},
		{`{"endpoint":"https://a.example","events":[]}`, "`events`"},
		{`{"endpoint":"https://a.example","events":["email.sent","email.eaten"]}`, "`events[1]`"},
		{`{"endpoint":"https://a.example","events":["email.sent",5]}`, "`events[1]`"},
		{`{"endpoint":"https://a.example","events":"email.sent"}`, "`events`"},
		{`{"endpoint":"http://a.example","events":["email.sent"]}`, "`endpoint` must begin with https://"},
		{`{"endpoint":"https://127.0.0.1","events":["email.sent"]}`, "`endpoint` must be a public address"},
		{`{"endpoint":"https://a:b@a.example","events":["email.sent"]}`, "`endpoint`"},
		{`{"endpoint":"https://a.example","events":["email.sent"],"status":"off"}`, "`status`"},
		{`{"endpoint":"https://a.example","events":["email.sent"],"signing_secret":"whsec_c2hvcnQ="}`, "`signing_secret`"},
		{`{"endpoint":"https://a.example","events":["email.sent"],"color":"red"}`, "`color`"},
	} {
		wantError(t, s.as(s.full, "POST", "/webhooks", tt.body), 422, app.CodeValidation, tt.words)
	}
	for body, words := range map[string]string{
		`{"events":["x"]}`: "`events[0]`", `{"endpoint":"ftp://a.example"}`: "`endpoint`", `{"status":"on"}`: "`status`",
		`{"webhook_id":"` + unknownID + `"}`: "`webhook_id`", `{"signing_secret":"` + "whsec_" + `"}`: "`signing_secret`",
	} {
		wantError(t, s.as(s.full, "PATCH", "/webhooks/"+id, body), 422, app.CodeValidation, words)
	}
	for body, words := range map[string]string{
		`{"overlap_hours":73}`: "`overlap_hours`", `{"overlap_hours":-1}`: "`overlap_hours`", `{"overlap_hours":1.5}`: "`overlap_hours`",
		`{"overlap_hours":"24"}`: "`overlap_hours`", `{"hours":1}`: "`hours`",
	} {
		wantError(t, s.as(s.full, "POST", "/webhooks/"+id+"/signing-secret/rotate", body), 422, app.CodeValidation, words)
	}
	brought := "whsec_" + base64.StdEncoding.EncodeToString(make([]byte, 24))
	if got := s.want(201, s.full, "POST", "/webhooks", strings.Replace(validWebhook, "{", `{"status":"disabled","signing_secret":"`+brought+`",`, 1)); *got.SigningSecret != brought || got.Status != "disabled" {
		t.Errorf("brought along: %+v", got)
	}
}

func TestWebhookAccess(t *testing.T) {
	t.Parallel()
	s := newHooked(t)
	id := s.want(201, s.full, "POST", "/webhooks", validWebhook).ID
	s.want(201, s.full, "POST", "/topics", `{"name":"a","default_subscription":"opt_in"}`)
	s.eventually(s.full, "/webhooks/"+id+"/events", `"success"`)
	event := s.want(200, s.member, "GET", "/webhooks/"+id+"/events", "").Data[0].ID
	reads := []string{"/webhooks", "/webhooks/" + id, "/webhooks/" + id + "/events", "/webhooks/" + id + "/events/" + event, "/webhooks/" + id + "/events/" + event + "/attempts"}
	for _, target := range reads {
		if got := s.want(200, s.member, "GET", target, ""); got.SigningSecret != nil {
			t.Errorf("%s tells a member the secret", target)
		}
		if target != "/webhooks" {
			wantError(t, s.as(s.foreign, "GET", target, ""), 404, app.CodeNotFound)
		}
	}
	if got := s.want(200, s.foreign, "GET", "/webhooks", ""); len(got.Data) != 0 {
		t.Errorf("another team lists %+v", got)
	}
	for _, change := range [][3]string{
		{"POST", "/webhooks", validWebhook}, {"PATCH", "/webhooks/" + id, `{"status":"disabled"}`}, {"DELETE", "/webhooks/" + id, ""},
		{"POST", "/webhooks/" + id + "/signing-secret/rotate", ""}, {"POST", "/webhooks/" + id + "/events/" + event + "/replay", ""},
	} {
		wantError(t, s.as(s.member, change[0], change[1], change[2]), 403, app.CodeForbidden)
		if change[1] != "/webhooks" {
			wantError(t, s.as(s.foreign, change[0], change[1], change[2]), 404, app.CodeNotFound)
			for _, unknown := range []string{unknownID, "x", "%00"} {
				wantError(t, s.as(s.full, change[0], strings.Replace(change[1], id, unknown, 1), change[2]), 404, app.CodeNotFound)
			}
		}
	}
	for _, unknown := range []string{"msg_" + unknownID, unknownID, "x", "msg_"} {
		for _, end := range []string{"", "/attempts"} {
			wantError(t, s.as(s.full, "GET", "/webhooks/"+id+"/events/"+unknown+end, ""), 404, app.CodeNotFound)
		}
		wantError(t, s.as(s.full, "POST", "/webhooks/"+id+"/events/"+unknown+"/replay", ""), 404, app.CodeNotFound)
	}
	if got := s.want(200, s.full, "GET", "/webhooks/"+id, ""); got.Status != "enabled" {
		t.Errorf("changed by nobody, it is %+v", got)
	}
}

func TestWebhookEvents(t *testing.T) {
	testserver.BothEngines(t)
	t.Parallel()
	s := newHooked(t)
	id := s.want(201, s.full, "POST", "/webhooks", validWebhook).ID
	for i := range 3 {
		s.want(201, s.full, "POST", "/topics", fmt.Sprintf(`{"name":"t%d","default_subscription":"opt_in"}`, i))
	}
	events := "/webhooks/" + id + "/events"
	s.settled(events, 3, "success")
	first := s.want(200, s.full, "GET", events+"?limit=2", "")
	rest := s.want(200, s.full, "GET", events+"?limit=2&after="+first.Data[1].ID, "")
	back := s.want(200, s.full, "GET", events+"?limit=1&before="+rest.Data[0].ID, "")
	if len(first.Data) != 2 || !first.HasMore || len(rest.Data) != 1 || rest.HasMore || back.Data[0].ID != first.Data[1].ID || !back.HasMore {
		t.Errorf("pages %+v %+v %+v", first, rest, back)
	}
	for _, bad := range []string{"?limit=0", "?after=" + id, "?after=msg_" + unknownID, "?before=msg_x", "?after=" + first.Data[0].ID + "&before=" + rest.Data[0].ID} {
		wantError(t, s.as(s.full, "GET", events+bad, ""), 422, app.CodeValidation)
	}
	oldest := rest.Data[0]
	one := s.want(200, s.full, "GET", events+"/"+oldest.ID, "")
	if one.Object != "webhook_event" || one.ID != oldest.ID || one.Type != "topic.created" || one.Status != "success" || one.NextAttemptAt != nil ||
		one.Payload.Type != "topic.created" || one.Payload.Data["name"] != "t0" || *one.LastStatus != 200 {
		t.Errorf("event %+v", one)
	}
	attempts := s.want(200, s.full, "GET", events+"/"+oldest.ID+"/attempts", "")
	if len(attempts.Data) != 1 || *attempts.Data[0].HTTPStatus != 200 || attempts.Data[0].Response != "thanks for "+oldest.ID || attempts.Data[0].SentAt == "" {
		t.Errorf("attempts %+v", attempts)
	}
	s.mu.Lock()
	s.status = 500
	s.mu.Unlock()
	if got := s.want(200, s.full, "POST", events+"/"+oldest.ID+"/replay", ""); got.Object != "webhook_event" || got.ID != oldest.ID {
		t.Errorf("replay %+v", got)
	}
	s.eventually(s.full, events+"/"+oldest.ID+"/attempts", `"http_status_code":500`)
	s.eventually(s.full, events+"/"+oldest.ID, `"status":"pending"`) // its claim ends just after
	if got := s.want(200, s.full, "GET", events+"/"+oldest.ID, ""); got.Status != "pending" || got.NextAttemptAt == nil || *got.LastStatus != 500 {
		t.Errorf("replayed in vain: %+v", got)
	}
	page := s.want(200, s.full, "GET", events+"/"+oldest.ID+"/attempts?limit=1", "")
	older := s.want(200, s.full, "GET", events+"/"+oldest.ID+"/attempts?after="+page.Data[0].ID, "")
	if *page.Data[0].HTTPStatus != 500 || !page.HasMore || len(older.Data) != 1 || *older.Data[0].HTTPStatus != 200 {
		t.Errorf("attempts %+v %+v", page, older)
	}
	wantError(t, s.as(s.full, "GET", events+"/"+oldest.ID+"/attempts?after="+unknownID, ""), 422, app.CodeValidation)
	if got := s.want(200, s.full, "GET", "/webhooks/"+id, ""); got.FailingSince == nil {
		t.Error("a failure is not shown")
	}
	s.want(200, s.full, "PATCH", "/webhooks/"+id, `{"status":"disabled"}`)
	wantError(t, s.as(s.full, "POST", events+"/"+oldest.ID+"/replay", ""), 409, app.CodeConflict)
}

// settled waits until a webhook has n events, all of that status.
func (s *webhookAPI) settled(target string, n int, status string) {
	s.t.Helper()
	for i := range n {
		row := s.want(200, s.full, "GET", target, "").Data[i]
		s.eventually(s.full, target+"/"+row.ID, `"status":"`+status+`"`)
	}
}

func TestWebhookSecretsAreSealed(t *testing.T) {
	t.Parallel()
	s := newHooked(t)
	created := s.want(201, s.full, "POST", "/webhooks", validWebhook)
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(*created.SigningSecret, "whsec_"))
	if err != nil {
		t.Fatal(err)
	}
	err = s.store.Read(t.Context(), func(r *db.Reader) error {
		w, err := r.Webhook(s.team.ID, created.ID)
		for _, form := range []string{string(key), base64.StdEncoding.EncodeToString(key), base64.StdEncoding.EncodeToString(key)[:20]} {
			if strings.Contains(string(w.Sealed), form) {
				t.Error("the secret is stored as it is")
			}
		}
		return err
	})
	if err != nil || strings.Contains(s.log.String(), *created.SigningSecret) {
		t.Errorf("%v", err)
	}
}

func TestWebhookLimit(t *testing.T) {
	t.Parallel()
	s := newHooked(t)
	err := s.store.Write(t.Context(), func(tx *db.Tx) error {
		for range webhook.DefaultPerTeam {
			w := webhook.Webhook{ID: app.NewID(), TeamID: s.team.ID, Endpoint: "https://a.example", Events: []webhook.EventName{webhook.EmailSent}, Status: webhook.Enabled, Sealed: []byte("x")}
			if err := tx.InsertWebhook(&w, webhook.DefaultPerTeam); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	wantError(t, s.as(s.full, "POST", "/webhooks", validWebhook), 409, app.CodeConflict, "at most 20 webhooks")
	s.want(201, s.foreign, "POST", "/webhooks", validWebhook)
}
