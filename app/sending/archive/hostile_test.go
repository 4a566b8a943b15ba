package archive_test

import (
	"strings"
	"testing"

	"golang.org/x/net/html"

	"mailer/app"
	"mailer/app/sending/archive"
)

// TestIssueHoldsNothingActive renders hostile HTML, with and without Liquid, and parses the result as a browser
// does: there is no element that runs, submits, loads a document or redirects, and no such attribute or address.
func TestIssueHoldsNothingActive(t *testing.T) {
	t.Parallel()
	for name, source := range map[string]string{
		"script":             `<script>evil()</script><SCRIPT SRC=//evil.test/x.js></SCRIPT><script/x>evil()</script>`,
		"script in script":   `<scr<script>x</script>ipt>evil()</script>`,
		"script fragments":   `<<script>evil()//<</script>`,
		"svg onload":         `<svg onload=evil()><svg/onload=evil()><svg><script>evil()</script></svg>`,
		"svg use, animate":   `<svg><a><animate attributeName=href values=javascript:evil() /><text>x</text></a><use href="data:image/svg+xml,x#y"/></svg>`,
		"svg style breakout": `<svg><style><img src=x onerror=evil()></style></svg><svg></p><style><a id="</style><img src=1 onerror=evil()>">`,
		"math breakout":      `<math><mtext><table><mglyph><style><!--</style><img title="--&gt;&lt;img src=1 onerror=evil()&gt;">`,
		"form in math":       `<form><math><mtext></form><form><mglyph><style></math><img src onerror=evil()>`,
		"form":               `<form action="https://evil.test"><input name=p autofocus onfocus=evil()><button formaction="javascript:evil()">b</button><textarea>t</textarea><select><option>o</select></form><isindex action=//evil.test><keygen>`,
		"meta refresh":       `<meta http-equiv="refresh" content="0;url=https://evil.test"><META HTTP-EQUIV=refresh CONTENT="0;url=javascript:evil()">`,
		"base and link":      `<base href="https://evil.test/"><link rel=stylesheet href="https://evil.test/x.css"><link rel=import href=x>`,
		"frames":             `<iframe src="https://evil.test" srcdoc="<script>evil()</script>"></iframe><frameset><frame src=x></frameset><object data=x><embed src=y></object><applet code=x></applet><portal src=x></portal>`,
		"media":              `<video onerror=evil() src=x><source onerror=evil()></video><audio src=x onerror=evil()></audio><details ontoggle=evil() open>x</details><marquee onstart=evil()>x</marquee>`,
		"javascript links":   `<a href="javascript:evil()">a</a><a href="jAvAsCrIpT&colon;evil()">b</a><a href="&#x6A;avascript:evil()">c</a><a href="java` + "\t" + `script:evil()">d</a><a href="` + "\x01" + `javascript:evil()">e</a><a href="vbscript:evil()">f</a><area href="javascript:evil()">`,
		"data links":         `<a href="data:text/html,<script>evil()</script>">a</a><a href="data:text/html;base64,PHNjcmlwdD4=">b</a><a href="blob:x">c</a><a href="file:///etc/passwd">d</a><img src="data:text/html,x"><img src="javascript:evil()"><body background="javascript:evil()"><table background="javascript:evil()"><td>x</td></table>`,
		"srcset":             `<img srcset="javascript:evil() 1x, data:text/html,x 2x"><picture><source srcset="JaVaScRiPt:evil()"></picture>`,
		"handlers":           `<p onclick=evil() ONMOUSEOVER="evil()" on="x" onx y=z>a</p><img src=x onerror=evil()><img/src=x/onerror=evil()><img src="x"onerror="evil()"><img src='x'onerror='evil()'><a href="https://a.test" ping="https://evil.test" download>x</a>`,
		"css expression":     `<p style="width: expression(evil())">a</p><p style="width: ex/**/pression(evil())">b</p><p style="width: e\78pression(evil())">c</p><p style="-moz-binding: url(https://evil.test/x#y)">d</p><p style="behavior: url(x.htc)">e</p><p style="background: url('javascript:evil()')">f</p>`,
		"css in style":       `<style>@import url("https://evil.test/x.css"); @IMPORT 'x'; @im\70ort "y"; p { width: expression(evil()); behavior: url(x.htc); -moz-binding: url(y); background: url(javascript:evil()) }</style>`,
		"style breakout":     `<style></style ><img src=x onerror=evil()></style><style><!--</style><script>evil()</script>--></style>`,
		"unclosed style":     `<p>a</p><style>p { color: red } <script>evil()</script>`,
		"outlook comments":   `<!--[if mso]><script>evil()</script><![endif]--><!--[if !mso]><!--><p>a</p><!--<![endif]--><![if !mso]><script>evil()</script><![endif]><!-- --!><script>evil()</script> --><!--><script>evil()</script>--><!---><script>evil()</script>-->`,
		"bogus markup":       `<?xml version="1.0"?><?php evil() ?><![CDATA[<script>evil()</script>]]><!doctype html [<!ENTITY x "y">]></><//><a/b/c=d onclick=evil()>`,
		"malformed nesting":  `<table><tr><td><form><p></table></form></div></div></body></html><script>evil()</script><body onload=evil()><html onclick=evil()>`,
		"unclosed tags":      `<p title="x><script>evil()</script>`,
		"raw text elements":  `<noscript><p title="</noscript><img src=x onerror=evil()>"></noscript><xmp><script>evil()</script></xmp><textarea><script>evil()</script></textarea><title><img src=x onerror=evil()></title><template><script>evil()</script></template><noembed><img src=x onerror=evil()></noembed>`,
		"plaintext":          `<p>a</p><plaintext><script>evil()</script>`,
		"zero bytes":         "<scr\x00ipt>evil()</scr\x00ipt><img src=x on\x00error=evil()>",
		"encoded":            `&lt;script&gt;evil()&lt;/script&gt;<p title="&lt;script&gt;evil()&lt;/script&gt;">&#60;img src=x onerror=evil()&#62;</p>`,
		"custom elements":    `<x-evil onclick=evil() is=y></x-evil><p is="x-evil" contenteditable slot=z nonce=a data-evil=b xlink:href="javascript:evil()" xml:base="javascript:">a</p>`,
	} {
		for _, syntax := range []app.Syntax{app.PlainSyntax, app.LiquidSyntax} {
			issue, err := archive.Render(queued(syntax, "S", source+"{{{FIRST_NAME|<b>}}}"))
			if err != nil {
				if syntax == app.PlainSyntax {
					t.Errorf("%s: %v", name, err)
				}
				continue // Liquid refuses values in places that it can't escape for
			}
			for _, problem := range active(issue.HTML) {
				t.Errorf("%s %q: %s in %s", name, syntax, problem, issue.HTML)
			}
		}
	}
}

