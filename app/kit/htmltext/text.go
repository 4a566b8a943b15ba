// Package htmltext reads HTML as browsers do without building a tree: it extracts the text of a
// mail and finds tags and attributes. It has no dependencies within the module, does no I/O and
// keeps no state.
//
// Failure policy: any input is valid HTML. Nothing fails, and everything takes linear time.
package htmltext

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/html"
)

// PlainText converts an HTML mail to plain text: block elements on separate lines, lists with
// bullets or numbers, link targets in parentheses unless the link text is the target, images as
// their alt text. Scripts, styles, comments (including Outlook's conditional comments) and hidden
// preheaders are left out. Lines are not wrapped. It takes linear time and never fails.
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

// maxTextGuess is the largest initial buffer in bytes, enough for nearly all texts.
const maxTextGuess = 8 << 10

// maxIndent limits the indentation of nested lists, so that the output can't grow with the square
// of the input.
const maxIndent = 8

type textConverter struct {
	z     Tokens
	valid bool // the source is UTF-8
	out   strings.Builder

	breaks int  // pending line breaks before the next word: 0, 1 or 2
	space  bool // pending space before the next word
	pre    int  // depth of <pre>

	skipped string // element whose content is skipped
	depth   int    // nesting depth of the skipped element

	lists []listState
	item  string // pending bullet before the next word

	href string // target of the open link
	link int    // start of the link's text in out
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

// wordsLen returns the length of the prefix of s that is output unchanged: ASCII words with single
// spaces between them.
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

// isGraphic reports whether c is a visible ASCII character.
func isGraphic(c byte) bool { return c > ' ' && c < 0x7f }

// textRune reports whether r is dropped because it is invisible, or is a blank.
func textRune(r rune) (drop, blank bool) {
	switch r {
	case ' ', '\t', '\n', '\r', '\f', '\u00a0', '\u0085', '\u2028', '\u2029':
		return false, true
	case '\u00ad', '\u034f', '\u200b', '\ufeff': // soft hyphen, joiners, zero-width spaces
		return true, false
	}
	return r >= utf8.RuneSelf && r < 0xa0 || r < ' ' || r == 0x7f, false
}

// isGap reports whether r is invisible or a blank. Attributes must contain neither.
func isGap(r rune) bool {
	drop, blank := textRune(r)
	return drop || blank || r == utf8.RuneError
}

// withoutGaps replaces gaps by between and removes them at both ends.
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

// word writes s after the pending output: line breaks and indent, or a space.
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

// block requests n line breaks, at most one empty line.
func (c *textConverter) block(n int) {
	if n == 0 {
		return
	}
	c.breaks = max(c.breaks, n)
	c.space = false
}

// breakLine requests one more line break: two <br> make an empty line.
func (c *textConverter) breakLine() {
	c.breaks = min(c.breaks+1, 2)
	c.space = false
}

func (c *textConverter) start(closing bool) {
	name := c.z.Name
	if closing && name == "svg" { // the only skipped element that can be self-closing
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

// image writes the alt text of an image.
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

// endLink writes the target of the open link, unless the link text is the target.
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

// linkTarget returns the target if a reader can follow it or if it contains a placeholder, which
// becomes a URL later.
func linkTarget(href string) string {
	href = strings.TrimSpace(href)
	if !strings.Contains(href, "{{{") { // the blanks may be part of a fallback
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

// IsSkipped reports whether the content of an element is not shown as text. name is in lower case.
func IsSkipped(name string) bool {
	switch name {
	case "script", "style", "title", "template", "noscript", "svg", "iframe", "object", "noembed", "noframes":
		return true
	}
	return false
}

// isHidden reports whether an element is hidden preview text at the start of a mail. Only elements
// that need an end tag count: a missing one would hide the rest of the mail.
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

// blockBreaks returns the number of line breaks around an element.
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
