package web

import (
	"testing"

	"mailer/app"
)

// documentAnswer is the part of a template or a broadcast that its syntax and variants are.
type documentAnswer struct {
	Syntax   string
	Variants map[string]struct {
		Subject     *string
		PreviewText *string `json:"preview_text"`
		HTML, Text  *string
		Design      *string
	}
}

func (a *audienceAPI) document(target string) documentAnswer {
	a.t.Helper()
	w := a.call("GET", target, "")
	wantStatus(a.t, w, 200)
	return decoded[documentAnswer](a.t, w)
}

// Templates and broadcasts take and answer their syntax and variants alike.
func TestSyntaxAndVariants(t *testing.T) {
	t.Parallel()
	a := newAudienceAPI(t)
	const members = `,"syntax":"liquid","variants":{"pt_br":{"subject":"Oi","text":""},"de":{"html":"<p>Hallo</p>","design":"{}"}}`
	for _, c := range []struct{ list, plain, with string }{
		{"/templates", `{"name":"T","html":"<p>Hi</p>"}`, `{"name":"T","html":"<p>Hi</p>"` + members + `}`},
		{"/broadcasts", news(""), news(members)},
	} {
		create := func(body string) string {
			t.Helper()
			w := a.call("POST", c.list, body)
			wantStatus(t, w, 201)
			return c.list + "/" + decoded[struct{ ID string }](t, w).ID
		}
		if got := a.document(create(c.plain)); got.Syntax != "plain" || got.Variants == nil || len(got.Variants) != 0 {
			t.Errorf("%s: without them: %+v", c.list, got)
		}
		at := create(c.with)
		got := a.document(at)
		pt, de := got.Variants["pt-BR"], got.Variants["de"]
		if got.Syntax != "liquid" || len(got.Variants) != 2 || value(pt.Subject) != "Oi" || value(pt.Text) != "" || pt.HTML != nil || value(de.HTML) != "<p>Hallo</p>" || de.Text != nil || de.Subject != nil || value(de.Design) != "{}" {
			t.Errorf("%s: %+v", c.list, got)
		}
		wantStatus(t, a.call("PATCH", at, `{"variants":{"de":{"subject":"Na"},"pt-BR":null,"fr":{}}}`), 200)
		got = a.document(at)
		if de = got.Variants["de"]; got.Syntax != "liquid" || len(got.Variants) != 2 || value(de.Subject) != "Na" || value(de.HTML) != "<p>Hallo</p>" {
			t.Errorf("%s: changed in part: %+v", c.list, got)
		}
		wantStatus(t, a.call("PATCH", at, `{"name":"same","variants":{},"syntax":""}`), 200)
		if got = a.document(at); got.Syntax != "liquid" || len(got.Variants) != 2 {
			t.Errorf("%s: absent members changed it: %+v", c.list, got)
		}
		copied := a.call("POST", at+"/duplicate", "")
		if got = a.document(c.list + "/" + decoded[struct{ ID string }](t, copied).ID); got.Syntax != "liquid" || len(got.Variants) != 2 {
			t.Errorf("%s: the copy is %+v", c.list, got)
		}
		wantStatus(t, a.call("PATCH", at, `{"variants":null,"syntax":"plain"}`), 200)
		if got = a.document(at); got.Syntax != "plain" || len(got.Variants) != 0 {
			t.Errorf("%s: without them again: %+v", c.list, got)
		}
		if got = a.document(at + "/versions/1"); got.Syntax != "liquid" || len(got.Variants) != 2 || value(got.Variants["pt-BR"].Subject) != "Oi" {
			t.Errorf("%s: the first version is %+v", c.list, got)
		}
		wantStatus(t, a.call("POST", at+"/versions/1/restore", ""), 200)
		if got = a.document(at); got.Syntax != "liquid" || len(got.Variants) != 2 || value(got.Variants["de"].HTML) != "<p>Hallo</p>" || value(got.Variants["de"].Design) != "{}" {
			t.Errorf("%s: restored %+v", c.list, got)
		}
		for body, words := range map[string]string{
			`{"syntax":"jinja"}`:                                             "`syntax` must be plain or liquid",
			`{"variants":[1]}`:                                               "`variants` must be an object",
			`{"variants":{"de":"x"}}`:                                        "`variants.de`",
			`{"variants":{"de":{"body":"x"}}}`:                               "`variants.de.body`",
			`{"variants":{"english":{}}}`:                                    "`variants.english` is not a language tag",
			`{"variants":{"de":{},"DE":{}}}`:                                 "`variants.de` is the same language as DE",
			`{"variants":{"de":{"subject":"a\nb"}}}`:                         "`variants.de.subject` must not contain line breaks",
			`{"variants":{"de":{"subject":"{{{UNSUBSCRIBE_URL}}}"}}}`:        "`variants.de.subject` can't contain",
			`{"variants":{"de":{"html":"a\n{{{NAME"}}}`:                      "`variants.de.html` opens a placeholder with {{{ that never ends (line 2)",
			`{"variants":{"de":{"text":"{{{}}}"}}}`:                          "`variants.de.text` holds {{{}}}",
			`{"variants":{"de":{"design":"[]"}}}`:                            "`variants.de.design` must be a JSON object",
			`{"syntax":"liquid","variants":{"de":{"html":"{{{never ends"}}}`: "`variants.de.html`",
		} {
			wantError(t, a.call("PATCH", at, body), 422, app.CodeValidation, words)
		}
	}
	wantError(t, a.call("POST", "/templates", `{"name":"T","html":"x","variants":{"de":{"preview_text":"x"}}}`), 422, app.CodeValidation, "`variants.de.preview_text` is not a part of templates")
}

