package liquid

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	nethtml "golang.org/x/net/html"

	"mailer/app"
)

// structure returns the tags of HTML with the names of their attributes, and the schemes of the
// addresses in attributes.
func structure(source string) string {
	var b strings.Builder
	z := nethtml.NewTokenizer(strings.NewReader(source))
	for {
		kind := z.Next()
		switch kind {
		case nethtml.ErrorToken:
			return b.String()
		case nethtml.StartTagToken, nethtml.EndTagToken, nethtml.SelfClosingTagToken:
			t := z.Token()
			if t.Data == "br" { // of newline_to_br
				continue
			}
			fmt.Fprintf(&b, "%t %s", kind == nethtml.EndTagToken, t.Data)
			for _, a := range t.Attr {
				fmt.Fprintf(&b, " %s", a.Key)
				if scheme := schemeOf(a.Val); scheme != "" && kindOf(t.Data, a.Key) == addressAttribute {
					fmt.Fprintf(&b, "=%s", scheme)
				}
			}
			b.WriteByte('\n')
		case nethtml.CommentToken, nethtml.DoctypeToken:
			fmt.Fprintf(&b, "%d\n", kind)
		}
	}
}

var schemeMark = regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9+.-]*:`)

// schemeOf returns the scheme of an address as browsers read it; empty for none and for the ones
// that values may have.
func schemeOf(address string) string {
	address = strings.NewReplacer("\t", "", "\n", "", "\r", "").Replace(strings.TrimFunc(address, func(r rune) bool { return r <= ' ' }))
	switch scheme := strings.ToLower(schemeMark.FindString(address)); scheme {
	case "http:", "https:", "mailto:", "tel:":
		return ""
	default:
		return scheme
	}
}

// revealed returns HTML as programs read it that follow conditional comments.
func revealed(source string) string {
	return conditional.ReplaceAllStringFunc(source, func(whole string) string {
		begin, inside, _ := strings.Cut(whole, "]>")
		inside, found := strings.CutSuffix(inside, "<![endif]-->")
		if !found || strings.Contains(begin, ">") || strings.Contains(inside, "-->") || strings.Contains(inside, "--!>") {
			return whole
		}
		return "<!x>" + inside + "<!x>"
	})
}

var conditional = regexp.MustCompile(`(?is)<!--\[if.*?-->`)

// hostileParts are what hostile values are made of.
var hostileParts = []string{
	"", "", "a", "b c", "<", ">", `"`, "'", "`", "=", "&", ";", "#", "/", "//", `\`, "?", ":", "!", "-", "--", "%", "(", ")", "{", "}", "\t", "\n", "\r", "\x00", " ", "\u00a0", "\u2028", "\xff",
	"<script>", "</script>", "<img src=x onerror=alert(1)>", `" onload="x`, "' onload='x", " onload=x ", "-->", "--!>", "<!--", "<![endif]-->", "<!--[if mso]>", "]>", "]]>", "/>",
	"</style>", "</title>", "</textarea>", "</a>", "<svg>", "javascript:", "JaVa\tScript:", "data:text/html,", "https://evil.example/", "//evil.example", "https:", "@evil.example", "mailto:",
	"&#58;", "&colon;", "&lt;", "&#x3c;", "58;", "x3c;", "lt;", "script", "style", "expression(", "url(//evil.example)", "}*{", ";position:fixed", "{{ a }}", "{% if %}", "{{{UNSUBSCRIBE_URL}}}", "%22", "%3Cscript%3E", "a=b",
}

func hostileValue(r *rand.Rand) string {
	var b strings.Builder
	for range r.IntN(4) {
		b.WriteString(hostileParts[r.IntN(len(hostileParts))])
	}
	return b.String()
}

// trial is a document with contexts that is run with harmless and with hostile values.
type trial struct {
	source   string
	template *Template
}

func newTrial(source string) (*trial, error) {
	tokens, err := ScanHTML(source)
	if err != nil {
		return nil, err
	}
	t, err := Build(tokens)
	if err == nil {
		err = t.Check(Scope{Names: map[string]app.PropertyType{
			"a": "string", "b": "string", "c": "string", "t": "boolean", "f": "boolean", "list": "list", "url": "string"}})
	}
	return &trial{source: source, template: t}, err
}

