package htmltext_test

import (
	"net/url"
	"strings"
	"testing"

	"mailer/app/kit/htmltext"
)

func TestClean(t *testing.T) {
	t.Parallel()
	base, _ := url.Parse("https://blog.test/posts/1")
	for name, tt := range map[string]struct {
		in, want string
		keep     htmltext.Cleaning
	}{
		"text stays":            {in: `<p style="color:red">a &lt;b&gt; &amp; c</p>`, want: `<p style="color:red">a &lt;b&gt; &amp; c</p>`},
		"scripts go":            {in: `a<script>alert("</p>")</script>b<SCRIPT src=x></SCRIPT>c`, want: `abc`},
		"unclosed script":       {in: `a<script>alert(1)`, want: `a`},
		"handlers go":           {in: `<img src="https://a.test/x.png" onerror=alert(1) ONLOAD="x"><p onclick='y'>z</p>`, want: `<img src="https://a.test/x.png"><p>z</p>`},
		"forms go":              {in: `<form action="https://evil.test"><input name=a><button formaction=x>Go</button><select><option>1</select>t</form>`, want: `Got`},
		"meta, base, link":      {in: `<head><meta http-equiv=refresh content="0;url=https://evil.test"><base href="https://evil.test"><link rel=stylesheet href=x><title>T</title></head>x`, want: `x`},
		"frames go":             {in: `<iframe src="https://evil.test">no</iframe><object data=x><embed src=y></object>z<embed src=y>w`, want: `zw`},
		"svg and math go":       {in: `<svg><a xlink:href="javascript:x"><text>t</text></a></svg><math><mi>x</mi></math>y`, want: `y`},
		"nested svg":            {in: `<svg><svg></svg><script>1</script></svg>y`, want: `y`},
		"scripted links":        {in: `<a href="javascript:alert(1)">a</a><a href=" JaVaScRiPt:x">b</a><a href="java&#10;script:x">c</a><a href="data:text/html,x">d</a><a href="vbscript:x">e</a>`, want: `<a>a</a><a>b</a><a>c</a><a>d</a><a>e</a>`},
		"good links":            {in: `<a href="https://a.test/?x=1&y=2" target=_self rel=opener>a</a><a href="mailto:a@b.test">b</a><a href="#top">c</a>`, want: `<a href="https://a.test/?x=1&amp;y=2" target="_blank">a</a><a href="mailto:a@b.test" target="_blank">b</a><a href="#top">c</a>`},
		"inline pictures":       {in: `<img src="cid:logo"><img src="data:image/png;base64,AA"><img src="file:///etc/passwd">`, want: `<img><img src="data:image/png;base64,AA"><img>`},
		"comments go":           {in: `a<!--[if mso]><script>x</script><![endif]-->b<!-- x --!>c`, want: `abc`},
		"styles stay":           {in: `<style>p > a { color: red }</style><body bgcolor=red onload=x>y</body>z`, want: `<style>p > a { color: red }</style><body bgcolor="red">yz`},
		"unclosed style":        {in: `<style>p { color: red }`, want: `<style>p { color: red }</style>`},
		"imported styles":       {in: `<style>@IMPORT url(https://fonts.test/css);p{color:red;behavior : url(x)}a{scroll-behavior:smooth}</style>`, want: `<style>@removed url(https://fonts.test/css);p{color:red;removed: url(x)}a{scroll-behavior:smooth}</style>`},
		"active styles":         {in: `<p style="width:expression(x)">a<p style="behavior:url(x);-moz-binding:url(y)">b<p style="background:url(javascript:x)">c`, want: `<p style="width:removed(x)">a<p style="removed:url(x);removed:url(y)">b<p style="background:url(removed:x)">c`},
		"hidden styles":         {in: `<p style="width:ex/**/pression(x)">a<p style="width:\65 xpression(x)">b<style>@\69mport "x"</style>c`, want: `<p>a<p>b<style></style>c`},
		"attribute can't break": {in: `<p title='"><script>x</script>'>y</p>`, want: `<p title="&#34;&gt;&lt;script&gt;x&lt;/script&gt;">y</p>`},
		"textarea and title":    {in: `<textarea></p><script>x</script></textarea><title><b>x</title>y`, want: `y`},
		"fragment":              {in: `<style>a{}</style><body><p id=a class=b style="x" title=t>y<div><b>z</div></table>w`, want: `<p title="t">y<div><b>z</b></div>w</p>`, keep: htmltext.Cleaning{Fragment: true}},
		"relative addresses":    {in: `<a href="/b?c">x</a><img src="d.png"><a href="//e.test/f">y</a><a href="#z">w</a>`, want: `<a href="https://blog.test/b?c" target="_blank">x</a><img src="https://blog.test/posts/d.png"><a href="https://e.test/f" target="_blank">y</a><a>w</a>`, keep: htmltext.Cleaning{Fragment: true, Base: base}},
		"self-closing script":   {in: `a<script src=x />alert(1)</script>b`, want: `ab`},
		"unknown elements":      {in: `<blink>a</blink><x-evil onfoo=1>b</x-evil>`, want: `ab`},
	} {
		if got := strings.ReplaceAll(htmltext.Clean(tt.in, tt.keep), ` rel="noopener noreferrer"`, ""); got != tt.want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, tt.want)
		}
	}
}

// TestCleanIsBounded: deep nesting is cut, and every tag of a fragment is closed.
func TestCleanIsBounded(t *testing.T) {
	t.Parallel()
	got := htmltext.Clean(strings.Repeat("<div>", 10_000)+"x", htmltext.Cleaning{Fragment: true})
	if opened, closed := strings.Count(got, "<div>"), strings.Count(got, "</div>"); opened != closed || opened > 100 || !strings.Contains(got, "x") {
		t.Errorf("%d opened, %d closed", opened, closed)
	}
}

// FuzzClean: what was cleaned stays as it is when it is cleaned again.
func FuzzClean(f *testing.F) {
	for _, seed := range []string{`<p>a`, `<script>x`, `<style></style><style>`, `<a href=x onclick=y>`, `<!--`, `<svg><style></svg>`, "<p title=\x00>"} {
		f.Add(seed, true)
		f.Add(seed, false)
	}
	f.Fuzz(func(t *testing.T, source string, fragment bool) {
		keep := htmltext.Cleaning{Fragment: fragment}
		once := htmltext.Clean(source, keep)
		lower := strings.ToLower(once)
		if strings.Contains(lower, "<script") && !strings.Contains(lower, "<style") || strings.Contains(lower, "<form") && !strings.Contains(lower, "<style") {
			t.Errorf("%q became %q", source, once)
		}
		if twice := htmltext.Clean(once, keep); strings.Contains(strings.ToLower(twice), "<script") && !strings.Contains(lower, "<style") {
			t.Errorf("%q became %q", once, twice)
		}
	})
}
