package web

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"mailer/app"
)

type propertyAnswer struct {
	Object    string
	ID        string
	Key, Type string
	Fallback  any    `json:"fallback_value"`
	CreatedAt string `json:"created_at"`
}

// property makes a request about a property that must succeed with the status.
func (a *audienceAPI) property(status int, method, target, body string) (got propertyAnswer) {
	a.t.Helper()
	w := a.call(method, target, body)
	wantStatus(a.t, w, status)
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
		a.t.Fatal(err)
	}
	return got
}

func TestCreateProperty(t *testing.T) {
	t.Parallel()
	a := newAudienceAPI(t)
	for i, c := range []struct {
		kind, fallback string
		want           any
	}{
		{"string", ``, nil},
		{"string", `,"fallback_value":null`, nil}, // the Go client
		{"string", `,"fallback_value":""`, nil},
		{"number", `,"fallback_value":""`, nil},
		{"string", `,"fallback_value":"there"`, "there"},
		{"string", `,"fallback_value":"7"`, "7"},
		{"number", `,"fallback_value":0`, 0.0},
		{"number", `,"fallback_value":-1.5e3`, -1500.0},
		{"string", `,"fallback_value":"` + strings.Repeat("é", 1000) + `"`, strings.Repeat("é", 1000)},
	} {
		key := fmt.Sprintf("Key_%d", i)
		made := a.property(201, "POST", "/contact-properties", fmt.Sprintf(`{"key":%q,"type":%q%s}`, key, c.kind, c.fallback))
		if _, ok := app.ParseID(made.ID); !ok || made.Object != "contact_property" || made.Key != key || made.Type != c.kind || made.Fallback != c.want || made.CreatedAt == "" {
			t.Errorf("%+v gives %+v", c, made)
		}
		if read := a.property(200, "GET", "/contact-properties/"+made.ID, ""); read != made {
			t.Errorf("read %+v, made %+v", read, made)
		}
	}
}

func TestPropertyFieldErrors(t *testing.T) {
	t.Parallel()
	a := newAudienceAPI(t)
	for _, c := range []struct{ body, field string }{
		{`{}`, "`key` is required"},
		{`{"key":"","type":"string"}`, "`key` is required"},
		{`{"key":null,"type":"string"}`, "`key` is required"},
		{`{"key":"` + strings.Repeat("k", 201) + `","type":"string"}`, "`key`"},
		{`{"key":"a b","type":"string"}`, "`key`"},
		{`{"key":"a-b","type":"string"}`, "`key`"},
		{`{"key":"é","type":"string"}`, "`key`"},
		{`{"key":7,"type":"string"}`, "`key`"},
		{`{"key":"k"}`, "`type` is required"},
		{`{"key":"k","type":"boolean"}`, "`type`"},
		{`{"key":"k","type":"String"}`, "`type`"},
		{`{"key":"k","type":"string","fallback_value":7}`, "`fallback_value` must be a string"},
		{`{"key":"k","type":"number","fallback_value":"7"}`, "`fallback_value` must be a number"},
		{`{"key":"k","type":"number","fallback_value":1e400}`, "`fallback_value`"},
		{`{"key":"k","type":"string","fallback_value":true}`, "`fallback_value`"},
		{`{"key":"k","type":"string","fallback_value":{"a":1}}`, "`fallback_value`"},
		{`{"key":"k","type":"string","fallback_value":[]}`, "`fallback_value`"},
		{`{"key":"k","type":"string","fallback_value":"` + strings.Repeat("é", 1001) + `"}`, "`fallback_value` can have at most 1000"},
		{`{"key":"k","type":"string","fallback_value":"\u0000"}`, "`fallback_value`"},
		{`{"key":"k","type":"string","fallback":"x"}`, "`fallback`"},
	} {
		wantError(t, a.call("POST", "/contact-properties", c.body), 422, app.CodeValidation, c.field)
	}
	wantError(t, a.call("POST", "/contact-properties", ""), 400, app.CodeInvalidPayload)
	if left := a.page(a.full, "/contact-properties"); len(left.Data) != 0 {
		t.Errorf("a refused request left %+v", left.Data)
	}
	key := strings.Repeat("k", 200)
	if made := a.property(201, "POST", "/contact-properties", `{"key":"`+key+`","type":"string"}`); made.Key != key {
		t.Errorf("made %+v", made)
	}
}

func TestUpdateProperty(t *testing.T) {
	t.Parallel()
	a := newAudienceAPI(t)
	made := a.property(201, "POST", "/contact-properties", `{"key":"plan","type":"string","fallback_value":"free"}`)
	path := "/contact-properties/" + made.ID
	for _, c := range []struct {
		body string
		want any
	}{
		{`{}`, "free"},
		{`{"fallback_value":""}`, "free"},
		{`{"fallback_value":"pro"}`, "pro"},
		{`{"key":"plan","type":"string"}`, "pro"},
		{`{"key":"","type":null}`, "pro"},
		{`{"fallback_value":null,"id":"` + made.ID + `"}`, nil},
		{`{"fallback_value":"x","contact_property_id":"` + made.ID + `"}`, "x"},
	} {
		want := made
		want.Fallback = c.want
		if got := a.property(200, "PATCH", path, c.body); got != want {
			t.Errorf("%s: %+v", c.body, got)
		}
		if got := a.property(200, "GET", path, ""); got != want {
			t.Errorf("after %s: %+v", c.body, got)
		}
	}
	for _, c := range []struct{ body, words string }{
		{`{"key":"Plan"}`, "`key` is fixed"},
		{`{"type":"number","fallback_value":7}`, "`type` is fixed"},
		{`{"fallback_value":7}`, "`fallback_value` must be a string"},
		{`{"fallback_value":false}`, "`fallback_value`"},
		{`{"id":"` + unknownID + `"}`, "`id`"},
		{`{"contact_property_id":"x"}`, "`contact_property_id`"},
		{`{"name":"x"}`, "`name`"},
	} {
		wantError(t, a.call("PATCH", path, c.body), 422, app.CodeValidation, c.words)
	}
	if got := a.property(200, "GET", path, ""); got.Fallback != "x" || got.Key != "plan" || got.Type != "string" {
		t.Errorf("a refused change left %+v", got)
	}
}

func TestPropertyKeyIsUnique(t *testing.T) {
	t.Parallel()
	a := newAudienceAPI(t)
	made := a.property(201, "POST", "/contact-properties", `{"key":"plan","type":"string"}`)
	wantError(t, a.call("POST", "/contact-properties", `{"key":"plan","type":"number"}`), 409, app.CodeConflict, "key")
	a.property(201, "POST", "/contact-properties", `{"key":"Plan","type":"number"}`) // case counts
	wantStatus(t, a.as(a.foreign, "POST", "/contact-properties", `{"key":"plan","type":"number"}`), 201)
	wantJSON(t, a.call("DELETE", "/contact-properties/"+made.ID, "{}"), `{"object":"contact_property","id":"`+made.ID+`","deleted":true}`)
	for _, method := range []string{"GET", "PATCH", "DELETE"} {
		wantError(t, a.call(method, "/contact-properties/"+made.ID, "{}"), 404, app.CodeNotFound, "contact property")
	}
	if again := a.property(201, "POST", "/contact-properties", `{"key":"plan","type":"number"}`); again.Type != "number" {
		t.Errorf("declared again %+v", again)
	}
}