// Variables of other types than string and number are those of Liquid templates.
func TestTypesOfVariables(t *testing.T) {
	t.Parallel()
	a := newAudienceAPI(t)
	const variables = `"variables":[{"key":"ITEMS","type":"list","fallback_value":[{"n":1}]},{"key":"ORDER","type":"object"},{"key":"PAID","type":"boolean","fallback_value":false},{"key":"NOTE","type":"html","fallback_value":"<b>x</b>"}]`
	wantError(t, a.call("POST", "/templates", `{"name":"T","html":"x",`+variables+`}`), 422, app.CodeValidation, "`variables[0].type` must be string or number: list needs a template whose `syntax` is liquid")
	a.published(`{"name":"T","alias":"t","from":"a@example.com","subject":"s","html":"x","syntax":"liquid",` + variables + `}`)
	got := decoded[struct {
		Variables []struct {
			Type     string
			Fallback any `json:"fallback_value"`
		}
	}](t, a.call("GET", "/templates/t", "")).Variables
	if len(got) != 4 || got[0].Type != "list" || len(got[0].Fallback.([]any)) != 1 || got[1].Fallback != nil || got[2].Fallback != false || got[3].Fallback != "<b>x</b>" {
		t.Errorf("%+v", got)
	}
	for values, words := range map[string]string{
		`{"ITEMS":"x"}`:               "`template.variables.ITEMS` must be an array",
		`{"ORDER":[]}`:                "`template.variables.ORDER` must be an object",
		`{"PAID":1}`:                  "`template.variables.PAID` must be true or false",
		`{"NOTE":2}`:                  "`template.variables.NOTE` must be a string of HTML",
		`{"ORDER":[[[[[[]]]]]]}`:      "`template.variables.ORDER` can be nested at most 5 deep",
		`{"ORDER":{"a":1},"OTHER":1}`: "`template.variables.OTHER` is not a variable",
	} {
		wantError(t, a.call("POST", "/emails", useTemplate("t", values, "")), 422, app.CodeValidation, words)
	}
	wantStatus(t, a.call("POST", "/emails", useTemplate("t", `{"ORDER":{"a":{"b":[1,2,"x"]}},"PAID":true}`, "")), 200)
}

