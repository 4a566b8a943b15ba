package insights

import (
	"net/netip"
	"strings"
	"unicode"

	"golang.org/x/net/html"
	"golang.org/x/net/publicsuffix"

	"mailer/app"
	"mailer/app/kit/htmltext"
	"mailer/app/rules/tracking"
)

// inspection holds the properties of a mail's bodies and headers.
type inspection struct {
	from string // domain
	base string // of hosted pages
	// listed are the targets of the List-Unsubscribe header.
	listed map[string]bool

	host                         string // of the last link
	links                        int    // to web pages other than hosted ones
	ownLink, shortener, http     bool
	phishing, svg, images, words bool // words: outside of links
	unsubscribe                  bool // a visible way to unsubscribe
	listUnsubscribe, oneClick    bool // header fields
}

func inspect(m *app.Mail, base string) *inspection {
	c := &inspection{from: m.From.Domain, base: base, listed: tracking.UnsubscribeTargets(m.Headers)}
	for _, h := range m.Headers {
		c.listUnsubscribe = c.listUnsubscribe || strings.EqualFold(h.Name, app.ListUnsubscribe)
		c.oneClick = c.oneClick || strings.EqualFold(h.Name, app.ListUnsubscribe+"-Post")
	}
	if m.HTML != "" {
		c.html(m.HTML)
	} else {
		c.text(m.Text)
	}
	return c
}

// text inspects a mail without HTML: each URL in it is a link.
func (c *inspection) text(s string) {
	c.unsubscribe = saysUnsubscribe(s)
	for {
		i := strings.Index(s, "http")
		if i < 0 {
			return
		}
		s = s[i:]
		end := strings.IndexFunc(s, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune(`<>"()[]`, r) })
		if end < 0 {
			end = len(s)
		}
		c.link(strings.TrimRight(s[:end], ".,;:!?'"), "")
		s = s[max(end, 4):]
	}
}

// html inspects tags and visible text.
func (c *inspection) html(source string) {
	z := htmltext.NewTokens(source)
	var skipped string // element whose content is not visible
	depth := 0
	href, inLink := "", false
	var shown linkText
	endLink := func() {
		if inLink {
			c.link(href, shown.String())
		}
		href, inLink = "", false
		shown = linkText{}
	}
	for {
		switch kind := z.Next(); kind {
		case html.ErrorToken: // the end: a string has no other error
			endLink()
			return
		case html.TextToken:
			if depth > 0 {
				continue
			}
			if inLink {
				shown.add(z.Text())
			} else if !c.words {
				c.words = strings.ContainsFunc(z.Text(), func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) })
			}
		case html.StartTagToken, html.SelfClosingTagToken:
			tag := z.Name
			c.svg = c.svg || tag == "svg"
			switch {
			case depth > 0:
				if tag == skipped && kind == html.StartTagToken {
					depth++
				}
			case htmltext.IsSkipped(tag) && kind == html.StartTagToken:
				skipped, depth = tag, 1
			case tag == "img":
				c.image(attribute(&z, "src"))
			case tag == "a":
				endLink()
				href, inLink = attribute(&z, "href"), true
			case tag == "area":
				c.link(attribute(&z, "href"), "")
			}
		case html.EndTagToken:
			switch {
			case depth > 0 && z.Name == skipped:
				depth--
			case depth == 0 && z.Name == "a":
				endLink()
			}
		}
	}
}

// attribute returns the value of an attribute; empty: none.
func attribute(z *htmltext.Tokens, name string) string {
	value, _ := z.Value(name)
	return htmltext.TrimBlanks(value)
}

// linkText is the text of the open link. Usually it is one piece, which is not copied.
type linkText struct {
	first string
	whole strings.Builder // from the second piece on
}

func (t *linkText) add(s string) {
	switch {
	case t.whole.Len() > 0:
		t.whole.WriteString(s)
	case t.first == "":
		t.first = s
	default:
		t.whole.WriteString(t.first)
		t.whole.WriteString(s)
	}
}

// String returns the text.
func (t *linkText) String() string {
	if t.whole.Len() > 0 {
		return t.whole.String()
	}
	return t.first
}

func (c *inspection) image(src string) {
	c.images = true
	src = strings.ToLower(src)
	path, _, _ := strings.Cut(src, "?")
	path, _, _ = strings.Cut(path, "#")
	c.svg = c.svg || strings.HasPrefix(src, "data:image/svg") || strings.HasSuffix(path, ".svg")
}

