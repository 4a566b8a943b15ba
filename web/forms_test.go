package web

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"mailer/app"
	"mailer/app/server"
	"mailer/db"
)

type formAnswer struct {
	Object, ID, Name, Confirm, From string
	Version                         int
	ReplyTo                         *string `json:"reply_to"`
	Topics                          []struct {
		ID          string
		Preselected bool
	}
	Segments []string
	Fields   []struct {
		Property, Label string
		Required        bool
	}
	ConfirmationTemplate *string `json:"confirmation_template"`
	WelcomeTemplate      *string `json:"welcome_template"`
	Language             *string
	RedirectURL          *string  `json:"redirect_url"`
	AllowedOrigins       []string `json:"allowed_origins"`
	RejectDisposable     bool     `json:"reject_disposable"`
	MaxPerDay            int      `json:"max_confirmations_per_day"`
	URL                  *string
	Requested            int
	Embed                *struct{ HTML, Script string }
	Data                 []formAnswer
}

type optInAnswer struct {
	Object, ID, Email, Status string
	Form                      *string
	FirstName                 *string `json:"first_name"`
	Topics, Segments          []string
	Properties                map[string]any
	RequestedAt               string  `json:"requested_at"`
	DecidedAt                 *string `json:"decided_at"`
	ContactID                 *string `json:"contact_id"`
	Consent                   *struct {
		ID, Email, Text string
		Topics          []struct{ ID, Name string }
		RequestedBy     struct{ IP *string } `json:"requested_by"`
	}
	Data []optInAnswer
}

func (a *audienceAPI) form(status int, method, target, body string) formAnswer {
	a.t.Helper()
	w := a.call(method, target, body)
	wantStatus(a.t, w, status)
	return decoded[formAnswer](a.t, w)
}

func (a *audienceAPI) optIn(status int, method, target, body string) optInAnswer {
	a.t.Helper()
	w := a.call(method, target, body)
	wantStatus(a.t, w, status)
	return decoded[optInAnswer](a.t, w)
}

// newForms has a topic and a segment, and a pages host: the foreign team makes the host of the base URL
// serve no pages.
func newForms(t *testing.T) (a *audienceAPI, topic, segment string) {
	a = newAudienceWith(t, func(cfg *server.Config) { cfg.PagesHost = "pages.test" })
	topic = decoded[struct{ ID string }](t, a.call("POST", "/topics", `{"name":"News","default_subscription":"opt_in"}`)).ID
	segment = decoded[struct{ ID string }](t, a.call("POST", "/segments", `{"name":"S"}`)).ID
	return a, topic, segment
}

const minimalForm = `{"name":"F","from":"Acme <a@example.com>"}`

func TestForms(t *testing.T) {
	t.Parallel()
	a, topic, segment := newForms(t)
	made := a.form(201, "POST", "/forms", fmt.Sprintf(`{"name":" Newsletter ","from":"Acme <a@example.com>","reply_to":"r@example.com","topics":[{"id":%q,"preselected":true}],
		"segments":[%q],"fields":[{"property":"first_name","label":"First <b>","required":true}],"language":"de","allowed_origins":["https://Shop.example"],
		"redirect_url":"https://shop.example/thanks","reject_disposable":true,"max_confirmations_per_day":9}`, strings.ToUpper(topic), segment))
	at := "/forms/" + made.ID
	if made.Object != "form" || made.Name != "Newsletter" || made.Version != 1 || made.Confirm != "double" || len(made.Topics) != 1 || made.Topics[0].ID != topic || !made.Topics[0].Preselected ||
		!slices.Equal(made.Segments, []string{segment}) || made.Fields[0].Label != "First <b>" || value(made.Language) != "de" || !slices.Equal(made.AllowedOrigins, []string{"https://shop.example"}) ||
		value(made.RedirectURL) != "https://shop.example/thanks" || !made.RejectDisposable || made.MaxPerDay != 9 || made.ConfirmationTemplate != nil || !strings.HasSuffix(value(made.URL), "//pages.test/f/"+made.ID) {
		t.Errorf("made %+v", made)
	}
	got := a.form(200, "GET", at, "")
	if got.Embed == nil || !strings.Contains(got.Embed.HTML, `action="`+value(made.URL)+`"`) || !strings.Contains(got.Embed.HTML, "First &lt;b&gt;") || !strings.Contains(got.Embed.HTML, topic) ||
		strings.Contains(got.Embed.HTML, "<script") || !strings.Contains(got.Embed.Script, `<script src="`+value(made.URL)+`.js"`) {
		t.Errorf("embed %+v", got.Embed)
	}
	plain := a.form(201, "POST", "/forms", minimalForm)
	if plain.MaxPerDay != app.DefaultConfirmationsPerDay || plain.Language != nil || plain.Topics == nil || plain.Segments == nil || plain.Fields == nil || plain.AllowedOrigins == nil {
		t.Errorf("a minimal form %+v", plain)
	}
	if list := a.form(200, "GET", "/forms", ""); len(list.Data) != 2 || list.Data[0].ID != plain.ID || value(list.Data[1].URL) != value(made.URL) {
		t.Errorf("listed %+v", list)
	}
	changed := a.form(200, "PATCH", at, `{"name":"N","reply_to":null,"topics":[],"segments":[],"fields":[],"language":null,"redirect_url":null,"allowed_origins":[],"reject_disposable":false,"max_confirmations_per_day":null,"confirmation_template":null,"welcome_template":null}`)
	if changed.Version != 2 || changed.Name != "N" || changed.ReplyTo != nil || len(changed.Topics)+len(changed.Segments)+len(changed.Fields)+len(changed.AllowedOrigins) != 0 || changed.Language != nil ||
		changed.RedirectURL != nil || changed.RejectDisposable || changed.MaxPerDay != app.DefaultConfirmationsPerDay || changed.From != made.From {
		t.Errorf("changed %+v", changed)
	}
	if a.form(200, "DELETE", at, "").ID != made.ID {
		t.Error("the deletion names another form")
	}
	wantStatus(t, a.call("GET", at, ""), 404)
	for _, method := range []string{"GET", "PATCH", "DELETE"} {
		wantError(t, a.as(a.foreign, method, "/forms/"+plain.ID, `{}`[:2*strings.Count(method, "PATCH")]), 404, app.CodeNotFound, "form")
	}
}

