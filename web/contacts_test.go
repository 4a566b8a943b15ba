package web

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"mailer/app"
	"mailer/app/testing/testserver"
	"mailer/db"
)

// contactAPI is a real server with a segment and two topics of the first team,
// and a key of another one.
type contactAPI struct {
	*testAPI
	foreign          string
	segment, in, out string
}

func newContactAPI(t *testing.T) *contactAPI {
	t.Helper()
	b := &contactAPI{testAPI: newTestAPI(t, captured()), segment: app.NewID(), in: app.NewID(), out: app.NewID()}
	_, b.foreign = b.newTeam("Other")
	err := b.store.Write(t.Context(), func(tx *db.Tx) error {
		return errors.Join(
			tx.InsertSegment(&app.Segment{ID: b.segment, TeamID: b.team.ID, Name: "S", CreatedAt: tx.Now}),
			tx.InsertTopic(&app.Topic{ID: b.in, TeamID: b.team.ID, Name: "In", Description: "d", Default: app.OptIn, Visibility: app.PublicTopic, CreatedAt: testTime}),
			tx.InsertTopic(&app.Topic{ID: b.out, TeamID: b.team.ID, Name: "Out", Default: app.OptOut, Visibility: app.PrivateTopic, CreatedAt: testTime}),
			tx.InsertProperty(&app.Property{ID: app.NewID(), TeamID: b.team.ID, Key: "age", Type: app.NumberProperty}))
	})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *contactAPI) call(method, target, body string) *httptest.ResponseRecorder {
	b.t.Helper()
	return b.as(b.full, method, target, body)
}

// id makes a call that must succeed with the status, and returns the id in its answer.
func (b *contactAPI) id(status int, method, target, body string) string {
	b.t.Helper()
	w := b.call(method, target, body)
	wantStatus(b.t, w, status)
	var answer struct{ Object, ID string }
	if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil || answer.Object != "contact" {
		b.t.Fatalf("%v: %s", err, w.Body)
	}
	wantJSON(b.t, w, `{"object":"contact","id":"`+answer.ID+`"}`)
	return answer.ID
}

func (b *contactAPI) create(body string) string {
	b.t.Helper()
	return b.id(201, "POST", "/contacts", body)
}

// created returns created_at of a contact.
func (b *contactAPI) created(id string) string {
	b.t.Helper()
	c, err := b.server.Audience.GetContact(b.t.Context(), &app.Key{TeamID: b.team.ID}, id)
	if err != nil {
		b.t.Fatal(err)
	}
	return app.FormatTime(c.CreatedAt)
}

func TestContactSuppression(t *testing.T) {
	t.Parallel()
	b := newContactAPI(t)
	b.create(`{"email":"ann@example.org"}`)
	wantStatus(t, b.as(b.foreign, "POST", "/suppressions", `{"email":"ann@example.org"}`), 201) // another team's
	if w := b.call("GET", "/contacts/ann@example.org", ""); strings.Contains(w.Body.String(), "suppression") {
		t.Errorf("Nobody suppressed it: %s", w.Body)
	}
	w := b.call("POST", "/suppressions", `{"email":"Ann@example.org","origin":"complaint"}`)
	var made, got struct {
		ID          string
		Suppression struct{ ID, Origin string }
	}
	if err := json.Unmarshal(w.Body.Bytes(), &made); err != nil {
		t.Fatal(err)
	}
	w = b.call("GET", "/contacts/ann@example.org", "")
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || got.Suppression.ID != made.ID || got.Suppression.Origin != "complaint" {
		t.Errorf("%v: %s", err, w.Body)
	}
}

