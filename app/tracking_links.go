package app

import (
	"html"
	"strings"
	"unicode"
	"unicode/utf8"

	nethtml "golang.org/x/net/html"
)

const (
	// MaxTrackedTarget is the longest target of a tracked link, in bytes: the
	// link to it is a third longer, and browsers and proxies have their limits.
	MaxTrackedTarget = 2000
	// MaxTrackedLinks is how many links of one email are tracked, the first ones:
	// a message must not outgrow what was accepted.
	MaxTrackedLinks = 1000
)

// linkValue is the href of a link in an HTML text.
type linkValue struct {
	from, to int    // of the value, without its quotes
	bare     bool   // it has none
	target   string // what it stands for
}

// htmlPlaces are the places of an HTML text that tracking changes.
type htmlPlaces struct {
	links []linkValue // to targets that can be tracked, at most MaxTrackedLinks
	end   int         // of the body: before its last end tag, or the end of the text

	trackable func(target string) bool
}

// RewriteLinks gives the html with each link to an absolute http or https
// address replaced by what wrap makes of that address, entities resolved. Where
// wrap gives the address back nothing changes, and no byte outside of the
// replaced values ever does. Links in comments, scripts, styles, templates and
// other text that is not shown are left alone; so are targets that Trackable
// refuses and all links after MaxTrackedLinks. It takes linear time.
func RewriteLinks(source string, wrap func(target string) string) string {
	places := scanHTML(source)
	return places.rewrite(source, wrap, "")
}

// rewrite puts wrapped targets and the pixel in their places.
func (p *htmlPlaces) rewrite(source string, wrap func(target string) string, pixel string) string {
	var b strings.Builder
	b.Grow(len(source) + len(source)/2 + len(pixel))
	done := 0
	upTo := func(at int) {
		b.WriteString(source[done:at])
		done = at
	}
	insert := func() {
		upTo(p.end)
		b.WriteString(pixel)
	}
	inserted := false
	for _, link := range p.links {
		if !inserted && link.from > p.end {
			insert()
			inserted = true
		}
		wrapped := wrap(link.target)
		if wrapped == link.target {
			continue
		}
		upTo(link.from)
		value := html.EscapeString(wrapped)
		if link.bare {
			value = `"` + value + `"`
		}
		b.WriteString(value)
		done = link.to
	}
	if !inserted {
		insert()
	}
	upTo(len(source))
	return b.String()
}

// scanHTML finds the places of an HTML text.
func scanHTML(source string) htmlPlaces { return scanLinks(source, Trackable) }

// scanLinks is scanHTML with links to whatever trackable says.
func scanLinks(source string, trackable func(target string) bool) htmlPlaces {
	p := htmlPlaces{end: len(source), trackable: trackable}
	z := newHTMLTokens(source)
	templates := 0
	for {
		switch z.Next() {
		case nethtml.ErrorToken: // the end: a string has no other error
			return p
		case nethtml.StartTagToken, nethtml.SelfClosingTagToken:
			if z.name == "template" {
				templates++
			}
			if templates == 0 && (z.name == "a" || z.name == "area") {
				p.link(&z)
			}
		case nethtml.EndTagToken:
			switch {
			case z.name == "template":
				templates = max(0, templates-1)
			case z.name == "body" && templates == 0:
				p.end = z.begin
			}
		}
	}
}

// link notes the link of the start tag that was read.
func (p *htmlPlaces) link(z *htmlTokens) {
	if len(p.links) >= MaxTrackedLinks {
		return
	}
	from, to, bare, ok := hrefValue(z.source[:z.at], z.attr)
	if !ok || strings.IndexByte(z.source[from:to], 0) >= 0 {
		return
	}
	target := trimBlanks(attributeText(z.source[from:to]))
	if p.trackable(target) {
		p.links = append(p.links, linkValue{from, to, bare, target})
	}
}

// hrefValue finds the value of the first href of a start tag, from the end of
// the tag's name on (WHATWG HTML 13.2.5.32 to 13.2.5.40).
func hrefValue(tag string, at int) (from, to int, bare, ok bool) {
	for {
		at = skipBlanks(tag, at)
		if at >= len(tag) || tag[at] == '>' {
			return 0, 0, false, false
		}
		key := attributeKey(tag[at:])
		at = skipBlanks(tag, at+len(key))
		from, to, bare, at = attributeValue(tag, at)
		if equalASCII(key, "href") {
			return from, to, bare, true
		}
	}
}

// Trackable tells whether a link may be led through this server: it has an
// absolute http or https target of at most MaxTrackedTarget bytes with an ASCII
// host, and nothing in it that a browser would drop or escape beyond what
// LocationOf does.
func Trackable(target string) bool {
	if len(target) > MaxTrackedTarget || !utf8.ValidString(target) {
		return false
	}
	rest, ok := cutScheme(target)
	if !ok {
		return false
	}
	host := rest
	if i := strings.IndexAny(rest, `/?#\`); i >= 0 {
		host = rest[:i]
	}
	if host == "" || strings.ContainsFunc(host, func(r rune) bool { return r >= utf8.RuneSelf }) {
		return false
	}
	return !strings.ContainsFunc(target, func(r rune) bool { return unicode.IsControl(r) || unicode.IsSpace(r) })
}

// cutScheme gives what follows http:// or https://.
func cutScheme(target string) (rest string, ok bool) {
	for _, scheme := range []string{"https://", "http://"} {
		if len(target) >= len(scheme) && strings.EqualFold(target[:len(scheme)], scheme) {
			return target[len(scheme):], true
		}
	}
	return "", false
}

// LocationOf is a target as the value of a Location header: what is not ASCII
// percent-encoded as UTF-8, as browsers do (WHATWG URL), nothing else changed.
func LocationOf(target string) string {
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	b.Grow(len(target))
	for i := range len(target) {
		if c := target[i]; c < utf8.RuneSelf {
			b.WriteByte(c)
		} else {
			b.WriteString(string([]byte{'%', hex[c>>4], hex[c&15]}))
		}
	}
	return b.String()
}