func TestFormsRefuse(t *testing.T) {
	t.Parallel()
	a, topic, segment := newForms(t)
	draft := decoded[struct{ ID string }](t, a.call("POST", "/templates", `{"name":"T","subject":"s","html":"<p>x</p>"}`)).ID
	plain := a.published(`{"name":"P","from":"a@example.com","subject":"s","html":"<p>x</p>"}`)
	made := a.form(201, "POST", "/forms", minimalForm)
	for members, words := range map[string]string{
		`"name":" "`:                                   "`name` is required",
		`"from":"x"`:                                   "`from`",
		`"confirm":"triple"`:                           "`confirm` must be double or single",
		`"language":"xx"`:                              "`language` must be one of en, de",
		`"topics":["` + topic + `"]`:                   "`topics[0]` must be an object",
		`"topics":[{"id":"x"}]`:                        "`topics[0].id` must be the id of a topic",
		`"topics":[{"id":"` + segment + `"}]`:          "`topics[0].id` is not the id of a topic of this team",
		`"topics":[{"id":"` + topic + `","other":1}]`:  "`topics[0].other`",
		`"segments":["` + topic + `"]`:                 "`segments[0]` is not the id of a segment of this team",
		`"segments":[7]`:                               "`segments[0]` must be a string",
		`"fields":[{"property":"color"}]`:              "`fields[0].property` must be first_name, last_name or a property",
		`"fields":[{"label":"x"}]`:                     "`fields[0].property` is required",
		`"confirmation_template":"x"`:                  "`confirmation_template` must be the id of a template",
		`"confirmation_template":"` + draft + `"`:      "`confirmation_template` names a template that is not published",
		`"confirmation_template":"` + plain + `"`:      "`confirmation_template` must name a template that declares the variables CONFIRM_URL and REFUSE_URL",
		`"welcome_template":"` + topic + `"`:           "`welcome_template` is not the id of a template of this team",
		`"allowed_origins":["https://a.example/path"]`: "`allowed_origins[0]` must be an origin",
		`"redirect_url":"https://evil.example/"`:       "`redirect_url` must be on a host of `allowed_origins`",
		`"max_confirmations_per_day":-1`:               "`max_confirmations_per_day` must be 1 to",
		`"max_confirmations_per_day":"many"`:           "`max_confirmations_per_day` must be a number",
		`"reject_disposable":"yes"`:                    "`reject_disposable` must be true or false",
		`"color":"red"`:                                "`color`",
	} {
		w := a.call("PATCH", "/forms/"+made.ID, "{"+members+"}")
		wantError(t, w, 422, app.CodeValidation, words)
		body := strings.TrimSuffix(minimalForm, "}")
		for _, member := range []string{`"name"`, `"from"`} {
			if strings.HasPrefix(members, member) {
				body = `{"name":"F"`
				if member == `"name"` {
					body = `{"from":"a@example.com"`
				}
			}
		}
		wantError(t, a.call("POST", "/forms", body+","+members+"}"), 422, app.CodeValidation, words)
	}
	if got := a.form(200, "GET", "/forms/"+made.ID, ""); got.Version != 1 {
		t.Errorf("refused changes left %+v", got)
	}
}

