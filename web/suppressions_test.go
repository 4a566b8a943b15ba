package web

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"mailer/app"
	"mailer/app/testing/testserver"
)

const maxTestAttachments = 3000 // bytes

// suppressionAPI is a capturing server, with a key of another team and one that may only send.
type suppressionAPI struct {
	*testAPI
	foreign, sending string
}

func newSuppressionAPI(t *testing.T) *suppressionAPI {
	t.Helper()
	cfg := captured()
	cfg.MaxAttachments = maxTestAttachments
	b := &suppressionAPI{testAPI: newTestAPI(t, cfg)}
	_, b.foreign = b.newTeam("Other")
	b.sending = b.key(b.team.ID, app.KeyInput{Permission: app.SendingAccess})
	return b
}

// call is a request of the first team.
func (b *suppressionAPI) call(method, target, body string) *httptest.ResponseRecorder {
	b.t.Helper()
	return b.as(b.full, method, target, body)
}

type suppressionAnswer struct {
	Object    string
	ID        string
	Email     string
	Origin    string
	SourceID  *string `json:"source_id"`
	CreatedAt string  `json:"created_at"`
	Deleted   bool
	HasMore   bool `json:"has_more"`
	Data      []suppressionAnswer
}

func (a suppressionAnswer) ids() []string {
	var out []string
	for _, row := range a.Data {
		out = append(out, row.ID)
	}
	return out
}

// want makes a request that must succeed with that status.
func (b *suppressionAPI) want(status int, method, target, body string) suppressionAnswer {
	b.t.Helper()
	w := b.call(method, target, body)
	wantStatus(b.t, w, status)
	var a suppressionAnswer
	if err := json.Unmarshal(w.Body.Bytes(), &a); err != nil {
		b.t.Fatal(err)
	}
	return a
}

func TestSuppression(t *testing.T) {
	t.Parallel()
	b := newSuppressionAPI(t)
	added := b.want(201, "POST", "/suppressions", `{"email":" Bob+News@Example.ORG ","origin":"complaint"}`)
	if _, ok := app.ParseID(added.ID); !ok || added.Object != "suppression" || added.Email != "bob+news@example.org" || added.Origin != "complaint" ||
		added.SourceID != nil || added.CreatedAt == "" {
		t.Errorf("added %+v", added)
	}
	again := b.want(201, "POST", "/suppressions", `{"email":"BOB+news@example.org","origin":null}`)
	if again.ID != added.ID || again.Origin != "complaint" || again.CreatedAt != added.CreatedAt {
		t.Errorf("added again %+v", again)
	}
	for _, path := range []string{added.ID, strings.ToUpper(added.ID), "bob%2Bnews%40example.org", "Bob+News@example.org"} {
		if got := b.want(200, "GET", "/suppressions/"+path, ""); got.ID != added.ID || got.Object != "suppression" || got.Email != added.Email || got.Origin != "complaint" {
			t.Errorf("GET %s: %+v", path, got)
		}
	}
	if got := b.want(200, "DELETE", "/suppressions/bob%2Bnews%40example.org", ""); got.ID != added.ID || got.Object != "suppression" || !got.Deleted {
		t.Errorf("deleted %+v", got)
	}
	for _, path := range []string{added.ID, "bob+news@example.org", "neither", "a@b", "%00"} {
		wantError(t, b.call("GET", "/suppressions/"+path, ""), 404, app.CodeNotFound)
		wantError(t, b.call("DELETE", "/suppressions/"+path, ""), 404, app.CodeNotFound)
	}
	if next := b.want(201, "POST", "/suppressions", `{"email":"bob+news@example.org","origin":""}`); next.ID == added.ID || next.Origin != "manual" {
		t.Errorf("added after its removal: %+v", next)
	}
}

func TestInternationalDomain(t *testing.T) {
	t.Parallel()
	b := newSuppressionAPI(t)
	added := b.want(201, "POST", "/suppressions", `{"email":"Ann@BÜCHER.example"}`)
	if added.Email != "ann@bücher.example" {
		t.Errorf("email %q", added.Email)
	}
	if got := b.want(200, "GET", "/suppressions/ann@xn--bcher-kva.example", ""); got.ID != added.ID {
		t.Errorf("found %+v", got)
	}
	if got := b.want(200, "GET", "/suppressions/"+url.PathEscape("ann@bücher.example"), ""); got.ID != added.ID {
		t.Errorf("found %+v", got)
	}
}

