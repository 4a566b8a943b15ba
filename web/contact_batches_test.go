package web

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"mailer/app"
	"mailer/app/testing/apptest"
)

func (b *contactAPI) batch(query, body string, headers ...string) *httptest.ResponseRecorder {
	b.t.Helper()
	return b.as(b.full, "POST", "/contacts/batch"+query, body, headers...)
}

// idOf returns the id of the contact with an address.
func (b *contactAPI) idOf(email string) string {
	b.t.Helper()
	w := b.call("GET", "/contacts/"+email, "")
	wantStatus(b.t, w, 200)
	var c struct{ ID string }
	if err := json.Unmarshal(w.Body.Bytes(), &c); err != nil {
		b.t.Fatal(err)
	}
	return c.ID
}

func TestContactBatchPermissive(t *testing.T) {
	t.Parallel()
	b := newContactAPI(t)
	known := b.create(`{"email":"known@example.org"}`)
	body := `[{"email":"a@example.org"},{"email":"KNOWN@example.org"},{"email":7},{"email":"A@example.org","first_name":"A"},{"email":"b@example.org","colour":"red"},
		{"email":"c@example.org","segments":[{"id":"` + unknownID + `"}]},null,{"email":"c@example.org","audience_id":"7"}]`
	shared := `{"index":2,"message":"` + "`email` must be a string" + `"},%s{"index":4,"message":"` + "`colour` is not a field that this endpoint supports" + `"},
		{"index":5,"message":"The requested segment was not found"},{"index":6,"message":"` + "`email` is required" + `"},
		{"index":7,"message":"` + "`audience_id` must be the id of a segment" + `"}`
	a := func() string { return b.idOf("a@example.org") }
	row := func(index int, id, status string) string {
		return fmt.Sprintf(`{"object":"contact","index":%d,"id":"%s","status":"%s"}`, index, id, status)
	}
	w := b.batch("", body, permissive)
	wantStatus(t, w, 201)
	wantJSON(t, w, `{"data":[`+row(0, a(), "created")+`],"counts":{"created":1,"updated":0,"skipped":0,"failed":7},"errors":[
		{"index":1,"message":"A contact with this email address exists already"},`+
		fmt.Sprintf(shared, `{"index":3,"message":"An earlier item of this batch has the same email address"},`)+`]}`)
	wantJSON(t, b.batch("?on_conflict=skip", body, permissive), `{"data":[`+row(0, a(), "skipped")+","+row(1, known, "skipped")+","+row(3, a(), "skipped")+
		`],"counts":{"created":0,"updated":0,"skipped":3,"failed":5},"errors":[`+fmt.Sprintf(shared, "")+`]}`)
	wantJSON(t, b.batch("?on_conflict=upsert", body, permissive), `{"data":[`+row(0, a(), "updated")+","+row(1, known, "updated")+","+row(3, a(), "updated")+
		`],"counts":{"created":0,"updated":3,"skipped":0,"failed":5},"errors":[`+fmt.Sprintf(shared, "")+`]}`)
	if w := b.call("GET", "/contacts/a@example.org", ""); !strings.Contains(w.Body.String(), `"first_name":"A"`) {
		t.Errorf("%s", w.Body)
	}
	wantJSON(t, b.batch("?on_conflict=upsert", `[{"email":"z@example.org"}]`, "x-batch-validation: strict"),
		`{"data":[`+row(0, b.idOf("z@example.org"), "created")+`],"counts":{"created":1,"updated":0,"skipped":0,"failed":0},"errors":[]}`)
}

func TestContactBatchStrict(t *testing.T) {
	t.Parallel()
	b := newContactAPI(t)
	b.create(`{"email":"known@example.org"}`)
	for _, c := range []struct {
		item   string
		status int
		code   app.Code
		words  string
	}{
		{`{"email":"x"}`, 422, app.CodeValidation, "contacts.1: `email`"},
		{`7`, 422, app.CodeValidation, "contacts.1: `body` must be an object"},
		{`{"email":"x@example.org","properties":{"a":[]}}`, 422, app.CodeValidation, "contacts.1: `properties.a`"},
		{`{"email":"x@example.org","properties":{"age":"7"}}`, 422, app.CodeValidation, "contacts.1: `properties.age`"},
		{`{"email":"known@example.org"}`, 409, app.CodeConflict, "contacts.1: "},
		{`{"email":"A@example.org"}`, 409, app.CodeConflict, "contacts.1: "},
		{`{"email":"x@example.org","topics":[{"id":"` + unknownID + `","subscription":"opt_in"}]}`, 404, app.CodeNotFound, "contacts.1: "},
	} {
		for _, headers := range [][]string{nil, {"x-batch-validation: strict"}} {
			w := b.batch("", `[{"email":"a@example.org"},`+c.item+`,{"email":"y"}]`, headers...)
			wantError(t, w, c.status, c.code, c.words)
		}
	}
	if p := b.page(b.full, "/contacts"); len(p.Data) != 1 {
		t.Errorf("%d contacts, want the one from before", len(p.Data))
	}
}