func TestContact(t *testing.T) {
	t.Parallel()
	b := newContactAPI(t)
	id := b.create(`{"email":" Ann+News@Example.ORG ","first_name":"Ann","last_name":"","unsubscribed":null,"properties":{"plan":"gold","age":30.5,"none":null},` +
		`"segments":[{"id":"` + b.segment + `"}],"topics":[{"id":"` + b.in + `","subscription":"opt_out"}]}`)
	created := b.created(id)
	for _, path := range []string{id, strings.ToUpper(id), "ann+news@example.org", "Ann%2BNews%40Example.org"} {
		wantJSON(t, b.call("GET", "/contacts/"+path, "{}"), `{"object":"contact","id":"`+id+`","email":"Ann+News@Example.ORG","first_name":"Ann","last_name":null,
			"created_at":"`+created+`","unsubscribed":false,"properties":{"plan":{"type":"string","value":"gold"},"age":{"type":"number","value":30.5}}}`)
	}
	wantError(t, b.call("POST", "/contacts", `{"email":"ANN+news@example.org"}`), 409, app.CodeConflict, "exists already")
	b.id(200, "PATCH", "/contacts/ann+news@example.org", `{"first_name":null,"last_name":"Lee","unsubscribed":true,"properties":{"plan":null,"new":"x"}}`)
	b.id(200, "PATCH", "/contacts/"+id, `{"first_name":"","last_name":"","unsubscribed":null,"properties":null}`)
	wantJSON(t, b.call("GET", "/contacts/"+id, ""), `{"object":"contact","id":"`+id+`","email":"Ann+News@Example.ORG","first_name":null,"last_name":"Lee",
		"created_at":"`+created+`","unsubscribed":true,"properties":{"new":{"type":"string","value":"x"},"age":{"type":"number","value":30.5}}}`)
	b.id(200, "PATCH", "/contacts/"+id, `{"unsubscribed":false,"properties":{"new":null,"age":null}}`)
	if w := b.call("GET", "/contacts/"+id, ""); !strings.Contains(w.Body.String(), `"unsubscribed":false,"properties":{}`) {
		t.Errorf("%s", w.Body)
	}
	wantJSON(t, b.call("DELETE", "/contacts/Ann%2BNews%40Example.org", "{}"), `{"object":"contact","contact":"`+id+`","deleted":true}`)
	for _, path := range []string{id, "ann+news@example.org", "neither", "a@b", "%00", "batch", strings.Repeat("9", 4000)} {
		for method, body := range map[string]string{"GET": "", "DELETE": "", "PATCH": `{"first_name":"x"}`} {
			wantError(t, b.call(method, "/contacts/"+path, body), 404, app.CodeNotFound, "contact")
		}
	}
}

func TestContactFieldErrors(t *testing.T) {
	t.Parallel()
	b := newContactAPI(t)
	keys := func(n int) string {
		var out []string
		for i := range n {
			out = append(out, fmt.Sprintf(`"k%d":"x"`, i))
		}
		return "{" + strings.Join(out, ",") + "}"
	}
	with := func(member string) string { return `{"email":"ann@example.org",` + member + `}` }
	for _, c := range []struct {
		body   string
		status int
		words  string
	}{
		{``, 400, "body"},
		{`{"email":`, 400, "JSON"},
		{`{"email":"a@b.example","email":"c@b.example"}`, 400, "`email`"},
		{`[]`, 422, "`body`"},
		{`{}`, 422, "`email` is required"},
		{`{"email":null}`, 422, "`email` is required"},
		{`{"email":7}`, 422, "`email` must be a string"},
		{`{"email":"Ann <ann@example.org>"}`, 422, "`email`"},
		{with(`"colour":"red"`), 422, "`colour`"},
		{with(`"id":"x"`), 422, "`id`"},
		{with(`"unsubscribed":"yes"`), 422, "`unsubscribed` must be true or false"},
		{with(`"first_name":"` + strings.Repeat("x", 256) + `"`), 422, "`first_name`"},
		{with(`"last_name":"a\u0000b"`), 422, "`last_name`"},
		{with(`"properties":["x"]`), 422, "`properties` must be an object"},
		{with(`"properties":{"a":{}}`), 422, "`properties.a` must be a string or a number"},
		{with(`"properties":{"a":["x"]}`), 422, "`properties.a`"},
		{with(`"properties":{"a":true}`), 422, "`properties.a`"},
		{with(`"properties":{"a":1e999}`), 422, "`properties.a`"},
		{with(`"properties":{"a":"` + strings.Repeat("x", 1001) + `"}`), 422, "`properties.a` can have at most 1000 characters"},
		{with(`"properties":{"a b":"x"}`), 422, "`properties`"},
		{with(`"properties":{"":"x"}`), 422, "`properties`"},
		{with(`"properties":{"age":"30"}`), 422, "`properties.age` must be a number"},
		{with(`"properties":` + keys(101)), 422, "`properties` can hold at most 100 keys"},
		{with(`"segments":["x"]`), 422, "`segments[0]`"},
		{with(`"segments":[{"id":"x"}]`), 422, "`segments[0].id`"},
		{with(`"segments":[{"id":"` + b.segment + `","x":1}]`), 422, "`segments[0].x`"},
		{with(`"segments":[{"id":"` + unknownID + `"}]`), 404, "segment"},
		{with(`"topics":[{"id":"` + b.in + `"}]`), 422, "`topics[0].subscription`"},
		{with(`"topics":[{"id":"` + unknownID + `","subscription":"opt_in"}]`), 404, "topic"},
		{with(`"audience_id":"x"`), 422, "`audience_id` must be the id of a segment"},
		{with(`"audience_id":"` + unknownID + `"`), 404, "segment"},
		{with(`"segment_id":"` + unknownID + `"`), 404, "segment"},
		{with(`"segments":["` + unknownID + `"]`), 404, "segment"},
	} {
		w := b.call("POST", "/contacts", c.body)
		code := map[int]app.Code{400: app.CodeInvalidPayload, 422: app.CodeValidation, 404: app.CodeNotFound}[c.status]
		wantError(t, w, c.status, code, c.words)
	}
	if p := b.page(b.full, "/contacts"); len(p.Data) != 0 {
		t.Errorf("%d contacts came of refused bodies", len(p.Data))
	}
	id := b.create(with(`"audience_id":"","segments":[],"topics":null,"properties":` + keys(100)))
	for body, words := range map[string]string{
		`{"properties":{"k100":"x"}}`:          "`properties` can hold at most 100 keys",
		`{"properties":{"k0":null,"age":"x"}}`: "`properties.age`",
		`{"first_name":7}`:                     "`first_name` must be a string",
		`{"last_name":"a\nb"}`:                 "`last_name`",
		`{"segments":["` + b.segment + `"]}`:   "`segments[0]`",
		`{"id":"` + unknownID + `"}`:           "`id`",
		`{"email":"bob"}`:                      "`email`",
		`{"audience_id":"` + b.segment + `"}`:  "`audience_id`",
	} {
		wantError(t, b.call("PATCH", "/contacts/"+id, body), 422, app.CodeValidation, words)
	}
	b.id(200, "PATCH", "/contacts/"+id, `{"properties":{"k100":"x","k0":null}}`)
	b.id(200, "PATCH", "/contacts/"+id, `{"id":"","email":"ANN@example.org","audience_id":"","first_name":"A"}`)
	b.id(200, "PATCH", "/contacts/ann%40example.org", `{"id":"`+id+`","email":"ann@example.org"}`)
}