// Members make forms with confirmation; other forms and the number of confirmations are for owners and
// admins.
func TestFormRoles(t *testing.T) {
	t.Parallel()
	a, _, _ := newForms(t)
	member, admin := a.role(a.team.ID, app.RoleMember), a.role(a.team.ID, app.RoleAdmin)
	with := func(members string) string { return strings.TrimSuffix(minimalForm, "}") + "," + members + "}" }
	made := decoded[formAnswer](t, a.as(member, "POST", "/forms", minimalForm)).ID
	for _, body := range []string{with(`"confirm":"single"`), with(`"max_confirmations_per_day":5`)} {
		wantError(t, a.as(member, "POST", "/forms", body), 403, app.CodeForbidden, "owner or admin")
		wantStatus(t, a.as(admin, "POST", "/forms", body), 201)
	}
	for _, body := range []string{`{"confirm":"single"}`, `{"max_confirmations_per_day":5}`} {
		wantError(t, a.as(member, "PATCH", "/forms/"+made, body), 403, app.CodeForbidden, "owner or admin")
		wantStatus(t, a.as(admin, "PATCH", "/forms/"+made, body), 200)
	}
	wantError(t, a.as(member, "PATCH", "/forms/"+made, `{"confirm":"double"}`), 403, app.CodeForbidden)
}

// What a form uses can't be deleted.
func TestDeletionWhileAFormUses(t *testing.T) {
	t.Parallel()
	a, topic, segment := newForms(t)
	template := a.published(`{"name":"P","from":"a@example.com","subject":"s","html":"<p>x</p>"}`)
	form := a.form(201, "POST", "/forms", fmt.Sprintf(`{"name":"Sign up","from":"a@example.com","topics":[{"id":%q}],"segments":[%q],"welcome_template":%q}`, topic, segment, template)).ID
	uses := map[string]string{"/topics/" + topic: "topic", "/segments/" + segment: "segment", "/audiences/" + segment: "segment", "/templates/" + template: "template"}
	for target, kind := range uses {
		wantError(t, a.call("DELETE", target, ""), 409, app.CodeConflict, `The form "Sign up" uses this `+kind)
	}
	a.form(200, "DELETE", "/forms/"+form, "")
	delete(uses, "/audiences/"+segment)
	for target := range uses {
		wantStatus(t, a.call("DELETE", target, ""), 200)
	}
}

