package web

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"mailer/app"
)

// broadcastAnswer is a broadcast, or a list of them.
type broadcastAnswer struct {
	Object, ID, Name  string
	SegmentID         *string `json:"segment_id"`
	AudienceID        *string `json:"audience_id"`
	TopicID           *string `json:"topic_id"`
	Status            string
	CreatedAt         string  `json:"created_at"`
	ScheduledAt       *string `json:"scheduled_at"`
	SentAt            *string `json:"sent_at"`
	SentCount         *int64  `json:"sent_count"`
	FinishesAt        *string `json:"finishes_at"`
	Estimated         bool
	From, Subject     string
	ReplyTo           []string `json:"reply_to"`
	PreviewText       *string  `json:"preview_text"`
	HTML, Text        *string
	Counts            map[string]int64
	CanceledRemaining *int64 `json:"canceled_remaining"`
	HasMore           bool   `json:"has_more"`
	Data              []broadcastAnswer
}

// broadcast makes a request about a broadcast that must succeed with the status.
func (a *audienceAPI) broadcast(status int, method, target, body string) (got broadcastAnswer) {
	a.t.Helper()
	w := a.call(method, target, body)
	wantStatus(a.t, w, status)
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
		a.t.Fatal(err)
	}
	return got
}

// draft creates a draft with the given members and the required ones.
func (a *audienceAPI) draft(more string) broadcastAnswer {
	a.t.Helper()
	return a.broadcast(201, "POST", "/broadcasts", news(more))
}

// news returns the body of a broadcast with the given members and the required ones.
func news(more string) string {
	return `{"from":"Acme <news@example.com>","subject":"News","html":"<p>Hi {{{FIRST_NAME|there}}}</p>"` + more + `}`
}

func TestGetDraft(t *testing.T) {
	t.Parallel()
	a := newAudienceAPI(t)
	segment, topic := a.segment(`{"name":"All","filter":null}`).ID, a.topic("News", "").ID
	w := a.call("POST", "/broadcasts", news(`,"name":"June","segment_id":"`+segment+`","topic_id":"`+topic+`","reply_to":"help@example.com",
		"preview_text":"What is new","text":"Hi {{{contact.first_name|there}}}","send":false,"scheduled_at":""`))
	wantStatus(t, w, 201)
	var made broadcastAnswer
	if err := json.Unmarshal(w.Body.Bytes(), &made); err != nil {
		t.Fatal(err)
	}
	if _, ok := app.ParseID(made.ID); !ok || len(made.CreatedAt) != len(app.TimeLayout) {
		t.Errorf("made %s", w.Body)
	}
	row := fmt.Sprintf(`"id":%q,"name":"June","segment_id":%q,"audience_id":%q,"topic_id":%q,"status":"draft","created_at":%q,
		"scheduled_at":null,"paused_at":null,"sent_at":null,"sent_count":0,"finishes_at":null`, made.ID, segment, segment, topic, made.CreatedAt)
	wantJSON(t, w, `{"object":"broadcast","estimated":true,`+row+`}`)
	counts := `"counts":{"recipients":0,"remaining":0,"sent":0,"delivery_delayed":0,"delivered":0,"opened":0,"clicked":0,"bounced":0,
		"complained":0,"suppressed":0,"failed":0,"canceled":0,"unsubscribed":0},`
	wantJSON(t, a.call("GET", "/broadcasts", ""), `{"object":"list","has_more":false,"data":[{`+counts+row+`}]}`)
	revision := decoded[struct{ Revision string }](t, a.call("GET", "/broadcasts/"+made.ID, "")).Revision
	for _, id := range []string{made.ID, strings.ToUpper(made.ID)} {
		wantJSON(t, a.call("GET", "/broadcasts/"+id, ""), `{"object":"broadcast","from":"Acme <news@example.com>","subject":"News","reply_to":["help@example.com"],
			"preview_text":"What is new","html":"<p>Hi {{{FIRST_NAME|there}}}</p>","text":"Hi {{{contact.first_name|there}}}","design":null,"syntax":"plain","variants":{},"languages":[],"attachments":[],"archive":null,
			"revision":"`+revision+`",`+counts+row+`}`)
	}
}

