package tracking

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	nethtml "golang.org/x/net/html"

	"mailer/app"
	"mailer/app/kit/htmltext"
	"mailer/app/testing/apptest"
)

func rewriteLinks(source string, wrap func(target string) string) string {
	scanned := Scan(source)
	return scanned.Rewrite(source, wrap, "")
}

// tokensOf tokenizes HTML and returns link targets separately.
func tokensOf(source string) (tokens, targets []string) {
	z := nethtml.NewTokenizer(strings.NewReader(source))
	for {
		kind := z.Next()
		if kind == nethtml.ErrorToken {
			return tokens, targets
		}
		t := z.Token()
		if kind == nethtml.SelfClosingTagToken {
			t.Type = nethtml.StartTagToken // an unquoted value that ends in a slash loses it
		}
		if t.Data == "a" || t.Data == "area" {
			for i := range t.Attr {
				if t.Attr[i].Key == "href" {
					targets = append(targets, t.Attr[i].Val)
					t.Attr[i].Val = ""
					break
				}
			}
		}
		tokens = append(tokens, t.Type.String()+t.String())
	}
}

// checkRewriting checks the guarantees of Rewrite.
func checkRewriting(t *testing.T, source string) {
	t.Helper()
	if got := rewriteLinks(source, func(target string) string { return target }); got != source {
		t.Fatalf("rewriting nothing makes %q of %q", got, source)
	}
	var seen []string
	const mark = "https://t.test/?a&b="
	got := rewriteLinks(source, func(target string) string {
		if !Trackable(target) {
			t.Errorf("%q is wrapped", target)
		}
		seen = append(seen, target)
		return mark + target
	})
	before, targets := tokensOf(source)
	after, wrapped := tokensOf(got)
	if !slices.Equal(before, after) || len(targets) != len(wrapped) {
		t.Fatalf("%q became %q:\n%q\n%q", source, got, before, after)
	}
	n := 0
	for i := range targets {
		switch {
		case targets[i] == wrapped[i]:
		case n < len(seen) && wrapped[i] == mark+seen[n] && htmltext.NormalizeLink(targets[i]) == seen[n]:
			n++
		default:
			t.Fatalf("the link to %q became %q in %q", targets[i], wrapped[i], source)
		}
	}
	if n != len(seen) {
		t.Fatalf("%d of %d wrapped links are in %q", n, len(seen), got)
	}
	rest, cut := got, 0
	for _, link := range Scan(source).Links { // bytes around the values
		from, size := link.From-cut, len(source[cut:link.From])
		if from < 0 || rest[:size] != source[cut:link.From] {
			t.Fatalf("the bytes before %q changed in %q", link.Target, got)
		}
		rest, cut = rest[size:], link.To
		i := strings.Index(rest, "https://t.test/")
		end := i + len(nethtml.EscapeString(mark+link.Target))
		if link.Bare {
			end++
		}
		rest = rest[end:]
	}
	if rest != source[cut:] {
		t.Fatalf("the bytes after the last link are %q, not %q", rest, source[cut:])
	}
}

func TestRewriteChangesTargetsOnly(t *testing.T) {
	for _, piece := range apptest.HostileHTML {
		checkRewriting(t, piece)
		checkRewriting(t, `<p>`+piece+`</p><a href="https://a.test/last">x</a>`)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		var b strings.Builder
		for range rng.IntN(12) {
			b.WriteString(apptest.HostileHTML[rng.IntN(len(apptest.HostileHTML))])
		}
		checkRewriting(t, b.String())
	}
}

func FuzzRewriteLinks(f *testing.F) {
	for _, piece := range apptest.HostileHTML {
		f.Add(piece)
	}
	f.Add(strings.Join(apptest.HostileHTML, ""))
	f.Fuzz(func(t *testing.T, source string) { checkRewriting(t, source) })
}

