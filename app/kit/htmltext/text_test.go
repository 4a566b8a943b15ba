package htmltext_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"mailer/app"
	"mailer/app/kit/htmltext"
	"mailer/app/testing/apptest"
)

func TestTextFromHTML(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"", ""},
		{"plain", "plain"},
		{"a &amp; b &lt;c&gt; &copy; &#8364;", "a & b <c> © €"},
		{" a\n\t b&nbsp;&nbsp;c ", "a b c"},
		{"<p>one</p><p>two</p>", "one\n\ntwo"},
		{"<h1>Title</h1>text<br>next<br><br><br>last", "Title\n\ntext\nnext\n\nlast"},
		{"<div>a</div><div>b</div>", "a\nb"},
		{"<b>a</b> <i>b</i>c", "a bc"},
		{"a<b> b</b>", "a b"},
		{"a<span></span> b", "a b"},
		{"<ul><li>a</li><li>b<ul><li>c</li></ul></li></ul>end", "- a\n- b\n  - c\n\nend"},
		{"<ol><li>a<li>b</ol>", "1. a\n2. b"},
		{"<ul><li>a<br>b</li></ul>", "- a\n  b"},
		{"<ul><li></li><li>b</li></ul>", "- b"},
		{`<a href="https://a.test/x">here</a>.`, "here (https://a.test/x)."},
		{`<a href="https://a.test/">https://a.test</a>`, "https://a.test"},
		{`<a href="https://a.test/">A.test</a>`, "A.test"},
		{`<a href="mailto:a@b.test">a@b.test</a>`, "a@b.test"},
		{`<a href="mailto:a@b.test">write</a>`, "write (mailto:a@b.test)"},
		{`<a href="#top">top</a> <a href="/x">rel</a> <a href="javascript:alert(1)">js</a>`, "top rel js"},
		{`<a href="https://a.test/x">a &gt; b</a>`, "a > b (https://a.test/x)"},
		{`<a href="https://a.test/?a=1&amp;b=2">x</a>`, "x (https://a.test/?a=1&b=2)"},
		{`<a href="https://a.test/x"><img src="l.png" alt="Logo"></a>`, "Logo (https://a.test/x)"},
		{`<a href="https://a.test/x"><img src="l.png"></a>`, "https://a.test/x"},
		{`<a href="{{{UNSUBSCRIBE_URL}}}">Unsubscribe</a>`, "Unsubscribe ({{{UNSUBSCRIBE_URL}}})"},
		{`<a href="https://a.test/1">a<a href="https://a.test/2">b</a>`, "a (https://a.test/1)b (https://a.test/2)"},
		{`<a href="https://a.test/1">open`, "open (https://a.test/1)"},
		{"<a href=\"https://a.test/\n1\">x</a>", "x (https://a.test/1)"},
		{`<img alt=" a  b ">`, "a b"},
		{`x<img alt="y">z`, "x y z"},
		{"<head><title>T</title><style>p{}</style></head><body>b</body>", "b"},
		{"<script>if (a < b) { document.write('<p>x</p>') }</script>b", "b"},
		{"<style>a > b {}</style>b<style>unclosed", "b"},
		{"a<svg><text>no</text></svg>b<svg/>c", "abc"},
		{"<noscript>no</noscript>b", "b"},
		{"<!-- c -->a<!--[if mso]><table><tr><td>Outlook</td></tr></table><![endif]-->b", "ab"},
		{"<!--[if !mso]><!-->shown<!--<![endif]-->", "shown"},
		{"<![if !mso]>shown<![endif]>", "shown"},
		{`<div style="display: none">pre <div>view</div></div>body`, "body"},
		{`<div hidden>x</div><span data-skip-in-text="true">y</span>z`, "z"},
		{`<p style="display:none">kept, its end tag may be missing`, "kept, its end tag may be missing"},
		{"<table><tr><td>a</td><td>b</td></tr><tr><td>c</td></tr></table>", "a b\nc"},
		{"<pre>a  b\n  c\r\nd</pre>e", "a  b\n  c\nd\n\ne"},
		{"a<hr>b", "a\n---\nb"},
		{"a\u200bb\u00adc\ufeff", "abc"},
		{"a&#1;b&#13;c&#0;", "ab c\uFFFD"},
		{"a < b", "a < b"},
		{"<p", ""},
		{"</ul></ol></pre></a></div>x", "x"},
		{"Grüße 日本語", "Grüße 日本語"},
	} {
		if got := htmltext.PlainText(c.in); got != c.want {
			t.Errorf("%q\n got %q\nwant %q", c.in, got, c.want)
		}
	}
}

// TestTextFromHTMLIsLinear: deep nesting must not make the output grow with the square of the
// input.
func TestTextFromHTMLIsLinear(t *testing.T) {
	for _, unit := range []string{"<ul><li>x", "<div>x", "<a href=https://a.test/>x", "<pre>x\n", "<ol><li>"} {
		in := strings.Repeat(unit, 20000)
		if out := htmltext.PlainText(in); len(out) > 4*len(in) {
			t.Errorf("%s: %d bytes make %d", unit, len(in), len(out))
		}
	}
}

func FuzzHTMLText(f *testing.F) {
	for _, s := range []string{
		"<p>a</p>", "<ul><li>a<ol><li>b</ul>", `<a href="https://a.test">x</a>`, "<pre>\r\n\ta</pre>", "<!--[if mso]>x<![endif]-->", "a&nbsp;&zwnj;&#0;&#13;b",
		"<div hidden><div>x</div>", "<svg/><script>", `<img alt="&#10;a">`, "<textarea><p>", "<plaintext>x",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if len(s) > 1<<16 {
			return
		}
		out := htmltext.PlainText(s)
		if !utf8.ValidString(out) {
			t.Errorf("%q: not UTF-8: %q", s, out)
		}
		if app.HasControl(strings.ReplaceAll(out, "\n", "")) {
			t.Errorf("%q: control characters: %q", s, out)
		}
		if strings.Contains(out, "\n\n\n") || strings.HasPrefix(out, "\n") || strings.HasSuffix(out, "\n") {
			t.Errorf("%q: too many empty lines: %q", s, out)
		}
		if len(out) > 8*len(s)+64 {
			t.Errorf("%q: %d bytes make %d", s, len(s), len(out))
		}
	})
}

func BenchmarkTextFromHTML(b *testing.B) {
	for name, in := range apptest.Mails(b) {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(in)))
			b.ReportAllocs()
			for b.Loop() {
				htmltext.PlainText(in)
			}
		})
	}
}
