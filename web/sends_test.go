package web

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"mailer/app"
)

// steppedSender is a relay that the test steps: once before the final dot, once after it.
type steppedSender struct {
	acceptingSender
	dialed, dot, reply chan struct{}
}

func newSteppedSender() *steppedSender {
	return &steppedSender{dialed: make(chan struct{}), dot: make(chan struct{}), reply: make(chan struct{})}
}

func (s *steppedSender) Send(ctx context.Context, m *app.Outgoing, finalCheck func(context.Context, string) error) app.Result {
	for _, step := range []chan struct{}{s.dialed, s.dot} {
		select {
		case step <- struct{}{}:
		case <-ctx.Done():
			return app.Result{Kind: app.ResultTrouble, Stage: app.StageRcpt}
		}
	}
	return s.acceptingSender.Send(ctx, m, func(ctx context.Context, signature string) error {
		err := finalCheck(ctx, signature)
		if err == nil {
			s.dialed <- struct{}{}
			<-s.reply
		}
		return err
	})
}

// next waits until the relay is at its next step.
func next(t *testing.T, step <-chan struct{}) {
	t.Helper()
	select {
	case <-step:
	case <-time.After(time.Minute):
		t.Fatal("the relay does not get there")
	}
}

func newSteppedAPI(t *testing.T) (*testAPI, *steppedSender) {
	s := newSteppedSender()
	cfg := relayed()
	cfg.Routes[0].Sender = s
	r := newTestAPI(t, cfg)
	r.domain(r.team.ID, "example.com", true)
	return r, s
}

// array is a batch of those items.
func array(items ...string) string { return "[" + strings.Join(items, ",") + "]" }

const permissive = "x-batch-validation: permissive"

type batchBody struct {
	Data   []struct{ ID string }
	Errors []app.BatchError
}

// batch sends a batch that is accepted, with nothing in its answer but data and
// errors.
func (r *testAPI) batch(body string, headers ...string) batchBody {
	r.t.Helper()
	w := r.as(r.full, "POST", "/emails/batch", body, headers...)
	wantStatus(r.t, w, 200)
	return r.batchBody(w)
}

func (r *testAPI) batchBody(w *httptest.ResponseRecorder) batchBody {
	r.t.Helper()
	var members map[string]json.RawMessage
	var b batchBody
	if err := json.Unmarshal(w.Body.Bytes(), &members); err != nil || len(members) != 2 {
		r.t.Fatalf("%v: %s", err, w.Body)
	}
	if err := json.Unmarshal(w.Body.Bytes(), &b); err != nil || b.Data == nil || b.Errors == nil {
		r.t.Fatalf("no arrays: %s", w.Body)
	}
	return b
}

func to(address string) string {
	return strings.Replace(validSend, "b@example.org", address, 1)
}

