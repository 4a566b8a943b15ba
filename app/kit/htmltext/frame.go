package htmltext

import (
	"strings"

	"golang.org/x/net/html"
)

// DisableLinkElements returns HTML in which no element asks a browser to connect somewhere before
// anything is shown: no policy of a page forbids a link that says preconnect. Elements of
// that name begin with these letters and nothing else, so that no other reading of the
// markup finds one; it has as many bytes as before.
func DisableLinkElements(source string) string {
	const link = "<link"
	var out []byte
	for at := 0; ; {
		n := strings.IndexByte(source[at:], '<')
		if n < 0 || at+n+len(link) > len(source) {
			break
		}
		if at += n; EqualASCII(source[at:at+len(link)], link) {
			if out == nil {
				out = []byte(source)
			}
			copy(out[at:], "<lynk")
		}
		at++
	}
	if out == nil {
		return source
	}
	return string(out)
}

// maxRemote is how many pictures RemoteImages tells apart.
const maxRemote = 1000

// RemoteImages returns how many pictures HTML fetches from elsewhere, each address once,
// and maxRemote of them at most.
func RemoteImages(source string) int {
	found := map[string]bool{}
	z := NewTokens(source)
	for len(found) < maxRemote {
		switch z.Next() {
		case html.ErrorToken:
			return len(found)
		case html.TextToken:
			if z.Element == "style" {
				styleImages(z.Raw(), found)
			}
		case html.StartTagToken, html.SelfClosingTagToken:
			for key, value := range z.attributes {
				imagesOf(lowerName(key), z.Name, value, found)
			}
		}
	}
	return maxRemote
}

// imagesOf notes the pictures that an attribute of a tag names.
func imagesOf(key, tag, value string, found map[string]bool) {
	switch key {
	case "src", "background", "poster":
		noteRemote(AttributeText(value), found)
	case "href", "xlink:href":
		if tag == "image" {
			noteRemote(AttributeText(value), found)
		}
	case "srcset":
		for one := range strings.SplitSeq(AttributeText(value), ",") {
			one, _, _ = strings.Cut(TrimBlanks(one), " ")
			noteRemote(one, found)
		}
	case "style":
		styleImages(AttributeText(value), found)
	}
}

// styleImages notes what style rules name in url(). It reads the rules once: the next url(
// is looked for behind the end of the last, and none once one does not end.
func styleImages(rules string, found map[string]bool) {
	const opening = "url("
	for len(found) < maxRemote {
		n := strings.IndexByte(rules, '(')
		if n < 0 {
			return
		}
		before := rules[:n+1]
		rules = rules[n+1:]
		if len(before) < len(opening) || !EqualASCII(before[len(before)-len(opening):], opening) {
			continue
		}
		address, rest, closed := strings.Cut(rules, ")")
		noteRemote(strings.Trim(TrimBlanks(address), `"'`), found)
		if !closed {
			return
		}
		rules = rest
	}
}

func noteRemote(address string, found map[string]bool) {
	address = TrimBlanks(address)
	head := strings.ToLower(address[:min(len(address), len("https://"))])
	if len(found) < maxRemote && (strings.HasPrefix(head, "http://") || strings.HasPrefix(head, "https://") || strings.HasPrefix(head, "//")) {
		found[address] = true
	}
}