func (d *trial) run(value func() string, url string) string {
	values := map[string]Value{}
	for _, name := range []string{"a", "b", "c", "contact.first_name"} {
		values[name] = String(value())
	}
	values["t"], values["f"], values["url"] = Bool(true), Bool(false), String(url)
	values["list"] = listOf([]Value{String(value()), String(value())})
	var out textSink
	err := d.template.Run(&Env{Lookup: func(name string) (Value, bool) { v, ok := values[name]; return v, ok }, Now: now}, &out)
	if err != nil {
		panic(d.source + ": " + err.Error())
	}
	return out.String()
}

// check compares the structure with hostile values to the one with harmless values.
func (d *trial) check(t *testing.T, r *rand.Rand) {
	t.Helper()
	harmless := d.run(func() string { return "word" }, "https://example.com/")
	hostile := d.run(func() string { return hostileValue(r) }, hostileValue(r))
	if structure(harmless) != structure(hostile) {
		t.Fatalf("document %q\nharmless %q\nhostile  %q\n%s\n--\n%s", d.source, harmless, hostile, structure(harmless), structure(hostile))
	}
	if a, b := revealed(harmless), revealed(hostile); a != harmless && structure(a) != structure(b) {
		t.Fatalf("document %q, with conditional comments\nharmless %q\nhostile  %q\n%s\n--\n%s", d.source, a, b, structure(a), structure(b))
	}
}

// fixedDocuments have a value in each position that allows one.
var fixedDocuments = []string{
	`<!DOCTYPE html><html><head><title>{{ a }}</title><style>h1 { color: {{ b }} } .{{ c }} { top: 0 }</style></head><body>{{ a }}<p>{{ b }}</p></body></html>`,
	`<p title="{{ a }}" class='{{ b }}' id={{ c }}>x</p><p class=a{{ a }}b data-x={{ b }}>`,
	`<a href="https://example.com/{{ a }}/x?q={{ b }}#{{ c }}">{{ a }}</a><a href="mailto:{{ a }}?subject={{ b }}">m</a><a href=tel:{{ c }}>t</a>`,
	`<a href="{{ a }}">x</a><a href={{ b }}>y</a><img src='{{ c }}' alt="{{ a }}"><a href=" {{ url }} " class={{ url }}>z</a>`,
	`<p style="color: {{ a }}; width: {{ b }}px">{{ c }}</p><p style=color:{{ a }}>{{ b }}</p>`,
	`<!-- {{ a }} --><p>{{ b }}</p><!--[if mso]><table width="{{ a }}"><tr><td style="width:{{ b }}px" class={{ c }}>{{ a }}</td></tr></table><![endif]--><p>{{ c }}</p>`,
	`<!--[if !mso]><!--><p>{{ a }}</p><!--<![endif]--><!--[if gte mso 9]><v:rect fill="{{ b }}" href="https://x.example/{{ c }}"></v:rect><![endif]-->{{ b }}`,
	`<textarea>{{ a }}</textarea><input value="{{ b }}" placeholder={{ c }}>`,
	`{% if t %}<p class="{{ a }}">{% else %}<div>{% endif %}{{ b }}{% for i in list %}<li title='{{ i }}'>{{ i }}</li>{% endfor %}`,
	`<td{% if t %} class="{{ a }}"{% endif %}{% if f %} id="{{ b }}"{% endif %}>{{ c }}</td>`,
	`<a href="{% if t %}{{ a }}{% else %}https://example.com/{% endif %}">x</a><a href="https://example.com/?{% for i in list %}{{ i }}={{ i }}&{% endfor %}">`,
	`{% assign x = a | append: b | replace: "a", c %}{{ x }}{% capture y %}{{ a }} &amp; {{ b | upcase }}{% endcapture %}{{ y }}<p title="{{ y }}">`,
	`{{ a | newline_to_br }}{{ b | escape }}{{ c | escape_once }}{{ a | strip_html }}{{ b | url_decode }}<a href="https://x.example/?{{ a | url_encode }}={{ b }}">`,
	`<tr class="{% cycle a, b %}">{{ contact.first_name | default: a }}<!-- x{{ a }}y -->{% case t %}{% when true %}<i>{{ a }}{% else %}<i>{{ b }}{% endcase %}`,
	`<a href="{{{UNSUBSCRIBE_URL}}}?x={{ a }}">{{{FIRST_NAME|you}}}</a><p title="{{{X}}}{{ b }}">{{ c }}`,
}