func TestDraftDefaults(t *testing.T) {
	t.Parallel()
	a := newAudienceAPI(t)
	for _, more := range []string{"", `,"name":"","segment_id":"","audience_id":null,"topic_id":"","reply_to":[],"preview_text":"","text":null,"send":null,"scheduled_at":null`} {
		got := a.broadcast(200, "GET", "/broadcasts/"+a.draft(more).ID, "")
		if got.Name != "News" || got.SegmentID != nil || got.AudienceID != nil || got.TopicID != nil || len(got.ReplyTo) != 0 || got.PreviewText != nil || got.Text != nil || value(got.HTML) == "" {
			t.Errorf("%s: %+v", more, got)
		}
	}
	if got := a.broadcast(200, "GET", "/broadcasts/"+a.draft(`,"text":""`).ID, ""); got.Text == nil || *got.Text != "" {
		t.Errorf("opted out of a text: %v", got.Text)
	}
	plain := a.broadcast(201, "POST", "/broadcasts", `{"from":"a@example.com","subject":"`+strings.Repeat("é", 300)+`","text":"x"}`)
	if got := a.broadcast(200, "GET", "/broadcasts/"+plain.ID, ""); got.HTML != nil || value(got.Text) != "x" || got.Name != strings.Repeat("é", 255) {
		t.Errorf("plain %+v", got)
	}
	segment := a.segment(`{"name":"All"}`).ID
	for _, more := range []string{`,"audience_id":"` + segment + `"`, `,"audience_id":"` + strings.ToUpper(segment) + `","segment_id":"` + segment + `"`} {
		if got := a.draft(more); value(got.SegmentID) != segment || value(got.AudienceID) != segment {
			t.Errorf("%s: %+v", more, got)
		}
	}
}

func TestBroadcastFieldErrors(t *testing.T) {
	t.Parallel()
	a := newAudienceAPI(t)
	type refusal struct{ body, words string }
	cases := []refusal{
		{`{"subject":"s","html":"x"}`, "`from` is required"},
		{`{"from":"","subject":"s","html":"x"}`, "`from` is required"},
		{`{"from":"a@example.com","html":"x"}`, "`subject` is required"},
		{`{"from":"a@example.com","subject":"  ","html":"x"}`, "`subject` is required"},
		{`{"from":"a@example.com","subject":"s"}`, "`html` or `text` is required"},
		{`{"from":"a@example.com","subject":"s","html":"","text":""}`, "`html` or `text` is required"},
		{`{"from":"{{{FIRST_NAME}}} <a@example.com>","subject":"s","html":"x"}`, "`from` can't contain placeholders"},
		{`{"from":"a@example.com","subject":"{{{UNSUBSCRIBE_URL}}}","html":"x"}`, "`subject` can't contain"},
		{`{"from":"a@example.com","subject":"{{{A B}}}","html":"x"}`, "`subject` holds {{{A B}}}"},
		{`{"from":"a@example.com","subject":"s","html":"{{{contact.first-name}}}"}`, "`html` holds"},
		{`{"from":"a@example.com","subject":"s","html":"a\n{{{EMAIL"}`, "`html` opens a placeholder with {{{ that never ends (line 2)"},
		{`{"from":"a@example.com","subject":"s","html":"x","text":"{{{}}}"}`, "`text` holds {{{}}}"},
		{`{"from":"a@example.com","subject":"s","html":"x","preview_text":"{{{|x}}}"}`, "`preview_text` holds"},
		{news(`,"scheduled_at":"in 1 hour"`), "`scheduled_at` needs `send`"},
		{news(`,"send":false,"scheduled_at":"in 1 hour"`), "`scheduled_at` needs `send`"},
		{news(`,"send":true,"scheduled_at":"in 31 days"`), "`scheduled_at` must be at most 30 days"},
		{news(`,"send":true,"scheduled_at":"soon"`), "`scheduled_at`"},
		{news(`,"send":"yes"`), "`send`"},
		{`{"from":"a@example.com","subject":"` + strings.Repeat("s", 2001) + `","html":"x"}`, "`subject`"},
		{news(`,"text":"` + strings.Repeat("x", app.MaxBroadcastContent) + `"`), "`html` and `text` must not be longer"},
	}
	for _, more := range []refusal{
		{`"colour":"red"`, "`colour`"},
		{`"tags":[]`, "`tags`"},
		{`"broadcast_id":"x"`, "`broadcast_id`"},
		{`"name":"  "`, "`name`"},
		{`"name":"` + strings.Repeat("é", 256) + `"`, "`name`"},
		{`"name":"a\nb"`, "`name`"},
		{`"segment_id":"x"`, "`segment_id`"},
		{`"audience_id":"x"`, "`audience_id`"},
		{`"topic_id":"x"`, "`topic_id`"},
		{`"segment_id":"` + app.NewID() + `","audience_id":"` + app.NewID() + `"`, "`audience_id`"},
		{`"reply_to":"nobody"`, "`reply_to[0]`"},
		{`"reply_to":["a@example.com","{{{EMAIL}}}"]`, "`reply_to[1]`"},
		{`"preview_text":"` + strings.Repeat("é", 1001) + `"`, "`preview_text`"},
		{`"preview_text":"a\u0000"`, "`preview_text`"},
		{`"text":"a\u0000"`, "`text`"},
	} {
		cases = append(cases, refusal{news("," + more.body), more.words})
	}
	for _, c := range cases {
		wantError(t, a.call("POST", "/broadcasts", c.body), 422, app.CodeValidation, c.words)
	}
	if left := a.broadcast(200, "GET", "/broadcasts", ""); len(left.Data) != 0 {
		t.Errorf("a refused request left %+v", left.Data)
	}
}

