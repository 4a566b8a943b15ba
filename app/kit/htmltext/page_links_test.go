package htmltext

import (
	"strings"
	"testing"
)

func TestRepairPageLinks(t *testing.T) {
	const mark = "{{{UNSUBSCRIBE_URL}}}"
	for _, spelled := range []string{
		mark, "{{{ UNSUBSCRIBE_URL }}}", "{{{unsubscribe_url}}}", "{{{Unsubscribe_Url}}}", "{{{UNSUBSCRIBE_LINK}}}", "{{{UNSUBSCRIBE}}}",
		"%7B%7B%7BUNSUBSCRIBE_URL%7D%7D%7D", "%7b%7b%7bunsubscribe_url%7d%7d%7d", "%7B%7B%7B%20UNSUBSCRIBE_URL%20%7D%7D%7D", "%7B%7B%7B+UNSUBSCRIBE_URL+%7D%7D%7D",
		"%257B%257B%257BUNSUBSCRIBE_URL%257D%257D%257D", "{{{%20UNSUBSCRIBE_URL%20}}}", "%7B%7B%7BUNSUBSCRIBE%5FURL%7D%7D%7D", "{{{UNSUBSCRIBE\\_URL}}}",
		"&#123;&#123;&#123;UNSUBSCRIBE_URL&#125;&#125;&#125;", "&#x7b;&#x7B;&#x7b;UNSUBSCRIBE_URL&#x7D;&#x7d;&#x7D;", "&lbrace;&lbrace;&lbrace;UNSUBSCRIBE_URL&rbrace;&rbrace;&rbrace;",
		"&lcub;&lcub;&lcub;UNSUBSCRIBE_URL&rcub;&rcub;&rcub;", "{{{&nbsp;UNSUBSCRIBE_URL&nbsp;}}}", "{{{\u00a0UNSUBSCRIBE_URL\u200b}}}", "&amp;#123;&amp;#123;&amp;#123;UNSUBSCRIBE_URL&amp;#125;&amp;#125;&amp;#125;",
		"{{{UNSUBSCRIBE_URL|#}}}", "{{%7BUNSUBSCRIBE_URL}%7D}",
	} {
		for _, c := range []struct{ before, after string }{
			{``, ``}, {`http://`, ``}, {`https://`, ``}, {`HTTP://`, ``}, {`http:`, ``}, {`http:///`, ``}, {`//`, ``}, {`mailto:`, ``}, {`http%3A%2F%2F`, ``}, {`http&#58;&#47;&#47;`, ``},
			{`http://https://`, ``}, {`https:\\`, ``}, {` `, ` `}, {"\n\t", "\n"}, {`http:// `, ``}, {`https://editor.example/drafts/7/`, ``}, {`/`, ``}, {`./`, ``}, {`about:`, ``}, {``, `/`}, {``, ` `},
		} {
			in := `<p>x</p><a class="b" href="` + c.before + spelled + c.after + `" target="_blank">u</a>`
			want := `<p>x</p><a class="b" href="` + mark + `" target="_blank">u</a>`
			if soundPage.MatchString(spelled) && strings.Trim(c.before+c.after, " \n\t") == "" {
				want = in
			}
			if got := RepairPageLinks(in); got != want {
				t.Errorf("%s\n gives %s", in, got)
			}
		}
	}
	for in, want := range map[string]string{
		`<a href=\"{{{UNSUBSCRIBE_URL}}}\">u</a>`:                      `<a href="{{{UNSUBSCRIBE_URL}}}">u</a>`,
		`<a href=\"http://{{{UNSUBSCRIBE_URL}}}\" id=\"b\">u</a>`:      `<a href="{{{UNSUBSCRIBE_URL}}}" id=\"b\">u</a>`,
		`<a href=&quot;{{{UNSUBSCRIBE_URL}}}&quot;>u</a>`:              `<a href="{{{UNSUBSCRIBE_URL}}}">u</a>`,
		`<a href="&quot;{{{UNSUBSCRIBE_URL}}}&quot;">u</a>`:            `<a href="{{{UNSUBSCRIBE_URL}}}">u</a>`,
		`<a href=“{{{UNSUBSCRIBE_URL}}}”>u</a>`:                        `<a href="{{{UNSUBSCRIBE_URL}}}">u</a>`,
		`<a href="%22{{{UNSUBSCRIBE_URL}}}%22">u</a>`:                  `<a href="{{{UNSUBSCRIBE_URL}}}">u</a>`,
		`<a href={{{UNSUBSCRIBE_URL}}}>u</a>`:                          `<a href="{{{UNSUBSCRIBE_URL}}}">u</a>`,
		`<a href={{{UNSUBSCRIBE_URL}}} class=c>u</a>`:                  `<a href="{{{UNSUBSCRIBE_URL}}}" class=c>u</a>`,
		`<a href='http://{{{ UNSUBSCRIBE_URL }}}'>u</a>`:               `<a href='{{{UNSUBSCRIBE_URL}}}'>u</a>`,
		`<a href="https://{{{RESEND_UNSUBSCRIBE_URL}}}">u</a>`:         `<a href="{{{RESEND_UNSUBSCRIBE_URL}}}">u</a>`,
		`<a href="{{{UNSUBSCRIBE_URL}}}?utm_source=n">u</a>`:           `<a href="{{{UNSUBSCRIBE_URL}}}?utm_source=n">u</a>`,
		"Leave: http://{{{UNSUBSCRIBE_URL}}} or mailto:a@b.example.":   "Leave: {{{UNSUBSCRIBE_URL}}} or mailto:a@b.example.",
		"{{{{UNSUBSCRIBE_URL}}}}":                                      "{{{{UNSUBSCRIBE_URL}}}}",
		`<a href="https://x.example/?u={{{UNSUBSCRIBE_URL}}}">u</a>`:   `<a href="https://x.example/?u={{{UNSUBSCRIBE_URL}}}">u</a>`,
		"To unsubscribe, follow {{{COMPANY}}} & write to 100%.":        "To unsubscribe, follow {{{COMPANY}}} & write to 100%.",
		`<a href="http://{{{COMPANY}}}">c</a> UNSUBSCRIBE`:             `<a href="http://{{{COMPANY}}}">c</a> UNSUBSCRIBE`,
		`<a href="https://x.example/unsubscribe?a=%7B1%7D">u</a>`:      `<a href="https://x.example/unsubscribe?a=%7B1%7D">u</a>`,
		`<p>{{{UNSUBSCRIBE_URL}}}</p><p>{{{ UNSUBSCRIBE_URL }}}</p>`:   `<p>{{{UNSUBSCRIBE_URL}}}</p><p>{{{ UNSUBSCRIBE_URL }}}</p>`,
		`<a href="https://x.example">x</a>{{{UNSUBSCRIBE_URL}}}`:       `<a href="https://x.example">x</a>{{{UNSUBSCRIBE_URL}}}`,
		`<a href="http://x.example/">http://{{{UNSUBSCRIBE_URL}}}</a>`: `<a href="http://x.example/">{{{UNSUBSCRIBE_URL}}}</a>`,

		`<a href="http://{{{VIEW_URL}}}">v</a>`:                `<a href="{{{VIEW_URL}}}">v</a>`,
		`<a href="%7B%7B%7BVIEW%5FURL%7D%7D%7D">v</a>`:         `<a href="{{{VIEW_URL}}}">v</a>`,
		`<a href="{{{ VIEW_URL }}}">v</a>`:                     `<a href="{{{ VIEW_URL }}}">v</a>`,
		"Read it at https://{{{view_url}}}, {{{UNSUBSCRIBE}}}": "Read it at {{{VIEW_URL}}}, {{{UNSUBSCRIBE_URL}}}",
		`<meta name="viewport"> &amp; {{{VIEW}}}`:              `<meta name="viewport"> &amp; {{{VIEW}}}`,
	} {
		if got := RepairPageLinks(in); got != want {
			t.Errorf("%s\n gives %s\n  want %s", in, got, want)
		}
		if once := RepairPageLinks(in); RepairPageLinks(once) != once {
			t.Errorf("%s is repaired twice", in)
		}
	}
}

func FuzzRepairPageLinks(f *testing.F) {
	f.Add(`<a href="http://%7B%7B%7BUNSUBSCRIBE_URL%7D%7D%7D">`)
	f.Add(`<a href=\"{{{ unsubscribe_url }}}\">`)
	f.Add(strings.Repeat("http://", 100) + "{{{UNSUBSCRIBE_URL}}}")
	f.Fuzz(func(t *testing.T, s string) {
		once := RepairPageLinks(s)
		if !mayHoldPage(s) && once != s {
			t.Errorf("%q became %q", s, once)
		}
	})
}
