package mergetags

import (
	"fmt"
	"strings"
	"testing"

	"mailer/app"
)

func TestFindRaw(t *testing.T) {
	for text, want := range map[string]string{
		"Hello {{ .Subscriber.FirstName }}":                              "1 {{ .Subscriber.FirstName }} !",
		"a\n{{ if .x }}\nb\n{{ end }}":                                   "2 {{ if .x }} !, 4 {{ end }} !",
		`<a href="{{ MessageURL }}">x</a>`:                               "1 {{ MessageURL }} !",
		`<a href="https://a.test/%7B%7B%20RootURL%20%7D%7D">x</a>`:       "1 %7B%7B%20RootURL%20%7D%7D !",
		`<a href="https://a.test/?n=%7B%7B%7BFIRST_NAME%7D%7D%7D">x</a>`: "1 %7B%7B%7BFIRST_NAME%7D%7D !",
		"{{name}} {{}}":                                          "1 {{name}} !, 1 {{}} !",
		"{% if a %}\n{{- x -}}{% endif %}":                       "1 {% if a %} !, 2 {{- x -}} !, 2 {% endif %} !",
		"*|FNAME|* *|IF:A=B|* *|END:IF|*":                        "1 *|FNAME|* !, 1 *|IF:A=B|* !, 1 *|END:IF|* !",
		"{{#each items}}{{/each}}":                               "1 {{#each items}} !, 1 {{/each}} !",
		"{{ if {{{FIRST_NAME}}} }}":                              "1 {{ if {{{FIRST_NAME}}} }} !",
		"{{ a\nb }}":                                             "1 {{ a b }} !",
		"<%= name %> {$name} %%name%% ${name} [[name]] [%name%]": "1 <%= name %>, 1 {$name}, 1 %%name%%, 1 ${name}, 1 [[name]], 1 [%name%]",
		"<%= name %>":                                            "1 <%= name %>", "{$name}": "1 {$name}", "%%name%%": "1 %%name%%", "${name}": "1 ${name}", "[[name]]": "1 [[name]]", "[%name%]": "1 [%name%]",
		// Placeholders and text.
		"{{{FIRST_NAME|you}}} {{{ contact.plan }}} {{{{EMAIL}}}} {{{UNSUBSCRIBE_URL}}}": "",
		`<a href="http://%7B%7B%7BUNSUBSCRIBE_URL%7D%7D%7D">x</a>`:                      "",
		"write &#123;&#123; name &#125;&#125; or { { name } } or &#123;{ name }}":       "",
		"<style>@media (x){.a{width:100%}}@keyframes k{0%{a:b}50%{c:d}}</style>":        "",
		`<script type="application/ld+json">{"a":{"b":{"c":{}}}}</script>`:              "",
		"*|---|* 100% off {50%} f(x){ return }} a | b * c":                              "",
		"{{ never closed": "", "}} {{": "",
	} {
		var got []string
		for _, tag := range FindRaw(app.Part{Field: "html", Text: text}) {
			mark := ""
			if tag.Certain {
				mark = " !"
			}
			got = append(got, fmt.Sprintf("%d %s%s", tag.Line, tag.Text, mark))
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("%s\n gives %s\n want  %s", text, strings.Join(got, ", "), want)
		}
	}
}

func FuzzFindRaw(f *testing.F) {
	f.Add("a {{ b }} {{{FIRST_NAME}}} *|X|* {% y %} %7B%7B z %7D%7D")
	f.Fuzz(func(t *testing.T, text string) {
		for _, tag := range FindRaw(app.Part{Field: "html", Text: text}) {
			if tag.Line < 1 || tag.Line > 1+strings.Count(text, "\n") || tag.Text == "" {
				t.Errorf("%q: %+v", text, tag)
			}
		}
	})
}