func TestForeignSuppressionIsNotFound(t *testing.T) {
	t.Parallel()
	b := newSuppressionAPI(t)
	added := b.want(201, "POST", "/suppressions", `{"email":"a@example.org"}`)
	foreign := "Authorization: Bearer " + b.foreign
	for _, path := range []string{added.ID, "a@example.org"} {
		wantError(t, b.do("GET", "/suppressions/"+path, "", foreign), 404, app.CodeNotFound)
		wantError(t, b.do("DELETE", "/suppressions/"+path, "", foreign), 404, app.CodeNotFound)
	}
	wantJSON(t, b.do("POST", "/suppressions/batch/remove", `{"ids":["`+added.ID+`"]}`, foreign), `{"data":[]}`)
	wantJSON(t, b.do("POST", "/suppressions/batch/remove", `{"emails":["a@example.org"]}`, foreign), `{"data":[]}`)
	wantJSON(t, b.do("GET", "/suppressions", "", foreign), `{"object":"list","has_more":false,"total":0,"data":[]}`)
	wantError(t, b.do("GET", "/suppressions?after="+added.ID, "", foreign), 422, app.CodeValidation, "`after`")
	w := b.do("POST", "/suppressions", `{"email":"a@example.org"}`, foreign)
	wantStatus(t, w, 201)
	if strings.Contains(w.Body.String(), added.ID) {
		t.Error("two teams share a suppression")
	}
	if got := b.want(200, "GET", "/suppressions/"+added.ID, ""); got.ID != added.ID {
		t.Errorf("it is gone: %+v", got)
	}
}

func TestListSuppressions(t *testing.T) {
	testserver.BothEngines(t)
	t.Parallel()
	b := newSuppressionAPI(t)
	var all, manual []string // newest first
	for i := range 7 {
		origin := "manual"
		if i%2 == 1 {
			origin = "bounce"
		}
		id := b.want(201, "POST", "/suppressions", fmt.Sprintf(`{"email":"u%d@example.org","origin":"%s"}`, i, origin)).ID
		all = append([]string{id}, all...)
		if origin == "manual" {
			manual = append([]string{id}, manual...)
		}
	}
	for _, c := range []struct {
		query string
		want  []string
		more  bool
	}{
		{"", all, false},
		{"?limit=3", all[:3], true},
		{"?limit=3&after=" + all[2], all[3:6], true},
		{"?limit=3&after=" + all[5], all[6:], false},
		{"?limit=3&before=" + all[4], all[1:4], true},
		{"?limit=3&before=" + all[2], all[:2], false},
		{"?origin=manual&colour=red", manual, false},
		{"?origin=manual&limit=2", manual[:2], true},
		{"?origin=manual&limit=2&after=" + manual[1], manual[2:], false},
		{"?origin=manual&limit=2&before=" + manual[3], manual[1:3], true},
		{"?origin=complaint", nil, false},
		{"?email=U3@example.org", all[3:4], false},
		{"?email=u3@example.org&origin=manual", nil, false},
		{"?email=nobody@example.org", nil, false},
	} {
		got := b.want(200, "GET", "/suppressions"+c.query, "")
		if !slices.Equal(got.ids(), c.want) || got.HasMore != c.more || got.Object != "list" {
			t.Errorf("%s: %v, more %v; want %v, %v", c.query, got.ids(), got.HasMore, c.want, c.more)
		}
	}
	for _, c := range []struct{ query, field string }{
		{"?origin=spam", "`origin`"}, {"?email=x", "`email`"}, {"?limit=0", "`limit`"}, {"?after=x", "`after`"}, {"?after=" + unknownID, "`after`"},
		{"?after=" + all[0] + "&before=" + all[1], "`after`"}, {"?origin=bounce&before=" + manual[0], "`before`"},
	} {
		wantError(t, b.call("GET", "/suppressions"+c.query, ""), 422, app.CodeValidation, c.field)
	}
}

