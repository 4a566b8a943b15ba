package tracking

import (
	"html"
	"strings"
	"unicode"
	"unicode/utf8"

	nethtml "golang.org/x/net/html"

	"mailer/app"
	"mailer/app/kit/htmltext"
)

const (
	// MaxTarget is the longest target of a tracked link, in bytes: the
	// link to it is a third longer, and browsers and proxies have their limits.
	MaxTarget = 2000
	// MaxLinks is how many links of one email are tracked, the first ones:
	// a message must not outgrow what was accepted.
	MaxLinks = 1000
)

// LinkValue is the href of a link in an HTML text.
type LinkValue struct {
	From, To int    // of the value, without its quotes
	Bare     bool   // it has none
	Target   string // the normalized link that it stands for
}

// Positions are the places of an HTML text that tracking changes.
type Positions struct {
	Links []LinkValue // to targets that can be tracked, at most MaxLinks
	End   int         // of the body: before its last end tag, or the end of the text

	trackable func(target string) bool
}

// Rewrite puts wrapped targets and the pixel in their places: each link to an
// absolute http or https address becomes what wrap makes of that address, entities
// resolved and normalized. Where wrap returns the address itself nothing changes, and no byte outside
// of the replaced values ever does. Links in comments, scripts, styles, templates
// and other text that is not shown are left alone; so are targets that Trackable
// refuses and all links after MaxLinks. It takes linear time.
func (p *Positions) Rewrite(source string, wrap func(target string) string, pixel string) string {
	var b strings.Builder
	b.Grow(len(source) + len(source)/2 + len(pixel))
	done := 0
	upTo := func(at int) {
		b.WriteString(source[done:at])
		done = at
	}
	insert := func() {
		upTo(p.End)
		b.WriteString(pixel)
	}
	inserted := false
	for _, link := range p.Links {
		if !inserted && link.From > p.End {
			insert()
			inserted = true
		}
		wrapped := wrap(link.Target)
		if wrapped == link.Target {
			continue
		}
		upTo(link.From)
		value := html.EscapeString(wrapped)
		if link.Bare {
			value = `"` + value + `"`
		}
		b.WriteString(value)
		done = link.To
	}
	if !inserted {
		insert()
	}
	upTo(len(source))
	return b.String()
}

// Scan finds the places of an HTML text.
func Scan(source string) Positions { return ScanLinks(source, Trackable) }

// ScanLinks is Scan with links to whatever trackable says.
func ScanLinks(source string, trackable func(target string) bool) Positions {
	p := Positions{End: len(source), trackable: trackable}
	z := htmltext.NewTokens(source)
	templates := 0
	for {
		switch z.Next() {
		case nethtml.ErrorToken: // the end: a string has no other error
			return p
		case nethtml.StartTagToken, nethtml.SelfClosingTagToken:
			if z.Name == "template" {
				templates++
			}
			if templates == 0 && (z.Name == "a" || z.Name == "area") {
				p.link(&z)
			}
		case nethtml.EndTagToken:
			switch {
			case z.Name == "template":
				templates = max(0, templates-1)
			case z.Name == "body" && templates == 0:
				p.End = z.Begin
			}
		}
	}
}

// link notes the link of the start tag that was read.
func (p *Positions) link(z *htmltext.Tokens) {
	if len(p.Links) >= MaxLinks {
		return
	}
	from, to, bare, ok := hrefValue(z.Source[:z.At], z.Attr)
	if !ok || strings.IndexByte(z.Source[from:to], 0) >= 0 {
		return
	}
	target := htmltext.NormalizeLink(htmltext.AttributeText(z.Source[from:to]))
	if p.trackable(target) {
		p.Links = append(p.Links, LinkValue{from, to, bare, target})
	}
}

// hrefValue finds the value of the first href of a start tag, from the end of
// the tag's name on (WHATWG HTML 13.2.5.32 to 13.2.5.40).
func hrefValue(tag string, at int) (from, to int, bare, ok bool) {
	for {
		at = htmltext.SkipBlanks(tag, at)
		if at >= len(tag) || tag[at] == '>' {
			return 0, 0, false, false
		}
		key := htmltext.AttributeKey(tag[at:])
		at = htmltext.SkipBlanks(tag, at+len(key))
		from, to, bare, at = htmltext.AttributeValue(tag, at)
		if htmltext.EqualASCII(key, "href") {
			return from, to, bare, true
		}
	}
}

// Trackable reports whether a normalized link may be led through this server: it has an
// absolute http or https target of at most MaxTarget bytes with an ASCII
// host, and nothing in it that a browser would drop, escape beyond what
// Location does, or read in another way than a person: no user before the host, and no
// backslash, which browsers take for a slash.
func Trackable(target string) bool {
	if len(target) > MaxTarget || !utf8.ValidString(target) {
		return false
	}
	rest, ok := app.CutScheme(target)
	if !ok {
		return false
	}
	host := rest
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		host = rest[:i]
	}
	if host == "" || strings.ContainsFunc(host, func(r rune) bool { return r >= utf8.RuneSelf || r == '@' }) {
		return false
	}
	return !strings.Contains(target, `\`) && !strings.ContainsFunc(target, func(r rune) bool { return unicode.IsControl(r) || unicode.IsSpace(r) })
}

// Location is a target as the value of a Location header: what is not ASCII
// percent-encoded as UTF-8, as browsers do (WHATWG URL), nothing else changed.
func Location(target string) string {
	return htmltext.PercentEncode(target, func(r rune) bool { return r >= utf8.RuneSelf })
}
