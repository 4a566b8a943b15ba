// Package embed writes the HTML with which other sites show a sign-up form.
//
// Failure policy: none. Everything that a team or the language supplies is escaped.
package embed

import (
	"cmp"
	"html"
	"strings"

	"mailer/app"
)

// Form is a form to embed.
type Form struct {
	URL      string // of its page
	Language string // of app.Languages; empty: the first
	Topics   []Topic
	Fields   []app.FormField
}

// Topic is a topic that a visitor can choose.
type Topic struct {
	ID, Name    string
	Preselected bool
}

// words are the label of the address and the text of the button, by language.
var words = map[string][2]string{
	"en": {"Email", "Subscribe"}, "de": {"E-Mail", "Abonnieren"}, "fr": {"E-mail", "S’abonner"}, "es": {"Correo electrónico", "Suscribirse"},
	"pt": {"E-mail", "Inscrever-se"}, "it": {"E-mail", "Iscriviti"}, "nl": {"E-mail", "Aanmelden"}, "pl": {"E-mail", "Zapisz się"},
	"ja": {"メールアドレス", "登録する"}, "zh": {"电子邮箱", "订阅"},
}

// HTML returns a form that works without a script: it opens the page of the form with what was typed.
func HTML(f *Form) string {
	text := words[cmp.Or(f.Language, app.Languages[0])]
	var b strings.Builder
	put := func(parts ...string) {
		for i, part := range parts {
			if i%2 == 1 { // every second part is a value
				part = html.EscapeString(part)
			}
			b.WriteString(part)
		}
	}
	put(`<form action="`, f.URL, `" method="post" accept-charset="utf-8"`)
	if f.Language != "" {
		put(` lang="`, f.Language, `"`)
	}
	put(">\n  <p><label>", text[0], ` <input type="email" name="email" autocomplete="email" required></label></p>`+"\n")
	for _, field := range f.Fields {
		put("  <p><label>", field.Label, ` <input name="`, field.Property, `" maxlength="100"`+complete[field.Property]+attribute("required", field.Required)+"></label></p>\n")
	}
	for _, topic := range f.Topics {
		put(`  <p><label><input type="checkbox" name="topics[]" value="`, topic.ID, `"`+attribute("checked", topic.Preselected)+"> ", topic.Name, "</label></p>\n")
	}
	put("  <p><button>", text[1], "</button></p>\n</form>\n")
	return b.String()
}

// complete are the attributes of fields that browsers can fill in.
var complete = map[string]string{"first_name": ` autocomplete="given-name"`, "last_name": ` autocomplete="family-name"`}

func attribute(name string, set bool) string {
	if !set {
		return ""
	}
	return " " + name
}

// Script returns HTML and the script with which it submits without leaving the page. The form must
// allow the origin of the page.
func Script(f *Form) string {
	return HTML(f) + `<script src="` + html.EscapeString(f.URL) + `.js" async></script>` + "\n"
}