func TestBatchShapes(t *testing.T) {
	t.Parallel()
	r := newTestAPI(t, captured())
	bad := strings.Replace(validSend, `"to"`, `"colour":1,"to"`, 1)
	for _, tt := range []struct {
		name, body string
		status     int
		code       app.Code
		words      string
	}{
		{"no body", "", 400, app.CodeInvalidPayload, "body"},
		{"not JSON", "from=a", 400, app.CodeInvalidPayload, "JSON"},
		{"an object", validSend, 422, app.CodeValidation, "array"},
		{"a string", `"x"`, 422, app.CodeValidation, "array"},
		{"null", `null`, 422, app.CodeValidation, "array"},
		{"an object that is cut off", `{"from":`, 400, app.CodeInvalidPayload, "JSON"},
		{"empty", "[]", 422, app.CodeValidation, "1 to 100"},
		{"101", array(slices.Repeat([]string{validSend}, 101)...), 422, app.CodeValidation, "1 to 100"},
		{"101 and then no JSON", array(slices.Repeat([]string{validSend}, 101)...) + "x", 422, app.CodeValidation, "1 to 100"},
		{"cut off", "[" + validSend, 400, app.CodeInvalidPayload, "JSON"},
		{"two arrays", array(validSend) + array(validSend), 400, app.CodeInvalidPayload, "JSON"},
		{"no JSON in the second item", array(validSend, `{"from":}`), 400, app.CodeInvalidPayload, "JSON"},
		{"a name twice", array(validSend, `{"from":"a@example.com","from":"b@example.com"}`), 400, app.CodeInvalidPayload, "from"},
		{"a name twice further down", array(validSend, `{"headers":{"X-A":"1","X-A":"2"}}`), 400, app.CodeInvalidPayload, "X-A"},
		{"bytes that are no text", array(validSend, "{\"subject\":\"\xff\"}"), 400, app.CodeInvalidPayload, "JSON"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, mode := range []string{"strict", "permissive"} {
				w := r.as(r.full, "POST", "/emails/batch", tt.body, "x-batch-validation: "+mode)
				wantError(t, w, tt.status, tt.code, tt.words)
			}
		})
	}
	items := map[string]string{
		bad: "`colour`", "1": "an object", `"x"`: "an object", "[]": "an object", "null": "`from`", "{}": "`from`",
		to("nobody"): "`to[0]`", member(`"scheduled_at":"soon"`): "`scheduled_at`",
		member(`"attachments":[{"filename":"a","path":"https://example.com/a"}]`): "path",
	}
	for item, words := range items {
		body := array(validSend, " \n"+item+" ", to("c@example.org"))
		wantError(t, r.as(r.full, "POST", "/emails/batch", body), 422, app.CodeValidation, "emails.1: ", words)
		if p := r.page(r.full, "/emails"); len(p.Data) != 0 {
			t.Fatalf("%s: a strict batch left %d emails", item, len(p.Data))
		}
		got := r.batch(body, permissive)
		if len(got.Data) != 2 || len(got.Errors) != 1 || got.Errors[0].Index != 1 || !strings.Contains(got.Errors[0].Message, words) {
			t.Errorf("%s: %+v, want %q", item, got, words)
		}
		for i, want := range []string{"b@example.org", "c@example.org"} {
			if w := r.as(r.full, "GET", "/emails/"+got.Data[i].ID, ""); !strings.Contains(w.Body.String(), want) {
				t.Errorf("item %d is %s", i, w.Body)
			}
			wantStatus(t, r.as(r.full, "DELETE", "/emails/"+r.settled(got.Data[i].ID), ""), 200)
		}
	}
	if got := r.batch(array("{}", "1"), permissive); len(got.Data) != 0 || len(got.Errors) != 2 {
		t.Errorf("nothing but bad items: %+v", got)
	}
	if got := r.batch(" [\n" + strings.Join(slices.Repeat([]string{validSend}, 100), " ,\n") + " ] \n"); len(got.Data) != 100 || len(got.Errors) != 0 {
		t.Errorf("a hundred: %d and %+v", len(got.Data), got.Errors)
	}
}

// settled waits until an email left.
func (r *testAPI) settled(id string) string {
	r.t.Helper()
	r.eventually(r.full, "/emails/"+id, `"last_event":"sent"`)
	return id
}

