package liquid

import (
	"strings"
	"testing"
)

func TestCheckBlock(t *testing.T) {
	for source, fault := range map[string]string{
		``: "", `plain`: "", `<p>Hi {{ contact.first_name | default: "you" }}</p><br>`: "", `<td{% if contact.a %} class="x"{% endif %}>`: "", `{% for x in (1..2) %}{{ x }}{% endfor %}`: "",
		`</div></td></tr>`: "", `<!-- a --><style>p{color:red}</style>`: "", `{{{FIRST_NAME|you}}} {{{UNSUBSCRIBE_URL}}}`: "",
		"<p>\n  <a href=\"x": "ends in an attribute: a block must end between tags (line 2, column 13)", `<p`: "a block must end between tags", `<style>p{}`: "a block must end between tags", `<svg>`: "a block must end between tags",
		`<!-- `: "a block must end between tags", `<!--[if mso]><td>`: "a block must end between tags", `<title>x`: "a block must end between tags",
		`{{ order }}`: "uses order, which is not declared", `{{ contact.a | raw }}`: "raw", `{% if contact.a %}`: "never ends", `{% endif %}`: "without the tag", `{% break %}`: "outside of for",
		`<p>{% block "Other" %}</p>`: "a saved block in a saved block", `<a {{ contact.a }}>`: "has a value",
	} {
		tokens, err := Scan(source)
		if err == nil {
			err = CheckBlock(tokens)
		}
		if (err == nil) != (fault == "") || err != nil && !strings.Contains(err.Error(), fault) {
			t.Errorf("%s: %v, want %q", source, err, fault)
		}
	}
}

// A block stands between tags, so that any block that CheckBlock accepts leaves the document valid.
func TestBlockTag(t *testing.T) {
	for source, fault := range map[string]string{
		`<p>{% block "Footer" %}</p>`: "", `{%- block 'It"s' -%}`: "", `{% if contact.a %}{% block "A" %}{% else %}{% block "B" %}{% endif %}`: "", `{% raw %}{% block 1 %}{% endraw %}`: "",
		"\n<a title=\"{% block \"A\" %}\">": "can stand between tags only (line 2, column 11)", `<style>{% block "A" %}</style>`: "between tags only", `<title>{% block "A" %}</title>`: "between tags only",
		`<!--[if mso]>{% block "A" %}<![endif]-->`: "between tags only", `<svg>{% block "A" %}</svg>`: "between tags only", `{% capture x %}{% block "A" %}{% endcapture %}`: "between tags only",
		`{% block %}`: "where a value is missing", `{% block name %}`: "names no saved block", `{% block contact.a %}`: "names no saved block", `{% block 1 %}`: "names no saved block", `{% block "A" "B" %}`: "(line 1",
		`<script>{% block "A" %}</script>`: "in a script",
	} {
		tokens, err := Scan(source)
		if err == nil {
			_, err = Build(tokens)
		}
		if err == nil {
			err = CheckHTML(tokens)
		}
		if (err == nil) != (fault == "") || err != nil && !strings.Contains(err.Error(), fault) {
			t.Errorf("%s: %v, want %q", source, err, fault)
		}
	}
	tokens, err := Scan(`a{% block "Footer" %}{{ contact.a }}{% raw %}{% block "B" %}{% endraw %}`)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for i := range tokens {
		if name, ok := tokens[i].Block(); ok {
			names = append(names, name)
		}
	}
	if strings.Join(names, ",") != "Footer" {
		t.Errorf("blocks %q", names)
	}
}
