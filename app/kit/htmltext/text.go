// Package htmltext reads HTML as browsers do, without building a tree: it takes the
// text out of a mail and finds tags and their attributes. It imports nothing of
// ours, so that any package may use it; it does no I/O and keeps no state.
//
// Failure policy: any input is HTML. Nothing here fails, and everything takes linear
// time whatever the source is.
package htmltext

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/html"
)

// PlainText makes the plain text of an HTML mail for readers that show no
// HTML: block elements on lines of their own, lists with bullets or numbers,
// the target of a link in parentheses where its text does not tell it, images
// by their alt text. Scripts, styles, comments (Outlook's conditional ones
// among them) and hidden preheaders are left out. It reads any input in linear
// time and never fails; lines are not wrapped.
func PlainText(source string) string {
	c := textConverter{z: NewTokens(source), valid: utf8.ValidString(source)}
	c.out.Grow(min(len(source), maxTextGuess))
	for {
		switch c.z.Next() {
		case html.ErrorToken: // the end: a string has no other error
			c.endLink()
			return strings.TrimRight(c.out.String(), " \n")
		case html.TextToken:
			c.text()
		case html.StartTagToken:
			c.start(false)
		case html.SelfClosingTagToken:
			c.start(true)
		case html.EndTagToken:
			c.end()
		}
	}
}

// maxTextGuess is the most room, in bytes, that is made for a text before it is
// known: enough for nearly all.
const maxTextGuess = 8 << 10

// maxIndent bounds what nested lists add to each line, so that the output can't
// grow with the square of the input.
const maxIndent = 8

type textConverter struct {
	z     Tokens
	valid bool // the source is UTF-8
	out   strings.Builder

	breaks int  // line breaks owed before the next word: 0, 1 or 2
	space  bool // a space owed before the next word
	pre    int  // depth of <pre>

	skipped string // element whose content is left out
	depth   int    // how often it is open

	lists []listState
	item  string // bullet owed before the next word

	href string // target of the open link
	link int    // where its text begins in out
}

type listState struct {
	ordered bool
	number  int
}

func (c *textConverter) text() {
	if c.depth > 0 {
		return
	}
	s := c.z.Text()
	if !c.valid {
		s = strings.ToValidUTF8(s, "\uFFFD")
	}
	if c.pre > 0 {
		c.preformatted(s)
		return
	}
	for len(s) > 0 {
		if n := wordsLen(s); n > 0 {
			c.word(s[:n])
			s = s[n:]
			continue
		}
		r, n := utf8.DecodeRuneInString(s)
		_, blank := textRune(r)
		c.space = c.space || blank
		s = s[n:]
	}
}

// wordsLen is how much of s goes out as it is: words, and single spaces between
// those of ASCII.
func wordsLen(s string) (n int) {
	for n < len(s) {
		switch {
		case isGraphic(s[n]):
			n++
		case s[n] == ' ' && n > 0 && n+1 < len(s) && isGraphic(s[n+1]):
			n += 2
		case s[n] < utf8.RuneSelf:
			return n
		default:
			r, width := utf8.DecodeRuneInString(s[n:])
			if drop, blank := textRune(r); drop || blank {
				return n
			}
			n += width
		}
	}
	return n
}

// isGraphic tells ASCII that is seen.
func isGraphic(c byte) bool { return c > ' ' && c < 0x7f }

// textRune: what separates words, and what is invisible and only confuses.
func textRune(r rune) (drop, blank bool) {
	switch r {
	case ' ', '\t', '\n', '\r', '\f', '\u00a0', '\u0085', '\u2028', '\u2029':
		return false, true
	case '\u00ad', '\u034f', '\u200b', '\ufeff': // soft hyphen, joiners and spaces of no width
		return true, false
	}
	return r >= utf8.RuneSelf && r < 0xa0 || r < ' ' || r == 0x7f, false
}

// isGap is for attributes, where nothing invisible is wanted at all.
func isGap(r rune) bool {
	drop, blank := textRune(r)
	return drop || blank || r == utf8.RuneError
}

// withoutGaps puts something else in the place of gaps, and nothing at both ends.
func withoutGaps(s, between string) string {
	if !strings.ContainsFunc(s, isGap) {
		return s
	}
	return strings.Join(strings.FieldsFunc(s, isGap), between)
}

func (c *textConverter) preformatted(s string) {
	s = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\t", "    ").Replace(s)
	for i, line := range strings.Split(s, "\n") {
		if i > 0 {
			c.breakLine()
		}
		line = strings.Map(func(r rune) rune {
			if unicode.IsControl(r) {
				return -1
			}
			return r
		}, line)
		if line = strings.TrimRight(line, " "); line != "" {
			c.word(line)
		}
	}
}

// word writes s behind what is owed: line breaks and indent, or a space.
func (c *textConverter) word(s string) {
	empty := c.out.Len() == 0
	if c.breaks > 0 && !empty {
		c.out.WriteString("\n\n"[:c.breaks])
	}
	newLine := empty || c.breaks > 0
	switch {
	case newLine:
		if n := len(c.lists); n > 1 {
			c.out.WriteString(strings.Repeat("  ", min(n-1, maxIndent)))
		}
		if c.item != "" {
			c.out.WriteString(c.item)
		} else if len(c.lists) > 0 {
			c.out.WriteString("  ")
		}
	case c.space:
		c.out.WriteByte(' ')
	}
	c.breaks, c.space, c.item = 0, false, ""
	c.out.WriteString(s)
}

