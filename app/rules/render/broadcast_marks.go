package render

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"

	"mailer/app"
	"mailer/app/rules/liquid"
)

// marks replaces placeholders, and outputs and tags of Liquid, while the HTML is parsed: by words
// that have no meaning in HTML and do not occur otherwise.
type marks struct {
	prefix  string
	numbers map[app.Placeholder]int
	list    []mark // by number
}

// mark is what a mark stands for: a placeholder, or an output or a tag of Liquid.
type mark struct {
	app.Placeholder
	token *liquid.Token // nil: a placeholder of a plain document
}

// isLiquid reports whether the mark is an output or a tag.
func (m mark) isLiquid() bool { return m.token != nil && m.token.Kind != liquid.Placeholder }

// String returns the mark as it is written in the content.
func (m mark) String() string {
	if m.isLiquid() {
		return m.token.Text
	}
	return m.Placeholder.String()
}

// newMarks returns marks that the texts can't contain, since they include a hash of the texts.
func newMarks(texts ...string) *marks {
	h := sha256.New()
	for _, s := range texts {
		h.Write([]byte(s))
	}
	return &marks{prefix: "x" + hex.EncodeToString(h.Sum(nil)[:12]) + "n", numbers: map[app.Placeholder]int{}}
}

// put replaces each placeholder of s by a mark. plain converts s and its fallbacks to HTML; nil:
// they are HTML. Errors: a placeholderError.
func (m *marks) put(s string, plain func(string) string) (string, error) {
	if plain == nil {
		plain = func(s string) string { return s }
	}
	var b strings.Builder
	for {
		before, p, after, found, err := app.NextPlaceholder(s)
		if err != nil {
			return "", err
		}
		b.WriteString(plain(before))
		if !found {
			return b.String(), nil
		}
		p.Fallback = plain(p.Fallback)
		b.WriteString(m.of(p))
		s = after
	}
}

func (m *marks) of(p app.Placeholder) string {
	n, known := m.numbers[p]
	if !known {
		n = len(m.list)
		m.numbers[p] = n
		m.list = append(m.list, mark{Placeholder: p})
	}
	return m.word(n)
}

func (m *marks) word(n int) string { return m.prefix + strconv.Itoa(n) + "x" }

// putTokens joins tokens, each but text replaced by a mark. Within tags of HTML there are blanks
// around it, so that it does not become part of a name.
func (m *marks) putTokens(tokens []liquid.Token) string {
	var b strings.Builder
	for i := range tokens {
		t := &tokens[i]
		if t.Kind == liquid.Text {
			b.WriteString(t.Text)
			continue
		}
		word := m.word(len(m.list))
		if t.Kind == liquid.Tag && t.Context.IsAttributes() {
			word = " " + word + " "
		}
		b.WriteString(word)
		m.list = append(m.list, mark{t.Placeholder, t})
	}
	return b.String()
}

// cut splits s at its first mark.
func (m *marks) cut(s string) (before string, p mark, after string, found bool) {
	before, rest, found := strings.Cut(s, m.prefix)
	if !found {
		return s, p, "", false
	}
	number, after, _ := strings.Cut(rest, "x")
	n, err := strconv.Atoi(number)
	if err != nil || n >= len(m.list) { // a mark is never split
		return s, p, "", false
	}
	return before, m.list[n], after, true
}

// replaced returns s with its marks replaced.
func (m *marks) replaced(s string, by func(p mark) string) string {
	var b strings.Builder
	for {
		before, p, after, found := m.cut(s)
		b.WriteString(before)
		if !found {
			return b.String()
		}
		b.WriteString(by(p))
		s = after
	}
}