func TestBroadcastNeedsOwnSegmentAndTopic(t *testing.T) {
	t.Parallel()
	a := newAudienceAPI(t)
	id := a.draft("").ID
	var foreign broadcastAnswer
	for _, c := range []struct{ kind, field, body string }{
		{"segment", "segment_id", `{"name":"Theirs"}`}, {"segment", "audience_id", `{"name":"Theirs"}`}, {"topic", "topic_id", `{"name":"Theirs","default_subscription":"opt_in"}`},
	} {
		if err := json.Unmarshal(a.as(a.foreign, "POST", "/"+c.kind+"s", c.body).Body.Bytes(), &foreign); err != nil {
			t.Fatal(err)
		}
		for _, other := range []string{app.NewID(), foreign.ID} {
			for _, send := range []string{"", `,"send":true`} {
				wantError(t, a.call("POST", "/broadcasts", news(fmt.Sprintf(`,%q:%q%s`, c.field, other, send))), 404, app.CodeNotFound, c.kind)
			}
			wantError(t, a.call("PATCH", "/broadcasts/"+id, fmt.Sprintf(`{%q:%q}`, c.field, other)), 404, app.CodeNotFound, c.kind)
		}
		if c.kind == "topic" {
			break // its name is used now
		}
	}
	if got := a.broadcast(200, "GET", "/broadcasts", ""); len(got.Data) != 1 || got.Data[0].SegmentID != nil || got.Data[0].TopicID != nil {
		t.Errorf("left %+v", got.Data)
	}
}

func TestPatchDraft(t *testing.T) {
	t.Parallel()
	a := newAudienceAPI(t)
	segment, topic := a.segment(`{"name":"All"}`).ID, a.topic("News", "").ID
	made := a.draft(`,"name":"June","segment_id":"` + segment + `","topic_id":"` + topic + `","reply_to":"help@example.com","preview_text":"p","text":"t"`)
	path := "/broadcasts/" + made.ID
	start := a.call("GET", path, "").Body.String()
	for _, body := range []string{`{}`, `{"id":"` + made.ID + `","broadcast_id":"` + made.ID + `","name":"","segment_id":"","audience_id":"","topic_id":"","from":"","subject":"","reply_to":[],"preview_text":"","html":""}`} {
		if got := a.broadcast(200, "PATCH", path, body); got.ID != made.ID || got.Status != "draft" || got.FinishesAt != nil {
			t.Errorf("%s: %+v", body, got)
		}
		if got := a.call("GET", path, "").Body.String(); got != start {
			t.Errorf("%s: %s", body, got)
		}
	}
	a.broadcast(200, "PATCH", path, `{"name":"July","from":"b@example.com","subject":"Other","reply_to":["c@example.com","d@example.com"],"html":"<p>x</p>","text":""}`)
	got := a.broadcast(200, "GET", path, "")
	if got.Name != "July" || got.From != "b@example.com" || got.Subject != "Other" || len(got.ReplyTo) != 2 || value(got.HTML) != "<p>x</p>" || got.Text == nil || *got.Text != "" ||
		value(got.SegmentID) != segment || value(got.TopicID) != topic || value(got.PreviewText) != "p" {
		t.Errorf("changed %+v", got)
	}
	a.broadcast(200, "PATCH", path, `{"name":null,"segment_id":null,"topic_id":null,"reply_to":null,"preview_text":null,"text":null}`)
	got = a.broadcast(200, "GET", path, "")
	if got.Name != "Other" || got.SegmentID != nil || got.TopicID != nil || len(got.ReplyTo) != 0 || got.PreviewText != nil || got.Text != nil {
		t.Errorf("cleared %+v", got)
	}
	a.broadcast(200, "PATCH", path, `{"audience_id":"`+segment+`"}`)
	a.broadcast(200, "PATCH", path, `{"text":"only","html":null}`)
	if got = a.broadcast(200, "GET", path, ""); value(got.SegmentID) != segment || got.HTML != nil || value(got.Text) != "only" {
		t.Errorf("changed %+v", got)
	}
	for body, words := range map[string]string{
		`{"text":null}`: "`html` or `text`", `{"text":""}`: "`html` or `text`", `{"broadcast_id":"` + app.NewID() + `"}`: "`broadcast_id`", `{"send":true}`: "`send`",
		`{"scheduled_at":"in 1 hour"}`: "`scheduled_at`", `{"status":"sent"}`: "`status`", `{"from":"x"}`: "`from`", `{"subject":" "}`: "`subject`",
		`{"segment_id":null,"audience_id":"` + segment + `"}`: "`audience_id`",
	} {
		wantError(t, a.call("PATCH", path, body), 422, app.CodeValidation, words)
	}
}

