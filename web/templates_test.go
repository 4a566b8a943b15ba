package web

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"mailer/app"
	"mailer/app/testing/apptest"
	"mailer/app/testing/testserver"
)

type templateAnswer struct {
	Object           string
	ID, Name         string
	Alias            *string
	Status           string
	PublishedAt      *string `json:"published_at"`
	CreatedAt        string  `json:"created_at"`
	UpdatedAt        string  `json:"updated_at"`
	CurrentVersionID string  `json:"current_version_id"`
	Unpublished      bool    `json:"has_unpublished_versions"`
	From, Subject    *string
	ReplyTo          []string `json:"reply_to"`
	HTML             string
	Text             *string
	Variables        []struct {
		ID, Key, Type string
		Fallback      any    `json:"fallback_value"`
		CreatedAt     string `json:"created_at"`
		UpdatedAt     string `json:"updated_at"`
	}
	HasMore bool `json:"has_more"`
	Data    []templateAnswer
}

// template makes a request about a template that must succeed with the status.
func (a *audienceAPI) template(status int, method, target, body string) (got templateAnswer) {
	a.t.Helper()
	w := a.call(method, target, body)
	wantStatus(a.t, w, status)
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
		a.t.Fatal(err)
	}
	return got
}

// published makes a template and publishes it.
func (a *audienceAPI) published(body string) string {
	a.t.Helper()
	made := a.template(201, "POST", "/templates", body)
	if got := a.template(200, "POST", "/templates/"+made.ID+"/publish", ""); got.Status != "published" || got.Unpublished || got.PublishedAt == nil {
		a.t.Fatalf("published %+v", got)
	}
	return made.ID
}

// mail is what GET /emails/{id} says of a send that must succeed.
type sentMail struct {
	From, Subject string
	ReplyTo       []string `json:"reply_to"`
	HTML, Text    *string
}

func (a *audienceAPI) mail(id string) (m sentMail) {
	a.t.Helper()
	w := a.call("GET", "/emails/"+id, "")
	wantStatus(a.t, w, 200)
	if err := json.Unmarshal(w.Body.Bytes(), &m); err != nil {
		a.t.Fatal(err)
	}
	return m
}

func value(s *string) string {
	if s == nil {
		return "<null>"
	}
	return *s
}

const welcome = `{"name":"Welcome","alias":"welcome","html":"<p>Hi {{{NAME}}}, {{{COUNT}}} new</p>","subject":"Hello {{{ NAME }}}",
	"from":"Acme <hello@example.com>","reply_to":"help@example.com",
	"variables":[{"key":"NAME","type":"string"},{"key":"COUNT","type":"number","fallback_value":3}]}`

func useTemplate(id, variables, extra string) string {
	return fmt.Sprintf(`{"to":"ann@example.org","template":{"id":%q,"variables":%s}%s}`, id, variables, extra)
}

func TestTemplate(t *testing.T) {
	t.Parallel()
	a := newAudienceAPI(t)
	made := a.template(201, "POST", "/templates", welcome)
	if _, ok := app.ParseID(made.ID); !ok || made.Object != "template" || made.Status != "draft" || !made.Unpublished {
		t.Errorf("made %+v", made)
	}
	for _, name := range []string{made.ID, strings.ToUpper(made.ID), "welcome"} {
		got := a.template(200, "GET", "/templates/"+name, "")
		if got.ID != made.ID || got.Name != "Welcome" || value(got.Alias) != "welcome" || got.PublishedAt != nil || got.CurrentVersionID == "" ||
			value(got.From) != "Acme <hello@example.com>" || value(got.Subject) != "Hello {{{ NAME }}}" || !slices.Equal(got.ReplyTo, []string{"help@example.com"}) ||
			!strings.Contains(got.HTML, "{{{NAME}}}") || got.Text != nil || len(got.Variables) != 2 {
			t.Errorf("read %+v", got)
		}
		if v := got.Variables[1]; v.Key != "COUNT" || v.Type != "number" || v.Fallback != 3.0 || v.ID == "" || v.CreatedAt == "" {
			t.Errorf("variable %+v", v)
		}
		if v := got.Variables[0]; v.Key != "NAME" || v.Type != "string" || v.Fallback != nil {
			t.Errorf("variable %+v", v)
		}
	}
	listed := a.template(200, "GET", "/templates", "")
	if len(listed.Data) != 1 || listed.HasMore || listed.Data[0].ID != made.ID || value(listed.Data[0].Alias) != "welcome" || listed.Data[0].HTML != "" {
		t.Errorf("listed %+v", listed)
	}
}

