package web

import (
	"strings"
	"testing"

	"mailer/app"
)

type blockAnswer struct {
	Object, ID, Name, HTML string
	UpdatedAt              string `json:"updated_at"`
	Data                   []blockAnswer
}

func (a *audienceAPI) block(status int, method, target, body string) blockAnswer {
	a.t.Helper()
	w := a.call(method, target, body)
	wantStatus(a.t, w, status)
	return decoded[blockAnswer](a.t, w)
}

func TestBlocks(t *testing.T) {
	t.Parallel()
	a := newAudienceAPI(t)
	made := a.block(201, "POST", "/blocks", `{"name":" Footer ","html":"<p>{{ contact.first_name }}</p>"}`)
	at := "/blocks/" + made.ID
	if made.Object != "block" || made.Name != "Footer" || made.HTML != "<p>{{ contact.first_name }}</p>" {
		t.Errorf("made %+v", made)
	}
	a.block(201, "POST", "/blocks", `{"name":"Header","html":"<p>x</p>"}`)
	if got := a.block(200, "GET", "/blocks", ""); len(got.Data) != 2 || got.Data[1].ID != made.ID || got.Data[1].HTML != "" || got.Data[1].UpdatedAt == "" {
		t.Errorf("listed %+v", got)
	}
	if got := a.block(200, "PATCH", at, `{"html":"<p>new</p>"}`); got.HTML != "<p>new</p>" || got.Name != "Footer" {
		t.Errorf("changed %+v", got)
	}
	wantError(t, a.call("POST", "/blocks", `{"name":"Footer","html":"x"}`), 409, app.CodeConflict, "name")
	wantError(t, a.call("PATCH", at, `{"name":"Header"}`), 409, app.CodeConflict, "name")
	wantStatus(t, a.as(a.foreign, "POST", "/blocks", `{"name":"Footer","html":"x"}`), 201)
	for _, method := range []string{"GET", "PATCH", "DELETE"} {
		wantError(t, a.as(a.foreign, method, at, `{}`[:2*strings.Count(method, "PATCH")]), 404, app.CodeNotFound, "block")
	}
	for body, words := range map[string]string{
		`{"html":"x"}`: "`name` is required", `{"name":" ","html":"x"}`: "`name` is required", `{"name":"x"}`: "`html` is required",
		`{"name":"a\"b","html":"x"}`: "`name` must not contain", `{"name":"a\nb","html":"x"}`: "`name` must not contain",
		`{"name":"` + strings.Repeat("é", 101) + `","html":"x"}`:             "`name` can have at most 100",
		`{"name":"x","html":"` + strings.Repeat("x", app.MaxBlock+1) + `"}`:  "`html` must not be longer",
		`{"name":"x","html":"<p>\n{{ order }}</p>"}`:                         "`html` uses order, which is not declared (line 2, column 4)",
		`{"name":"x","html":"<p"}`:                                           "a block must end between tags",
		`{"name":"x","html":"{% block \"Header\" %}"}`:                       "a saved block in a saved block",
		`{"name":"x","html":"{{{NAME}}}"}`:                                   "`html` holds {{{NAME}}}, which a block can't hold",
		`{"name":"x","html":"{{{FIRST_NAME|x}}} {{{VIEW_URL}}} {{{contact.a`: "`html` opens a placeholder",
	} {
		if !strings.HasSuffix(body, `}`) {
			body += `"}`
		}
		wantError(t, a.call("POST", "/blocks", body), 422, app.CodeValidation, words)
	}
	if got := a.block(200, "DELETE", at, ""); got.ID != made.ID {
		t.Errorf("deleted %+v", got)
	}
	wantStatus(t, a.call("GET", at, ""), 404)
}