func TestTrackableLinks(t *testing.T) {
	long := "https://a.test/" + strings.Repeat("x", MaxTarget-15)
	for _, c := range []struct{ html, target string }{
		{`<a href="https://a.test/1">`, "https://a.test/1"},
		{`<a href='http://a.test/?a=1&amp;b=2'>`, "http://a.test/?a=1&b=2"},
		{`<a class=x href=https://a.test/3/>`, "https://a.test/3/"},
		{`<A HREF="HTTPS://A.TEST/4">`, "HTTPS://A.TEST/4"},
		{`<area shape=rect href="https://a.test/5"/>`, "https://a.test/5"},
		{`<a href="https://a.test/6" href="https://b.test/">`, "https://a.test/6"},
		{`<a href="https://a.test/?x=1&copy=2">`, "https://a.test/?x=1&copy=2"}, // not an entity in an attribute
		{"<a href=\"\n https://a.test/7 \">", "https://a.test/7"},
		{`<a href="https://a.test/ü">`, "https://a.test/ü"},
		{`<a href="` + long + `">`, long},
		{`<template></template><a href="https://a.test/8">`, "https://a.test/8"},
		{`<style ` + strings.Repeat("x ", 300) + `></style><a href="https://a.test/9">`, "https://a.test/9"},
		{`<a href="https://a.test/?q=%20{{x}}">`, "https://a.test/?q=%20{{x}}"},
		{`<a = href="https://a.test/10">`, "https://a.test/10"},
		{`<a href="` + long + `x">`, ""},
		{`<a href="mailto:a@b.test">`, ""}, {`<a href="tel:+123">`, ""}, {`<a href="#x">`, ""}, {`<a href="/x">`, ""}, {`<a href="x">`, ""},
		{`<a href="//a.test/">`, ""}, {`<a href="https:a.test">`, ""}, {`<a href="https://">`, ""}, {`<a href="https:///x">`, ""}, {`<a href="https://?x">`, ""},
		{`<a href="javascript:1">`, ""}, {`<a href="data:,x">`, ""}, {`<a href="https://a.test/a b">`, "https://a.test/a%20b"}, {`<a href="https://a.test/&#9;">`, "https://a.test/"},
		{`<a href="https://a.test/&#9;b">`, "https://a.test/b"}, {`<a href="https://a.test/&#1;b">`, "https://a.test/%01b"}, {`<a href="https://a.test/&nbsp;b">`, "https://a.test/%C2%A0b"},
		{"<a href=\"https://a.test\n/x\r\n?q=a b\">", "https://a.test/x?q=a%20b"}, {"<a href=\"ht\ntps://a.test/x\">", "https://a.test/x"}, {"<a href=\"&#1;https://a.test/x\">", "https://a.test/x"},
		{`<a href="https://a .test/x">`, ""}, {`<a href="https:// a.test/x">`, ""},
		{`<a href="https://bücher.test/">`, ""}, {`<a href="https://b&uuml;cher.test/">`, ""}, {"<a href=\"https://a.test/\x00\">", ""},
		{`<a href="x" href="https://a.test/">`, ""}, {`<link href="https://a.test/">`, ""}, {`<img src="https://a.test/">`, ""}, {`<a src="https://a.test/">`, ""},
		{`<!-- <a href="https://a.test/"> -->`, ""}, {`<!--[if mso]><a href="https://a.test/"><![endif]-->`, ""},
		{`<script><a href="https://a.test/"></script>`, ""}, {`<style><a href="https://a.test/"></style>`, ""}, {`<title><a href="https://a.test/"></title>`, ""},
		{`<textarea><a href="https://a.test/"></textarea>`, ""}, {`<template><a href="https://a.test/"></template>`, ""}, {`<a href="https://a.test/`, ""},
	} {
		var got []string
		rewriteLinks(c.html, func(target string) string {
			got = append(got, target)
			return target
		})
		if strings.Join(got, " ") != c.target {
			t.Errorf("%s: wrapped %q, want %q", c.html, got, c.target)
		}
	}
}

