package liquid

import (
	"strings"
	"testing"
	"time"
)

// textSink collects output as text. Placeholders are written as in the source.
type textSink struct{ strings.Builder }

func (s *textSink) Text(tok *Token)          { s.WriteString(tok.Text) }
func (s *textSink) Value(_ *Token, v string) { s.WriteString(v) }
func (s *textSink) Placeholder(tok *Token)   { s.WriteString(tok.Placeholder.String()) }
func (s *textSink) Leaf(tok *Token)          { s.WriteString(tok.Text) }

// document is a document of a test.
type document struct {
	source  string
	html    bool
	values  Value // an object: the names and, in "contact", the keys of the contact
	scope   Scope
	missing []string
	removed []string
}

// now is the time of documents.
var now = time.Date(2024, 3, 5, 9, 7, 2, 0, time.UTC)

// render scans, builds and runs the document.
func (d *document) render() (string, error) {
	tokens, err := Scan(d.source)
	if err != nil {
		return "", err
	}
	if d.html {
		if err = CheckHTML(tokens); err != nil {
			return "", err
		}
	}
	t, err := Build(tokens)
	if err != nil {
		return "", err
	}
	if d.scope.Names != nil {
		if err = t.Check(d.scope); err != nil {
			return "", err
		}
	}
	var out textSink
	err = t.Run(d.env(), &out)
	return out.String(), err
}

func (d *document) env() *Env {
	return &Env{
		Lookup: func(name string) (Value, bool) {
			if key, ok := strings.CutPrefix(name, "contact."); ok {
				v := d.values.member("contact").member(key)
				return v, v.kind != nilKind
			}
			v := d.values.member(name)
			return v, v.kind != nilKind
		},
		Now:     now,
		Missing: func(path string) Value { d.missing = append(d.missing, path); return Value{} },
		Removed: func(tok *Token) { d.removed = append(d.removed, tok.Text) },
	}
}

// fromJSON returns the value of a JSON text.
func fromJSON(t *testing.T, s string) Value {
	t.Helper()
	v, err := FromJSON([]byte(s))
	if err != nil {
		t.Fatalf("%s: %v", s, err)
	}
	return v
}

func TestSmoke(t *testing.T) {
	values := fromJSON(t, `{"a": "x", "n": 7, "f": 2.50, "list": ["b", "a", "c"], "order": {"items": [{"name": "Tea", "price": 3.5}, {"name": "Cup", "price": 12}], "total": 120}, "contact": {"first_name": "Ada"}, "html": "<b>&</b>"}`)
	for _, c := range [][2]string{
		{"Hello {{ contact.first_name | default: 'there' }}!", "Hello Ada!"},
		{"{{ contact.nope | default: 'there' }}", "there"},
		{"{% if order.total > 100 %}big{% else %}small{% endif %}", "big"},
		{"{% if order.total &gt;= 100 and n == 7 or f %}big{% endif %}", "big"},
		{"{% for i in order.items %}{{ forloop.index }}. {{ i.name }} {{ i.price | number }}{% unless forloop.last %}, {% endunless %}{% endfor %}", "1. Tea 3.50, 2. Cup 12.00"},
		{"{{ list | sort | join: ', ' | upcase }}", "A, B, C"},
		{"{{ n | divided_by: 2 }} {{ n | divided_by: 2.0 }} {{ 0.1 | plus: 0.2 }} {{ f }}", "3 3.5 0.3 2.5"},
		{"a {%- assign x = n | times: 3 -%} b {{- x -}} c", "ab21c"},
		{"{% case n %} {% when 1, 2 %}a{% when 6 or 7 %}b{% else %}c{% endcase %}", "b"},
		{"{% for i in (1..5) reversed limit: 3 %}{{ i }}{% if i == 2 %}{% break %}{% endif %}{% endfor %}", "32"},
		{"{% raw %}{{ x }} {{{ A|b }}}{% endraw %}{% comment %}{{{ {% endcomment %}{% # don't %}.", "{{ x }} {{{A|b}}}."},
		{"{% capture x %}[{{ a }}]{% endcapture %}{{ x }}{{ x | append: x | size }}", "[x]6"},
		{"{% for i in list %}{% cycle 'odd', 'even' %} {% endfor %}", "odd even odd "},
		{"{{ 'now' | date: '%Y-%m-%d %H:%M:%S %-d %B %j' }}", "2024-03-05 09:07:02 5 March 065"},
		{"{{ 'March 14, 2016' | date: '%b %d, %y' }} {{ 'x' | date: '%Y' }}", "Mar 14, 16 x"},
	} {
		d := document{source: c[0], values: values}
		if got, err := d.render(); err != nil || got != c[1] {
			t.Errorf("%s: %q %v, want %q", c[0], got, err, c[1])
		}
	}
}
