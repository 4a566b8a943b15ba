package pages

import (
	"html"
	"slices"
	"strconv"
	"strings"

	"mailer/app"
	"mailer/app/sending/signup"
)

// Names of the inputs of a form. Fields are named after properties, whose keys have no other
// characters than letters, digits and _.
const (
	emailInput    = "email"
	topicsInput   = "topics[]"
	proofInput    = "proof"
	buttonInput   = "form-button"
	openedInput   = "form-opened"
	trapInput     = "website-url"
	decisionInput = "opt-in-decision"
)

// maxAddress is the longest address, in characters (RFC 5321, section 4.5.3.1.3).
const maxAddress = 254

// words replace the placeholders of a text. They are foreign input.
type words struct{ team, email, host string }

// fill returns a text as markup. Each word is in an element of its own that isolates its writing
// direction.
func (w words) fill(text string) markup {
	return markup(strings.NewReplacer("{team}", isolated(w.team), "{email}", isolated(w.email), "{host}", isolated(w.host)).
		Replace(html.EscapeString(text)))
}

// plain returns a text without markup.
func (w words) plain(text string) string {
	return strings.NewReplacer("{team}", legible(w.team), "{email}", legible(w.email), "{host}", legible(w.host)).Replace(text)
}

// attributes returns the attributes of an element: pairs of name and value, of which those with an
// empty name are left out. A name without a value ends with a blank.
func attributes(pairs ...string) (out markup) {
	for pair := range slices.Chunk(pairs, 2) {
		switch name, value := pair[0], pair[1]; {
		case strings.HasSuffix(name, " "):
			out += markup(" " + strings.TrimSuffix(name, " "))
		case name != "":
			out += markup(" "+name+`="`) + escaped(value) + `"`
		}
	}
	return out
}

// given returns name if a condition is met, else "", for attributes.
func given(is bool, name string) string {
	if is {
		return name
	}
	return ""
}

func hidden(name, value string) markup {
	return "<input" + attributes("type", "hidden", "name", name, "value", value) + ">\n"
}

// formMarkup makes the inputs of a form.
type formMarkup struct {
	text   *signUpText
	draft  *draft
	topics []signup.FormTopic
	fields []signup.FormField
	opened string // signed time of the page
	short  bool   // topics without descriptions
}

// signUp returns the form of a form's page. data-page has the script submit it as a page does.
func (f *formMarkup) signUp() markup {
	out := f.warning() + "<form method=\"post\" accept-charset=\"utf-8\" data-page=\"form\">\n"
	if f.opened != "" {
		out += hidden(openedInput, f.opened)
	}
	out += f.input(-1, emailInput, escaped(f.text.email), "email", "autocomplete", "email", "maxlength", strconv.Itoa(maxAddress), "required ", "")
	out += f.inputs() + f.picks()
	out += `<div class="trap" aria-hidden="true"><label for="trap">` + escaped(f.text.trap) + "</label>" +
		"<input" + attributes("id", "trap", "name", trapInput, "tabindex", "-1", "autocomplete", "off") + "></div>\n"
	return out + `<button type="submit">` + escaped(f.text.submit) + "</button>\n<p class=\"after\">" + escaped(f.text.leave) + "</p>\n</form>\n"
}

// warning is shown above a form with errors.
func (f *formMarkup) warning() markup {
	if len(f.draft.faults) == 0 {
		return ""
	}
	return `<p class="note bad" role="alert">` + escaped(f.text.check) + "</p>\n"
}

// inputs returns the fields of the team.
func (f *formMarkup) inputs() (out markup) {
	for i, field := range f.fields {
		label := "<bdi>" + escaped(legible(field.Label)) + "</bdi>"
		if !field.Required {
			label += " <span>(" + escaped(f.text.optional) + ")</span>"
		}
		out += f.input(i, field.Name, label, "text", fieldAttributes(field.Name, field.Number, field.Required)...)
	}
	return out
}

// fieldAttributes returns the attributes of a field of the team, without names and errors.
func fieldAttributes(name string, number, required bool) []string {
	fill := map[string]string{app.FirstNameField: "given-name", app.LastNameField: "family-name"}[name]
	return []string{
		given(fill != "", "autocomplete"), fill, given(number, "inputmode"), "decimal", given(!number, "dir"), "auto",
		"maxlength", strconv.Itoa(app.MaxFormValue), given(required, "required "), "",
	}
}

// input returns an input with its label and error. The first one with an error gets the focus.
func (f *formMarkup) input(number int, name string, label markup, kind string, more ...string) markup {
	id := "f" + strconv.Itoa(number+1)
	fault, value := f.draft.faults[name], f.draft.entered.value(name)
	first := fault != "" && f.firstFault() == name
	return `<div class="field"><label for="` + markup(id) + `">` + label + "</label>\n<input" +
		attributes("type", kind, "id", id, "name", name, given(value != "", "value"), value) + attributes(more...) +
		attributes(given(fault != "", "aria-invalid"), "true", given(fault != "", "aria-describedby"), "e"+id, given(first, "autofocus "), "") + ">\n" +
		element(markup(`<p class="bad" id="e`+id+`">`), escaped(fault), "</p>\n") + "</div>\n"
}

// firstFault returns the name of the first input with an error.
func (f *formMarkup) firstFault() string {
	if f.draft.faults[emailInput] != "" {
		return emailInput
	}
	for _, field := range f.fields {
		if f.draft.faults[field.Name] != "" {
			return field.Name
		}
	}
	return ""
}

// chosen reports whether a topic is checked.
func (f *formMarkup) chosen(topic *signup.FormTopic) bool {
	ids, shown := f.draft.entered[topicsInput]
	return !shown && topic.Preselected || slices.Contains(ids, topic.ID)
}

// picks returns the boxes of the topics. Browsers send nothing for unchecked boxes, so an empty
// choice says that there were some.
func (f *formMarkup) picks() (out markup) {
	if len(f.topics) == 0 {
		return ""
	}
	out = "<fieldset>\n<legend>" + escaped(f.text.choose) + "</legend>\n" + hidden(topicsInput, "")
	for i := range f.topics {
		topic, n := &f.topics[i], strconv.Itoa(i)
		about := escaped(legible(topic.Description))
		if f.short {
			about = ""
		}
		out += "<div class=\"topic\"><input" + attributes("type", "checkbox", "id", "t"+n, "name", topicsInput, "value", topic.ID,
			given(f.chosen(topic), "checked "), "", given(about != "", "aria-describedby"), "d"+n) + ">\n" +
			markup(`<label for="t`+n+`"><bdi>`) + escaped(legible(topic.Name)) + "</bdi></label>\n" +
			element(markup(`<p id="d`+n+`"><bdi>`), about, "</bdi></p>\n") + "</div>\n"
	}
	return out + "</fieldset>\n"
}

// repeatedForm repeats a submission with the token of a button.
func repeatedForm(in *signup.Submission, token string, t *signUpText) markup {
	out := markup("<form class=\"wait\" method=\"post\" accept-charset=\"utf-8\">\n") + hidden(emailInput, in.Email)
	for _, name := range sortedNames(in.Values) {
		out += hidden(name, in.Values[name])
	}
	if in.AnyTopics {
		out += hidden(topicsInput, "")
	}
	for _, id := range in.Topics {
		out += hidden(topicsInput, id)
	}
	return out + hidden(buttonInput, token) + `<button type="submit">` + escaped(t.finish) + "</button>\n</form>\n"
}