func TestTemplateFieldErrors(t *testing.T) {
	t.Parallel()
	a := newAudienceAPI(t)
	with := func(extra string) string { return `{"name":"x","html":"x",` + extra + `}` }
	many := strings.Repeat(`{"key":"K","type":"string"},`, 51)
	for _, c := range []struct{ body, words string }{
		{`{"html":"x"}`, "`name` is required"},
		{`{"name":" ","html":"x"}`, "`name` is required"},
		{`{"name":"` + strings.Repeat("é", 256) + `","html":"x"}`, "`name` can have at most 255"},
		{`{"name":"x"}`, "`html` is required"},
		{`{"name":"x","html":""}`, "`html` is required"},
		{`{"name":"x","html":"{{{NAME}}}"}`, "`html` holds {{{NAME}}}"},
		{`{"name":"x","html":"{{{ NAME | you }}}"}`, "`html` holds {{{NAME}}}"},
		{with(`"text":"{{{NAME}}}"`), "`text` holds {{{NAME}}}"},
		{with(`"subject":"{{{NAME}}}"`), "`subject` holds {{{NAME}}}"},
		{with(`"subject":"{{{UNSUBSCRIBE_URL}}}"`), "`subject` can't contain"},
		{`{"name":"x","html":"{{{A B}}}"}`, "`html` holds {{{A B}}}"},
		{`{"name":"x","html":"{{{NAME"}`, "`html` opens a placeholder"},
		{`{"name":"x","html":"{{{}}}"}`, "`html` holds {{{}}}"},
		{with(`"from":"nobody"`), "`from`"},
		{with(`"from":"{{{FIRST_NAME}}} <a@example.com>"`), "`from`"},
		{with(`"reply_to":["a@example.com","b"]`), "`reply_to[1]`"},
		{with(`"subject":"a\nb"`), "`subject`"},
		{with(`"alias":"-a"`), "`alias`"},
		{with(`"alias":"a b"`), "`alias`"},
		{with(`"alias":"` + strings.Repeat("a", 101) + `"`), "`alias`"},
		{with(`"alias":"` + unknownID + `"`), "`alias`"},
		{with(`"variables":[{"type":"string"}]`), "`variables[0].key` is required"},
		{with(`"variables":[{"key":"a-b","type":"string"}]`), "`variables[0].key`"},
		{with(`"variables":[{"key":"` + strings.Repeat("k", 51) + `","type":"string"}]`), "`variables[0].key`"},
		{with(`"variables":[{"key":"K"}]`), "`variables[0].type` is required"},
		{with(`"variables":[{"key":"K","type":"boolean"}]`), "`variables[0].type`"},
		{with(`"variables":[{"key":"K","type":"string"},{"key":"K","type":"number"}]`), "`variables[1].key`"},
		{with(`"variables":[{"key":"K","type":"string","fallback_value":1}]`), "`variables[0].fallback_value` must be a string"},
		{with(`"variables":[{"key":"K","type":"number","fallback_value":"1"}]`), "`variables[0].fallback_value` must be a number"},
		{with(`"variables":[{"key":"K","type":"string","fallbackValue":1}]`), "`variables[0].fallback_value` must be a string"},
		{with(`"variables":[{"key":"K","type":"string","fallback_value":"` + strings.Repeat("é", 2001) + `"}]`), "`variables[0].fallback_value`"},
		{with(`"variables":[` + strings.TrimSuffix(many, ",") + `]`), "`variables`"},
		{with(`"style":"x"`), "`style`"},
	} {
		wantError(t, a.call("POST", "/templates", c.body), 422, app.CodeValidation, c.words)
	}
	for _, key := range []string{"FIRST_NAME", "LAST_NAME", "EMAIL", "UNSUBSCRIBE_URL", "RESEND_UNSUBSCRIBE_URL", "contact", "this"} {
		wantError(t, a.call("POST", "/templates", with(`"variables":[{"key":"`+key+`","type":"string"}]`)), 422, app.CodeValidation, "`variables[0].key`", "reserved")
	}
	if left := a.template(200, "GET", "/templates", ""); len(left.Data) != 0 {
		t.Errorf("a refused request left %+v", left.Data)
	}
}

