package htmltext

import (
	"net/url"
	"strings"

	"golang.org/x/net/html"
)

// Cleaning says what Clean keeps.
type Cleaning struct {
	// Fragment removes styles and what belongs to a whole document, and balances the tags, so that
	// the result can be put into another document.
	Fragment bool
	// Base is the URL that relative addresses are resolved against; nil: they are removed.
	Base *url.URL
}

// maxNesting is the greatest depth of elements in a fragment. Deeper tags are removed.
const maxNesting = 50

// words returns a set of words.
func words(text string) map[string]bool {
	set := map[string]bool{}
	for _, word := range strings.Fields(text) {
		set[word] = true
	}
	return set
}

var (
	// keptElements are the elements that Clean keeps. The tags of others are removed.
	keptElements = words(`a abbr address area article aside b bdi bdo big blockquote br caption center cite code col colgroup dd del details dfn div dl dt em
		figcaption figure font footer h1 h2 h3 h4 h5 h6 header hr i img ins kbd li main map mark nav ol p picture pre q s samp section small source span strike
		strong sub summary sup table tbody td tfoot th thead time tr tt u ul var wbr`)
	// documentElements are kept too, unless the result is a fragment.
	documentElements = words(`body style`)
	// droppedElements are removed with their content.
	droppedElements = words(`applet audio canvas embed frameset iframe math noembed noframes noscript object plaintext script select svg template textarea title video xmp`)
	voidElements    = words(`area br col hr img source wbr`)
	// keptAttributes are the attributes that Clean keeps, besides aria-* and addresses.
	keptAttributes = words(`abbr align alt aria-hidden bgcolor border cellpadding cellspacing class clear color cols colspan coords datetime dir face headers height
		hreflang hspace id lang media name noshade nowrap open rel reversed role rowspan rows rules scope shape size sizes span start style summary title type
		usemap valign value vspace width`)
	// fragmentDrops are the attributes that a fragment does not keep: they refer to a document.
	fragmentDrops = words(`class id name style usemap`)
)

// Clean returns HTML without anything that runs, submits, is loaded as a document, or redirects:
// scripts, forms and their controls, frames, handlers of events, meta, base, link, @import and active
// parts of styles, and addresses of other schemes than https, http, mailto and tel. Comments are removed. Links open in a new window.
// Any input is valid. It takes linear time.
func Clean(source string, keep Cleaning) string {
	c := cleaner{keep: keep}
	c.out.Grow(len(source))
	z := html.NewTokenizer(strings.NewReader(source))
	for {
		kind := z.Next()
		if kind == html.ErrorToken {
			break
		}
		c.token(kind, z)
	}
	if c.style {
		c.out.WriteString("</style>")
	}
	for i := len(c.open) - 1; i >= 0; i-- {
		c.out.WriteString("</" + c.open[i] + ">")
	}
	return c.out.String()
}

// cleaner is the state of Clean.
type cleaner struct {
	keep    Cleaning
	out     strings.Builder
	dropped string   // the element whose content is removed; empty: none
	depth   int      // of elements of that name within it
	style   bool     // within a style element
	open    []string // elements that must be closed, in a fragment
}

func (c *cleaner) token(kind html.TokenType, z *html.Tokenizer) {
	switch kind {
	case html.TextToken:
		switch {
		case c.dropped != "":
		case c.style:
			c.out.WriteString(cleanStyle(string(z.Raw()))) // it can't hold the end tag
		default:
			c.out.WriteString(html.EscapeString(string(z.Text())))
		}
	case html.StartTagToken, html.SelfClosingTagToken:
		c.start(kind, z)
	case html.EndTagToken:
		name, _ := z.TagName()
		c.end(string(name))
	}
}

func (c *cleaner) start(kind html.TokenType, z *html.Tokenizer) {
	tag, more := z.TagName()
	name := string(tag)
	if c.dropped != "" {
		if name == c.dropped && kind == html.StartTagToken {
			c.depth++
		}
		return
	}
	if droppedElements[name] {
		if name != "embed" && (kind == html.StartTagToken || textOnly(name)) {
			c.dropped, c.depth = name, 1
		}
		return
	}
	style := name == "style"
	if !keptElements[name] && (c.keep.Fragment || !documentElements[name]) {
		if style {
			c.dropped, c.depth = name, 1
		}
		return
	}
	if c.keep.Fragment && !voidElements[name] {
		if len(c.open) == maxNesting {
			return
		}
		c.open = append(c.open, name)
	}
	c.style = style
	c.out.WriteString("<" + name)
	linked := false
	for more {
		var key, value []byte
		key, value, more = z.TagAttr()
		if text, ok := c.attribute(name, string(key), string(value)); ok {
			linked = linked || string(key) == "href" && !strings.HasPrefix(text, "#")
			c.out.WriteString(" " + string(key) + `="` + html.EscapeString(text) + `"`)
		}
	}
	if linked {
		c.out.WriteString(` target="_blank"`)
	}
	c.out.WriteString(">")
}

func (c *cleaner) end(name string) {
	if c.dropped != "" {
		if name == c.dropped {
			if c.depth--; c.depth == 0 {
				c.dropped = ""
			}
		}
		return
	}
	if name == "style" {
		c.style = false
	}
	switch {
	case voidElements[name] || !keptElements[name] && (c.keep.Fragment || !documentElements[name]):
		return
	case !c.keep.Fragment:
		if name != "body" {
			c.out.WriteString("</" + name + ">")
		}
		return
	}
	for i := len(c.open) - 1; i >= 0; i-- {
		if c.open[i] == name {
			for at := len(c.open) - 1; at >= i; at-- {
				c.out.WriteString("</" + c.open[at] + ">")
			}
			c.open = c.open[:i]
			return
		}
	}
}

// attribute returns the value of an attribute to keep.
func (c *cleaner) attribute(element, key, value string) (string, bool) {
	switch key {
	case "href", "cite", "longdesc":
		return c.address(value, false)
	case "src", "background":
		return c.address(value, true)
	case "srcset":
		if strings.Contains(strings.ToLower(value), "script:") {
			return "", false
		}
		return value, c.keep.Base == nil
	case "rel":
		return "noopener noreferrer", element == "a"
	case "target":
		return "", false
	case "style":
		value = cleanStyle(value)
		return value, value != "" && !c.keep.Fragment
	}
	if c.keep.Fragment && fragmentDrops[key] {
		return "", false
	}
	return value, keptAttributes[key] || strings.HasPrefix(key, "aria-") && isASCIIName(key)
}

// isASCIIName reports whether an attribute name holds nothing but lower-case letters and hyphens.
func isASCIIName(key string) bool {
	return strings.IndexFunc(key, func(r rune) bool { return (r < 'a' || r > 'z') && r != '-' }) < 0
}

// address returns an address that is kept, in full.
func (c *cleaner) address(value string, image bool) (string, bool) {
	value = strings.TrimSpace(value)
	if strings.HasPrefix(value, "#") {
		return value, !image && !c.keep.Fragment
	}
	if image && strings.HasPrefix(strings.ToLower(value), "data:image/") {
		return value, true
	}
	u, err := url.Parse(value)
	if err != nil {
		return value, hasPrefixFold(value, "https://") || hasPrefixFold(value, "http://")
	}
	switch strings.ToLower(u.Scheme) {
	case "":
		if c.keep.Base == nil || value == "" {
			return "", false
		}
		return c.address(c.keep.Base.ResolveReference(u).String(), image)
	case "https", "http":
		return value, u.Host != ""
	case "mailto", "tel":
		return value, !image
	}
	return "", false
}

func hasPrefixFold(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}
