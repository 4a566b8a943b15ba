package app

import (
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write what is read of the mails in testdata/htmltext anew")

// golden compares with a file of testdata/htmltext.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", "htmltext", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want, lines := strings.Split(string(raw), "\n"), strings.Split(got, "\n")
	if len(lines) != len(want) {
		t.Errorf("%s: %d lines, want %d", name, len(lines), len(want))
	}
	for i := range min(len(lines), len(want)) {
		if lines[i] != want[i] {
			t.Errorf("%s, line %d:\n got %q\nwant %q", name, i+1, lines[i], want[i])
			return
		}
	}
}

// readings is all that is made of the HTML of a mail: its text, what is found in
// it, and how its links are rewritten.
func readings(source string) (text, found, links string) {
	m := &Mail{From: Address{Local: "ann", Domain: "mail.example.com"}, Subject: "Hi", HTML: source, Text: "Hi"}
	links = RewriteLinks(source, func(target string) string { return "https://t.test/?" + target })
	return TextFromHTML(source), strings.Join(InspectMail(m, false, "https://mailer.test").Found, " "), links
}

// What is read of HTML was frozen when everything was read by x/net's tokenizer
// alone: whatever reads it now must read the same.
func TestWhatIsReadOfMailsStaysTheSame(t *testing.T) {
	paths, err := filepath.Glob("testdata/htmltext/*.html")
	if err != nil || len(paths) < 10 {
		t.Fatalf("%d mails, %v", len(paths), err)
	}
	var found strings.Builder
	for _, path := range paths {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimSuffix(filepath.Base(path), ".html")
		text, penalties, links := readings(string(raw))
		golden(t, name+".text", text)
		golden(t, name+".links", links)
		found.WriteString(name + ": " + penalties + "\n")
	}
	golden(t, "found", found.String())
}

// htmlPieces are what generated mails are put together of.
var htmlPieces = []string{
	"word", "two words", " ", "\n", "\r\n", "\t", "&nbsp;", "&amp;", "&lt", "&copy=1", "&#8364;", "&#x41", "&#0;", "&bogus;", "&", "ü", "日本", "🎉", "\u200b", "\u00ad", "\u0085", "\xff", "\x00", "\x01", "\f",
	"<p>", "</p>", "<P CLASS=x>", "<div>", "</div>", "<DIV\n>", "<br>", "<br/>", "<hr>", "<b>", "</b>", "<span>", "</span>", "<td>", "<tr>", "<table>", "</table>", "<h1>", "</h1 >", "<ul>", "</ul>", "<ol>", "</ol>", "<li>", "</li>", "<pre>", "</pre>", "<center>",
	`<a href="https://a.test/x">`, `<a href='http://bit.ly/y'>`, `<a href=https://a.test/z>`, `<a href=https://a.test/s/>`, `<A HREF = "https://mail.example.com/?a=1&amp;b=2">`, `<a href="https://a.test/?q=1&lt=2&copy;3">`, `<a title="href" href="mailto:x@a.test">`, "<a name=x>", "<a>", "</a>", "</A\n>", `<a href="#x">`, `<a href="https://a.test/1" href="https://a.test/2">`, "<a/href=https://a.test/q>", `<a href="a"href="https://a.test/w">`, `<a href="https://mailer.test/unsubscribe/x">`, `<a href="https://a.test/` + "\r\n" + `x">`, `<area href="http://a.test/">`,
	`<img src="a.svg" alt="An &quot;image&quot;">`, "<img alt=b/>", "<img alt='c' alt='d'/>", `<img src=x alt="">`,
	`<div style="display:none">`, `<span style="DISPLAY: none">`, "<div hidden>", "<span data-skip-in-text=true>", "<table hidden>",
	"<style>p{}</style>", "<style>", "</style>", "<title>t</title>", "<title>", "</TITLE >", "<script>x<y</script>", "<script>", "</script>", "<script><!--<script>", "<textarea>a&amp;b</textarea>", "<textarea>", "</textarea/>", "<noscript>", "</noscript>", "<svg>", "</svg>", "<svg/>", "<template>", "</template>", "<xmp>", "</xmp>", "<iframe>", "</iframe>", "<object>", "</object>", "<plaintext>", "<noframes>", "</noframes>",
	"<!-- c -->", "<!--", "-->", "--!>", "<!-->", "<!--->", "<!---->", "<!doctype html>", "<!DOCTYPE", "<![if x]>", "<![endif]-->", "<![CDATA[x]]>", "<?php", "?>", "<!", "</>", "</ x>", "<>", "< p>", "<1>", "<", "</", ">", "/>", "=", `"`, "'", "<p", "<p a", "<p a=", `<p a="`, "<body>", "</body>", "<html>", "<head>", "</head>", "{{{UNSUBSCRIBE_URL}}}", "Unsubscribe", "www.bank.com", "https://a.test/x",
}

func generatedMail(r *rand.Rand) string {
	var b strings.Builder
	for range 1 + r.IntN(40) {
		b.WriteString(htmlPieces[r.IntN(len(htmlPieces))])
	}
	return b.String()
}

func TestWhatIsReadOfGeneratedMailsStaysTheSame(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 2026))
	short := func(s string) string {
		sum := sha256.Sum256([]byte(s))
		return hex.EncodeToString(sum[:4])
	}
	var sums strings.Builder
	for range 2000 {
		source := generatedMail(r)
		text, found, links := readings(source)
		sums.WriteString(short(source) + " " + short(text+"\x00"+found+"\x00"+links) + "\n")
	}
	golden(t, "generated.sums", sums.String())
}

// benchMails are about 5 KB of HTML each: of a program that writes paragraphs, of
// a library of components, and of a newsletter as Outlook wants it.
func benchMails(b *testing.B) map[string]string {
	mails := map[string]string{
		"paragraphs": strings.Repeat(`<p style="margin:0">Hello <b>Ann</b>, see <a href="https://a.test/x">here</a>.</p>`+"\n", 60),
	}
	for _, name := range []string{"welcome", "newsletter"} {
		raw, err := os.ReadFile(filepath.Join("testdata", "htmltext", name+".html"))
		if err != nil {
			b.Fatal(err)
		}
		mails[name] = strings.Repeat(string(raw), 5000/len(raw)+1)
	}
	return mails
}
