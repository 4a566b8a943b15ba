package web

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"mailer/app"
	"mailer/db"
)

// segmentAnswer is a segment, an audience, or a list of them.
type segmentAnswer struct {
	Object       string
	ID           string
	Name         string
	Filter       json.RawMessage
	ContactCount *int   `json:"contact_count"`
	CreatedAt    string `json:"created_at"`
}

const proFilter = `{"match":"all","conditions":[{"field":"property:plan","op":"equals","value":"pro"}]}`

func (a *audienceAPI) segment(body string) segmentAnswer {
	a.t.Helper()
	return a.segmentAt("POST", "/segments", body, http.StatusCreated)
}

func (a *audienceAPI) segmentAt(method, target, body string, status int) (got segmentAnswer) {
	a.t.Helper()
	w := a.call(method, target, body)
	wantStatus(a.t, w, status)
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
		a.t.Fatal(err)
	}
	return got
}

func TestSegment(t *testing.T) {
	t.Parallel()
	a := newAudienceAPI(t)
	made := a.segment(`{"name":"Pro","filter":` + proFilter + `,"audience_id":"x"}`)
	row := fmt.Sprintf(`"id":%q,"name":"Pro","filter":%s,"created_at":%q`, made.ID, proFilter, made.CreatedAt)
	wantJSON(t, a.call("GET", "/segments/"+made.ID, ""), `{"object":"segment","contact_count":0,`+row+`}`)
	wantJSON(t, a.call("GET", "/segments/"+strings.ToUpper(made.ID), ""), `{"object":"segment","contact_count":0,`+row+`}`)
	plain := a.segment(`{"name":"By hand","filter":null}`)
	if string(plain.Filter) != "null" {
		t.Errorf("no filter is %s", plain.Filter)
	}
	wantJSON(t, a.call("GET", "/segments", ""), fmt.Sprintf(`{"object":"list","has_more":false,"data":[
		{"id":%q,"name":"By hand","filter":null,"contact_count":0,"created_at":%q},{%s}]}`, plain.ID, plain.CreatedAt, row))
	a.contact("ann@example.org")
	if err := a.store.Write(t.Context(), func(tx *db.Tx) error { return tx.CountContacts(a.team.ID, 1) }); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ body, name, filter string }{
		{`{}`, "Pro", proFilter},
		{`{"name":"","id":"` + made.ID + `","segment_id":"` + made.ID + `","audience_id":""}`, "Pro", proFilter},
		{`{"name":null}`, "Pro", proFilter},
		{`{"name":"Everybody","filter":{"match":"any"}}`, "Everybody", `{"match":"any","conditions":[]}`},
		{`{"filter":{"match":"all","conditions":[{"field":"unsubscribed","op":"is_false","value":"ignored"}]}}`, "Everybody",
			`{"match":"all","conditions":[{"field":"unsubscribed","op":"is_false","value":""}]}`},
		{`{"filter":{"match":"all","conditions":[{"field":"unsubscribed","op":"is_true","value":null}]}}`, "Everybody",
			`{"match":"all","conditions":[{"field":"unsubscribed","op":"is_true","value":""}]}`},
		{`{"filter":null}`, "Everybody", `null`},
	} {
		want := fmt.Sprintf(`"object":"segment","id":%q,"name":%q,"filter":%s,"created_at":%q`, made.ID, tt.name, tt.filter, made.CreatedAt)
		wantJSON(t, a.call("PATCH", "/segments/"+made.ID, tt.body), `{`+want+`}`)
		count := 0
		if strings.Contains(tt.filter, "is_false") || strings.Contains(tt.filter, "[]") {
			count = 1
		}
		wantJSON(t, a.call("GET", "/segments/"+made.ID, ""), fmt.Sprintf(`{%s,"contact_count":%d}`, want, count))
	}
	gone := fmt.Sprintf(`{"object":"segment","id":%q,"deleted":true}`, made.ID)
	wantJSON(t, a.call("DELETE", "/segments/"+made.ID, ""), gone)
	for _, method := range []string{"GET", "DELETE", "PATCH"} {
		wantError(t, a.call(method, "/segments/"+made.ID, `{}`), 404, app.CodeNotFound, "segment")
	}
}