func TestSuppressionBatch(t *testing.T) {
	t.Parallel()
	b := newSuppressionAPI(t)
	old := b.want(201, "POST", "/suppressions", `{"email":"old@example.org","origin":"bounce"}`)
	got := b.want(201, "POST", "/suppressions/batch/add", `{"emails":["a@example.org","OLD@example.org","b@example.org","A@Example.org"],"origin":"unsubscribe"}`)
	if len(got.Data) != 4 || got.Data[1].ID != old.ID || got.Data[3].ID != got.Data[0].ID || got.Data[2].ID == got.Data[0].ID || got.Data[0].Object != "suppression" {
		t.Fatalf("rows %+v", got.Data)
	}
	if a, o := b.want(200, "GET", "/suppressions/a@example.org", ""), b.want(200, "GET", "/suppressions/old@example.org", ""); a.Origin != "unsubscribe" || o.Origin != "bounce" {
		t.Errorf("origins %s, %s", a.Origin, o.Origin)
	}
	wantJSON(t, b.call("POST", "/suppressions/batch/remove", `{"emails":["B@example.org","nobody@example.org","b@example.org"]}`),
		`{"data":[{"object":"suppression","id":"`+got.Data[2].ID+`","deleted":true}]}`)
	wantJSON(t, b.call("POST", "/suppressions/batch/remove", `{"ids":["`+unknownID+`","`+old.ID+`","`+old.ID+`"],"emails":[]}`),
		`{"data":[{"object":"suppression","id":"`+old.ID+`","deleted":true}]}`)
	if left := b.want(200, "GET", "/suppressions", ""); !slices.Equal(left.ids(), []string{got.Data[0].ID}) {
		t.Errorf("left %+v", left.Data)
	}
}

func TestSuppressionBatchLimit(t *testing.T) {
	t.Parallel()
	b := newSuppressionAPI(t)
	emails := make([]string, 1000)
	for i := range emails {
		emails[i] = fmt.Sprintf(`"u%d@example.org"`, i)
	}
	added := b.want(201, "POST", "/suppressions/batch/add", `{"emails":[`+strings.Join(emails, ",")+`]}`)
	ids := added.ids()
	if len(ids) != 1000 || !slices.IsSorted(ids) || len(slices.Compact(slices.Clone(ids))) != 1000 {
		t.Fatalf("%d ids", len(ids))
	}
	if got := b.want(200, "GET", "/suppressions/u617@example.org", ""); got.ID != ids[617] {
		t.Errorf("the row of u617 is %s, not %s", ids[617], got.ID)
	}
	removed := b.want(200, "POST", "/suppressions/batch/remove", `{"ids":["`+strings.Join(ids, `","`)+`"]}`)
	if !slices.Equal(removed.ids(), ids) {
		t.Errorf("%d removed", len(removed.Data))
	}
	for _, path := range []string{"add", "remove"} {
		wantError(t, b.call("POST", "/suppressions/batch/"+path, `{"emails":[`+strings.Join(emails, ",")+`,"x@example.org"]}`), 422, app.CodeValidation, "`emails`", "1000")
	}
}