// deliveredBodies makes broadcasts in each state but draft, with an empty audience.
func (a *audienceAPI) deliveredBodies() map[string]string {
	a.t.Helper()
	out := map[string]string{
		"queued":    a.draft(`,"name":"queued","send":true`).ID,
		"scheduled": a.draft(`,"name":"scheduled","send":true,"scheduled_at":"in 1 hour"`).ID,
		"canceled":  a.draft(`,"name":"canceled","send":true,"scheduled_at":"in 1 hour"`).ID,
	}
	a.broadcast(200, "POST", "/broadcasts/"+out["canceled"]+"/cancel", "")
	return out
}

func TestOnlyDraftsChange(t *testing.T) {
	t.Parallel()
	a := newAudienceAPI(t)
	for status, id := range a.deliveredBodies() {
		for _, op := range [][3]string{{"PATCH", "", `{"name":"x"}`}, {"DELETE", "", ""}, {"POST", "/send", ""}} {
			w := a.call(op[0], "/broadcasts/"+id+op[1], op[2])
			wantError(t, w, 400, app.CodeInvalidParameter, "Only a draft can be")
			if status != "queued" { // it may be sent by now
				wantError(t, w, 400, app.CodeInvalidParameter, "this broadcast is "+status)
			}
		}
		if got := a.broadcast(200, "GET", "/broadcasts/"+id, ""); got.Name != status {
			t.Errorf("%s: %+v", status, got)
		}
	}
	draft := a.draft("").ID
	wantError(t, a.call("POST", "/broadcasts/"+draft+"/cancel", ""), 400, app.CodeInvalidParameter)
	wantJSON(t, a.call("DELETE", "/broadcasts/"+draft, ""), `{"object":"broadcast","id":"`+draft+`","deleted":true}`)
	wantError(t, a.call("GET", "/broadcasts/"+draft, ""), 404, app.CodeNotFound, "broadcast")
	wantError(t, a.call("DELETE", "/broadcasts/"+draft, ""), 404, app.CodeNotFound)
}

func TestSendDraftNowOrLater(t *testing.T) {
	t.Parallel()
	a := newAudienceAPI(t)
	later := time.Now().Add(48 * time.Hour).UTC().Truncate(time.Millisecond)
	for body, scheduled := range map[string]bool{
		"": false, "{}": false, `{"scheduled_at":""}`: false, `{"scheduled_at":null}`: false, `{"scheduled_at":"2020-01-01T00:00:00Z"}`: false,
		`{"scheduled_at":"` + app.FormatTime(later) + `"}`: true, `{"scheduled_at":"in 2 days"}`: true,
	} {
		id := a.draft("").ID
		wantError(t, a.call("POST", "/broadcasts/"+id+"/send", `{"scheduled_at":"whenever"}`), 422, app.CodeValidation, "`scheduled_at`")
		wantError(t, a.call("POST", "/broadcasts/"+id+"/send", `{"scheduled_at":"in 31 days"}`), 422, app.CodeValidation, "`scheduled_at`")
		wantError(t, a.call("POST", "/broadcasts/"+id+"/send", `{"broadcast_id":"`+app.NewID()+`"}`), 422, app.CodeValidation, "`broadcast_id`")
		if len(body) > 2 {
			body = `{"broadcast_id":"` + id + `",` + body[1:]
		}
		got := a.broadcast(200, "POST", "/broadcasts/"+id+"/send", body)
		if got.ID != id || got.Object != "broadcast" || !got.Estimated || got.SentAt != nil {
			t.Errorf("%s: %+v", body, got)
		}
		if scheduled != (got.Status == "scheduled") || scheduled != (got.ScheduledAt != nil) || !scheduled && got.Status != "queued" {
			t.Errorf("%s: %+v", body, got)
		}
	}
}

func TestCreateAndSendBroadcast(t *testing.T) {
	t.Parallel()
	a := newAudienceAPI(t)
	now := a.draft(`,"send":true`)
	if now.Status != "queued" || now.ScheduledAt != nil {
		t.Errorf("at once: %+v", now)
	}
	later := a.draft(`,"send":true,"scheduled_at":"in 3 days"`)
	if later.Status != "scheduled" || later.ScheduledAt == nil {
		t.Fatalf("later: %+v", later)
	}
	at, err := time.Parse(app.TimeLayout, *later.ScheduledAt)
	if wait := time.Until(at); err != nil || wait < 71*time.Hour || wait > 72*time.Hour {
		t.Errorf("scheduled in %s, %v", wait, err)
	}
	got := a.broadcast(200, "POST", "/broadcasts/"+later.ID+"/cancel", "{}")
	if got.Object != "broadcast" || got.ID != later.ID || got.Status != "canceled" || got.CanceledRemaining == nil || *got.CanceledRemaining != 0 {
		t.Errorf("canceled %+v", got)
	}
}

