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
	// MaxTarget is the longest target of a tracked link in bytes: the tracked link is a third
	// longer, and browsers and proxies have limits.
	MaxTarget = 2000
	// MaxLinks is how many links of one email are tracked, the first ones: the message must not
	// exceed the accepted size.
	MaxLinks = 1000
)

// LinkValue is the href of a link in HTML.
type LinkValue struct {
	From, To int    // range of the value without quotes
	Bare     bool   // without quotes
	Target   string // decoded and normalized link
}

// Positions are the positions in HTML that tracking changes.
type Positions struct {
	Links []LinkValue // with trackable targets, at most MaxLinks
	End   int         // before the last end tag of the body, or the end of the text

	trackable func(target string) bool
}

// Rewrite replaces link targets and inserts the pixel: each link to an absolute http or https URL
// becomes wrap(URL), with the URL decoded and normalized. If wrap returns the URL itself, the link
// is unchanged. No byte outside of replaced values changes. Links in comments, scripts, styles,
// templates and other invisible text are not changed, nor are targets that Trackable refuses and
// links after MaxLinks. It takes linear time.
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

// Scan returns the positions in HTML.
func Scan(source string) Positions { return ScanLinks(source, Trackable) }

// ScanLinks is Scan with another function instead of Trackable.
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

// link records the link of the current start tag.
func (p *Positions) link(z *htmltext.Tokens) {
	if len(p.Links) >= MaxLinks {
		return
	}
	from, to, bare, ok := htmltext.FindAttribute(z.Source[:z.At], z.Attr, "href")
	if !ok || strings.IndexByte(z.Source[from:to], 0) >= 0 {
		return
	}
	target := htmltext.NormalizeLink(htmltext.AttributeText(z.Source[from:to]))
	if p.trackable(target) {
		p.Links = append(p.Links, LinkValue{from, to, bare, target})
	}
}

// Trackable reports whether a normalized link can be tracked: an absolute http or https URL of at
// most MaxTarget bytes with an ASCII host, that browsers and people read alike: without a user
// before the host, and without backslashes, which browsers treat as slashes.
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

// Location returns a target for a Location header: non-ASCII characters are percent-encoded as
// UTF-8, as browsers do (WHATWG URL).
func Location(target string) string {
	return htmltext.PercentEncode(target, func(r rune) bool { return r >= utf8.RuneSelf })
}