func TestTemplateAliasIsUnique(t *testing.T) {
	t.Parallel()
	a := newAudienceAPI(t)
	a.template(201, "POST", "/templates", welcome)
	wantError(t, a.call("POST", "/templates", welcome), 409, app.CodeConflict, "alias")
	second := a.template(201, "POST", "/templates", `{"name":"x","html":"x","alias":null}`)
	a.template(201, "POST", "/templates", `{"name":"x","html":"x","alias":""}`)
	wantError(t, a.call("PATCH", "/templates/"+second.ID, `{"alias":"welcome"}`), 409, app.CodeConflict, "alias")
	wantStatus(t, a.as(a.foreign, "POST", "/templates", welcome), 201)
	a.template(200, "PATCH", "/templates/welcome", `{"alias":"welcome","name":"Same"}`)
	a.template(200, "PATCH", "/templates/welcome", `{"alias":null}`)
	a.template(200, "PATCH", "/templates/"+second.ID, `{"alias":"welcome"}`)
	if got := a.template(200, "GET", "/templates/welcome", ""); got.ID != second.ID {
		t.Errorf("the alias names %s, not %s", got.ID, second.ID)
	}
}

func TestPublishTemplate(t *testing.T) {
	t.Parallel()
	a := newAudienceAPI(t)
	made := a.template(201, "POST", "/templates", welcome)
	use := useTemplate("welcome", `{"NAME":"Ann"}`, "")
	wantError(t, a.call("POST", "/emails", use), 422, app.CodeValidation, "`template.id`", "not published")
	a.template(200, "POST", "/templates/welcome/publish", "")
	first := a.template(200, "GET", "/templates/welcome", "")
	edited := a.template(200, "PATCH", "/templates/welcome", `{"html":"<p>Bye {{{NAME}}}</p>","id":"welcome"}`)
	if edited.Status != "published" || !edited.Unpublished || edited.CurrentVersionID == first.CurrentVersionID || *edited.PublishedAt != *first.PublishedAt {
		t.Errorf("edited %+v", edited)
	}
	if got := a.template(200, "GET", "/templates/"+made.ID, ""); got.HTML != "<p>Bye {{{NAME}}}</p>" || got.Variables[0].ID != first.Variables[0].ID {
		t.Errorf("read %+v", got)
	}
	before := a.send(a.full, use)
	a.template(200, "PATCH", "/templates/welcome", `{"html":"<p>Ciao {{{NAME}}}</p>"}`)
	published := a.template(200, "POST", "/templates/"+made.ID+"/publish", "{}")
	if again := a.template(200, "POST", "/templates/welcome/publish", ""); again.Unpublished || *again.PublishedAt != *published.PublishedAt {
		t.Errorf("published again %+v", again)
	}
	after := a.send(a.full, use)
	if got := value(a.mail(before).HTML); got != "<p>Hi Ann, 3 new</p>" {
		t.Errorf("before: %s", got)
	}
	if got := value(a.mail(after).HTML); got != "<p>Ciao Ann</p>" {
		t.Errorf("after: %s", got)
	}
	wantJSON(t, a.call("DELETE", "/templates/welcome", ""), `{"object":"template","id":"`+made.ID+`","deleted":true}`)
	wantError(t, a.call("POST", "/emails", use), 404, app.CodeNotFound, "template")
	if got := value(a.mail(before).HTML); got != "<p>Hi Ann, 3 new</p>" {
		t.Errorf("after the deletion: %s", got)
	}
}