// link inspects a link and its text; shown is empty without text.
func (c *inspection) link(target, shown string) {
	target = htmltext.NormalizeLink(target)
	host := app.HostOfLink(target)
	own := &app.Tracking{Base: c.base}
	page, optOut := tracking.IsPage(own, target), tracking.IsOptOutPage(own, target)
	if host != "" || strings.HasPrefix(strings.ToLower(target), "mailto:") {
		c.unsubscribe = c.unsubscribe || optOut || c.listed[target] || saysUnsubscribe(shown) || saysUnsubscribe(target)
	}
	if host == "" || page {
		return
	}
	c.links++
	if host != c.host { // most links of a mail have the same host
		c.host = host
		c.ownLink = c.ownLink || app.OwnHost(host, c.from)
		c.shortener = c.shortener || shorteners[strings.TrimPrefix(host, "www.")]
		c.phishing = c.phishing || isIPHost(host)
	}
	c.http = c.http || strings.EqualFold(target[:5], "http:")
	c.phishing = c.phishing || namesAnother(shown, host)
}

// isIPHost reports whether a host is an IP address in any notation of browsers: its last label is
// a number (WHATWG URL 3.5).
func isIPHost(host string) bool {
	if strings.Contains(host, ":") {
		if _, err := netip.ParseAddr(host); err == nil {
			return true
		}
	}
	last := host[strings.LastIndexByte(host, '.')+1:]
	return last != "" && (strings.Trim(last, "0123456789") == "" || strings.HasPrefix(last, "0x"))
}

// namesAnother reports whether the text of a link names another domain than its target.
func namesAnother(shown, host string) bool {
	if !strings.Contains(shown, ".") {
		return false
	}
	for word := range strings.FieldsSeq(shown) {
		if named := domainIn(word); named != "" && !app.OwnHost(host, named) {
			return true
		}
	}
	return false
}

// domainIn returns the domain in a word that is a URL or domain name; empty: neither.
func domainIn(word string) string {
	if strings.IndexByte(word, '.') < 0 || strings.IndexByte(word, '@') >= 0 {
		return ""
	}
	word = strings.Trim(word, `.,;:!?()[]<>"'`)
	host := app.HostOfLink(word)
	if host == "" {
		host = app.HostOfLink("http://" + word)
	}
	suffix, official := publicsuffix.PublicSuffix(host)
	if !official || suffix == host || !strings.Contains(host, ".") || strings.Trim(host, domainCharacters) != "" {
		return ""
	}
	return host
}

const domainCharacters = "0123456789abcdefghijklmnopqrstuvwxyz-."

// unsubscribeWords are words for unsubscribing in the languages of the hosted pages, by first
// byte.
var unsubscribeWords = [256][]string{
	'a':  {"abmelden", "abbestellen", "austragen", "annulla l'iscrizione", "afmelden"},
	'c':  {"cancelar suscripción", "cancelar la suscripción", "cancelar inscrição", "cancelar a inscrição", "cancelar assinatura", "cancella iscrizione"},
	'd':  {"désabonner", "désinscri", "desabonner", "darse de baja", "darme de baja", "disiscri"},
	'e':  {"email preferences"},
	'o':  {"opt out", "opt-out", "optout"},
	'u':  {"unsubscribe", "uitschrijven"},
	'w':  {"wypisz"},
	'z':  {"zrezygnuj"},
	0xe5: {"取消订阅"},
	0xe8: {"購読解除"},
	0xe9: {"退订", "配信停止"},
}

func saysUnsubscribe(s string) bool {
	s = strings.ToLower(s)
	for i := range len(s) {
		for _, word := range unsubscribeWords[s[i]] {
			if strings.HasPrefix(s[i:], word) {
				return true
			}
		}
	}
	return false
}

// shorteners are hosts that hide the target of a link.
var shorteners = map[string]bool{
	"bit.ly": true, "bitly.com": true, "tinyurl.com": true, "t.co": true, "goo.gl": true, "ow.ly": true, "is.gd": true, "buff.ly": true,
	"rebrand.ly": true, "cutt.ly": true, "t.ly": true, "tiny.cc": true, "shorturl.at": true, "rb.gy": true, "lnkd.in": true, "v.gd": true,
	"bl.ink": true, "short.io": true, "s.id": true, "adf.ly": true, "dub.sh": true, "tny.im": true, "soo.gd": true, "clck.ru": true,
	"j.mp": true, "x.co": true, "trib.al": true, "dlvr.it": true, "shorte.st": true, "u.to": true, "qr.ae": true, "fb.me": true, "amzn.to": true,
}