func TestBatchHeaders(t *testing.T) {
	t.Parallel()
	r := newTestAPI(t, captured())
	body := array(validSend, `{}`)
	for _, mode := range []string{"loose", "STRICT", "strict, permissive"} {
		wantError(t, r.as(r.full, "POST", "/emails/batch", body, "x-batch-validation: "+mode), 422, app.CodeValidation, "`x-batch-validation`")
	}
	wantError(t, r.as(r.full, "POST", "/emails/batch", body, "x-batch-validation: "), 422, app.CodeValidation, "emails.1: ")
	for _, key := range []string{"", strings.Repeat("k", 257)} {
		wantError(t, r.as(r.full, "POST", "/emails/batch", array(validSend), "Idempotency-Key: "+key), 400, app.CodeInvalidIdempotencyKey)
	}
	if p := r.page(r.full, "/emails"); len(p.Data) != 0 {
		t.Errorf("%d emails after refusals", len(p.Data))
	}
	key := "Idempotency-Key: " + strings.Repeat("k", 256)
	first := r.batch(body, permissive, key)
	if again := r.batch(" "+body+"\n", permissive, key); fmt.Sprint(again) != fmt.Sprint(first) || len(first.Errors) != 1 {
		t.Errorf("first %+v, then %+v", first, again)
	}
	for _, other := range [][]string{{array(validSend, `{"a":1}`), permissive}, {array(validSend), "x-batch-validation: strict"}, {array(to("c@example.org"), "{}"), permissive}} {
		wantError(t, r.as(r.full, "POST", "/emails/batch", other[0], other[1], key), 409, app.CodeInvalidIdempotent)
	}
	plain := r.batch(array(validSend), "Idempotency-Key: s")
	if again := r.batch(array(validSend), "Idempotency-Key: s", "x-batch-validation: strict"); fmt.Sprint(again) != fmt.Sprint(plain) {
		t.Error("strict by name is another batch than strict by default")
	}
	wantError(t, r.as(r.full, "POST", "/emails/batch", array(validSend), "Idempotency-Key: s", permissive), 409, app.CodeInvalidIdempotent)
	if id := r.send(r.full, validSend, "Idempotency-Key: s"); id == plain.Data[0].ID {
		t.Error("a send got a batch's answer")
	}
}

func TestBatchStatuses(t *testing.T) {
	t.Parallel()
	cfg := relayed()
	cfg.MaxAttachments = 10
	r := newTestAPI(t, cfg)
	r.domain(r.team.ID, "example.com", true)
	r.domain(r.team.ID, "other.example.com", true)
	r.domain(r.team.ID, "new.example.com", false)
	scoped := r.key(r.team.ID, app.KeyInput{Permission: app.SendingAccess, Domain: "example.com"})
	for _, tt := range []struct {
		item   string
		status int
		code   app.Code
	}{
		{sendFrom("a@other.example.com"), 403, app.CodeRestrictedAPIKey},
		{sendFrom("a@unknown.test"), 403, app.CodeRestrictedAPIKey},
		{member(`"attachments":[{"filename":"a","content":"aGVsbG8gd29ybGQ="}]`), 413, app.CodePayloadTooLarge},
	} {
		wantError(t, r.as(scoped, "POST", "/emails/batch", array(validSend, validSend, tt.item)), tt.status, tt.code, "emails.2: ")
	}
	wantError(t, r.as(r.full, "POST", "/emails/batch", array(sendFrom("a@new.example.com"))), 422, app.CodeValidation, "emails.0: ", "not verified")
	if p := r.page(r.full, "/emails"); len(p.Data) != 0 {
		t.Errorf("%d emails after refusals", len(p.Data))
	}
	w := r.as(scoped, "POST", "/emails/batch", array(sendFrom("a@other.example.com"), validSend), permissive)
	wantStatus(t, w, 200)
	if got := r.batchBody(w); len(got.Data) != 1 || len(got.Errors) != 1 || got.Errors[0].Index != 0 {
		t.Errorf("%+v", got)
	}
	r.server.Drain()
	wantError(t, r.as(r.full, "POST", "/emails/batch", array(validSend)), 503, app.CodeServiceUnavailable)
}

// change makes a call that changes an email, and checks the body.
func (r *testAPI) change(key, method, target, body, want string) {
	r.t.Helper()
	wantJSON(r.t, r.as(key, method, target, body), want)
}

