package apptest

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// htmlPieces are the pieces of generated mails.
var htmlPieces = []string{
	"word", "two words", " ", "\n", "\r\n", "\t", "&nbsp;", "&amp;", "&lt", "&copy=1", "&#8364;", "&#x41", "&#0;", "&bogus;", "&", "ü", "日本", "🎉", "\u200b", "\u00ad", "\u0085", "\xff", "\x00", "\x01", "\f",
	"<p>", "</p>", "<P CLASS=x>", "<div>", "</div>", "<DIV\n>", "<br>", "<br/>", "<hr>", "<b>", "</b>", "<span>", "</span>", "<td>", "<tr>", "<table>", "</table>", "<h1>", "</h1 >", "<ul>", "</ul>", "<ol>", "</ol>", "<li>", "</li>", "<pre>", "</pre>", "<center>",
	`<a href="https://a.test/x">`, `<a href='http://bit.ly/y'>`, `<a href=https://a.test/z>`, `<a href=https://a.test/s/>`, `<A HREF = "https://mail.example.com/?a=1&amp;b=2">`, `<a href="https://a.test/?q=1&lt=2&copy;3">`, `<a title="href" href="mailto:x@a.test">`, "<a name=x>", "<a>", "</a>", "</A\n>", `<a href="#x">`, `<a href="https://a.test/1" href="https://a.test/2">`, "<a/href=https://a.test/q>", `<a href="a"href="https://a.test/w">`, `<a href="https://mailer.test/unsubscribe/x">`, `<a href="https://a.test/` + "\r\n" + `x">`, `<area href="http://a.test/">`,
	`<img src="a.svg" alt="An &quot;image&quot;">`, "<img alt=b/>", "<img alt='c' alt='d'/>", `<img src=x alt="">`,
	`<div style="display:none">`, `<span style="DISPLAY: none">`, "<div hidden>", "<span data-skip-in-text=true>", "<table hidden>",
	"<style>p{}</style>", "<style>", "</style>", "<title>t</title>", "<title>", "</TITLE >", "<script>x<y</script>", "<script>", "</script>", "<script><!--<script>", "<textarea>a&amp;b</textarea>", "<textarea>", "</textarea/>", "<noscript>", "</noscript>", "<svg>", "</svg>", "<svg/>", "<template>", "</template>", "<xmp>", "</xmp>", "<iframe>", "</iframe>", "<object>", "</object>", "<plaintext>", "<noframes>", "</noframes>",
	"<!-- c -->", "<!--", "-->", "--!>", "<!-->", "<!--->", "<!---->", "<!doctype html>", "<!DOCTYPE", "<![if x]>", "<![endif]-->", "<![CDATA[x]]>", "<?php", "?>", "<!", "</>", "</ x>", "<>", "< p>", "<1>", "<", "</", ">", "/>", "=", `"`, "'", "<p", "<p a", "<p a=", `<p a="`, "<body>", "</body>", "<html>", "<head>", "</head>", "{{{UNSUBSCRIBE_URL}}}", "Unsubscribe", "www.bank.com", "https://a.test/x",
}

// GeneratedMail returns HTML made of pieces that are difficult to parse.
func GeneratedMail(r *rand.Rand) string {
	var b strings.Builder
	for range 1 + r.IntN(40) {
		b.WriteString(htmlPieces[r.IntN(len(htmlPieces))])
	}
	return b.String()
}

// Mails returns HTML mails of about 5 KB: written by a program, by a component library, and a
// newsletter for Outlook.
func Mails(b *testing.B) map[string]string {
	mails := map[string]string{
		"paragraphs": strings.Repeat(`<p style="margin:0">Hello <b>Ann</b>, see <a href="https://a.test/x">here</a>.</p>`+"\n", 60),
	}
	for _, name := range []string{"welcome", "newsletter"} {
		raw, err := os.ReadFile(filepath.Join("..", "apptest", "testdata", "htmltext", name+".html"))
		if err != nil {
			b.Fatal(err)
		}
		mails[name] = strings.Repeat(string(raw), 5000/len(raw)+1)
	}
	return mails
}

// HostileHTML are pieces that tokenizers and rewriters parse differently.
var HostileHTML = []string{
	`<a href="https://a.test/1">`, `<a href='https://a.test/2?a=1&amp;b=2'>`, `<a href=https://a.test/3>`, `<A HREF="HTTPS://A.TEST/4">`,
	`<a href=https://a.test/5/>`, `<area href="http://a.test/6" />`, `<a/href="https://a.test/7">`, `<a x=1 href = "https://a.test/8" y>`,
	`<a href="https://a.test/9" href="https://evil.test/">`, `<a href="mailto:x@y.z">`, `<a href="#top">`, `<a href="tel:1">`,
	`<a href="/relative">`, `<a href="javascript:alert(1)">`, `<a href="data:text/html,x">`, `<a href="https://a.test/a b">`,
	"<a href=\"https://a.test/\n\">", "<a href=\" https://a.test/10\t\">", `<a href="https://bücher.test/">`, `<a href="https://a.test/ü">`,
	`<a href="https://a.test/?x=1&copy=2">`, `<a href="https://a.test/&#10;x">`, "<a href=\"https://a.test/\x00\">", `<a href="">`, `<a href>`,
	`<a href=>`, `<a =href="https://a.test/">`, `<a href==https://a.test/>`, `<a data-href="https://a.test/">`, `<abbr href="https://a.test/">`,
	`<!-- <a href="https://a.test/c"> -->`, `<!--[if mso]><a href="https://a.test/m"><![endif]-->`, `<!-- </body> -->`, `<!-->`, `<!--`, `-->`,
	`<script>var x = '<a href="https://a.test/s">';</script>`, `<script>`, `</script>`, `<style>`, `</style>`, `<title><a href="https://a.test/t"></title>`,
	`<textarea>`, `</textarea>`, `<template><a href="https://a.test/tpl">`, `</template>`, `<noscript>`, `</noscript>`, `<plaintext>`, `<xmp>`, `</xmp>`,
	`<svg><a href="https://a.test/svg">`, `<![CDATA[`, `]]>`, `<?xml `, `</a>`, `</`, `<`, `>`, `"`, `'`, `=`, "\r\n", "\x00", "\xff", ` `, `text`,
	`</body>`, `</BODY >`, `</html>`, `<body>`, `<a href="https://a.test/unclosed`, `<a ` + strings.Repeat("x1 ", 300) + `href="https://a.test/far">`,
	`<style ` + strings.Repeat("x2 ", 300) + `>`,
}
