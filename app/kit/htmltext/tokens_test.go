package htmltext_test

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"mailer/app"
	"mailer/app/kit/htmltext"
	"mailer/app/testing/apptest"
)

// sameTokens compares Tokens with html.Tokenizer.
func sameTokens(t *testing.T, source string) {
	t.Helper()
	want, got := html.NewTokenizer(strings.NewReader(source)), htmltext.NewTokens(source)
	for at := 0; ; at = got.At {
		kind := want.Next()
		if got.Next() != kind || got.Begin != at {
			t.Fatalf("%q: %v %q, want %v %q", source, got.Kind(), got.Raw(), kind, want.Raw())
		}
		switch kind {
		case html.ErrorToken:
			if got.At != len(source) || got.Next() != html.ErrorToken {
				t.Fatalf("%q: ends at %d", source, got.At)
			}
			return
		case html.StartTagToken, html.SelfClosingTagToken, html.EndTagToken:
			sameTag(t, source, want, &got)
		case html.TextToken:
			raw := string(want.Raw())
			if text := string(want.Text()); got.Raw() != raw || got.Text() != text {
				t.Fatalf("%q: %q means %q, want %q", source, got.Raw(), got.Text(), text)
			}
		default:
			if got.Raw() != string(want.Raw()) {
				t.Fatalf("%q: %v %q, want %q", source, kind, got.Raw(), want.Raw())
			}
		}
	}
}

func sameTag(t *testing.T, source string, want *html.Tokenizer, got *htmltext.Tokens) {
	t.Helper()
	if raw := string(want.Raw()); got.Raw() != raw {
		t.Fatalf("%q: %v %q, want %q", source, got.Kind(), got.Raw(), raw)
	}
	name, more := want.TagName()
	if got.Name != string(name) {
		t.Fatalf("%q: %q is of %q, want %q", source, got.Raw(), got.Name, name)
	}
	if got.Kind() == html.EndTagToken {
		return
	}
	var pairs, wanted []string
	for more {
		var key, value []byte
		key, value, more = want.TagAttr()
		wanted = append(wanted, string(key), string(value))
	}
	seen := map[string]bool{}
	for key, value := range got.Attributes {
		if key = htmltext.LowerASCII(key); !seen[key] {
			seen[key] = true
			pairs = append(pairs, htmltext.VisibleNUL(key), htmltext.AttributeText(value))
		}
	}
	if !slices.Equal(pairs, wanted) {
		t.Fatalf("%q: %q has %q, want %q", source, got.Raw(), pairs, wanted)
	}
	if len(wanted) > 0 && app.IsASCII(wanted[0]) {
		if value, ok := got.Value(strings.ToUpper(wanted[0])); !ok || value != wanted[1] {
			t.Fatalf("%q: %q of %q is %q, want %q", source, wanted[0], got.Raw(), value, wanted[1])
		}
	}
}

// tokenEdges are edge cases of the rules.
var tokenEdges = []string{
	"<!-->x-->", "<!--->x-->", "<!---->x", "<!----!>x", "<!--a--!>x", "<!--a--!-->x", "<!--a--!x-->y", "<!--a-- -->x", "<!--!>x-->", "<!--->", "<!--a-", "<!--a--", "<!--a--!", "<!--!-->", "<!---!>-->", "<!----!!>-->x",
	"<!", "<!>", "<!-", "<!->x", "<!d", "<!doctype", "<!DOCTYPEhtml>x", "<!doctype >", "<![CDATA[a>b]]>", "<?", "<?>x", "<??a>x",
	"<", "</", "</>", "</ a>b", "</1>", "</a", "</a >", "</a/>", "</a b='>'>c", "<a", "<a ", "<a b", "<a b=", "<a b='", "<a b=c", "<1", "<<a>", "a<", "a</", "a<b", "<é>",
	"<a/>", "<a />", "<a b/>", "<a b=/>", "<a b=c/>", "<a b=c />", "<a b='c'/>", "<a b=c b=d/>", "<a b=c B=d/>", "<a b=c/ b=d/>", "<a =/>", "<a ==b/>", "<a b=c/d=e/>", "<a / b>", "<a b = c>", "<a b\n=\t'c'd=e>", "<a b'c>", "<a b=\"c\"d>", "<a\fb>", "<a\vb>", "<A\x00B C\x00=\x00>",
	"<title>a&amp;<b></TITLE >c", "<title></title>", "<title/>a</title>", "<title>a</titlex></title", "<style><</style>", "<style>&amp;\x00</style/>", "<xmp></xmp\f>", "<textarea>\r\n&lt;\x00</textarea>", "<plaintext>a</plaintext>", "<plaintext>", "<noscript><p></noscript>", "<iframe", "<STYLE a=b/>x",
	"<script>a</script>b", "<script><!--</script>b", "<script><!-- <script> </script> --></script>b", "<script><!--<script></script></script>b", "<script><!--<SCRIPT/</script/--></script >b", "<script>--><!--</script><script>", "<script><!-- --><script></script>b", "<script><!--<scriptx></script>b", "<script><script></script>b", "<script></script>", "<script><!--<script>",
	"&", "&amp", "&amp;amp;", "&notit;", "&notin;", "&#", "&#x", "&#x;", "&#65", "&#65a", "&#x41;b", "&#0;", "&#128;", "&#xD800;", "&#x110000;", "&#99999999999;", "&fjlig;", "&semi;", "&;", "&bogus;", "&lt=", "&ltx", "&NotEqualTilde;", "a\rb\r\nc\n\r", "\x00", "\xff<\xff>",
}

func TestTokensEqualReferenceTokenizer(t *testing.T) {
	for _, s := range tokenEdges {
		sameTokens(t, s)
		sameTokens(t, s+`<p a="&amp;x">y`)
		sameTokens(t, "<p b='"+s+`'>`)
		sameTokens(t, "<p b="+s)
		sameTokens(t, "<p b="+s+">")
	}
	paths, err := filepath.Glob("../../testing/apptest/testdata/htmltext/*.html")
	if err != nil || len(paths) == 0 {
		t.Fatalf("%d mails, %v", len(paths), err)
	}
	for _, path := range paths {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i < len(raw); i += 7 { // truncated anywhere
			sameTokens(t, string(raw[i:]))
			sameTokens(t, string(raw[:i]))
		}
	}
	r := rand.New(rand.NewPCG(2, 9))
	for range 20_000 {
		sameTokens(t, apptest.GeneratedMail(r))
	}
}

func FuzzHTMLTokens(f *testing.F) {
	for _, s := range tokenEdges {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		sameTokens(t, s)
		sameTokens(t, "<p b='"+s+"'>")
	})
}
