package erase

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"mailer/app"
	"mailer/app/kit/mailbox"
)

var erasedSet = []string{"foo@bar.com", "foo+tag@bar.com", "o'neil@bar.com", "rg@bar.com", "用户@xn--r8jz45g.jp", "jörg@xn--bcher-kva.example", "a=b@bar.com"}

func TestScrubReadsWholeAddresses(t *testing.T) {
	e := NewSet(erasedSet)
	for in, want := range map[string]string{
		"foo@bar.com":                        "[erased]",
		"FOO@Bar.Com":                        "[erased]",
		"to foo@bar.com.":                    "to [erased].",
		"foo@bar.com, foo@bar.com":           "[erased], [erased]",
		"<foo@bar.com>":                      "<[erased]>",
		"&lt;foo@bar.com&gt;":                "&lt;[erased]&gt;",
		"mailto:foo@bar.com?subject=x":       "mailto:[erased]?subject=x",
		"?email=foo@bar.com&x=1":             "?email=[erased]&x=1",
		"/u/foo@bar.com/x":                   "/u/[erased]/x",
		"?e=foo%40bar.com#x":                 "?e=[erased]#x",
		"?u=%3Fe%3Dfoo%2540bar.com":          "?u=%3Fe%3D[erased]",
		"e%3Dfoo%40bar.com":                  "e%3D[erased]",
		"foo%2Btag%40bar.com":                "[erased]",
		`{"a":"x\nfoo@bar.com\u003e"}`:       `{"a":"x\n[erased]\u003e"}`,
		`"\u003cfoo@bar.com\u003e"`:          `"\u003c[erased]\u003e"`,
		"_foo@bar.com_ **foo@bar.com**":      "_[erased]_ **[erased]**",
		"-foo@bar.com":                       "-[erased]",
		"...foo@bar.com...":                  "...[erased]...",
		"“foo@bar.com”":                      "“[erased]”",
		"联系foo@bar.com请":                     "联系[erased]请",
		"用户@例え.jp":                           "[erased]",
		"用户@xn--r8jz45g.JP":                  "[erased]",
		"联系用户@例え.jp":                         "联系[erased]",
		"JÖRG@Bücher.example":                "[erased]",
		"jo\u0308rg@bücher.example":          "[erased]",
		"o'neil@bar.com o&#39;x":             "[erased] o&#39;x",
		"a=b@bar.com":                        "[erased]",
		"x@y.z/foo@bar.com":                  "x@y.z/[erased]",
		"foo@bar.com@bar.com":                "[erased]@bar.com",
		"\xff\xfefoo@bar.com\x00":            "\xff\xfe[erased]\x00",
		"Delivered to foo@bar.com; 5.1.1 ok": "Delivered to [erased]; 5.1.1 ok",
		// Other addresses and texts are kept.
		"xfoo@bar.com":           "xfoo@bar.com",
		"x.foo@bar.com":          "x.foo@bar.com",
		"x+foo@bar.com":          "x+foo@bar.com",
		"x-foo@bar.com":          "x-foo@bar.com",
		"foo+other@bar.com":      "foo+other@bar.com",
		"foo@bar.com.au":         "foo@bar.com.au",
		"foo@bar.community":      "foo@bar.community",
		"foo@sub.bar.com":        "foo@sub.bar.com",
		"jörg@bar.com":           "jörg@bar.com",
		"foo @bar.com foo@ bar":  "foo @bar.com foo@ bar",
		"%41foo@bar.com":         "%41foo@bar.com",
		"@ @@ %40 % foo@":        "@ @@ %40 % foo@",
		"foo@baz.com @bar.com x": "foo@baz.com @bar.com x",
		"":                       "",
	} {
		if got := e.Scrub(in); got != want {
			t.Errorf("Scrub(%q) = %q, want %q", in, got, want)
		}
		if got := e.In(in); got != (in != want) {
			t.Errorf("In(%q) = %v", in, got)
		}
	}
}

