package render

import (
	"errors"
	"html"
	"strings"
	"time"

	"mailer/app"
	"mailer/app/kit/htmltext"
	"mailer/app/rules/liquid"
)

// liquidTemplate renders a template with Liquid, as Template does. Errors: CodeValidation, also if
// rendering passes a bound, CodePayloadTooLarge.
func liquidTemplate(c *app.TemplateContent, values map[string]app.PropertyValue, withSubject bool, now time.Time, limit int) (*Rendered, error) {
	env, err := templateEnv(c, values, now)
	if err != nil {
		return nil, err
	}
	r := &templateRenderer{content: c, values: values, env: env}
	out := &Rendered{}
	if withSubject {
		if out.Subject, err = r.render("subject", c.Subject, app.OneLine, app.MaxSubject); err != nil {
			return nil, err
		}
		out.Subject = app.OneLine(out.Subject)
	}
	if out.HTML, err = r.render("html", htmltext.RepairPageLinks(c.HTML), html.EscapeString, limit); err != nil {
		return nil, err
	}
	if c.Text == nil {
		return out, nil
	}
	text, err := r.render("text", htmltext.RepairPageLinks(*c.Text), unescaped, limit-len(out.HTML))
	if err != nil {
		return nil, err
	}
	out.Text = &text
	return out, nil
}

// templateEnv returns the values of the template's variables. Errors: CodeValidation for one that
// has neither a value nor a fallback.
func templateEnv(c *app.TemplateContent, values map[string]app.PropertyValue, now time.Time) (*liquid.Env, error) {
	known := make(map[string]liquid.Value, len(c.Variables))
	for _, v := range c.Variables {
		given, ok := values[v.Key]
		switch {
		case ok:
		case v.Fallback != nil:
			given = *v.Fallback
		case v.Key == app.ViewKey:
			continue
		default:
			return nil, app.Invalid("template.variables."+v.Key, "is required: the template has no fallback for it")
		}
		known[v.Key] = liquid.FromProperty(given)
	}
	lookup := func(name string) (liquid.Value, bool) {
		v, ok := known[name]
		return v, ok
	}
	return &liquid.Env{Lookup: lookup, Now: now}, nil
}

// templateRenderer renders the parts of a template.
type templateRenderer struct {
	content *app.TemplateContent
	values  map[string]app.PropertyValue
	env     *liquid.Env
}

// render renders a part. escape escapes the value of a placeholder.
func (r *templateRenderer) render(field, source string, escape func(string) string, limit int) (string, error) {
	t, _, err := scanPart(field, source, templateScope(r.content))
	if err != nil {
		return "", err // published templates are valid
	}
	out := &templateSink{renderer: r, escape: escape, limit: limit}
	err = t.Run(r.env, out)
	switch {
	case errors.Is(err, liquid.ErrLimit):
		return "", app.Invalid(field, "can't be rendered with these values: %s", err)
	case out.err != nil:
		return "", out.err
	case out.long:
		return "", tooLarge(field)
	}
	return breakOtherTags(out.text.String(), out.links), nil
}

// templateSink collects a part of a template.
type templateSink struct {
	renderer *templateRenderer
	escape   func(string) string
	limit    int
	text     strings.Builder
	links    []int // positions of unsubscribe placeholders
	long     bool  // than limit: the rest is left out
	err      error // of a placeholder
}

// Text implements liquid.Sink.
func (s *templateSink) Text(t *liquid.Token) { s.add(t.Text) }

// Value implements liquid.Sink.
func (s *templateSink) Value(_ *liquid.Token, v string) { s.add(withoutPage(cleanValue(v))) }

// Placeholder implements liquid.Sink.
func (s *templateSink) Placeholder(t *liquid.Token) {
	escape := s.escape
	if !t.Context.IsPlain() {
		escape = func(v string) string {
			escaped, _ := t.Context.Escape(v)
			return escaped
		}
	}
	text, err := fill(s.renderer.content, t.Placeholder, s.renderer.values, escape)
	if err != nil && s.err == nil {
		s.err = err
	}
	if app.IsUnsubscribeKey(t.Placeholder.Key) {
		s.links = append(s.links, s.text.Len())
	}
	s.add(text)
}

// Leaf implements liquid.Sink. A template has none.
func (s *templateSink) Leaf(*liquid.Token) {}

func (s *templateSink) add(text string) {
	if s.long = s.long || s.text.Len()+len(text) > s.limit; !s.long {
		s.text.WriteString(text)
	}
}

// scanPart scans and checks a part of a document. Errors: CodeValidation with line and column.
func scanPart(field, source string, scope liquid.Scope) (*liquid.Template, []liquid.Token, error) {
	scan := liquid.Scan
	if strings.HasSuffix(field, "html") {
		scan = liquid.ScanHTML
	}
	tokens, err := scan(source)
	if err != nil {
		return nil, nil, app.Invalid(field, "%s", err)
	}
	t, err := liquid.Build(tokens)
	if err == nil {
		err = t.Check(scope)
	}
	if err != nil {
		return nil, nil, app.Invalid(field, "%s", err)
	}
	return t, tokens, nil
}

// templateScope returns the names that a template may use.
func templateScope(c *app.TemplateContent) liquid.Scope {
	names := make(map[string]app.PropertyType, len(c.Variables))
	for _, v := range c.Variables {
		names[v.Key] = v.Type
	}
	return liquid.Scope{Names: names}
}

// broadcastScope are the names that a broadcast may use: those of the contact alone.
var broadcastScope = liquid.Scope{}
