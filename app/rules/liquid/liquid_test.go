package liquid

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"mailer/app"
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
	scan := Scan
	if d.html {
		scan = ScanHTML
	}
	tokens, err := scan(d.source)
	if err != nil {
		return "", err
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

func TestContactKeys(t *testing.T) {
	tokens, err := Scan(`{{ contact.b | default: contact.a }}{% if x[contact["c"]] == contact.b.size %}{% endif %}{% for i in (1..contact.d) limit: contact.e %}{% cycle contact.f %}{% endfor %}{{ "contact.g" }}`)
	if err != nil {
		t.Fatal(err)
	}
	built, err := Build(tokens)
	if err != nil {
		t.Fatal(err)
	}
	if got := built.ContactKeys(); !slices.Equal(got, []string{"a", "b", "c", "d", "e", "f"}) {
		t.Errorf("%q", got)
	}
}

func TestMissingValues(t *testing.T) {
	for source, want := range map[string]string{
		"{{ contact.nothing }}":                                       "contact.nothing",
		"{{ contact.empty }}":                                         "contact.empty",
		"{{ contact.full }}":                                          "",
		"{{ nothing }}":                                               "",
		"{{ contact.nothing | upcase }}":                              "contact.nothing",
		"{{ contact.nothing | default: 'x' }}":                        "",
		"{{ contact.nothing | default: contact.empty }}":              "contact.empty",
		"{{ contact.full | default: contact.empty }}":                 "",
		"{{ contact.nothing | default: contact.empty | default: 1 }}": "",
		"{{ 'x' | append: contact.nothing }}":                         "contact.nothing",
		"{{ 'x' | append: contact.nothing | default: 1 }}":            "",
		"{{ contact.nothing | default: 1 | append: contact.empty }}":  "contact.empty",
		"{% if contact.nothing %}{% endif %}":                         "",
		"{% assign x = contact.nothing %}{{ x }}":                     "",
		"{% if false %}{{ contact.nothing }}{% endif %}":              "",
		"{% cycle contact.nothing %}":                                 "contact.nothing",
	} {
		d := document{source: source, values: fromJSON(t, `{"contact": {"full": "x", "empty": ""}}`)}
		if _, err := d.render(); err != nil || strings.Join(d.missing, " ") != want {
			t.Errorf("%s: %q %v, want %q", source, d.missing, err, want)
		}
	}
}

func TestRemovedAddresses(t *testing.T) {
	d := document{source: `<a href="{{ a }}"><a href="{{ b }}"><a href="{{ c }}">`, html: true, values: fromJSON(t, `{"a": "javascript:x", "b": "tel:1"}`)}
	if _, err := d.render(); err != nil || !slices.Equal(d.removed, []string{"{{ a }}", "{{ c }}"}) {
		t.Errorf("%q %v", d.removed, err)
	}
}

// A document in HTML may be cut anew: other texts and leaves between the tokens of Scan.
func TestBuildOfOtherTokens(t *testing.T) {
	tokens, err := ScanHTML(`<a href="https://example.com/?{{ a }}">{% if b %}{{ a }}{% endif %}</a>`)
	if err != nil {
		t.Fatal(err)
	}
	leaf := Token{Kind: Leaf, Leaf: 7}
	all := append([]Token{{Kind: Text, Text: "<p>"}, leaf, tokens[1], leaf}, tokens[3:]...)
	built, err := Build(all)
	if err != nil {
		t.Fatal(err)
	}
	sink := leafSink{}
	names := map[string]Value{"a": String("< "), "b": Bool(true)}
	if err = built.Run(&Env{Lookup: func(name string) (Value, bool) { v, ok := names[name]; return v, ok }}, &sink); err != nil {
		t.Fatal(err)
	}
	if got := sink.String(); got != "<p>[7]%3C%20[7]&lt; </a>" {
		t.Errorf("%q", got)
	}
}

// leafSink writes leaves in brackets.
type leafSink struct{ textSink }

func (s *leafSink) Leaf(tok *Token) { fmt.Fprintf(s, "[%v]", tok.Leaf) }

func TestContextEscapesPlaceholders(t *testing.T) {
	tokens, err := ScanHTML(`<p title={{{A}}}>{{{A}}}</p><a href="{{{A}}}"><a href="https://x.example/?{{{A}}}"><svg>{{{A}}}</svg><!--{{{A}}}-->`)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, tok := range tokens {
		if tok.Kind == Placeholder {
			v, ok := tok.Context.Escape("a <b")
			got = append(got, fmt.Sprint(v, " ", ok))
		}
	}
	if want := []string{"a&#32;&lt;b true", "a &lt;b true", " false", "a%20%3Cb true", "a&#32;&lt;b true", "a&#32;&lt;b true"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if !(Context{}).IsPlain() || tokens[1].Context.IsPlain() {
		t.Error("only the zero value is plain text")
	}
}

func TestFromJSON(t *testing.T) {
	for source, want := range map[string]string{
		`[1, 2.5, "a", true, null, {"b": [3], "b": 4}]`: "",
		`[[[[[1]]]]]`:                            "",
		`[[[[[[1]]]]]]`:                          "must not nest lists and objects more than 5 deep",
		`{"a": `:                                 "must be valid JSON",
		`[1`:                                     "must be valid JSON",
		`{"a"`:                                   "must be valid JSON",
		``:                                       "must be valid JSON",
		`1 2`:                                    "must be one JSON value",
		`"` + strings.Repeat("x", maxJSON) + `"`: "must not be longer than 65536 bytes",
	} {
		if _, err := FromJSON([]byte(source)); want == "" && err != nil || want != "" && (err == nil || err.Error() != want) {
			t.Errorf("%.20s: %v, want %q", source, err, want)
		}
	}
}

func TestFromProperty(t *testing.T) {
	for _, c := range []struct {
		property app.PropertyValue
		want     string
	}{
		{app.PropertyValue{Type: app.StringProperty, Text: "a"}, "a"},
		{app.PropertyValue{Type: app.NumberProperty, Number: 7}, "7"},
		{app.PropertyValue{Type: app.NumberProperty, Number: 7.25}, "7.25"},
		{app.PropertyValue{Type: app.NumberProperty, Number: 1e300}, app.PropertyValue{Type: app.NumberProperty, Number: 1e300}.String()},
		{app.PropertyValue{Type: app.BooleanVariable, Text: "true"}, "true"},
		{app.PropertyValue{Type: app.ListVariable, Text: "[1,2]"}, "12"},
		{app.PropertyValue{Type: app.ListVariable, Text: "["}, ""},
		{app.PropertyValue{Type: app.HTMLVariable, Text: "<b>"}, "<b>"},
	} {
		if got := (&run{}).string(FromProperty(c.property)); got != c.want {
			t.Errorf("%+v: %q", c.property, got)
		}
	}
	if v := FromProperty(app.PropertyValue{Type: app.NumberProperty, Number: 7}); divide(v, integer(2)).plain() != "3" {
		t.Error("a whole number of a property is no integer")
	}
}

// Mail that was written without Liquid in mind must be accepted.
func TestHTMLOfOthersIsAccepted(t *testing.T) {
	names, err := filepath.Glob("../../testing/apptest/testdata/htmltext/*.html")
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	for _, name := range names {
		source, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err = ScanHTML(strings.Replace(string(source), "</body>", "{{ a }}</body>", 1)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	const outlook = `<!doctype html><html xmlns:v="urn:schemas-microsoft-com:vml"><head><!--[if !mso]><!--><meta http-equiv="X-UA-Compatible" content="IE=edge"><!--<![endif]-->
<!--[if mso]><noscript><xml><o:OfficeDocumentSettings></o:OfficeDocumentSettings></xml></noscript><![endif]--><!--[if lte mso 11]><style type="text/css">.mj { width:100% !important; }</style><![endif]-->
<style>@media only screen and (min-width:480px) { .a>b { width:100%!important } } /* <!-- */</style></head><body>
<!--[if mso | IE]><table align="center" style="width:{{ w }}px;" width="{{ w }}"><tr><td style="line-height:0px;"><![endif]--><div>{{ a }} - - {{ b }}</div><!--[if mso | IE]></td></tr></table><![endif]-->
<!--[if gte mso 9]><v:rect fill="true" style="width:{{ w }}px"><v:fill type="tile" src="https://example.com/{{ a }}.png" color="{{ c }}"/><![endif]--><![if !mso]><p>{{ a }}</p><![endif]></body></html>`
	if _, err := ScanHTML(outlook); err != nil {
		t.Error(err)
	}
}