func TestReschedule(t *testing.T) {
	t.Parallel()
	r := newTestAPI(t, captured())
	id := r.send(r.full, member(`"scheduled_at":"in 1 hour"`))
	target := "/emails/" + id
	want := fmt.Sprintf(`{"object":"email","id":%q}`, id)
	at := time.Now().Add(3 * time.Hour).UTC().Truncate(time.Second)
	for _, extra := range []string{"", `,"id":"` + id + `"`, `,"email_id":"` + id + `"`, `,"id":"","email_id":null`} {
		r.change(r.full, "PATCH", target, `{"scheduled_at":"`+at.Format(time.RFC3339)+`"`+extra+`}`, want)
	}
	w := r.as(r.full, "GET", target, "")
	if !strings.Contains(w.Body.String(), `"scheduled_at":"`+app.FormatTime(at)+`"`) || !strings.Contains(w.Body.String(), `"last_event":"scheduled"`) {
		t.Errorf("it reads %s", w.Body)
	}
	for _, tt := range []struct {
		body   string
		status int
		code   app.Code
		words  string
	}{
		{"", 400, app.CodeInvalidPayload, "body"},
		{"{", 400, app.CodeInvalidPayload, "JSON"},
		{`{"scheduled_at":"in 1 hour","scheduled_at":"in 2 hours"}`, 400, app.CodeInvalidPayload, "scheduled_at"},
		{"[]", 422, app.CodeValidation, "object"},
		{"{}", 422, app.CodeValidation, "`scheduled_at`"},
		{`{"scheduled_at":null}`, 422, app.CodeValidation, "`scheduled_at`"},
		{`{"scheduled_at":""}`, 422, app.CodeValidation, "`scheduled_at`"},
		{`{"scheduled_at":1}`, 422, app.CodeValidation, "`scheduled_at`"},
		{`{"scheduled_at":"soon"}`, 422, app.CodeValidation, "`scheduled_at`"},
		{`{"scheduled_at":"in 31 days"}`, 422, app.CodeValidation, "`scheduled_at`"},
		{`{"scheduled_at":"in 1 hour","id":"` + unknownID + `"}`, 422, app.CodeValidation, "`id`"},
		{`{"scheduled_at":"in 1 hour","email_id":"x"}`, 422, app.CodeValidation, "`email_id`"},
		{`{"scheduled_at":"in 1 hour","subject":"x"}`, 422, app.CodeValidation, "`subject`"},
	} {
		wantError(t, r.as(r.full, "PATCH", target, tt.body), tt.status, tt.code, tt.words)
	}
	upper := "/emails/" + strings.ToUpper(id)
	r.change(r.full, "PATCH", upper, `{"scheduled_at":"in 1 hour","id":"`+strings.ToUpper(id)+`"}`, want)
	r.change(r.full, "PATCH", target, `{"scheduled_at":"1970-01-01T00:00:00Z"}`, want)
	r.settled(id)
	wantError(t, r.as(r.full, "PATCH", target, `{"scheduled_at":"in 1 hour"}`), 422, app.CodeValidation, "not scheduled")
	wantError(t, r.as(r.full, "PATCH", "/emails/"+unknownID, `{"scheduled_at":"in 1 hour"}`), 404, app.CodeNotFound)
}