func TestHostileValuesChangeNoTag(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, source := range fixedDocuments {
		d, err := newTrial(source)
		if err != nil {
			t.Fatalf("%s: %v", source, err)
		}
		for range 200 {
			d.check(t, r)
		}
	}
}

// documentParts are what random documents are made of.
var documentParts = []string{
	"{{ a }}", "{{ a }}", "{{ b }}", "{{ url }}", "{% if t %}", "{% if f %}", "{% else %}", "{% endif %}", "{% endif %}", "{% for i in list %}", "{{ i }}", "{% endfor %}", "{% break %}", "{% assign x = a %}", "{{ x }}",
	"{% capture x %}", "{% endcapture %}", "{% cycle a, b %}", "{{{X}}}",
	"<", ">", "/", "=", `"`, "'", " ", "\n", "!", "-", "--", "&", "&#", ";", "#", "?", ":", "]", "\\", "x", "3",
	"<a", "<p ", "</a", "<p>", "<a href=", " href=", ` href="`, ` href='`, "style=", " title=", ` title="`, "class", "https://", "http:", "x.example", "mailto:", "javascript:", "/path",
	"<!--", "-->", "<!", "<!--[if mso]>", "<![endif]-->", "<!-->", "<!---", "--!>", "<style>", "</style>", "<title>", "</title>", "</sty", "le>", "<script>", "</script>", "<svg>", "</svg>", "<textarea>", "</textarea>", "<noscript>", "</noscript>", "<!doctype", "<?",
}

// piece matches what random documents are cut into.
var piece = regexp.MustCompile(`\{\{\{.*?\}\}\}|\{\{.*?\}\}|\{%.*?%\}|<!--|-->|https?://|[A-Za-z]+|.|\n`)

// randomDocument changes a fixed document in a few positions, or puts parts together.
func randomDocument(r *rand.Rand) string {
	var pieces []string
	part := func() string { return documentParts[r.IntN(len(documentParts))] }
	if r.IntN(4) == 0 {
		for range 2 + r.IntN(12) {
			pieces = append(pieces, part())
		}
		return strings.Join(pieces, "")
	}
	all := piece.FindAllString(fixedDocuments[r.IntN(len(fixedDocuments))], -1)
	from := r.IntN(len(all))
	all = all[from:min(len(all), from+5+r.IntN(40))]
	pieces = append(pieces, all...)
	for range 1 + r.IntN(5) {
		at := r.IntN(len(pieces) + 1)
		switch r.IntN(6) {
		case 0:
			pieces = slices.Insert(pieces, at, part())
		case 1:
			pieces = slices.Insert(pieces, at, "{{ a }}")
		case 2:
			pieces = slices.Insert(pieces, at, all[r.IntN(len(all))])
		case 3:
			if at < len(pieces) {
				pieces = slices.Delete(pieces, at, at+1)
			}
		case 4: // a branch
			to := min(len(pieces), at+r.IntN(6))
			pieces = slices.Insert(pieces, to, "{% endif %}")
			if r.IntN(3) == 0 {
				pieces = slices.Insert(pieces, to, "{% else %}", part(), part())
			}
			pieces = slices.Insert(pieces, at, []string{"{% if t %}", "{% if f %}"}[r.IntN(2)])
		case 5: // a loop
			pieces = slices.Insert(pieces, min(len(pieces), at+r.IntN(6)), "{% endfor %}")
			pieces = slices.Insert(pieces, at, []string{"{% for i in list %}", "{% for i in empty %}"}[r.IntN(2)])
		}
	}
	return strings.Join(pieces, "")
}

// TestRandomDocuments runs documents that CheckHTML accepts, whatever they are, with hostile values.
func TestRandomDocuments(t *testing.T) {
	randomDocuments(t, 3, 10_000)
}

func randomDocuments(t *testing.T, seed uint64, n int) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 0))
	accepted := 0
	for range n {
		d, err := newTrial(randomDocument(r))
		if err != nil {
			continue
		}
		accepted++
		for range 4 {
			d.check(t, r)
		}
	}
	t.Logf("%d documents of %d were accepted", accepted, n)
	if accepted < n/20 {
		t.Errorf("only %d documents of %d were accepted", accepted, n)
	}
}