// block owes n line breaks, more never than an empty line.
func (c *textConverter) block(n int) {
	if n == 0 {
		return
	}
	c.breaks = max(c.breaks, n)
	c.space = false
}

// breakLine adds a line break to those owed: two <br> make an empty line.
func (c *textConverter) breakLine() {
	c.breaks = min(c.breaks+1, 2)
	c.space = false
}

func (c *textConverter) start(closing bool) {
	name := c.z.Name
	if closing && name == "svg" { // the one skipped element that can be empty
		return
	}
	if c.depth > 0 {
		if name == c.skipped {
			c.depth++
		}
		return
	}
	if IsSkipped(name) || isHidden(&c.z) {
		c.skipped, c.depth = name, 1
		return
	}
	switch name {
	case "br":
		c.breakLine()
	case "hr":
		c.block(1)
		c.word("---")
		c.block(1)
	case "img":
		if alt, _ := c.z.Value("alt"); alt != "" {
			c.image(alt)
		}
	case "td", "th":
		c.space = true
	case "a":
		c.endLink()
		href, _ := c.z.Value("href")
		c.href, c.link = linkTarget(href), c.out.Len()
	case "pre":
		c.block(2)
		c.pre++
	case "ul", "ol":
		c.block(blockBreaks(name, len(c.lists)))
		c.lists = append(c.lists, listState{ordered: name == "ol"})
	case "li":
		c.block(1)
		c.item = c.nextBullet()
	default:
		c.block(blockBreaks(name, len(c.lists)))
	}
}

// image stands for a picture.
func (c *textConverter) image(alt string) {
	if alt = withoutGaps(alt, " "); alt == "" {
		return
	}
	c.space = true
	c.word(alt)
	c.space = true
}

func (c *textConverter) end() {
	name := c.z.Name
	if c.depth > 0 {
		if name == c.skipped {
			c.depth--
		}
		return
	}
	switch name {
	case "a":
		c.endLink()
	case "pre":
		c.block(2)
		c.pre = max(c.pre-1, 0)
	case "ul", "ol":
		if n := len(c.lists); n > 0 {
			c.lists = c.lists[:n-1]
		}
		c.item = ""
		c.block(blockBreaks(name, len(c.lists)))
	default:
		c.block(blockBreaks(name, len(c.lists)))
	}
}

func (c *textConverter) nextBullet() string {
	n := len(c.lists)
	if n == 0 || !c.lists[n-1].ordered {
		return "- "
	}
	c.lists[n-1].number++
	return strconv.Itoa(c.lists[n-1].number) + ". "
}

// endLink writes the target of the open link, unless its text is the target.
func (c *textConverter) endLink() {
	href := c.href
	if href == "" {
		return
	}
	c.href = ""
	shown := strings.Trim(c.out.String()[c.link:], " \n")
	if shown == "" {
		c.word(href)
		return
	}
	if !sameTarget(shown, href) {
		c.out.WriteString(" (")
		c.out.WriteString(href)
		c.out.WriteByte(')')
	}
}

func sameTarget(shown, href string) bool {
	bare := func(s string) string {
		for _, prefix := range []string{"https://", "http://", "mailto:", "tel:"} {
			s = strings.TrimPrefix(s, prefix)
		}
		return strings.TrimSuffix(s, "/")
	}
	return strings.EqualFold(bare(shown), bare(href))
}

// linkTarget keeps what a reader can follow, and placeholders, which become
// addresses later.
func linkTarget(href string) string {
	href = strings.TrimSpace(href)
	if !strings.Contains(href, "{{{") { // where blanks are part of a fallback
		href = NormalizeLink(href)
	}
	lower := strings.ToLower(href[:min(len(href), 8)])
	for _, prefix := range []string{"https://", "http://", "mailto:", "tel:", "{{{"} {
		if strings.HasPrefix(lower, prefix) {
			return withoutGaps(href, "")
		}
	}
	return ""
}

// IsSkipped reports whether an element by that name, in lower case, has no content
// that is shown as text.
func IsSkipped(name string) bool {
	switch name {
	case "script", "style", "title", "template", "noscript", "svg", "iframe", "object", "noembed", "noframes":
		return true
	}
	return false
}

// isHidden finds the hidden text that mails put first for the preview in lists.
// Only elements whose end tag can't be left out: a forgotten one would hide the
// rest of the mail.
func isHidden(z *Tokens) bool {
	switch z.Name {
	case "div", "span", "table":
	default:
		return false
	}
	styled := false
	for key, value := range z.attributes {
		switch {
		case EqualASCII(key, "hidden"), EqualASCII(key, "data-skip-in-text"):
			return true
		case !styled && EqualASCII(key, "style"):
			styled = true
			if strings.Contains(strings.ToLower(strings.ReplaceAll(AttributeText(value), " ", "")), "display:none") {
				return true
			}
		}
	}
	return false
}

// blockBreaks is how many line breaks stand around an element.
func blockBreaks(name string, lists int) int {
	switch name {
	case "p", "h1", "h2", "h3", "h4", "h5", "h6", "blockquote":
		return 2
	case "ul", "ol":
		if lists == 0 {
			return 2
		}
		return 1
	case "div", "table", "tr", "section", "article", "header", "footer", "main", "nav", "aside",
		"address", "center", "form", "fieldset", "figure", "figcaption", "dl", "dt", "dd", "li", "body":
		return 1
	}
	return 0
}