func TestCancel(t *testing.T) {
	t.Parallel()
	r, relay := newSteppedAPI(t)
	for _, body := range []string{"", "{}", "null", `{"anything":1}`, "{"} {
		id := r.send(r.full, member(`"scheduled_at":"in 1 hour"`))
		target := "/emails/" + id
		r.change(r.full, "POST", target+"/cancel", body, fmt.Sprintf(`{"object":"email","id":%q}`, id))
		if w := r.as(r.full, "GET", target, ""); !strings.Contains(w.Body.String(), `"last_event":"canceled"`) {
			t.Errorf("it reads %s", w.Body)
		}
		wantError(t, r.as(r.full, "POST", target+"/cancel", body), 422, app.CodeValidation, "canceled")
		wantError(t, r.as(r.full, "PATCH", target, `{"scheduled_at":"in 1 hour"}`), 422, app.CodeValidation, "canceled")
	}
	before := r.send(r.full, validSend)
	next(t, relay.dialed) // the relay has it and waits before the dot
	wantStatus(t, r.as(r.full, "POST", "/emails/"+before+"/cancel", ""), 200)
	next(t, relay.dot)
	after := r.send(r.full, validSend)
	next(t, relay.dialed)
	next(t, relay.dot)
	next(t, relay.dialed) // the first one would wait here if it had passed the final check
	wantError(t, r.as(r.full, "POST", "/emails/"+after+"/cancel", ""), 422, app.CodeValidation, "leaving")
	wantError(t, r.as(r.full, "DELETE", "/emails/"+after, ""), 409, app.CodeConflict, "leaving")
	relay.reply <- struct{}{}
	r.settled(after)
	wantError(t, r.as(r.full, "POST", "/emails/"+after+"/cancel", ""), 422, app.CodeValidation, "sent")
	if w := r.as(r.full, "GET", "/emails/"+before, ""); !strings.Contains(w.Body.String(), `"last_event":"canceled"`) {
		t.Errorf("it reads %s", w.Body)
	}
	wantError(t, r.as(r.full, "POST", "/emails/"+unknownID+"/cancel", ""), 404, app.CodeNotFound)
}

func TestDelete(t *testing.T) {
	t.Parallel()
	r, relay := newSteppedAPI(t)
	scheduled := r.send(r.full, member(`"scheduled_at":"in 1 hour","attachments":[{"filename":"a","content":"aGk="}]`))
	queued := r.send(r.full, validSend)
	next(t, relay.dialed)
	for _, id := range []string{scheduled, queued} {
		r.change(r.full, "DELETE", "/emails/"+id, "{}", fmt.Sprintf(`{"object":"email","id":%q,"deleted":true}`, id))
		for _, target := range []string{"", "/events", "/attachments"} {
			wantError(t, r.as(r.full, "GET", "/emails/"+id+target, ""), 404, app.CodeNotFound)
		}
		wantError(t, r.as(r.full, "DELETE", "/emails/"+id, ""), 404, app.CodeNotFound)
		wantError(t, r.as(r.full, "POST", "/emails/"+id+"/cancel", ""), 404, app.CodeNotFound)
	}
	next(t, relay.dot)
	if p := r.page(r.full, "/emails"); len(p.Data) != 0 {
		t.Errorf("the list still has %q", p.ids())
	}
	sent := r.send(r.full, validSend)
	next(t, relay.dialed)
	next(t, relay.dot)
	next(t, relay.dialed)
	relay.reply <- struct{}{}
	wantStatus(t, r.as(r.full, "DELETE", "/emails/"+r.settled(sent), ""), 200)
}

func TestSendingKeysChangeOwnEmails(t *testing.T) {
	t.Parallel()
	r := newTestAPI(t, captured())
	sending, other := r.key(r.team.ID, app.KeyInput{Permission: app.SendingAccess}), r.key(r.team.ID, app.KeyInput{Permission: app.SendingAccess})
	w := r.as(sending, "POST", "/emails/batch", array(member(`"scheduled_at":"in 1 hour"`)))
	wantStatus(t, w, 200)
	id := r.batchBody(w).Data[0].ID
	const later = `{"scheduled_at":"in 2 hours"}`
	wantError(t, r.as(other, "PATCH", "/emails/"+id, later), 404, app.CodeNotFound)
	wantError(t, r.as(other, "POST", "/emails/"+id+"/cancel", ""), 404, app.CodeNotFound)
	wantError(t, r.as(sending, "GET", "/emails/"+id, ""), 403, app.CodeRestrictedAPIKey)
	wantError(t, r.as(sending, "DELETE", "/emails/"+id, ""), 403, app.CodeRestrictedAPIKey)
	wantStatus(t, r.as(sending, "PATCH", "/emails/"+id, later), 200)
	wantStatus(t, r.as(sending, "POST", "/emails/"+id+"/cancel", ""), 200)
}