func TestBroadcastCountsAudience(t *testing.T) {
	t.Parallel()
	a := newAudienceAPI(t)
	segment := a.segment(`{"name":"Pro","filter":` + proFilter + `}`).ID
	topic := a.topic("News", "").ID
	for i, more := range []string{
		`,"properties":{"plan":"pro"}`, `,"properties":{"plan":"pro"},"unsubscribed":true`, `,"properties":{"plan":"pro"},"topics":[{"id":"` + topic + `","subscription":"opt_out"}]`,
		`,"properties":{"plan":"free"},"segments":[{"id":"` + segment + `"}]`, `,"properties":{"plan":"free"}`, `,"properties":{"plan":"pro"}`,
	} {
		wantStatus(t, a.call("POST", "/contacts", fmt.Sprintf(`{"email":"c%d@example.org"%s}`, i, more)), 201)
	}
	wantStatus(t, a.call("POST", "/suppressions", `{"email":"C5@example.org"}`), 201)
	for more, want := range map[string]int64{
		"": 4, `,"segment_id":"` + segment + `"`: 3, `,"topic_id":"` + topic + `"`: 3, `,"segment_id":"` + segment + `","topic_id":"` + topic + `"`: 2,
	} {
		sent := a.draft(more + `,"send":true,"scheduled_at":"in 1 hour"`)
		if got := a.broadcast(200, "GET", "/broadcasts/"+sent.ID, ""); got.Counts["recipients"] != want || got.Counts["remaining"] != want {
			t.Errorf("%s: %+v, want %d", more, got.Counts, want)
		}
		got := a.broadcast(200, "POST", "/broadcasts/"+sent.ID+"/cancel", "")
		if got.CanceledRemaining == nil || *got.CanceledRemaining != want {
			t.Errorf("%s: canceled %+v, want %d", more, got, want)
		}
		if got := a.broadcast(200, "GET", "/broadcasts/"+sent.ID, ""); got.Counts["canceled"] != want || got.Counts["remaining"] != 0 || *got.SentCount != 0 {
			t.Errorf("%s: after the cancel %+v", more, got.Counts)
		}
	}
}

func TestSendingDraftNeedsVerifiedDomain(t *testing.T) {
	t.Parallel()
	a := &audienceAPI{testAPI: newTestAPI(t, relayed())}
	a.domain(a.team.ID, "new.example.com", false)
	a.domain(a.team.ID, "example.com", true)
	for from, words := range map[string]string{"a@unknown.test": "uses the domain unknown.test", "a@new.example.com": "then run `mailer domains verify new.example.com`"} {
		body := fmt.Sprintf(`{"from":%q,"subject":"s","text":"x"`, from)
		wantError(t, a.call("POST", "/broadcasts", body+`,"send":true}`), 422, app.CodeValidation, "`from`", words)
		wantError(t, a.call("POST", "/broadcasts", body+`,"send":true,"scheduled_at":"in 1 hour"}`), 422, app.CodeValidation, "`from`", words)
		draft := a.broadcast(201, "POST", "/broadcasts", body+`}`)
		wantError(t, a.call("POST", "/broadcasts/"+draft.ID+"/send", ""), 422, app.CodeValidation, "`from`", words)
		wantError(t, a.call("POST", "/broadcasts/"+draft.ID+"/test", `{"to":["me@example.net"]}`), 422, app.CodeValidation, "`from`", words)
		a.broadcast(200, "PATCH", "/broadcasts/"+draft.ID, `{"from":"a@example.com"}`)
		a.broadcast(200, "POST", "/broadcasts/"+draft.ID+"/send", "")
	}
	if rows := a.broadcast(200, "GET", "/broadcasts", ""); len(rows.Data) != 2 {
		t.Errorf("refused sends left %+v", rows.Data)
	}
}

func TestSegmentInUseIsNotDeleted(t *testing.T) {
	t.Parallel()
	a := newAudienceAPI(t)
	segment, topic := a.segment(`{"name":"All"}`).ID, a.topic("News", "").ID
	uses := `,"segment_id":"` + segment + `","topic_id":"` + topic + `"`
	held := func() {
		t.Helper()
		for _, path := range []string{"/segments/" + segment, "/audiences/" + segment, "/topics/" + topic} {
			wantError(t, a.call("DELETE", path, ""), 409, app.CodeConflict, "broadcast")
			wantError(t, a.as(a.foreign, "DELETE", path, ""), 404, app.CodeNotFound)
		}
	}
	draft := a.draft(uses)
	held()
	a.broadcast(200, "POST", "/broadcasts/"+draft.ID+"/send", `{"scheduled_at":"in 1 hour"}`)
	held()
	copied := a.broadcast(201, "POST", "/broadcasts/"+draft.ID+"/duplicate", "")
	a.broadcast(200, "POST", "/broadcasts/"+draft.ID+"/cancel", "")
	held()
	a.broadcast(200, "DELETE", "/broadcasts/"+copied.ID, "")
	wantStatus(t, a.call("DELETE", "/segments/"+segment, ""), 200)
	wantStatus(t, a.call("DELETE", "/topics/"+topic, ""), 200)
}