func TestSegmentErrors(t *testing.T) {
	t.Parallel()
	a := newAudienceAPI(t)
	a.want(201, "POST", "/contact-properties", `{"key":"plan","type":"string"}`)
	condition := func(c string) string { return `{"name":"S","filter":{"match":"all","conditions":[` + c + `]}}` }
	made := a.segment(`{"name":"S"}`)
	for body, words := range map[string]string{
		`{}`:          "`name` is required",
		`{"name":""}`: "`name`",
		`{"name":"` + strings.Repeat("é", 256) + `"}`: "`name`",
		`{"name":"a\nb"}`:                                                                                     "`name`",
		`{"name":" \u2003 "}`:                                                                                 "`name`",
		`{"name":5}`:                                                                                          "`name`",
		`{"name":"S","colour":"red"}`:                                                                         "`colour`",
		`{"name":"S","filter":[]}`:                                                                            "`filter`",
		`{"name":"S","filter":{}}`:                                                                            "`filter.match`",
		`{"name":"S","filter":{"match":"some"}}`:                                                              "`filter.match`",
		`{"name":"S","filter":{"match":"all","x":1}}`:                                                         "`filter.x`",
		`{"name":"S","filter":{"match":"all","conditions":{}}}`:                                               "`filter.conditions`",
		condition(`{"field":"id","op":"equals","value":"x"}`):                                                 "`filter.conditions[0].field`",
		condition(`{"field":"property:","op":"is_set"}`):                                                      "`filter.conditions[0].field`",
		condition(`{"field":"property:a-b","op":"is_set"}`):                                                   "`filter.conditions[0].field`",
		condition(`{"field":"Email","op":"is_set"}`):                                                          "`filter.conditions[0].field`",
		condition(`{"field":"email","op":"matches","value":"x"}`):                                             "`filter.conditions[0].op`",
		condition(`{"field":"email","op":"greater_than","value":"5"}`):                                        "`filter.conditions[0].op`",
		condition(`{"field":"unsubscribed","op":"equals","value":"true"}`):                                    "`filter.conditions[0].op`",
		condition(`{"field":"property:plan","op":"greater_than","value":"5"}`):                                "`filter.conditions[0].op`",
		condition(`{"field":"email","op":"equals"}`):                                                          "`filter.conditions[0].value`",
		condition(`{"field":"email","op":"equals","value":5}`):                                                "`filter.conditions[0].value`",
		condition(`{"field":"email","op":"equals","value":"\u0000"}`):                                         "`filter.conditions[0].value`",
		condition(`{"field":"email","op":"equals","value":"` + strings.Repeat("x", 1001) + `"}`):              "`filter.conditions[0].value`",
		condition(`{"field":"created_at","op":"before","value":"yesterday"}`):                                 "`filter.conditions[0].value`",
		condition(`{"field":"property:age","op":"less_than","value":"old"}`):                                  "`filter.conditions[0].value`",
		condition(`{"field":"email","op":"is_set"},{"field":"email","op":"is_set","x":1}`):                    "`filter.conditions[1].x`",
		condition(strings.Repeat(`{"field":"email","op":"is_set"},`, 50) + `{"field":"email","op":"is_set"}`): "`filter.conditions` can hold at most 50",
	} {
		wantError(t, a.call("POST", "/segments", body), 422, app.CodeValidation, words)
		wantError(t, a.call("POST", "/audiences", body), 422, app.CodeValidation, words)
		if !strings.HasPrefix(words, "`name`") {
			wantError(t, a.call("PATCH", "/segments/"+made.ID, body), 422, app.CodeValidation, words)
		}
	}
	for _, echo := range []string{"id", "segment_id", "audience_id"} {
		wantError(t, a.call("PATCH", "/segments/"+made.ID, `{"`+echo+`":"`+unknownID+`"}`), 422, app.CodeValidation, "`"+echo+"`")
	}
	if got := a.page(a.full, "/segments").ids(); !slices.Equal(got, []string{made.ID}) {
		t.Errorf("after refusals there are %q", got)
	}
}

func TestAudienceIsSegment(t *testing.T) {
	t.Parallel()
	a := newAudienceAPI(t)
	made := a.segmentAt("POST", "/audiences", `{"name":"Old"}`, http.StatusCreated)
	if made.Object != "audience" || made.Name != "Old" {
		t.Errorf("made %+v", made)
	}
	row := fmt.Sprintf(`"id":%q,"name":"Old","filter":null,"created_at":%q`, made.ID, made.CreatedAt)
	for _, path := range []string{"/segments", "/audiences"} {
		wantJSON(t, a.call("GET", path, ""), `{"object":"list","has_more":false,"data":[{"contact_count":0,`+row+`}]}`)
		kind := strings.TrimSuffix(path[1:], "s")
		wantJSON(t, a.call("GET", path+"/"+made.ID, ""), `{"object":"`+kind+`","contact_count":0,`+row+`}`)
	}
	wantJSON(t, a.call("DELETE", "/audiences/"+made.ID, ""), fmt.Sprintf(`{"object":"audience","id":%q,"deleted":true}`, made.ID))
	for _, path := range []string{"/segments/", "/audiences/"} {
		wantError(t, a.call("GET", path+made.ID, ""), 404, app.CodeNotFound)
		wantError(t, a.call("DELETE", path+made.ID, ""), 404, app.CodeNotFound)
	}
}