func TestMaskKeepsLength(t *testing.T) {
	e := NewSet(erasedSet)
	content := []byte("%PDF\x00foo@bar.com\x00xfoo@bar.com 用户@例え.jp")
	want := "%PDF\x00xxxxxxxxxxx\x00xfoo@bar.com " + strings.Repeat("x", len("用户@例え.jp"))
	if !e.Mask(content) || string(content) != want {
		t.Errorf("%q, want %q", content, want)
	}
	if e.Mask(content) {
		t.Error("a second time it finds something")
	}
}

func TestScrubList(t *testing.T) {
	e := NewSet(erasedSet)
	for in, want := range map[string]string{
		`[{"name":"Foo Bar","local":"FOO","domain":"bar.com"},{"name":"Eve","local":"eve","domain":"bar.com"}]`: `[{"local":"[erased]","domain":""},{"name":"Eve","local":"eve","domain":"bar.com"}]`,
		`[{"local":"[erased]","domain":""}]`:                           `[{"local":"[erased]","domain":""}]`,
		`[{"name":"for foo@bar.com","local":"eve","domain":"y.test"}]`: `[{"name":"for [erased]","local":"eve","domain":"y.test"}]`,
		`[{"local":"xfoo","domain":"bar.com"}]`:                        `[{"local":"xfoo","domain":"bar.com"}]`,
		`[{"local":"foo","domain":"bar.com"}`:                          `[{"local":"foo","domain":"bar.com"}`, // damaged
		`[]`:                                                           `[]`, ``: ``,
	} {
		if got := e.ScrubList(in); got != want {
			t.Errorf("%s\n%s, want\n%s", in, got, want)
		}
	}
	if _, err := app.ParseAddress(app.Erased); err == nil {
		t.Error("the mark can be given as an address")
	}
}

func TestScrubJSONKeepsShape(t *testing.T) {
	e := NewSet(erasedSet)
	for in, want := range map[string]string{
		`{"type":"contact.updated","data":{"id":"1","email":"Foo@bar.com","n":1.50,"first_name":"Foo","last_name":"Bar","x":[true,null,"foo\u0040bar.com"]}}`: `{"type":"contact.updated","data":{"id":"1","email":"[erased]","n":1.50,"first_name":null,"last_name":null,"x":[true,null,"[erased]"]}}`,
		`["foo@bar.com","x@bar.com"]`:                                                          `["[erased]","x@bar.com"]`,
		`{"email":"x@bar.com","first_name":"X"}`:                                               `{"email":"x@bar.com","first_name":"X"}`,
		`{ "message" : "no foo@bar.com here", "code": 550}`:                                    `{"message":"no [erased] here","code":550}`,
		`{"to":["Foo Bar <foo@bar.com>","X <x@bar.com>"],"from":"\"Bar, Foo\" <FOO@bar.com>"}`: `{"to":["[erased]","X <x@bar.com>"],"from":"[erased]"}`,
		`{"x":["foo@bar.com"],"email":"x@bar.com","first_name":"X"}`:                           `{"x":["[erased]"],"email":"x@bar.com","first_name":"X"}`,
		`null`: `null`, `"foo@bar.com"`: `"[erased]"`, `["` + `foo@bar.com","\u0040\u00e9"]`: `["[erased]","@é"]`,
		`{"@`: `{"@`, `{"a":"foo@bar.com"`: `{"a":"[erased]"`, `{"a":"foo@bar.com"} x`: `{"a":"[erased]"} x`, // damaged
	} {
		if got := e.ScrubJSON(in); got != want {
			t.Errorf("%s, want\n%s", got, want)
		}
	}
}