func TestOptIns(t *testing.T) {
	t.Parallel()
	a, topic, segment := newForms(t)
	form := a.form(201, "POST", "/forms", minimalForm).ID
	started := a.optIn(201, "POST", "/contacts/opt-in", fmt.Sprintf(`{"email":"Ann@example.org","first_name":"Ann","properties":{"size":3},"topics":[%q],"segments":[{"id":%q}],"form":%q}`, topic, segment, form))
	if started.Object != "opt_in" || started.Status != "pending" {
		t.Errorf("started %+v", started)
	}
	other := a.optIn(201, "POST", "/contacts/opt-in", fmt.Sprintf(`{"email":"bob@example.org","topics":[{"id":%q}]}`, topic)).ID
	repeated := a.optIn(201, "POST", "/contacts/opt-in", `{"email":"ann@example.org"}`)
	if repeated.Status != "pending" {
		t.Errorf("repeated %+v", repeated)
	}
	got := a.optIn(200, "GET", "/opt-ins/"+started.ID, "")
	if got.Object != "opt_in" || got.Email != "Ann@example.org" || value(got.Form) != form || value(got.FirstName) != "Ann" || !slices.Equal(got.Topics, []string{topic}) || !slices.Equal(got.Segments, []string{segment}) ||
		got.Properties["size"] != 3.0 || got.RequestedAt == "" || got.DecidedAt != nil || got.ContactID != nil || got.Consent != nil {
		t.Errorf("read %+v", got)
	}
	wantStatus(t, a.call("GET", "/contacts/ann@example.org", ""), 404)
	if list := a.optIn(200, "GET", "/opt-ins?status=pending", ""); len(list.Data) != 3 || list.Data[1].ID != other {
		t.Errorf("pending %+v", list)
	}
	if list := a.optIn(200, "GET", "/opt-ins?status=confirmed", ""); len(list.Data) != 0 {
		t.Errorf("confirmed %+v", list)
	}
	wantError(t, a.call("GET", "/opt-ins?status=open", ""), 422, app.CodeValidation, "`status` must be pending, confirmed, expired or refused")
	wantError(t, a.as(a.foreign, "GET", "/opt-ins/"+started.ID, ""), 404, app.CodeNotFound, "opt-in")
	for members, words := range map[string]string{
		`"email":"x"`:                         "`email`",
		`"email":7`:                           "`email` must be a string",
		`"topics":[7]`:                        "`topics[0]` must be the id of a topic, or an object with it",
		`"topics":["x"]`:                      "`topics[0]` must be the id of a topic",
		`"topics":[{"id":"x"}]`:               "`topics[0]` must be the id of a topic",
		`"topics":[{"id":"","subscription"`:   "",
		`"segments":["x"]`:                    "`segments[0]` must be the id of a segment",
		`"form":"x"`:                          "`form` must be the id of a form",
		`"properties":{"a b":1}`:              "`properties",
		`"unsubscribed":true`:                 "`unsubscribed`",
		`"first_name":"` + long(256) + `"`:    "`first_name`",
		`"topics":[{"id":"` + topic + `","x"`: "",
	} {
		if words == "" {
			members, words = members+`:1}]`, "`topics[0]."
		}
		body := `{"email":"new@example.org",` + members + `}`
		if strings.HasPrefix(members, `"email"`) {
			body = "{" + members + "}"
		}
		wantError(t, a.call("POST", "/contacts/opt-in", body), 422, app.CodeValidation, words)
	}
	for members, kind := range map[string]string{`"topics":["` + unknownID + `"]`: "topic", `"segments":["` + unknownID + `"]`: "segment", `"form":"` + unknownID + `"`: "form"} {
		wantError(t, a.call("POST", "/contacts/opt-in", `{"email":"new@example.org",`+members+`}`), 404, app.CodeNotFound, kind)
	}
	wantStatus(t, a.call("POST", "/contacts", `{"email":"gone@example.org","unsubscribed":true}`), 201)
	wantError(t, a.call("POST", "/contacts/opt-in", `{"email":"gone@example.org"}`), 409, app.CodeConflict)
}

func long(n int) string { return strings.Repeat("x", n) }

// The consents of a contact are read by its id and its address, and with the opt-in that made them.
func TestConsents(t *testing.T) {
	t.Parallel()
	a, topic, _ := newForms(t)
	contact := decoded[struct{ ID string }](t, a.call("POST", "/contacts", `{"email":"ann@example.org"}`)).ID
	optIn := a.optIn(201, "POST", "/contacts/opt-in", `{"email":"ann@example.org"}`).ID
	c := app.Consent{ID: app.NewID(), TeamID: a.team.ID, ContactID: contact, OptInID: optIn,
		Record: app.ConsentRecord{Email: "ann@example.org", Text: "Yes", Topics: []app.ConsentItem{{ID: topic, Name: "News"}}, RequestedBy: app.Visitor{IP: "192.0.2.1"}}}
	err := a.store.Write(t.Context(), func(tx *db.Tx) error {
		c.CreatedAt, c.Record.RequestedAt = tx.Now, tx.Now
		if err := tx.DecideOptIn(a.team.ID, optIn, app.OptInConfirmed, contact); err != nil {
			return err
		}
		return tx.InsertConsent(&c)
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{contact, "Ann@example.org"} {
		list := decoded[struct {
			Data []struct {
				ID, Text string
				OptInID  *string `json:"opt_in_id"`
				Topics   []struct{ Name string }
			}
		}](t, a.call("GET", "/contacts/"+name+"/consents", ""))
		if len(list.Data) != 1 || list.Data[0].ID != c.ID || list.Data[0].Text != "Yes" || value(list.Data[0].OptInID) != optIn || list.Data[0].Topics[0].Name != "News" {
			t.Errorf("of %s: %+v", name, list)
		}
	}
	got := a.optIn(200, "GET", "/opt-ins/"+optIn, "")
	if got.Status != "confirmed" || value(got.ContactID) != contact || got.DecidedAt == nil || got.Consent == nil || got.Consent.ID != c.ID || value(got.Consent.RequestedBy.IP) != "192.0.2.1" {
		t.Errorf("confirmed %+v", got)
	}
	wantError(t, a.as(a.foreign, "GET", "/contacts/"+contact+"/consents", ""), 404, app.CodeNotFound, "contact")
	wantStatus(t, a.call("DELETE", "/contacts/"+contact+"?erase=true", ""), 200)
	if got := a.optIn(200, "GET", "/opt-ins?limit=10", ""); len(got.Data) > 1 {
		t.Errorf("after the erasure %+v", got)
	}
}