func TestPatchTemplate(t *testing.T) {
	t.Parallel()
	a := newAudienceAPI(t)
	made := a.template(201, "POST", "/templates", welcome)
	path := "/templates/" + made.ID
	start := a.template(200, "GET", path, "")
	for _, body := range []string{`{}`, `{"name":"","html":"","alias":"","from":"","subject":"","reply_to":[],"variables":[]}`, `{"name":"Welcome"}`} {
		if got := a.template(200, "PATCH", path, body); got.CurrentVersionID != start.CurrentVersionID || got.UpdatedAt != start.UpdatedAt || got.Name != "Welcome" {
			t.Errorf("%s: %+v", body, got)
		}
	}
	a.template(200, "PATCH", path, `{"from":null,"subject":null,"reply_to":null,"text":"","template_id":"`+made.ID+`"}`)
	if got := a.template(200, "GET", path, ""); got.From != nil || got.Subject != nil || len(got.ReplyTo) != 0 || value(got.Text) != "" {
		t.Errorf("cleared %+v", got)
	}
	a.template(200, "PATCH", path, `{"text":null,"reply_to":["a@example.com","b@example.com"]}`)
	if got := a.template(200, "GET", path, ""); got.Text != nil || len(got.ReplyTo) != 2 || len(got.Variables) != 2 {
		t.Errorf("changed %+v", got)
	}
	for _, c := range []struct{ body, words string }{
		{`{"variables":null}`, "`html` holds {{{NAME}}}"},
		{`{"variables":[{"key":"NAME","type":"string"}]}`, "`html` holds {{{COUNT}}}"},
		{`{"html":"{{{OTHER}}}"}`, "`html` holds {{{OTHER}}}"},
		{`{"id":"` + unknownID + `"}`, "`id`"},
		{`{"status":"published"}`, "`status`"},
	} {
		wantError(t, a.call("PATCH", path, c.body), 422, app.CodeValidation, c.words)
	}
	a.template(200, "PATCH", path, `{"html":"plain","variables":null}`)
	if got := a.template(200, "GET", path, ""); got.HTML != "plain" || len(got.Variables) != 0 {
		t.Errorf("changed %+v", got)
	}
}

func TestDuplicateTemplate(t *testing.T) {
	t.Parallel()
	a := newAudienceAPI(t)
	id := a.published(welcome)
	a.template(200, "PATCH", "/templates/welcome", `{"html":"edited {{{NAME}}}"}`)
	made := a.template(200, "POST", "/templates/welcome/duplicate", "")
	got := a.template(200, "GET", "/templates/"+made.ID, "")
	if got.ID == id || got.Name != "Welcome (copy)" || got.Alias != nil || got.Status != "draft" || got.HTML != "edited {{{NAME}}}" || len(got.Variables) != 2 || value(got.Subject) != "Hello {{{ NAME }}}" {
		t.Errorf("copy %+v", got)
	}
	a.template(200, "PATCH", "/templates/"+made.ID, `{"name":"`+strings.Repeat("é", 255)+`"}`)
	again := a.template(200, "POST", "/templates/"+made.ID+"/duplicate", "{}")
	if n := len([]rune(again.Name)); n != 255 || !strings.HasSuffix(again.Name, " (copy)") {
		t.Errorf("name of %d characters: %s", n, again.Name)
	}
}

