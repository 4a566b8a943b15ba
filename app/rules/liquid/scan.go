package liquid

import (
	"strings"
	"unicode/utf8"

	"mailer/app"
)

// Scan cuts a source into tokens, and parses its outputs and tags. Placeholders are recognized
// first, also within raw. Trim marks, raw and comments are applied to the texts and are not part of
// the tokens. It takes linear time. Errors: *Error.
func Scan(source string) ([]Token, error) {
	s := &scanner{source: source, line: 1, column: 1}
	err := s.scan()
	return s.tokens, err
}

// ScanHTML is Scan for HTML, with CheckHTML. Texts in quotes within outputs and tags are HTML too:
// their character references are decoded.
func ScanHTML(source string) ([]Token, error) {
	s := &scanner{source: source, html: true, line: 1, column: 1}
	if err := s.scan(); err != nil {
		return nil, err
	}
	return s.tokens, CheckHTML(s.tokens)
}

type scanner struct {
	source string
	html   bool
	at     int
	tokens []Token
	trim   bool // the next text loses its blanks at the left

	counted      int // line and column are those of this offset
	line, column int
}

func (s *scanner) scan() (err error) {
	for err == nil && s.at < len(s.source) {
		open := s.opening(s.at)
		s.text(open)
		switch rest := s.source[open:]; {
		case rest == "":
		case strings.HasPrefix(rest, "{{{"):
			err = s.placeholder()
		case rest[1] == '{':
			err = s.output()
		default:
			err = s.tag()
		}
	}
	return err
}

// opening returns the next "{{" or "{%" at or after an offset, or the end of the source.
func (s *scanner) opening(at int) int {
	for {
		n := strings.IndexByte(s.source[at:], '{')
		if n < 0 || at+n+1 == len(s.source) {
			return len(s.source)
		}
		at += n
		if next := s.source[at+1]; next == '{' || next == '%' {
			return at
		}
		at++
	}
}

// token returns a token of the source from the current offset to another one, and goes there.
func (s *scanner) token(kind Kind, to int) Token {
	skipped := s.source[s.counted:s.at]
	if n := strings.LastIndexByte(skipped, '\n'); n >= 0 {
		s.line += strings.Count(skipped, "\n")
		s.column = 1
		skipped = skipped[n+1:]
	}
	s.column += utf8.RuneCountInString(skipped)
	s.counted = s.at
	t := Token{Kind: kind, Text: s.source[s.at:to], Offset: s.at, Line: s.line, Column: s.column}
	s.at = to
	return t
}

func (s *scanner) add(t Token) {
	s.tokens = append(s.tokens, t)
	s.trim = false
}

const blanks = " \t\n\v\f\r"

// text adds the text up to an offset.
func (s *scanner) text(to int) {
	if s.trim {
		s.at = to - len(strings.TrimLeft(s.source[s.at:to], blanks))
	}
	if s.at < to {
		s.add(s.token(Text, to))
	}
}

func (s *scanner) placeholder() error {
	before, p, after, found, err := app.NextPlaceholder(s.source[s.at:])
	if err != nil || !found {
		t := s.token(Text, s.at)
		return t.fault("%s", err)
	}
	s.text(s.at + len(before))
	t := s.token(Placeholder, len(s.source)-len(after))
	t.Placeholder = p
	s.add(t)
	return nil
}

// markup reads the output or tag at the current offset, and returns a parser of what it contains
// and whether it trims the text after it. It trims the text before it.
func (s *scanner) markup(t *Token, kind Kind, end string) (p *parser, trim bool, err error) {
	from := s.at + 2
	closing := s.closing(from, end)
	if closing < 0 {
		*t = s.token(kind, s.at)
		return nil, false, t.fault("opens %s, which never ends with %s", s.source[s.at:from], end)
	}
	*t = s.token(kind, closing+2)
	p = &parser{token: t, source: s.source[from:closing], base: 2, html: s.html}
	if rest, ok := strings.CutPrefix(p.source, "-"); ok {
		p.source, p.base = rest, 3
		s.trimLast(t.Offset)
	}
	p.source, trim = strings.CutSuffix(p.source, "-")
	return p, trim, nil
}