func TestUnusualAddressesInPath(t *testing.T) {
	t.Parallel()
	b := newContactAPI(t)
	for _, local := range []string{"a+b", "a/b", "a%2Fb", "a%b", "a?b", "a#b", "o'brien", "a&b=c", "a{x}", "~!$^*_-`|", "ärger", "漢字"} {
		address := local + "@example.org"
		body, _ := json.Marshal(map[string]string{"email": address})
		id := b.create(string(body))
		for _, path := range []string{url.PathEscape(address), url.QueryEscape(address)} {
			if w := b.call("GET", "/contacts/"+path, ""); w.Code != 200 || !strings.Contains(w.Body.String(), id) {
				t.Errorf("GET /contacts/%s: %d %s", path, w.Code, w.Body)
			}
		}
		if w := b.call("DELETE", "/contacts/"+url.PathEscape(address), ""); w.Code != 200 {
			t.Errorf("DELETE /contacts/%s: %d %s", url.PathEscape(address), w.Code, w.Body)
		}
	}
}

func TestContactListInclude(t *testing.T) {
	t.Parallel()
	b := newContactAPI(t)
	bare := b.create(`{"email":"ann@example.org"}`)
	id := b.create(`{"email":"bob@example.org","properties":{"age":7},"topics":[{"id":"` + b.in + `","subscription":"opt_out"}]}`)
	item := func(id, email, more string) string {
		return `{"id":"` + id + `","email":"` + email + `","first_name":null,"last_name":null,"created_at":"` + b.created(id) + `","unsubscribed":false` + more + `}`
	}
	topics := func(in, explicit string) string {
		return `"topics":[{"id":"` + b.out + `","name":"Out","description":null,"subscription":"opt_out","explicit":false,"visibility":"private","created_at":"` + app.FormatTime(testTime) + `"},
			{"id":"` + b.in + `","name":"In","description":"d","subscription":"` + in + `","explicit":` + explicit + `,"visibility":"public","created_at":"` + app.FormatTime(testTime) + `"}]`
	}
	for query, more := range map[string][2]string{
		"":                    {},
		"?include=":           {},
		"?include=properties": {`,"properties":{"age":{"type":"number","value":7}}`, `,"properties":{}`},
		"?include=topics":     {"," + topics("opt_out", "true"), "," + topics("opt_in", "false")},
		"?include=topics,properties": {`,"properties":{"age":{"type":"number","value":7}},` + topics("opt_out", "true"),
			`,"properties":{},` + topics("opt_in", "false")},
	} {
		want := `{"object":"list","has_more":false,"total":2,"data":[` + item(id, "bob@example.org", more[0]) + "," + item(bare, "ann@example.org", more[1]) + `]}`
		wantJSON(t, b.call("GET", "/contacts"+query, ""), want)
	}
	wantStatus(t, b.call("POST", "/contacts/"+id+"/segments/"+b.segment, ""), 200)
	for _, target := range []string{"/contacts?segment_id=" + b.segment, "/segments/" + b.segment + "/contacts?", "/audiences/" + b.segment + "/contacts?audience_id=x"} {
		wantJSON(t, b.call("GET", target+"&limit=7&include=topics,properties", ""), `{"object":"list","has_more":false,"total":1,"data":[`+
			item(id, "bob@example.org", `,"properties":{"age":{"type":"number","value":7}},`+topics("opt_out", "true"))+`]}`)
		wantJSON(t, b.call("GET", target+"&after="+id, ""), `{"object":"list","has_more":false,"total":1,"data":[]}`)
	}
	wantError(t, b.call("GET", "/contacts?include=segments", ""), 422, app.CodeValidation, "`include`")
	for _, target := range []string{"/contacts?segment_id=" + unknownID, "/contacts?segment_id=x", "/segments/" + unknownID + "/contacts", "/segments/x/contacts", "/audiences/" + unknownID + "/contacts"} {
		wantError(t, b.call("GET", target, ""), 404, app.CodeNotFound, "segment")
	}
}

