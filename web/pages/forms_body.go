package pages

import (
	"maps"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"mailer/app"
	"mailer/app/sending/signup"
	"mailer/web/rest"
)

// entries are the inputs of a submitted form by name.
type entries map[string][]string

// value returns the first value of an input; empty if there is none.
func (e entries) value(name string) string {
	if values := e[name]; len(values) > 0 {
		return values[0]
	}
	return ""
}

func sortedNames(values map[string]string) []string { return slices.Sorted(maps.Keys(values)) }

// isJSON reports whether the body of a request is JSON. Any other body is read as a form.
func isJSON(head http.Header) bool {
	kind, _, err := mime.ParseMediaType(head.Get("Content-Type"))
	return err == nil && kind == "application/json"
}

// readEntries reads the body of a request: a form, or an object of JSON with texts, numbers and lists
// of them. Errors: CodeInvalidPayload.
func readEntries(x *rest.Exchange) (entries, error) {
	if isJSON(x.RequestHeader) {
		return jsonEntries(x.Body)
	}
	form, err := url.ParseQuery(string(x.Body))
	if err != nil {
		return nil, rest.NewError(app.CodeInvalidPayload, "The request body is not a form")
	}
	for _, values := range form {
		for i := range values {
			values[i] = cleaned(values[i])
		}
	}
	return entries(form), nil
}

// cleaned removes what can't be stored, and blanks around a value.
func cleaned(value string) string {
	return strings.TrimSpace(strings.ReplaceAll(strings.ToValidUTF8(value, "\ufffd"), "\x00", ""))
}

// jsonEntries reads an object. Its member topics is the input topics[].
func jsonEntries(body []byte) (entries, error) {
	var members map[string]jsontext.Value
	rest.ReplaceLoneSurrogates(body)
	if err := json.Unmarshal(body, &members); err != nil {
		return nil, rest.NewError(app.CodeInvalidPayload, "The request body is not an object of JSON")
	}
	out := entries{}
	for name, raw := range members {
		values := []jsontext.Value{raw}
		if raw.Kind() == '[' {
			if err := json.Unmarshal(raw, &values); err != nil {
				return nil, rest.NewError(app.CodeInvalidPayload, "The request body is not an object of JSON")
			}
		}
		if name == "topics" {
			name = topicsInput
		}
		if out[name] == nil {
			out[name] = []string{} // an empty list is an answer
		}
		for _, value := range values {
			text, ok := scalarText(value)
			if !ok {
				return nil, rest.NewError(app.CodeInvalidPayload, "A member of the request body is no text, number or list of them")
			}
			out[name] = append(out[name], cleaned(text))
		}
	}
	return out, nil
}

// scalarText returns a text, a number or null as text.
func scalarText(value jsontext.Value) (text string, ok bool) {
	switch value.Kind() {
	case '"':
		return text, json.Unmarshal(value, &text) == nil
	case '0':
		return string(value), true
	case 'n':
		return "", true
	}
	return "", false
}

// submission returns what was submitted to a form, without what the server knows.
func (e entries) submission(v *signup.FormView) *signup.Submission {
	_, shown := e[topicsInput]
	return &signup.Submission{
		Email: e.value(emailInput), Values: e.values(v.Fields), Topics: e.topics(v.Topics), AnyTopics: shown,
		Proof: e.value(proofInput), Button: e.value(buttonInput), Trap: e.value(trapInput), Opened: e.value(openedInput),
	}
}

// values returns the values of the fields of a form.
func (e entries) values(fields []signup.FormField) map[string]string {
	out := make(map[string]string, len(fields))
	for _, f := range fields {
		out[f.Name] = e.value(f.Name)
	}
	return out
}

// topics returns the ids of the chosen topics, in the order of the form.
func (e entries) topics(offered []signup.FormTopic) (ids []string) {
	for i := range offered {
		if slices.Contains(e[topicsInput], offered[i].ID) {
			ids = append(ids, offered[i].ID)
		}
	}
	return ids
}

// faultsOf returns the texts of errors by the names of inputs: of the one that the service refused, and
// of required ones that are empty.
func faultsOf(err error, fields []signup.FormField, e entries, t *signUpText) map[string]string {
	refused := refusedField(err)
	faults := map[string]string{}
	if refused == emailInput {
		faults[emailInput] = t.badEmail
	}
	for _, f := range fields {
		value := e.value(f.Name)
		_, notNumber := strconv.ParseFloat(value, 64)
		switch {
		case value == "" && f.Required:
			faults[f.Name] = t.missing
		case f.Name != refused:
		case f.Number && notNumber != nil:
			faults[f.Name] = t.badNumber
		default:
			faults[f.Name] = t.badValue
		}
	}
	if len(faults) == 0 {
		faults[refused] = t.check // of no input
	}
	return faults
}

// refusedField returns the field that an error names, like app.Invalid does.
func refusedField(err error) string {
	_, text, _ := strings.Cut(err.Error(), "`")
	name, _, _ := strings.Cut(text, "`")
	return strings.TrimPrefix(name, "properties.")
}