// Documents in Liquid use a block by its name: a template as it is at the send, a broadcast as it is when
// it is queued.
func TestDocumentsUseBlocks(t *testing.T) {
	t.Parallel()
	a := newAudienceAPI(t)
	const uses = `"syntax":"liquid","html":"<div>\n  {%- block \"Footer\" -%}\n</div>"`
	wantError(t, a.call("POST", "/templates", `{"name":"T",`+uses+`}`), 422, app.CodeValidation, "`html` uses the saved block Footer, which does not exist (line 2, column 3)")
	wantError(t, a.call("POST", "/broadcasts", `{"from":"a@example.com","subject":"s",`+uses+`}`), 422, app.CodeValidation, "`html` uses the saved block Footer, which does not exist (line 2, column 3)")
	block := a.block(201, "POST", "/blocks", `{"name":"Footer","html":"<p>{{ contact.first_name | default: \"you\" }} <a href=\"{{{VIEW_URL}}}\">view</a></p>"}`)
	at := "/blocks/" + block.ID
	for body, words := range map[string]string{
		`"syntax":"liquid","html":"x","text":"{% block \"Footer\" %}"`:                               "`text` uses a saved block, which html alone can (line 1, column 1)",
		`"syntax":"liquid","html":"x","subject":"{% block \"Footer\" %}"`:                            "`subject` uses a saved block",
		`"syntax":"liquid","html":"<p title=\"{% block 'Footer' %}\">"`:                              "between tags only",
		`"syntax":"liquid","html":"` + strings.Repeat(`{% block 'Footer' %}`, app.MaxBlocks+1) + `"`: "`html` uses more saved blocks",
		`"syntax":"liquid","html":"x","variants":{"de":{"html":"\n{% block 'Fuß' %}"}}`:              "`variants.de.html` uses the saved block Fuß, which does not exist (line 2, column 1)",
	} {
		wantError(t, a.call("POST", "/templates", `{"name":"T",`+body+`}`), 422, app.CodeValidation, words)
	}
	template := a.published(`{"name":"T","alias":"t","from":"a@example.com","subject":"s",` + uses + `,"variants":{"de":{"html":"<i>{% block \"Footer\" %}</i>"}}}`)
	wantStatus(t, a.call("POST", "/contacts", `{"email":"ann@example.org","first_name":"Ann"}`), 201)
	draft := a.broadcast(201, "POST", "/broadcasts", `{"from":"a@example.com","subject":"s",`+uses+`}`).ID
	scheduled := a.broadcast(201, "POST", "/broadcasts", `{"name":"Later","from":"a@example.com","subject":"s",`+uses+`,"send":true,"scheduled_at":"in 1 hour"}`).ID

	for language, want := range map[string]string{"": `<div><p>you <a href="`, "de": `<i><p>you <a href="`} {
		m := a.mail(decoded[struct{ ID string }](t, a.call("POST", "/emails", `{"to":"ann@example.org","template":{"id":"t","language":"`+language+`"}}`)).ID)
		if html := value(m.HTML); !strings.HasPrefix(html, want) || !strings.Contains(html, "/view/") || strings.Contains(html, "block") {
			t.Errorf("email in %q: %s", language, html)
		}
	}
	rendered := decoded[struct{ HTML string }](t, a.call("POST", "/templates/t/render", "")).HTML
	preview := decoded[struct{ HTML string }](t, a.call("POST", "/broadcasts/"+draft+"/preview", `{"contact":"ann@example.org"}`)).HTML
	test := value(a.mail(decoded[testedBroadcastAnswer](t, a.call("POST", "/broadcasts/"+draft+"/test", `{"to":"ann@example.org"}`)).Data[0].ID).HTML)
	if !strings.HasPrefix(rendered, "<div><p>you ") || !strings.HasPrefix(preview, "<div><p>Ann ") || !strings.HasPrefix(test, "<div><p>Ann ") {
		t.Errorf("rendered %s\npreview %s\ntest %s", rendered, preview, test)
	}

	wantError(t, a.call("DELETE", at, ""), 409, app.CodeConflict, `The template "T" uses this block`)
	wantError(t, a.call("PATCH", at, `{"name":"Foot"}`), 409, app.CodeConflict, `The template "T" uses this block`)
	a.template(200, "DELETE", "/templates/"+template, "")
	wantError(t, a.call("DELETE", at, ""), 409, app.CodeConflict, `The broadcast`)
	a.broadcast(200, "POST", "/broadcasts/"+draft+"/send", "")
	sent := a.eventually(a.full, "/broadcasts/"+draft+"/recipients", "ann@example.org")
	email := decoded[struct{ Data []struct{ ID string } }](t, sent).Data[0].ID
	wantStatus(t, a.call("PATCH", at, `{"html":"<p>changed</p>"}`), 200)
	if html := value(a.mail(email).HTML); !strings.HasPrefix(html, "<div><p>Ann ") {
		t.Errorf("after the change the sent mail is %s", html)
	}
	copied := a.broadcast(201, "POST", "/broadcasts/"+draft+"/duplicate", "").ID
	if got := decoded[struct{ HTML string }](t, a.call("POST", "/broadcasts/"+copied+"/preview", "")).HTML; got != "<div><p>changed</p></div>" {
		t.Errorf("the copy is %s", got)
	}
	a.broadcast(200, "DELETE", "/broadcasts/"+copied, "")
	wantError(t, a.call("DELETE", at, ""), 409, app.CodeConflict, `The broadcast "Later" uses this block`)
	a.broadcast(200, "POST", "/broadcasts/"+scheduled+"/cancel", "")
	wantStatus(t, a.call("DELETE", at, ""), 200)
	// A copy of a sent broadcast whose block is gone is not sent without it.
	copied = a.broadcast(201, "POST", "/broadcasts/"+draft+"/duplicate", "").ID
	for _, act := range []string{"/send", "/plan"} {
		wantError(t, a.call("POST", "/broadcasts/"+copied+act, ""), 422, app.CodeValidation, "`html` uses the saved block Footer, which does not exist")
	}
	if html := value(a.mail(email).HTML); !strings.HasPrefix(html, "<div><p>Ann ") {
		t.Errorf("after the deletion the sent mail is %s", html)
	}
}