func TestSegmentMembership(t *testing.T) {
	t.Parallel()
	a := newAudienceAPI(t)
	id := a.contact("Ann+News@example.org")
	hand, live := a.segment(`{"name":"Hand"}`), a.segment(`{"name":"Live","filter":{"match":"all","conditions":[{"field":"email","op":"contains","value":"+News@"}]}}`)
	a.segment(`{"name":"Not hers","filter":` + proFilter + `}`)
	added := fmt.Sprintf(`{"object":"contact_segment","id":%q,"contact_id":%q,"segment_id":%q}`, hand.ID, id, hand.ID)
	for contact, body := range map[string]string{
		id: "", strings.ToUpper(id): `{"contact_id":"x","segment_id":"y"}`, "ann+news@example.org": `{}`, "Ann%2BNews%40example.org": "no JSON",
	} {
		w := a.call("POST", "/contacts/"+contact+"/segments/"+hand.ID, body)
		wantStatus(t, w, http.StatusOK)
		wantJSON(t, w, added)
	}
	wantJSON(t, a.call("GET", "/contacts/ann+news@example.org/segments", ""), fmt.Sprintf(`{"object":"list","has_more":false,"data":[
		{"id":%q,"name":"Live","created_at":%q},{"id":%q,"name":"Hand","created_at":%q}]}`, live.ID, live.CreatedAt, hand.ID, hand.CreatedAt))
	if p := a.page(a.full, "/contacts/"+id+"/segments?limit=1"); !p.HasMore || !slices.Equal(p.ids(), []string{live.ID}) {
		t.Errorf("the first page is %+v", p)
	}
	if got := a.segmentAt("GET", "/segments/"+hand.ID, "", 200); *got.ContactCount != 1 {
		t.Errorf("%d contacts after adding one four times", *got.ContactCount)
	}
	target := "/contacts/ann%2Bnews@example.org/segments/" + hand.ID
	wantJSON(t, a.call("DELETE", target, ""), fmt.Sprintf(
		`{"object":"contact_segment","id":%q,"audienceId":%q,"contact_id":%q,"segment_id":%q,"deleted":true}`, id, hand.ID, id, hand.ID))
	wantError(t, a.call("DELETE", target, ""), 404, app.CodeNotFound, "membership")
	wantError(t, a.call("DELETE", "/contacts/"+id+"/segments/"+live.ID, ""), 404, app.CodeNotFound, "membership")
	if got := a.segmentAt("GET", "/segments/"+hand.ID, "", 200); *got.ContactCount != 0 {
		t.Errorf("%d contacts after removing it", *got.ContactCount)
	}
}

func TestForeignSegmentIsNotFound(t *testing.T) {
	t.Parallel()
	a := newAudienceAPI(t)
	contact, segment := a.contact("ann@example.org"), a.segment(`{"name":"S"}`).ID
	wantStatus(t, a.call("POST", "/contacts/"+contact+"/segments/"+segment, ""), 200)
	for _, op := range [][2]string{{"GET", "/segments/%s"}, {"PATCH", "/segments/%s"}, {"DELETE", "/segments/%s"}, {"GET", "/audiences/%s"}, {"DELETE", "/audiences/%s"}} {
		for _, id := range []string{unknownID, "x", "%00", segment + "0"} {
			wantError(t, a.call(op[0], strings.Replace(op[1], "%s", id, 1), `{}`), 404, app.CodeNotFound)
		}
		wantError(t, a.as(a.foreign, op[0], strings.Replace(op[1], "%s", segment, 1), `{}`), 404, app.CodeNotFound)
	}
	for _, method := range []string{"POST", "DELETE"} {
		for _, path := range []string{unknownID + "/segments/" + segment, contact + "/segments/" + unknownID, contact + "/segments/x", "x/segments/" + segment, "nobody@example.org/segments/" + segment} {
			wantError(t, a.call(method, "/contacts/"+path, ""), 404, app.CodeNotFound)
		}
		wantError(t, a.as(a.foreign, method, "/contacts/"+contact+"/segments/"+segment, ""), 404, app.CodeNotFound)
	}
	wantError(t, a.as(a.foreign, "GET", "/contacts/"+contact+"/segments", ""), 404, app.CodeNotFound, "contact")
	if got := a.page(a.foreign, "/segments").ids(); len(got) != 0 {
		t.Errorf("another team lists %q", got)
	}
	if got := a.segmentAt("GET", "/segments/"+segment, "", 200); *got.ContactCount != 1 {
		t.Errorf("%d contacts after what others tried", *got.ContactCount)
	}
}

func TestListSegments(t *testing.T) {
	t.Parallel()
	a := newAudienceAPI(t)
	contact := a.contact("ann@example.org")
	for i := range 7 {
		a.segment(fmt.Sprintf(`{"name":"S%d","filter":{"match":"any"}}`, i))
	}
	all := a.page(a.full, "/segments").ids()
	for _, base := range []string{"/segments", "/audiences", "/contacts/" + contact + "/segments"} {
		for limit := 1; limit <= 8; limit++ {
			if down := a.walk(base, "after", limit); !slices.Equal(down, all) {
				t.Errorf("%s by %d after: %q", base, limit, down)
			}
			if up := a.walk(base, "before", limit); !slices.Equal(up, all[:6]) {
				t.Errorf("%s by %d before: %q", base, limit, up)
			}
		}
		a.wantPageErrors(base, all[0])
	}
}