func TestSuppressionFieldErrors(t *testing.T) {
	t.Parallel()
	b := newSuppressionAPI(t)
	const add, batch, remove = "/suppressions", "/suppressions/batch/add", "/suppressions/batch/remove"
	for _, c := range []struct{ path, body, field string }{
		{add, `{}`, "`email`"},
		{add, `{"email":""}`, "`email`"},
		{add, `{"email":7}`, "`email`"},
		{add, `{"email":"bob"}`, "`email`"},
		{add, `{"email":"Bob <bob@example.org>"}`, "`email`"},
		{add, `{"email":"<bob@example.org>"}`, "`email`"},
		{add, `{"email":"a@example.org, b@example.org"}`, "`email`"},
		{add, `{"email":"a\r\n@example.org"}`, "`email`"},
		{add, `{"email":"a@example.org","origin":"spam"}`, "`origin`"},
		{add, `{"email":"a@example.org","origin":["manual"]}`, "`origin`"},
		{add, `{"email":"a@example.org","reason":"x"}`, "`reason`"},
		{add, `{"Email":"a@example.org"}`, "`Email`"},
		{batch, `{}`, "`emails`"},
		{batch, `{"emails":[]}`, "`emails`"},
		{batch, `{"emails":"a@example.org"}`, "`emails`"},
		{batch, `{"emails":["a@example.org","b@example.org","c@example.org","d"]}`, "`emails[3]`"},
		{batch, `{"emails":["a@example.org",null]}`, "`emails[1]`"},
		{batch, `{"emails":["a@example.org",7]}`, "`emails[1]`"},
		{batch, `{"emails":["a@example.org"],"origin":"x"}`, "`origin`"},
		{batch, `{"emails":["a@example.org"],"ids":[]}`, "`ids`"},
		{remove, `{}`, "`emails`"},
		{remove, `{"emails":[],"ids":null}`, "`emails`"},
		{remove, `{"emails":["a@example.org"],"ids":["` + unknownID + `"]}`, "`ids`"},
		{remove, `{"emails":["a@example.org",""]}`, "`emails[1]`"},
		{remove, `{"ids":["` + unknownID + `","x"]}`, "`ids[1]`"},
		{remove, `{"ids":["` + unknownID + `"],"origin":"manual"}`, "`origin`"},
	} {
		w := b.call("POST", c.path, c.body)
		t.Run(c.path+c.body, func(t *testing.T) { wantError(t, w, 422, app.CodeValidation, c.field) })
	}
	for _, path := range []string{add, batch, remove} {
		wantError(t, b.call("POST", path, `{`), 400, app.CodeInvalidPayload)
		wantError(t, b.call("POST", path, ""), 400, app.CodeInvalidPayload)
	}
	if left := b.want(200, "GET", "/suppressions", ""); len(left.Data) != 0 {
		t.Errorf("a refused request left %+v", left.Data)
	}
}

func TestSendingKeyAndSuppressions(t *testing.T) {
	t.Parallel()
	b := newSuppressionAPI(t)
	for _, c := range []struct{ method, path string }{
		{"GET", "/suppressions"}, {"POST", "/suppressions"}, {"GET", "/suppressions/a@example.org"}, {"DELETE", "/suppressions/a@example.org"},
		{"POST", "/suppressions/batch/add"}, {"POST", "/suppressions/batch/remove"},
	} {
		wantError(t, b.do(c.method, c.path, "{}", "Authorization: Bearer "+b.sending), 403, app.CodeRestrictedAPIKey)
		wantError(t, b.do(c.method, c.path, "{}"), 401, app.CodeMissingAPIKey)
	}
}

func TestSendSkipsSuppressed(t *testing.T) {
	t.Parallel()
	b := newSuppressionAPI(t)
	since := b.want(201, "POST", "/suppressions", `{"email":"gone@example.org","origin":"bounce"}`).CreatedAt
	b.want(201, "POST", "/suppressions", `{"email":"out@example.org","origin":"unsubscribe"}`)
	send := func(to, more string) *httptest.ResponseRecorder {
		return b.call("POST", "/emails", `{"from":"a@example.com","subject":"s","text":"t","to":[`+to+`]`+more+`}`)
	}
	w := send(`"Gone@Example.org","gone@example.org"`, `,"cc":["fine@example.org"],"bcc":["also@example.org"]`)
	wantError(t, w, 422, app.CodeAllRecipientsSuppressed, "All recipients are suppressed")
	if !strings.Contains(w.Body.String(), `"error":{"name":"all_recipients_suppressed","message":"`) {
		t.Errorf("body %s", w.Body)
	}
	if got := b.want(200, "GET", "/emails", ""); len(got.Data) != 0 {
		t.Errorf("a refused send left %+v", got.Data)
	}
	if got := b.want(200, "POST", "/emails", `{"from":"a@example.com","subject":"s","text":"t","to":"out@example.org"}`); got.ID == "" {
		t.Error("one who unsubscribed gets no mail without a topic")
	}
	var sent struct{ ID string }
	w = send(`"fine@example.org"`, `,"cc":["GONE@example.org"]`)
	wantStatus(t, w, 200)
	if err := json.Unmarshal(w.Body.Bytes(), &sent); err != nil {
		t.Fatal(err)
	}
	var email struct {
		Cc        []string
		LastEvent string `json:"last_event"`
	}
	if err := json.Unmarshal(b.call("GET", "/emails/"+sent.ID, "").Body.Bytes(), &email); err != nil || email.LastEvent != "suppressed" || len(email.Cc) != 1 {
		t.Errorf("email %+v: %v", email, err)
	}
	var events struct {
		Data []struct {
			Type, Recipient string
			Detail          struct{ Message string }
		}
	}
	if err := json.Unmarshal(b.call("GET", "/emails/"+sent.ID+"/events", "").Body.Bytes(), &events); err != nil || len(events.Data) < 2 {
		t.Fatalf("events %+v: %v", events, err)
	}
	ev := events.Data[len(events.Data)-2] // the acceptance is the last
	if ev.Type != "suppressed" || ev.Recipient != "GONE@example.org" || !strings.Contains(ev.Detail.Message, "origin bounce") || !strings.Contains(ev.Detail.Message, since) {
		t.Errorf("event %+v", ev)
	}
}