func TestContactBatchLimits(t *testing.T) {
	apptest.Serial(t)
	t.Parallel()
	b := newContactAPI(t)
	list := func(n int, format string) string {
		items := make([]string, n)
		for i := range items {
			items[i] = fmt.Sprintf(format, i)
		}
		return "[" + strings.Join(items, ",") + "]"
	}
	const item = `{"email":"u%d@example.org"}`
	for _, headers := range [][]string{nil, {permissive}} {
		wantError(t, b.batch("", `[]`, headers...), 422, app.CodeValidation, "1 to 1000 contacts")
		wantError(t, b.batch("", list(1001, item), headers...), 422, app.CodeValidation, "1 to 1000 contacts")
		wantError(t, b.batch("", `{"contacts":[]}`, headers...), 422, app.CodeValidation, "must be an array of contacts")
		wantError(t, b.batch("", `[{"email":"a@b.example"}`, headers...), 400, app.CodeInvalidPayload)
		wantError(t, b.batch("", `[] []`, headers...), 400, app.CodeInvalidPayload)
		wantError(t, b.batch("", ``, headers...), 400, app.CodeInvalidPayload)
		wantError(t, b.batch("?on_conflict=merge", list(1, item), headers...), 422, app.CodeValidation, "`on_conflict`")
	}
	wantError(t, b.batch("", list(1, item), "x-batch-validation: lax"), 422, app.CodeValidation, "`x-batch-validation`")
	if p := b.page(b.full, "/contacts"); len(p.Data) != 0 {
		t.Errorf("%d contacts came of refused batches", len(p.Data))
	}
	wantStatus(t, b.batch("", list(1000, item)), 201)
	emails, quoted := list(1000, item), list(1000, `"u%d@example.org"`)
	if w := b.call("POST", "/contacts/batch/get", `{"contacts":`+emails+`,"include":["topics","properties"]}`); w.Code != 200 || !strings.Contains(w.Body.String(), `"missing":[]`) {
		t.Errorf("%d %.200s", w.Code, w.Body)
	}
	for target, bodies := range map[string]map[string]string{
		"/contacts/batch/get": {
			`{}`: "`contacts`", `{"contacts":null}`: "`contacts`", `{"contacts":[]}`: "`contacts`", `{"contacts":` + list(1001, item) + `}`: "`contacts`",
			`{"contacts":[{}]}`: "`contacts[0]`", `{"contacts":[{"id":"x"}]}`: "`contacts[0].id`", `{"contacts":[{"email":"x"}]}`: "`contacts[0].email`",
			`{"contacts":["x"]}`: "`contacts[0]`", `{"contacts":` + emails + `,"include":["x"]}`: "`include[0]`", `{"contacts":` + emails + `,"include":"topics"}`: "`include`",
			`{"contacts":` + emails + `,"x":1}`: "`x`",
		},
		"/contacts/batch/remove": {
			`{}`: "`ids`", `{"ids":[],"emails":[]}`: "`ids`", `{"erase":true}`: "`ids`", `{"ids":["x"]}`: "`ids[0]`", `{"emails":["x"]}`: "`emails[0]`",
			`{"emails":[""]}`: "`emails[0]`", `{"emails":` + list(1001, `"u%d@example.org"`) + `}`: "`emails`", `{"emails":["u1@example.org"],"erase":"yes"}`: "`erase`",
			`{"emails":["u1@example.org"],"x":1}`: "`x`",
		},
	} {
		for body, words := range bodies {
			wantError(t, b.call("POST", target, body), 422, app.CodeValidation, words)
		}
	}
	w := b.call("POST", "/contacts/batch/remove", `{"ids":null,"emails":`+quoted+`}`)
	wantStatus(t, w, 200)
	if n := strings.Count(w.Body.String(), `"deleted":true`); n != 1000 {
		t.Errorf("%d of 1000 deleted", n)
	}
}

func TestGetAndDeleteManyContacts(t *testing.T) {
	t.Parallel()
	b := newContactAPI(t)
	ann, bob := b.create(`{"email":"Ann@example.org","properties":{"age":7}}`), b.create(`{"email":"bob@example.org"}`)
	item := func(id, email, more string) string {
		return `{"object":"contact","id":"` + id + `","email":"` + email + `","first_name":null,"last_name":null,"created_at":"` + b.created(id) + `","unsubscribed":false` + more + `}`
	}
	wantJSON(t, b.call("POST", "/contacts/batch/get", `{"contacts":[{"email":"BOB@example.org","id":null},{"id":"`+ann+`","email":"bob@example.org"},{"email":"No@example.org"},
		{"id":"`+unknownID+`"},{"id":"`+ann+`","email":"ann@example.org"}],"include":[]}`),
		`{"object":"list","data":[`+item(bob, "bob@example.org", "")+","+item(ann, "Ann@example.org", "")+`],"missing":[
		{"index":1,"id":"`+ann+`","email":"bob@example.org"},{"index":2,"email":"No@example.org"},{"index":3,"id":"`+unknownID+`"}]}`)
	wantJSON(t, b.call("POST", "/contacts/batch/get", `{"contacts":[{"id":"`+ann+`"},{"id":"`+bob+`"}],"include":["properties"]}`),
		`{"object":"list","data":[`+item(ann, "Ann@example.org", `,"properties":{"age":{"type":"number","value":7}}`)+","+
			item(bob, "bob@example.org", `,"properties":{}`)+`],"missing":[]}`)
	for _, body := range []string{
		`{"ids":["` + unknownID + `","` + bob + `"],"emails":["BOB@example.org","no@example.org"]}`,
		`{"emails":["ann@example.org"],"ids":[],"erase":true}`,
	} {
		id := map[bool]string{true: ann, false: bob}[strings.Contains(body, "ann@")]
		wantJSON(t, b.call("POST", "/contacts/batch/remove", body), `{"data":[{"object":"contact","contact":"`+id+`","deleted":true}]}`)
		wantJSON(t, b.call("POST", "/contacts/batch/remove", body), `{"data":[]}`)
	}
}