func TestScrubJSONInMembers(t *testing.T) {
	e := NewSet(erasedSet)
	for in, want := range map[string]string{
		`{"from":"Foo <foo@bar.com>","html":"foo@bar.com","to":[{"html":"foo@bar.com"}]}`: `{"from":"[erased]","html":"foo@bar.com","to":[{"html":"[erased]"}]}`,
		`["foo@bar.com"]`: `["foo@bar.com"]`, `"foo@bar.com"`: `"foo@bar.com"`,
		`{"html":{"from":"foo@bar.com"}}`: `{"html":{"from":"foo@bar.com"}}`,
	} {
		if got := e.ScrubJSON(in, "from", "to"); got != want {
			t.Errorf("%s, want\n%s", got, want)
		}
	}
}

// occursIn is a simple implementation of what Scrub must remove: the address without an address
// character before it or a domain character after it.
func occursIn(text, address string) bool {
	lower := strings.ToLower(text)
	for from := 0; ; {
		at := strings.Index(lower[from:], address)
		if at < 0 {
			return false
		}
		at += from
		from = at + 1
		before, _ := utf8.DecodeLastRuneInString(lower[:at])
		after, _ := utf8.DecodeRuneInString(lower[at+len(address):])
		if at > 0 && (mailbox.IsAtext(before) || before == '.') {
			continue
		}
		if after == '.' || after == '-' || isDomainRune(after) {
			continue
		}
		return true
	}
}

func FuzzScrub(f *testing.F) {
	for _, text := range []string{"foo@bar.com", "<Foo@BAR.com>", "x=foo%40bar.com&y", "a foo@bar.com.au", "用户@例え.jp", "foo@bar.com@bar.com",
		"联系foo@bar.com请foo@bar.com", "%2540bar.com", "-_foo@bar.com", "=3Dfoo@bar.com.."} {
		f.Add(text)
	}
	e := NewSet(erasedSet)
	f.Fuzz(func(t *testing.T, text string) {
		out := e.Scrub(text)
		if again := e.Scrub(out); again != out {
			t.Errorf("%q became %q, then %q", text, out, again)
		}
		for _, address := range erasedSet {
			if occursIn(out, address) {
				t.Errorf("%q became %q, which holds %s", text, out, address)
			}
		}
		if !strings.ContainsFunc(text, unicode.IsControl) && !strings.Contains(strings.ToLower(text), "bar.com") && app.IsASCII(text) && !strings.Contains(strings.ToLower(text), "xn--") && out != text {
			t.Errorf("%q became %q", text, out)
		}
		if rest := strings.Split(out, app.Erased); !strings.Contains(text, app.Erased) && !inOrder(text, rest) {
			t.Errorf("%q became %q: other text changed", text, out)
		}
		masked := []byte(text)
		if e.Mask(masked) != (out != text) || len(masked) != len(text) || out == text && !bytes.Equal(masked, []byte(text)) {
			t.Errorf("%q is masked as %q", text, masked)
		}
	})
}

// inOrder reports whether the parts occur in text in order, the first at its beginning and the
// last at its end.
func inOrder(text string, parts []string) bool {
	if !strings.HasPrefix(text, parts[0]) || !strings.HasSuffix(text, parts[len(parts)-1]) {
		return false
	}
	for _, part := range slices.Clone(parts) {
		at := strings.Index(text, part)
		if at < 0 {
			return false
		}
		text = text[at+len(part):]
	}
	return true
}

func FuzzScrubJSON(f *testing.F) {
	for _, text := range []string{`{"email":"foo@bar.com","first_name":"F","a":["x",{"b":1.50}]}`, `"foo@bar.com"`, `["Foo <foo@bar.com>"]`, `{"a":"foo@bar.com"`, `{"@":1}{}`, `[]]@`} {
		f.Add(text)
	}
	e := NewSet(erasedSet)
	f.Fuzz(func(t *testing.T, text string) {
		for _, members := range [][]string{nil, {"a"}} {
			out := e.ScrubJSON(text, members...)
			if again := e.ScrubJSON(out, members...); again != out {
				t.Errorf("%q became %q, then %q", text, out, again)
			}
			if jsontext.Value(text).IsValid() && !jsontext.Value(out).IsValid() {
				t.Errorf("%q became %q", text, out)
			}
		}
	})
}
