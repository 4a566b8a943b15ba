package htmltext

import (
	"strings"

	"golang.org/x/net/html"
)

// DisableLinkElements returns HTML in which no <link> element makes a browser connect to a host
// before anything is shown: no content security policy forbids preconnect. The element names are
// replaced by others of the same length, so that no other parsing of the markup finds a link
// element.
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

// maxRemote is the maximum number that RemoteImages counts.
const maxRemote = 1000

// RemoteImages returns the number of distinct image URLs that HTML loads from other hosts, at most
// maxRemote.
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

// imagesOf records the images that an attribute of a tag names.
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

// styleImages records the URLs in url() of style rules. It reads the rules once: the search for
// the next url( starts after the end of the last one and stops if one has no end.
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