func TestSendTemplate(t *testing.T) {
	t.Parallel()
	a := newAudienceAPI(t)
	id := a.published(welcome)
	for _, c := range []struct {
		body string
		want sentMail
	}{
		{useTemplate("welcome", `{"NAME":"Ann & Bo <x>","COUNT":1.5}`, ""),
			sentMail{From: `"Acme" <hello@example.com>`, Subject: "Hello Ann & Bo <x>", ReplyTo: []string{"help@example.com"}, HTML: text("<p>Hi Ann &amp; Bo &lt;x&gt;, 1.5 new</p>"), Text: text("Hi Ann & Bo <x>, 1.5 new")}},
		{useTemplate(id, `{"NAME":"a\r\nBcc: x","COUNT":null}`, `,"from":"","subject":"","reply_to":[]`),
			sentMail{From: `"Acme" <hello@example.com>`, Subject: "Hello a  Bcc: x", ReplyTo: []string{"help@example.com"}, HTML: text("<p>Hi a\r\nBcc: x, 3 new</p>"), Text: text("Hi a Bcc: x, 3 new")}},
		{useTemplate(id, `{"NAME":"{{{COUNT}}}"}`, `,"from":"b@example.com","subject":"Own {{{NAME}}}","reply_to":"c@example.com","html":"","text":""`),
			sentMail{From: "b@example.com", Subject: "Own {{{NAME}}}", ReplyTo: []string{"c@example.com"}, HTML: text("<p>Hi {{{COUNT}}}, 3 new</p>"), Text: text("Hi {{{COUNT}}}, 3 new")}},
	} {
		got := a.mail(a.send(a.full, c.body))
		from := strings.ReplaceAll(got.From, `"`, "")
		if from != strings.ReplaceAll(c.want.From, `"`, "") || got.Subject != c.want.Subject || !slices.Equal(got.ReplyTo, c.want.ReplyTo) || value(got.HTML) != value(c.want.HTML) || value(got.Text) != value(c.want.Text) {
			t.Errorf("%s\ngives %+v\nhtml %q\ntext %q", c.body, got, value(got.HTML), value(got.Text))
		}
	}
}

func TestTemplateText(t *testing.T) {
	t.Parallel()
	a := newAudienceAPI(t)
	for _, c := range []struct{ extra, want string }{
		{``, "Hi <you>"},
		{`,"text":null`, "Hi <you>"},
		{`,"text":""`, "<null>"},
		{`,"text":"Own {{{NAME}}}"`, "Own <you>"},
	} {
		id := a.published(`{"name":"x","subject":"x","html":"<p>Hi {{{NAME}}}</p>","variables":[{"key":"NAME","type":"string"}]` + c.extra + `}`)
		if got := a.mail(a.send(a.full, useTemplate(id, `{"NAME":"<you>"}`, `,"from":"a@example.com"`))); value(got.Text) != c.want {
			t.Errorf("%s: text %q", c.extra, value(got.Text))
		}
	}
}

func TestReservedVariables(t *testing.T) {
	t.Parallel()
	a := newAudienceAPI(t)
	id := a.published(`{"name":"x","subject":"Hi {{{FIRST_NAME|there}}}","from":"a@example.com",
		"html":"{{{contact.first_name|dear}}} {{{LAST_NAME}}}{{{EMAIL}}}{{{contact.plan}}}{{{ this }}}<a href=\"{{{ RESEND_UNSUBSCRIBE_URL }}}\">out</a>","text":"{{{UNSUBSCRIBE_URL|x}}}"}`)
	sent := a.send(a.full, `{"to":"ann@example.org","template":{"id":"`+id+`"}}`)
	m := a.mail(sent)
	if m.Subject != "Hi there" || value(m.HTML) != `dear <a href="{{{UNSUBSCRIBE_URL}}}">out</a>` || value(m.Text) != "{{{UNSUBSCRIBE_URL}}}" {
		t.Errorf("%+v %q %q", m, value(m.HTML), value(m.Text))
	}
	w := a.eventually(a.full, "/emails/"+sent+"/raw", "https://mail.example.com/unsubscribe/")
	if strings.Contains(w.Body.String(), "UNSUBSCRIBE_URL") {
		t.Errorf("a token is left in %s", w.Body)
	}
}