func TestDuplicateKeepsAudience(t *testing.T) {
	t.Parallel()
	a := newAudienceAPI(t)
	segment, topic := a.segment(`{"name":"Few"}`).ID, a.topic("News", "").ID
	original := a.draft(`,"name":"June","segment_id":"` + segment + `","topic_id":"` + topic + `","reply_to":"help@example.com","preview_text":"p","text":"","send":true,"scheduled_at":"in 1 hour"`)
	first := a.broadcast(201, "POST", "/broadcasts/"+original.ID+"/duplicate", "{}")
	if first.ID == original.ID || first.Name != "June (copy)" || first.Status != "draft" || first.ScheduledAt != nil || value(first.SegmentID) != segment || value(first.TopicID) != topic {
		t.Errorf("copy %+v", first)
	}
	got := a.broadcast(200, "GET", "/broadcasts/"+first.ID, "")
	if got.From != "Acme <news@example.com>" || got.Subject != "News" || !slices.Equal(got.ReplyTo, []string{"help@example.com"}) || value(got.PreviewText) != "p" ||
		got.Text == nil || *got.Text != "" || value(got.HTML) != "<p>Hi {{{FIRST_NAME|there}}}</p>" || got.Counts["recipients"] != 0 {
		t.Errorf("copy %+v", got)
	}
	a.broadcast(200, "PATCH", "/broadcasts/"+first.ID, `{"name":"`+strings.Repeat("é", 255)+`"}`)
	second := a.broadcast(201, "POST", "/broadcasts/"+first.ID+"/duplicate", "")
	if n := len([]rune(second.Name)); n != 255 || !strings.HasSuffix(second.Name, " (copy)") {
		t.Errorf("name of %d characters: %s", n, second.Name)
	}
	for _, id := range []string{first.ID, second.ID} {
		a.broadcast(200, "DELETE", "/broadcasts/"+id, "")
	}
	a.broadcast(200, "POST", "/broadcasts/"+original.ID+"/cancel", "")
	wantStatus(t, a.call("DELETE", "/segments/"+segment, ""), 200)
	late := a.broadcast(201, "POST", "/broadcasts/"+original.ID+"/duplicate", "")
	wantError(t, a.call("POST", "/broadcasts/"+late.ID+"/send", ""), 404, app.CodeNotFound, "segment")
	a.broadcast(200, "PATCH", "/broadcasts/"+late.ID, `{"segment_id":null}`)
	wantStatus(t, a.call("DELETE", "/topics/"+topic, ""), 409)
	a.broadcast(200, "POST", "/broadcasts/"+late.ID+"/send", "")
}

func TestForeignBroadcastIsNotFound(t *testing.T) {
	t.Parallel()
	a := newAudienceAPI(t)
	id := a.draft("").ID
	for _, op := range [][3]string{{"GET", "", ""}, {"PATCH", "", `{}`}, {"DELETE", "", ""}, {"POST", "/send", ""}, {"POST", "/cancel", ""}, {"POST", "/duplicate", ""}, {"POST", "/test", `{"to":"a@example.org"}`}} {
		wantError(t, a.as(a.foreign, op[0], "/broadcasts/"+id+op[1], op[2]), 404, app.CodeNotFound, "broadcast")
		for _, name := range []string{unknownID, app.NewID(), "nowhere", "%00", strings.Repeat("9", 4000), "..%2f" + id} {
			wantError(t, a.call(op[0], "/broadcasts/"+name+op[1], op[2]), 404, app.CodeNotFound)
		}
	}
	wantError(t, a.as(a.foreign, "GET", "/broadcasts?after="+id, ""), 422, app.CodeValidation, "`after`")
	if got := a.broadcast(200, "GET", "/broadcasts/"+id, ""); got.Status != "draft" {
		t.Errorf("left %+v", got)
	}
}