func TestListContacts(t *testing.T) {
	testserver.BothEngines(t)
	t.Parallel()
	b := newContactAPI(t)
	var ids []string
	for i := range 7 {
		ids = append([]string{b.create(fmt.Sprintf(`{"email":"u%d@example.org"}`, i))}, ids...)
	}
	if got := b.page(b.full, "/contacts").ids(); !slices.Equal(got, ids) {
		t.Fatalf("%q, want %q", got, ids)
	}
	for limit := 1; limit <= 8; limit++ {
		if got := b.walk("/contacts", "after", limit); !slices.Equal(got, ids) {
			t.Errorf("by %d after: %q", limit, got)
		}
		if got := b.walk("/contacts", "before", limit); !slices.Equal(got, ids[:6]) {
			t.Errorf("by %d before: %q", limit, got)
		}
	}
	b.wantPageErrors("/contacts", ids[0])
}

func TestForeignContactIsNotFound(t *testing.T) {
	t.Parallel()
	b := newContactAPI(t)
	id := b.create(`{"email":"ann@example.org"}`)
	for _, op := range []struct{ method, target, body string }{
		{"GET", "/contacts/{c}", ""},
		{"PATCH", "/contacts/{c}", `{"first_name":"X"}`},
		{"DELETE", "/contacts/{c}", ""},
		{"DELETE", "/contacts/{c}?erase=true", ""},
		{"POST", "/contacts/batch/get", `{"contacts":[{"id":"{c}"}]}`},
		{"POST", "/contacts/batch/remove", `{"ids":["{c}"]}`},
		{"POST", "/contacts/batch/remove", `{"ids":["{c}"],"erase":true}`},
		{"GET", "/contacts?after={c}", ""},
		{"GET", "/contacts?segment_id={s}", ""},
		{"GET", "/segments/{s}/contacts", ""},
		{"GET", "/audiences/{s}/contacts", ""},
		{"POST", "/audiences/{s}/contacts", `{"email":"x@example.org"}`},
		{"GET", "/audiences/{s}/contacts/{c}", ""},
		{"PATCH", "/audiences/{s}/contacts/{c}", `{"first_name":"X"}`},
		{"DELETE", "/audiences/{s}/contacts/{c}", ""},
		{"POST", "/contacts", `{"email":"x@example.org","segments":[{"id":"{s}"}]}`},
		{"POST", "/contacts", `{"email":"x@example.org","topics":[{"id":"{t}","subscription":"opt_in"}]}`},
		{"POST", "/contacts/batch", `[{"email":"x@example.org","segments":[{"id":"{s}"}]}]`},
	} {
		existing := strings.NewReplacer("{c}", id, "{s}", b.segment, "{t}", b.in)
		none := strings.NewReplacer("{c}", unknownID, "{s}", unknownID, "{t}", unknownID)
		foreign := b.as(b.foreign, op.method, existing.Replace(op.target), existing.Replace(op.body))
		unknown := b.as(b.foreign, op.method, none.Replace(op.target), none.Replace(op.body))
		got := strings.ReplaceAll(foreign.Body.String(), id, unknownID) // batch/get repeats its input
		if foreign.Code != unknown.Code || got != unknown.Body.String() {
			t.Errorf("%s %s: foreign %d %s, unknown %d %s", op.method, op.target, foreign.Code, foreign.Body, unknown.Code, unknown.Body)
		}
	}
	if w := b.call("GET", "/contacts/"+id, ""); w.Code != 200 || !strings.Contains(w.Body.String(), `"first_name":null`) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	wantStatus(t, b.as(b.foreign, "POST", "/contacts", `{"email":"ann@example.org"}`), 201)
}