func TestRewrittenValuesAreEscaped(t *testing.T) {
	got := rewriteLinks(`<a href=https://a.test/>x</a><a class="y" href='https://b.test/' id=z>`, func(target string) string { return target + `"'&<>` })
	want := `<a href="https://a.test/&#34;&#39;&amp;&lt;&gt;">x</a><a class="y" href='https://b.test/&#34;&#39;&amp;&lt;&gt;' id=z>`
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestLinkLimit(t *testing.T) {
	n := 0
	rewriteLinks(strings.Repeat(`<a href="https://a.test/">`, MaxLinks+5), func(target string) string {
		n++
		return "x"
	})
	if n != MaxLinks {
		t.Errorf("%d links are wrapped", n)
	}
}

func TestPixelPosition(t *testing.T) {
	for source, want := range map[string]string{
		`<html><body>x</body></html>`:                     `<html><body>xPIXEL</body></html>`,
		`<body>x</BODY ></html>`:                          `<body>xPIXEL</BODY ></html>`,
		`x</body>y</body>z`:                               `x</body>yPIXEL</body>z`,
		`x</body><!-- </body> -->`:                        `xPIXEL</body><!-- </body> -->`,
		`x<script>"</body>"</script>`:                     `x<script>"</body>"</script>PIXEL`,
		`<p>x</p>`:                                        `<p>x</p>PIXEL`,
		`</body><a href="https://a.test/">`:               `PIXEL</body><a href="W">`,
		`<a href="https://a.test/"></body><area href=/x>`: `<a href="W">PIXEL</body><area href=/x>`,
	} {
		scanned := Scan(source)
		if got := scanned.Rewrite(source, func(string) string { return "W" }, "PIXEL"); got != want {
			t.Errorf("%s: %s", source, got)
		}
	}
}

func TestLocation(t *testing.T) {
	for target, want := range map[string]string{
		"https://a.test/a?b=c&d=%20#e":   "https://a.test/a?b=c&d=%20#e",
		"https://a.test/ü?q=日#ß":         "https://a.test/%C3%BC?q=%E6%97%A5#%C3%9F",
		`http://a.test/<x>"{y}|\^` + "`": `http://a.test/<x>"{y}|\^` + "`",
		"https://a.test/../x//y/./?":     "https://a.test/../x//y/./?",
	} {
		if got := Location(target); got != want {
			t.Errorf("%s: %s", target, got)
		}
	}
}

// newsletter returns a typical mail of about 100 KB with 200 links.
func newsletter() string {
	row := `<tr><td style="font-family:Arial,sans-serif;font-size:14px;line-height:20px;color:#333333;padding:0 24px 16px">` + strings.Repeat("Lorem ipsum dolor sit amet ", 10) +
		`<a class="button" style="color:#0066cc;text-decoration:underline" href="https://shop.example.com/products/%d?utm_source=mail&amp;utm_campaign=spring">Buy it</a></td></tr>` + "\n"
	var b strings.Builder
	b.WriteString("<!DOCTYPE html><html><head><style>td{color:red}</style></head><body><table>\n")
	for i := range 200 {
		fmt.Fprintf(&b, row, i)
	}
	b.WriteString("</table></body></html>\n")
	return b.String()
}

func BenchmarkRewriteLinks(b *testing.B) {
	source := newsletter()
	b.SetBytes(int64(len(source)))
	b.ReportAllocs()
	for b.Loop() {
		rewriteLinks(source, func(string) string { return "https://links.example.com/t/c/abc" })
	}
}

func BenchmarkTrack(b *testing.B) {
	s := apptest.Sealer(b, 0)
	m := &app.Mail{HTML: newsletter()}
	id, t := app.NewID(), &app.Tracking{Base: "https://links.example.com", Open: true, Click: true}
	b.SetBytes(int64(len(m.HTML)))
	b.ReportAllocs()
	for b.Loop() {
		Track(s, m, trackedTeam, id, t)
	}
}

func TestAmbiguousTargetIsNotTracked(t *testing.T) {
	for target, want := range map[string]bool{
		`http://a\@evil.test`: false, `https://a.test\.evil.test/`: false, `https://a.test/x\y`: false, `https://a.test/?q=\`: false,
		"https://a@evil.test/": false, "https://a.test:x@evil.test/": false, "https://a%40evil.test/": true, "https://a.test/@evil": true,
		"https://a.test?to=b@c.test": true, "https://a.test#@b": true, "https://a.test/\x01": false, "https://a.test/\u0085": false, "https://a.test/ b": false,
		"https:///evil.test": false, "https:/\\evil.test": false,
	} {
		if got := Trackable(target); got != want {
			t.Errorf("%q is tracked: %v", target, got)
		}
	}
}