func TestListBroadcasts(t *testing.T) {
	t.Parallel()
	a := newAudienceAPI(t)
	var ids []string
	for i := range 7 {
		ids = append([]string{a.draft(fmt.Sprintf(`,"name":"B%d"`, i)).ID}, ids...)
	}
	var got []string
	for target := "/broadcasts?limit=3"; ; {
		page := a.broadcast(200, "GET", target, "")
		for _, b := range page.Data {
			got = append(got, b.ID)
		}
		if !page.HasMore {
			break
		}
		target = "/broadcasts?limit=3&after=" + got[len(got)-1]
	}
	if !slices.Equal(got, ids) {
		t.Errorf("walked %q, want %q", got, ids)
	}
	if page := a.broadcast(200, "GET", "/broadcasts?limit=2&before="+ids[4], ""); len(page.Data) != 2 || page.Data[0].ID != ids[2] || !page.HasMore {
		t.Errorf("backwards %+v", page)
	}
	for _, query := range []string{"limit=0", "limit=101", "after=x", "after=" + app.NewID(), "after=" + ids[0] + "&before=" + ids[1]} {
		wantError(t, a.call("GET", "/broadcasts?"+query, ""), 422, app.CodeValidation)
	}
}

func TestBroadcastAccess(t *testing.T) {
	t.Parallel()
	a := newAudienceAPI(t)
	sending := a.key(a.team.ID, app.KeyInput{Permission: app.SendingAccess})
	wantError(t, a.as(sending, "POST", "/broadcasts", news("")), 403, app.CodeRestrictedAPIKey)
	member, _, err := a.server.Teams.CreateKey(t.Context(), a.team.ID, app.KeyInput{Name: "m", Permission: app.FullAccess, Role: app.RoleMember})
	if err != nil {
		t.Fatal(err)
	}
	wantStatus(t, a.as(member, "POST", "/broadcasts", news(`,"send":true`)), 201)
}

func TestStoppingServerRefusesBroadcast(t *testing.T) {
	t.Parallel()
	a := newAudienceAPI(t)
	id := a.draft("").ID
	a.server.Drain()
	for _, w := range []*httptest.ResponseRecorder{a.call("POST", "/broadcasts/"+id+"/send", ""), a.call("POST", "/broadcasts", news(`,"send":true`))} {
		wantError(t, w, 503, app.CodeServiceUnavailable, "shutting down")
	}
	if got := a.broadcast(200, "GET", "/broadcasts", ""); len(got.Data) != 1 || got.Data[0].Status != "draft" {
		t.Errorf("left %+v", got.Data)
	}
}

// testAnswer is the answer to a test send.
type testAnswer struct {
	Object, ID string
	Data       []struct{ ID string }
}

func (a *audienceAPI) testSend(id, body string) (got testAnswer) {
	a.t.Helper()
	w := a.call("POST", "/broadcasts/"+id+"/test", body)
	wantStatus(a.t, w, 200)
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
		a.t.Fatal(err)
	}
	return got
}

func TestTestSendMergesPerAddress(t *testing.T) {
	t.Parallel()
	a := newAudienceAPI(t)
	topic := a.topic("News", "").ID
	wantStatus(t, a.call("POST", "/contact-properties", `{"key":"plan","type":"string","fallback_value":"free"}`), 201)
	wantStatus(t, a.call("POST", "/contacts", `{"email":"ann@example.org","first_name":"Ann & Bo","properties":{"plan":"pro"},"topics":[{"id":"`+topic+`","subscription":"opt_out"}]}`), 201)
	b := a.broadcast(201, "POST", "/broadcasts", `{"from":"Acme <news@example.com>","subject":"Hi {{{FIRST_NAME|there}}}","topic_id":"`+topic+`","reply_to":"help@example.com",
		"html":"<p>{{{contact.first_name|<b>you</b>}}} {{{plan}}} {{{EMAIL}}} {{{contact.city}}}.</p><a href=\"{{{UNSUBSCRIBE_URL}}}\">out</a>"}`)
	got := a.testSend(b.ID, `{"to":["Ann@Example.org","Bob <bob@example.org>"]}`)
	if got.Object != "broadcast" || got.ID != b.ID || len(got.Data) != 2 {
		t.Fatalf("answer %+v", got)
	}
	for i, want := range []struct{ subject, html, text string }{
		{"Hi Ann & Bo", "<p>Ann &amp; Bo pro Ann@example.org .</p>", "Ann & Bo pro Ann@example.org ."},
		{"Hi there", "<p><b>you</b> free bob@example.org .</p>", "you free bob@example.org ."},
	} {
		m := a.mail(got.Data[i].ID)
		if m.Subject != want.subject || !strings.HasPrefix(value(m.HTML), want.html) || !strings.HasPrefix(value(m.Text), want.text) || m.From != "Acme <news@example.com>" ||
			!slices.Equal(m.ReplyTo, []string{"help@example.com"}) {
			t.Errorf("%+v\nhtml %s\ntext %s", m, value(m.HTML), value(m.Text))
		}
		raw := a.eventually(a.full, "/emails/"+got.Data[i].ID+"/raw", "List-Unsubscribe: ").Body.String()
		if strings.Contains(raw, "UNSUBSCRIBE_URL") || !strings.Contains(raw, "List-Unsubscribe-Post: List-Unsubscribe=One-Click") || !strings.Contains(raw, "List-Id: ") {
			t.Errorf("left as %s", raw)
		}
	}
	if after := a.broadcast(200, "GET", "/broadcasts/"+b.ID, ""); after.Status != "draft" || *after.SentCount != 0 {
		t.Errorf("the test changed it: %+v", after)
	}
	a.broadcast(200, "POST", "/broadcasts/"+b.ID+"/send", `{"scheduled_at":"in 1 hour"}`)
	a.testSend(b.ID, `{"to":"ann@example.org"}`)
}