func TestContactErasureIsExplicit(t *testing.T) {
	t.Parallel()
	b := newContactAPI(t)
	for i, query := range []string{"", "?erase=", "?erase=false", "?erase=true"} {
		email := fmt.Sprintf("u%d@example.org", i)
		id := b.create(`{"email":"` + email + `"}`)
		for _, bad := range []string{"1", "yes", "TRUE", "true,false"} {
			wantError(t, b.call("DELETE", "/contacts/"+email+"?erase="+bad, ""), 422, app.CodeValidation, "`erase` must be true or false")
		}
		wantJSON(t, b.call("DELETE", "/contacts/"+email+query, ""), `{"object":"contact","contact":"`+id+`","deleted":true}`)
	}
}

func TestAudienceContacts(t *testing.T) {
	t.Parallel()
	b := newContactAPI(t)
	base := "/audiences/" + strings.ToUpper(b.segment) + "/contacts"
	id := b.id(201, "POST", base, `{"email":"ann@example.org","audience_id":"`+b.segment+`"}`)
	separate := b.create(`{"email":"bob@example.org"}`)
	err := b.store.Read(t.Context(), func(r *db.Reader) error {
		for contact, want := range map[string]int{id: 1, separate: 0} {
			if in, err := r.SegmentsOf(b.team.ID, contact); err != nil || len(in) != want {
				t.Errorf("%s is in %q, %v", contact, in, err)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	wantError(t, b.call("POST", base, `{"email":"c@example.org","audience_id":"`+unknownID+`"}`), 422, app.CodeValidation, "`audience_id`")
	if again := b.id(200, "POST", base, `{"email":"Ann@example.org"}`); again != id {
		t.Errorf("another contact: %s", again)
	}
	for _, path := range []string{"/" + id, "/ann%40example.org", "/" + separate} {
		wantStatus(t, b.call("GET", base+path, ""), 200)
	}
	b.id(200, "PATCH", base+"/ann@example.org", `{"id":"","email":"ann@example.org","audience_id":"`+b.segment+`","first_name":"Ann"}`)
	wantError(t, b.call("PATCH", base+"/"+id, `{"audience_id":"`+unknownID+`"}`), 422, app.CodeValidation, "`audience_id`")
	if w := b.call("GET", "/contacts/"+id, ""); !strings.Contains(w.Body.String(), `"first_name":"Ann"`) {
		t.Errorf("%s", w.Body)
	}
	for _, audience := range []string{unknownID, "x"} {
		other := "/audiences/" + audience + "/contacts"
		wantError(t, b.call("POST", other, `{"email":"x@example.org"}`), 404, app.CodeNotFound, "audience")
		for method, body := range map[string]string{"GET": "", "DELETE": "", "PATCH": `{"first_name":"x"}`} {
			wantError(t, b.call(method, other+"/"+id, body), 404, app.CodeNotFound, "audience")
		}
	}
	wantError(t, b.call("DELETE", base+"/"+unknownID, ""), 404, app.CodeNotFound, "contact")
	wantError(t, b.call("DELETE", base+"/"+id+"?erase=x", ""), 422, app.CodeValidation, "`erase`")
	wantJSON(t, b.call("DELETE", base+"/ANN@example.org", ""), `{"object":"contact","contact":"`+id+`","deleted":true}`)
	wantError(t, b.call("GET", base+"/"+id, ""), 404, app.CodeNotFound, "contact")
}