// trimLast removes the blanks at the end of the text that ends at an offset.
func (s *scanner) trimLast(at int) {
	last := len(s.tokens) - 1
	if last < 0 || s.tokens[last].Kind != Text || s.tokens[last].Offset+len(s.tokens[last].Text) != at {
		return
	}
	if s.tokens[last].Text = strings.TrimRight(s.tokens[last].Text, blanks); s.tokens[last].Text == "" {
		s.tokens = s.tokens[:last]
	}
}

// closing returns the offset of the end mark of an output or tag, outside of strings; -1: none.
func (s *scanner) closing(at int, end string) int {
	if strings.HasPrefix(strings.TrimLeft(s.source[at:min(len(s.source), at+maxBlanks)], "-"+blanks), "#") {
		return index(s.source, at, end)
	}
	for at < len(s.source) {
		n := strings.IndexAny(s.source[at:], "\"'"+end[:1])
		if n < 0 {
			return -1
		}
		at += n
		if strings.HasPrefix(s.source[at:], end) {
			return at
		}
		if c := s.source[at]; c != end[0] {
			if n = strings.IndexByte(s.source[at+1:], c); n < 0 {
				return -1
			}
			at += n + 1
		}
		at++
	}
	return -1
}

const maxBlanks = 100 // before the sign of an inline comment

// index returns the offset of sub at or after an offset; -1: none.
func index(s string, at int, sub string) int {
	if n := strings.Index(s[at:], sub); n >= 0 {
		return at + n
	}
	return -1
}

func (s *scanner) output() error {
	var t Token
	p, trim, err := s.markup(&t, Output, "}}")
	if err == nil {
		t.expr, err = p.output()
	}
	if err != nil {
		return err
	}
	s.add(t)
	s.trim = trim
	return nil
}

func (s *scanner) tag() error {
	var t Token
	p, trim, err := s.markup(&t, Tag, "%}")
	if err != nil {
		return err
	}
	if strings.HasPrefix(strings.TrimLeft(p.source, blanks), "#") {
		s.trim = trim
		return nil
	}
	if t.tag, err = p.tag(); err != nil {
		return err
	}
	switch t.tag.name {
	case "raw":
		return s.raw(&t, trim)
	case "comment":
		return s.comment(&t)
	}
	s.add(t)
	s.trim = trim
	return nil
}

// endTag returns the next tag with one of two names: where it begins, and where what it contains
// begins and ends.
func (s *scanner) endTag(at int, names ...string) (name string, begin, end int, trimBefore, trimAfter bool) {
	for {
		if begin = index(s.source, at, "{%"); begin < 0 {
			return "", -1, -1, false, false
		}
		at = begin + 2
		rest := s.source[at:]
		inside, found := strings.CutPrefix(rest, "-")
		inside = strings.TrimLeft(inside, blanks)
		for _, name = range names {
			after, ok := strings.CutPrefix(inside, name)
			if !ok {
				continue
			}
			after = strings.TrimLeft(after, blanks)
			after, trimAfter = strings.CutPrefix(after, "-")
			if strings.HasPrefix(after, "%}") {
				return name, begin, len(s.source) - len(after) + 2, found, trimAfter
			}
		}
	}
}

// raw adds the text up to endraw. Only placeholders have a meaning in it.
func (s *scanner) raw(t *Token, trim bool) error {
	_, begin, end, trimBefore, trimAfter := s.endTag(s.at, "endraw")
	if begin < 0 {
		return t.fault("opens {%% raw %%}, which never ends with {%% endraw %%}")
	}
	s.trim = trim
	for s.at < begin {
		open := index(s.source[:begin], s.at, "{{{")
		if open < 0 {
			s.text(begin)
			break
		}
		s.text(open)
		if err := s.placeholder(); err != nil {
			return err
		}
		if s.at > begin {
			return t.fault("opens a placeholder in {%% raw %%} that ends after {%% endraw %%}")
		}
	}
	if trimBefore {
		s.trimLast(begin)
	}
	s.at, s.trim = end, trimAfter
	return nil
}

// comment skips everything up to its endcomment.
func (s *scanner) comment(t *Token) error {
	for depth := 1; ; {
		name, begin, end, _, trim := s.endTag(s.at, "comment", "endcomment")
		if begin < 0 {
			return t.fault("opens {%% comment %%}, which never ends with {%% endcomment %%}")
		}
		s.at, s.trim = end, trim
		if name == "comment" {
			depth++
		} else if depth--; depth == 0 {
			return nil
		}
	}
}