func TestAttachmentLimitBeforeSuppressions(t *testing.T) {
	t.Parallel()
	b := newSuppressionAPI(t)
	b.want(201, "POST", "/suppressions", `{"email":"gone@example.org"}`)
	big := strings.Repeat("aGkh", maxTestAttachments/3+1)
	w := b.call("POST", "/emails", `{"from":"a@example.com","subject":"s","text":"t","to":"gone@example.org","attachments":[{"filename":"a","content":"`+big+`"}]}`)
	wantError(t, w, 413, app.CodePayloadTooLarge)
}

func TestRefusedSendFreesIdempotencyKey(t *testing.T) {
	t.Parallel()
	b := newSuppressionAPI(t)
	added := b.want(201, "POST", "/suppressions", `{"email":"gone@example.org"}`)
	const body = `{"from":"a@example.com","subject":"s","text":"t","to":"gone@example.org"}`
	headers := []string{"Authorization: Bearer " + b.full, "Idempotency-Key: k"}
	wantError(t, b.do("POST", "/emails", body, headers...), 422, app.CodeAllRecipientsSuppressed)
	b.want(200, "DELETE", "/suppressions/"+added.ID, "")
	wantStatus(t, b.do("POST", "/emails", body, headers...), 200)
}

func TestSuppressedBatchItem(t *testing.T) {
	t.Parallel()
	b := newSuppressionAPI(t)
	b.want(201, "POST", "/suppressions", `{"email":"gone@example.org"}`)
	item := func(to string) string {
		return `{"from":"a@example.com","subject":"s","text":"t","to":"` + to + `","cc":"fine@example.org"}`
	}
	body := "[" + item("a@example.org") + "," + item("Gone@example.org") + "," + item("b@example.org") + "]"
	w := b.call("POST", "/emails/batch", body)
	wantError(t, w, 422, app.CodeAllRecipientsSuppressed, "emails.1: All recipients are suppressed")
	if got := b.want(200, "GET", "/emails", ""); len(got.Data) != 0 {
		t.Errorf("a refused batch left %+v", got.Data)
	}
	w = b.as(b.full, "POST", "/emails/batch", body, "x-batch-validation: permissive")
	wantStatus(t, w, 200)
	var answer struct {
		Data   []struct{ ID string }
		Errors []struct {
			Index   int
			Message string
		}
	}
	if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil || len(answer.Data) != 2 || len(answer.Errors) != 1 ||
		answer.Errors[0].Index != 1 || !strings.HasPrefix(answer.Errors[0].Message, "All recipients are suppressed: see the email ") {
		t.Errorf("answer %s", w.Body)
	}
	if got := b.want(200, "GET", "/emails", ""); len(got.Data) != 2 {
		t.Errorf("%d emails", len(got.Data))
	}
}