func TestSendTemplateErrors(t *testing.T) {
	t.Parallel()
	a := newAudienceAPI(t)
	a.published(welcome)
	bare := a.published(`{"name":"bare","html":"<p>x</p>"}`)
	draft := a.template(201, "POST", "/templates", `{"name":"draft","html":"x"}`).ID
	var foreign templateAnswer
	w := a.as(a.foreign, "POST", "/templates", `{"name":"theirs","html":"x","alias":"theirs"}`)
	if err := json.Unmarshal(w.Body.Bytes(), &foreign); err != nil {
		t.Fatal(err)
	}
	wantStatus(t, a.as(a.foreign, "POST", "/templates/theirs/publish", ""), 200)
	long := strings.Repeat("é", 2001)
	for _, c := range []struct {
		body   string
		status int
		code   app.Code
		words  string
	}{
		{useTemplate("welcome", `{"NAME":"A"}`, `,"html":"x"`), 422, app.CodeValidation, "`html` can't be given"},
		{useTemplate("welcome", `{"NAME":"A"}`, `,"text":"x"`), 422, app.CodeValidation, "`text` can't be given"},
		{`{"to":"x","template":{"id":"nowhere"}}`, 422, app.CodeValidation, "`to[0]`"},
		{useTemplate("", `{"NAME":"A"}`, ""), 422, app.CodeValidation, "`template.id` is required"},
		{useTemplate("nowhere", `{}`, ""), 404, app.CodeNotFound, "template"},
		{useTemplate(app.NewID(), `{}`, ""), 404, app.CodeNotFound, "template"},
		{useTemplate(foreign.ID, `{}`, ""), 404, app.CodeNotFound, "template"},
		{useTemplate("theirs", `{}`, ""), 404, app.CodeNotFound, "template"},
		{useTemplate("welcome", `{}`, `,"topic_id":"`+app.NewID()+`"`), 404, app.CodeNotFound, "topic"},
		{useTemplate(draft, `{}`, `,"from":"a@example.com"`), 422, app.CodeValidation, "not published"},
		{useTemplate("welcome", `{}`, ""), 422, app.CodeValidation, "`template.variables.NAME` is required"},
		{useTemplate("welcome", `{"NAME":null}`, ""), 422, app.CodeValidation, "`template.variables.NAME` is required"},
		{useTemplate("welcome", `{"NAME":1}`, ""), 422, app.CodeValidation, "`template.variables.NAME` must be a string"},
		{useTemplate("welcome", `{"NAME":"A","COUNT":"1"}`, ""), 422, app.CodeValidation, "`template.variables.COUNT` must be a number"},
		{useTemplate("welcome", `{"NAME":"A","OTHER":"1"}`, ""), 422, app.CodeValidation, "`template.variables.OTHER`"},
		{useTemplate("welcome", `{"NAME":true}`, ""), 422, app.CodeValidation, "`template.variables.NAME`"},
		{useTemplate("welcome", `{"NAME":["A"]}`, ""), 422, app.CodeValidation, "`template.variables.NAME`"},
		{useTemplate("welcome", `{"NAME":"`+long+`"}`, ""), 422, app.CodeValidation, "`template.variables.NAME` can have at most 2000"},
		{useTemplate("welcome", `{"NAME":"A","COUNT":1e400}`, ""), 422, app.CodeValidation, "`template.variables.COUNT`"},
		{useTemplate("welcome", `{"NAME":"A","COUNT":9007199254740992}`, ""), 422, app.CodeValidation, "`template.variables.COUNT`"},
		{useTemplate("welcome", `{"NAME":"`+strings.Repeat("é", 2000)+`"}`, ""), 422, app.CodeValidation, "`subject`"},
		{useTemplate(bare, `{}`, ""), 422, app.CodeValidation, "`from` is required"},
		{useTemplate(bare, `{}`, `,"from":"a@example.com"`), 422, app.CodeValidation, "`subject` is required"},
		{`{"to":"ann@example.org","template":{"id":"welcome","vars":{}}}`, 422, app.CodeValidation, "`template.vars`"},
	} {
		wantError(t, a.call("POST", "/emails", c.body), c.status, c.code, c.words)
		wantError(t, a.call("POST", "/emails/batch", array(validSend, c.body)), c.status, c.code, "emails.1: ", c.words)
		b := a.batch(array(c.body, validSend), permissive)
		if len(b.Data) != 1 || len(b.Errors) != 1 || b.Errors[0].Index != 0 || !strings.Contains(b.Errors[0].Message, c.words) {
			t.Errorf("%.200s: %+v", c.body, b)
		}
	}
	b := a.batch(array(useTemplate("welcome", `{"NAME":"A"}`, ""), validSend, useTemplate("welcome", `{"NAME":"B"}`, "")))
	if len(b.Data) != 3 || value(a.mail(b.Data[2].ID).HTML) != "<p>Hi B, 3 new</p>" {
		t.Errorf("%+v", b)
	}
}

