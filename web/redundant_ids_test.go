package web

import (
	"net/url"
	"strings"
	"testing"

	"mailer/app"
)

// A path names a contact by its id or any spelling of its address, and a template by its id or
// alias. A body may repeat it in any other of these forms.
func TestRedundantIDsInAnotherForm(t *testing.T) {
	t.Parallel()
	b := newContactAPI(t)
	contact := b.create(`{"email":"Ann@bücher.example","segment_id":"` + b.segment + `"}`)
	otherContact := b.create(`{"email":"bob@bücher.example"}`)
	template := func(alias string) string {
		w := b.call("POST", "/templates", `{"name":"n","html":"<p>x</p>","alias":"`+alias+`"}`)
		wantStatus(t, w, 201)
		return strings.Split(strings.Split(w.Body.String(), `"id":"`)[1], `"`)[0]
	}
	welcome, otherTemplate := template("welcome"), template("goodbye")
	addresses := []string{"Ann@bücher.example", "ann@BÜCHER.example", "ann@bu\u0308cher.example", "ann@xn--bcher-kva.example", "ANN@XN--BCHER-KVA.EXAMPLE"}
	contacts := append([]string{contact, strings.ToUpper(contact)}, addresses...)
	templates := []string{welcome, strings.ToUpper(welcome), "welcome"}
	foreign := []string{otherContact, "bob@bücher.example", "bob@xn--bcher-kva.example", unknownID, "ann@example.org"}
	choice := `,"topics":[{"id":"` + b.in + `","subscription":"opt_in"}]`
	for _, route := range []struct {
		method, before, after string
		paths, names          []string
		same, other           []string
		rest                  string
	}{
		{"PATCH", "/contacts/", "", contacts, []string{"id", "contact_id"}, contacts, foreign, ""},
		{"PATCH", "/contacts/", "", contacts, []string{"email"}, addresses, nil, ""}, // another address is a move
		{"PATCH", "/contacts/", "/topics", contacts, []string{"id", "contact_id", "email"}, contacts, foreign, choice},
		{"PATCH", "/audiences/" + b.segment + "/contacts/", "", contacts, []string{"id", "contact_id"}, contacts, foreign, ""},
		{"PATCH", "/audiences/" + b.segment + "/contacts/", "", contacts, []string{"email"}, addresses, nil, ""},
		{"PATCH", "/templates/", "", templates, []string{"id", "template_id"}, templates, []string{otherTemplate, "goodbye", unknownID}, ""},
		{"POST", "/templates/", "/render", templates, []string{"id", "template_id"}, templates, []string{otherTemplate, "goodbye", unknownID}, ""},
	} {
		for _, path := range route.paths {
			path = route.before + url.PathEscape(path) + route.after
			for _, name := range route.names {
				for _, same := range append(route.same, "") {
					if w := b.call(route.method, path, `{"`+name+`":"`+same+`"`+route.rest+`}`); w.Code != 200 {
						t.Errorf("%s %s with %s %q: %d %s", route.method, path, name, same, w.Code, w.Body)
					}
				}
				for _, other := range route.other {
					wantError(t, b.call(route.method, path, `{"`+name+`":"`+other+`"`+route.rest+`}`), 422, app.CodeValidation, "`"+name+"`")
				}
			}
		}
	}
	// A missing contact is not found, whatever the body repeats.
	wantError(t, b.call("PATCH", "/contacts/none@example.org", `{"id":"`+contact+`"}`), 404, app.CodeNotFound)
	// Another team's contact is none.
	wantError(t, b.as(b.foreign, "PATCH", "/contacts/"+contact, `{"id":"ann@bücher.example"}`), 404, app.CodeNotFound)
}