// active parses HTML as the body of a page and returns what is active in it.
func active(source string) (problems []string) {
	root, err := html.ParseWithOptions(strings.NewReader("<!doctype html><html><head></head><body><div>x</div>"+source+"</body></html>"), html.ParseOptionEnableScripting(false))
	if err != nil {
		return []string{err.Error()}
	}
	const allowed = " html head body style a abbr area b bdi blockquote br center details div em font h1 h2 i img p picture source span strong table tbody td th tr u ul li summary "
	for n := range root.Descendants() {
		switch n.Type {
		case html.CommentNode:
			problems = append(problems, "a comment")
		case html.TextNode:
			if n.Parent.Data == "style" {
				problems = append(problems, activeStyle(n.Data)...)
			}
		case html.ElementNode:
			if n.Namespace != "" || !strings.Contains(allowed, " "+n.Data+" ") {
				problems = append(problems, "element "+n.Data)
			}
			for _, a := range n.Attr {
				scheme, _, _ := strings.Cut(strings.ToLower(strings.TrimLeft(a.Val, "\x00\x01 \t\r\n")), ":")
				scheme = strings.NewReplacer("\t", "", "\r", "", "\n", "").Replace(scheme)
				switch {
				case strings.HasPrefix(a.Key, "on"), strings.Contains(" ping is srcdoc action formaction contenteditable nonce slot xlink:href xml:base http-equiv download ", " "+a.Key+" "), strings.HasPrefix(a.Key, "data-"):
					problems = append(problems, "attribute "+a.Key)
				case a.Key == "style":
					problems = append(problems, activeStyle(a.Val)...)
				case a.Key == "srcset" && strings.Contains(strings.ToLower(a.Val), "script:"):
					problems = append(problems, "srcset "+a.Val)
				case a.Key == "href" && strings.Contains(" javascript vbscript data blob file ", " "+scheme+" "), (a.Key == "src" || a.Key == "background") && scheme != "https" && scheme != "http" && scheme != "data":
					problems = append(problems, a.Key+"="+a.Val)
				}
			}
		}
	}
	return problems
}

// activeStyle returns what is active, or loads styles, in CSS whose comments and escapes are removed.
func activeStyle(css string) (problems []string) {
	css = strings.ToLower(strings.NewReplacer("/**/", "", `\70`, "p", `\78`, "x").Replace(css))
	for _, word := range []string{"expression(", "javascript:", "vbscript:", "-moz-binding", "behavior:", "@import"} {
		if strings.Contains(css, word) {
			problems = append(problems, word)
		}
	}
	return problems
}
