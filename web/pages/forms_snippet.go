package pages

import (
	"mailer/app/sending/signup"
)

// FormSnippet is what the HTML of a form for another site is made of.
type FormSnippet struct {
	URL      string // of the page of the form
	Language string // of app.Languages; others, and none: English
	Topics   []signup.FormTopic
	Fields   []signup.FormField
	Script   bool // with the script that submits without leaving the page; its site must be an allowed origin
}

// EmbeddedForm returns the HTML of a form for another site, with or without the script.
func EmbeddedForm(view *signup.FormView, url string, script bool) string {
	f := FormSnippet{URL: url, Language: view.Form.Language, Topics: view.Topics, Fields: view.Fields, Script: script}
	return f.HTML()
}

// HTML returns the form to paste into a site. It works without the style of this server, and under
// a Content-Security-Policy without inline styles and scripts.
func (f *FormSnippet) HTML() string {
	t := pageTexts()[0].signUp
	for _, text := range pageTexts() {
		if text.lang == f.Language {
			t = text.signUp
		}
	}
	out := "<form" + attributes("action", f.URL, "method", "post", "accept-charset", "utf-8") + ">\n" +
		"  <p><label>" + escaped(t.email) + "<br>\n  <input" + attributes("type", "email", "name", emailInput, "autocomplete", "email", "required ", "") + "></label></p>\n"
	for i := range f.Fields {
		field := &f.Fields[i]
		label := escaped(legible(field.Label))
		if !field.Required {
			label += " (" + escaped(t.optional) + ")"
		}
		out += "  <p><label>" + label + "<br>\n  <input" + attributes("name", field.Name) + attributes(fieldAttributes(field.Name, field.Number, field.Required)...) + "></label></p>\n"
	}
	if len(f.Topics) > 0 {
		out += "  <fieldset>\n    <legend>" + escaped(t.choose) + "</legend>\n    <input" + attributes("type", "hidden", "name", topicsInput, "value", "") + ">\n"
		for i := range f.Topics {
			topic := &f.Topics[i]
			out += "    <p><label><input" + attributes("type", "checkbox", "name", topicsInput, "value", topic.ID, given(topic.Preselected, "checked "), "") + "> " +
				escaped(legible(topic.Name)) + "</label></p>\n"
		}
		out += "  </fieldset>\n"
	}
	out += "  <p hidden><label>" + escaped(t.trap) + " <input" + attributes("name", trapInput, "tabindex", "-1", "autocomplete", "off") + "></label></p>\n" +
		"  <p><button type=\"submit\">" + escaped(t.submit) + "</button></p>\n  <p>" + escaped(t.leave) + "</p>\n</form>\n"
	if f.Script {
		out += "<script" + attributes("src", f.URL+scriptSuffix, "defer ", "") + "></script>\n"
	}
	return string(out)
}