func TestTestSendIsAllOrNothing(t *testing.T) {
	t.Parallel()
	a := newAudienceAPI(t)
	id := a.draft("").ID
	wantStatus(t, a.call("POST", "/suppressions", `{"email":"gone@example.org"}`), 201)
	for body, words := range map[string]string{
		`{}`: "`to` is required", `{"to":[]}`: "`to` is required", `{"to":"nobody"}`: "`to[0]`", `{"to":["a@example.org","A@example.org"]}`: "`to[1]` is given twice",
		`{"to":["a@example.org","b@example.org","c@example.org","d@example.org","e@example.org","f@example.org"]}`: "`to` can hold at most 5",
		`{"to":"a@example.org","subject":"x"}`: "`subject`",
	} {
		wantError(t, a.call("POST", "/broadcasts/"+id+"/test", body), 422, app.CodeValidation, words)
	}
	wantError(t, a.call("POST", "/broadcasts/"+id+"/test", ""), 400, app.CodeInvalidPayload)
	wantError(t, a.call("POST", "/broadcasts/"+id+"/test", `{"to":["a@example.org","Gone@example.org"]}`), 422, app.CodeAllRecipientsSuppressed, "`to[1]`")
	if left := a.page(a.full, "/emails"); len(left.Data) != 0 {
		t.Errorf("refused tests left %q", left.ids())
	}
	if got := a.testSend(id, `{"to":["a@example.org","b@example.org","c@example.org","d@example.org","e@example.org"]}`); len(got.Data) != 5 {
		t.Errorf("sent %+v", got)
	}
}

func TestTestSendNeedsVerifiedDomain(t *testing.T) {
	t.Parallel()
	a := &audienceAPI{testAPI: newTestAPI(t, relayed())}
	wantError(t, a.call("POST", "/broadcasts/"+a.draft("").ID+"/test", `{"to":"a@example.org"}`), 422, app.CodeValidation, "`from`", "example.com")
}

func TestBroadcastIdempotency(t *testing.T) {
	t.Parallel()
	a := newAudienceAPI(t)
	const key = "Idempotency-Key: june"
	again := func(target string, same, other string, status int) {
		t.Helper()
		first := a.as(a.full, "POST", target, same, key)
		wantStatus(t, first, status)
		second := a.as(a.full, "POST", target, same, key)
		wantStatus(t, second, status)
		if first.Body.String() != second.Body.String() {
			t.Errorf("%s: first %s, then %s", target, first.Body, second.Body)
		}
		wantError(t, a.as(a.full, "POST", target, other, key), 409, app.CodeInvalidIdempotent)
		wantError(t, a.as(a.full, "POST", target, same, "Idempotency-Key: "), 400, app.CodeInvalidIdempotencyKey)
		wantError(t, a.as(a.full, "POST", target, same, "Idempotency-Key: "+strings.Repeat("k", 257)), 400, app.CodeInvalidIdempotencyKey)
	}
	a.as(a.full, "POST", "/broadcasts", `{}`, key) // a refused call leaves nothing behind
	again("/broadcasts", news(`,"send":true`), news(`,"send":true,"text":""`), 201)
	draft, other := a.draft("").ID, a.draft("").ID
	again("/broadcasts/"+draft+"/test", `{"to":"a@example.org"}`, `{"to":"b@example.org"}`, 200)
	again("/broadcasts/"+draft+"/send", `{"scheduled_at":"in 1 hour"}`, "", 200)
	wantError(t, a.as(a.full, "POST", "/broadcasts/"+other+"/send", `{"scheduled_at":"in 1 hour"}`, key), 409, app.CodeInvalidIdempotent)
	if got := a.broadcast(200, "GET", "/broadcasts", ""); len(got.Data) != 3 || got.Data[0].Status != "draft" {
		t.Errorf("left %+v", got.Data)
	}
	if sent := a.page(a.full, "/emails"); len(sent.Data) != 1 {
		t.Errorf("%d test emails", len(sent.Data))
	}
}