func TestTemplateIdempotency(t *testing.T) {
	t.Parallel()
	a := newAudienceAPI(t)
	id := a.published(welcome)
	const key = "Idempotency-Key: t-1"
	first := a.send(a.full, useTemplate("welcome", `{"NAME":"A"}`, ""), key)
	wantStatus(t, a.call("DELETE", "/templates/welcome", ""), 200)
	if again := a.send(a.full, useTemplate("welcome", `{"NAME":"A"}`, ""), key); again != first {
		t.Errorf("another id: %s", again)
	}
	for _, body := range []string{useTemplate("welcome", `{"NAME":"B"}`, ""), useTemplate(id, `{"NAME":"A"}`, ""), useTemplate("welcome", `{}`, "")} {
		wantError(t, a.as(a.full, "POST", "/emails", body, key), 409, app.CodeInvalidIdempotent)
	}
}

func TestTemplateWithDomainKey(t *testing.T) {
	t.Parallel()
	a := newAudienceAPI(t)
	a.published(welcome)
	d := a.domain(a.team.ID, "other.example", true)
	limited := a.key(a.team.ID, app.KeyInput{Permission: app.SendingAccess, Domain: d.Name})
	wantError(t, a.as(limited, "POST", "/emails", useTemplate("welcome", `{"NAME":"A"}`, "")), 403, app.CodeRestrictedAPIKey)
	wantError(t, a.as(limited, "POST", "/emails", useTemplate("nowhere", `{}`, `,"from":"a@example.com"`)), 403, app.CodeRestrictedAPIKey)
	a.send(limited, useTemplate("welcome", `{"NAME":"A"}`, `,"from":"a@other.example"`))
	wantError(t, a.as(limited, "GET", "/templates", ""), 403, app.CodeRestrictedAPIKey)
}

func TestForeignTemplateIsNotFound(t *testing.T) {
	t.Parallel()
	a := newAudienceAPI(t)
	id := a.published(welcome)
	for _, op := range [][2]string{{"GET", ""}, {"PATCH", ""}, {"DELETE", ""}, {"POST", "/publish"}, {"POST", "/duplicate"}} {
		for _, name := range []string{id, "welcome", unknownID, "nowhere", "%00", strings.Repeat("9", 4000), "..%2f" + id} {
			wantError(t, a.as(a.foreign, op[0], "/templates/"+name+op[1], "{}"), 404, app.CodeNotFound)
		}
	}
	wantError(t, a.as(a.foreign, "GET", "/templates?after="+id, ""), 422, app.CodeValidation, "`after`")
	if got := a.template(200, "GET", "/templates/welcome", ""); got.ID != id || got.Name != "Welcome" {
		t.Errorf("read %+v", got)
	}
}

func TestListTemplates(t *testing.T) {
	testserver.BothEngines(t)
	t.Parallel()
	a := newAudienceAPI(t)
	var ids []string
	for i := range 7 {
		ids = append([]string{a.template(201, "POST", "/templates", fmt.Sprintf(`{"name":"T%d","html":"x"}`, i)).ID}, ids...)
	}
	var got []string
	for target := "/templates?limit=3"; ; {
		p := a.page(a.full, target)
		got = append(got, p.ids()...)
		if !p.HasMore {
			break
		}
		target = "/templates?limit=3&after=" + got[len(got)-1]
	}
	if !slices.Equal(got, ids) {
		t.Errorf("pages %q, made %q", got, ids)
	}
	if p := a.page(a.full, "/templates?limit=2&before="+ids[4]); !slices.Equal(p.ids(), ids[2:4]) || !p.HasMore {
		t.Errorf("before: %q", p.ids())
	}
}