// One template in three languages: emails, the preview of a template, the preview and the test send of a
// broadcast choose the variant of the recipient.
func TestThreeLanguages(t *testing.T) {
	t.Parallel()
	a := newAudienceAPI(t)
	const variants = `"variants":{"de":{"subject":"Hallo {{{NAME|du}}}","html":"<p>Hallo</p>","text":"Hallo Text"},"pt-BR":{"html":"<p>Oi</p>"}}`
	a.published(`{"name":"T","alias":"t","from":"a@example.com","subject":"Hello {{{NAME|you}}}","html":"<p>Hello</p>","variables":[{"key":"NAME","type":"string","fallback_value":"-"}],` + variants + `}`)
	type mailIn struct{ subject, html, text string }
	english, german, brazilian := mailIn{"Hello you", "<p>Hello</p>", "Hello"}, mailIn{"Hallo du", "<p>Hallo</p>", "Hallo Text"}, mailIn{"Hello you", "<p>Oi</p>", "Oi"}
	for language, want := range map[string]mailIn{"": english, "de": german, "DE_ch": german, "pt-br": brazilian, "pt": english, "fr": english, "xx-YY": english} {
		m := a.mail(decoded[struct{ ID string }](t, a.call("POST", "/emails", `{"to":"ann@example.org","template":{"id":"t","language":"`+language+`"}}`)).ID)
		if got := (mailIn{m.Subject, value(m.HTML), value(m.Text)}); got != want {
			t.Errorf("email in %q: %+v", language, got)
		}
		r := decoded[struct {
			Subject, HTML, Text string
			Language            *string
		}](t, a.call("POST", "/templates/t/render", `{"language":"`+language+`"}`))
		if got := (mailIn{r.Subject, r.HTML, r.Text}); got != want || (r.Language == nil) != (want == english) {
			t.Errorf("rendered in %q: %+v, %s", language, got, value(r.Language))
		}
	}
	wantError(t, a.call("POST", "/emails", `{"to":"ann@example.org","template":{"id":"t","language":"de_DE.UTF-8"}}`), 422, app.CodeValidation, "`template.language` is not a language tag")
	wantError(t, a.call("POST", "/templates/t/render", `{"language":"?"}`), 422, app.CodeValidation, "`language` is not a language tag")

	wantStatus(t, a.call("POST", "/contacts", `{"email":"bea@example.org","properties":{"language":"pt-BR"}}`), 201)
	wantStatus(t, a.call("POST", "/contacts", `{"email":"ann@example.org","properties":{"language":"de-AT"}}`), 201)
	at := "/broadcasts/" + a.broadcast(201, "POST", "/broadcasts", `{"from":"a@example.com","subject":"Hello {{{NAME|you}}}","html":"<p>Hello</p>",`+variants+`}`).ID
	for ask, want := range map[string]mailIn{
		`{"contact":"bea@example.org"}`: brazilian, `{"contact":"ann@example.org"}`: german, `{"contact":"ann@example.org","language":"und"}`: english, `{"contact":"ann@example.org","language":"pt-BR"}`: brazilian,
	} {
		p := decoded[struct {
			Subject, HTML, Text string
			Language            *string
		}](t, a.call("POST", at+"/preview", ask))
		if got := (mailIn{p.Subject, p.HTML, p.Text}); got != want || (p.Language == nil) != (want == english) {
			t.Errorf("preview for %s: %+v, %s", ask, got, value(p.Language))
		}
	}
	for language, want := range map[string][3]mailIn{"": {german, brazilian, english}, "de": {german, german, german}, "und": {english, english, english}} {
		sent := decoded[testedBroadcastAnswer](t, a.call("POST", at+"/test", `{"to":["ann@example.org","bea@example.org","nobody@example.org"],"language":"`+language+`"}`)).Data
		for i, one := range sent {
			if m := a.mail(one.ID); (mailIn{m.Subject, value(m.HTML), value(m.Text)}) != want[i] {
				t.Errorf("test %d in %q: %+v %s %s", i, language, m, value(m.HTML), value(m.Text))
			}
		}
	}
	for target, body := range map[string]string{"/preview": `{"language":"?"}`, "/test": `{"to":["ann@example.org"],"language":"?"}`} {
		wantError(t, a.call("POST", at+target, body), 422, app.CodeValidation, "`language` is not a language tag")
	}
}

type testedBroadcastAnswer struct{ Data []struct{ ID string } }