func TestRenderedSizeLimit(t *testing.T) {
	apptest.Serial(t)
	t.Parallel()
	a := newAudienceAPI(t)
	id := a.published(`{"name":"bomb","subject":"x","from":"a@example.com","html":"` + strings.Repeat("{{{X}}}", 10_000) + `","text":"x","variables":[{"key":"X","type":"string"}]}`)
	value := strings.Repeat("&", 2000)
	wantError(t, a.call("POST", "/emails", useTemplate(id, `{"X":"`+value+`"}`, "")), 413, app.CodePayloadTooLarge)
	// Each within the limit, and not together.
	large := useTemplate(id, `{"X":"`+strings.Repeat("x", 2000)+`"}`, "")
	wantError(t, a.call("POST", "/emails/batch", array(slices.Repeat([]string{large}, 10)...)), 413, app.CodePayloadTooLarge, "emails.")
	a.send(a.full, large) // the permits were given back
}

func TestConcurrentTemplateEdits(t *testing.T) {
	testserver.BothEngines(t)
	t.Parallel()
	a := newAudienceAPI(t)
	made := a.template(201, "POST", "/templates", `{"name":"x","html":"x"}`)
	members := []string{`{"html":"y"}`, `{"subject":"s"}`, `{"from":"a@example.com"}`, `{"text":"t"}`, `{"name":"n"}`, `{"alias":"al"}`}
	var wg sync.WaitGroup
	for _, body := range members {
		wg.Go(func() {
			r := httptest.NewRequest("PATCH", "/templates/"+made.ID, strings.NewReader(body))
			r.Header.Set("Authorization", "Bearer "+a.full)
			w := httptest.NewRecorder()
			a.handler.ServeHTTP(w, r)
			if w.Code != 200 {
				t.Errorf("%s: %d %s", body, w.Code, w.Body)
			}
		})
	}
	wg.Wait()
	got := a.template(200, "GET", "/templates/al", "")
	if got.HTML != "y" || value(got.Subject) != "s" || value(got.From) != "a@example.com" || value(got.Text) != "t" || got.Name != "n" {
		t.Errorf("an edit was lost: %+v", got)
	}
}

func TestEmptyTemplate(t *testing.T) {
	t.Parallel()
	a := newAudienceAPI(t)
	for _, empty := range []string{`null`, `""`, `[]`, `{}`, `{"id":""}`, `{"id":null,"variables":null}`, `{"id":"","variables":{}}`} {
		if got := a.mail(a.send(a.full, member(`"template":`+empty))); got.Subject == "" {
			t.Errorf("%s: %+v", empty, got)
		}
	}
	fifty := make([]string, 51)
	for i := range fifty {
		fifty[i] = fmt.Sprintf(`"K%d":1`, i)
	}
	for _, c := range []struct{ template, words string }{
		{`"x"`, "`template` must be an object"},
		{`[1]`, "`template` must be an object"},
		{`{"id":7}`, "`template.id` must be a string"},
		{`{"id":"x","variables":[1]}`, "`template.variables` must be an object"},
		{`{"id":"x","variables":{` + strings.Join(fifty, ",") + `}}`, "`template.variables` can hold at most 50"},
		{`{"id":"x","variables":{"K":[[[[[[1]]]]]]}}`, "`template.variables.K`"},
	} {
		wantError(t, a.call("POST", "/emails", `{"to":"ann@example.org","template":`+c.template+`}`), 422, app.CodeValidation, c.words)
	}
	wantError(t, a.call("POST", "/emails", `{"to":"ann@example.org","template":{"id":"x","variables":{"K":1,"K":2}}}`), 400, app.CodeInvalidPayload)
}
