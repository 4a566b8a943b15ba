package render

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"

	"mailer/app"
)

// marks stand for the placeholders of a content while its HTML is read: words
// that mean nothing to HTML, whatever they stand in, and occur nowhere else.
type marks struct {
	prefix  string
	numbers map[app.Placeholder]int
	list    []app.Placeholder // by number
}

// newMarks makes marks that the texts can't hold: they know their hash.
func newMarks(texts ...string) *marks {
	h := sha256.New()
	for _, s := range texts {
		h.Write([]byte(s))
	}
	return &marks{prefix: "x" + hex.EncodeToString(h.Sum(nil)[:12]) + "n", numbers: map[app.Placeholder]int{}}
}

// put returns s with a mark for each placeholder. plain makes HTML of s and of
// its fallbacks; nil: they are HTML. Errors: a placeholderError.
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
		m.list = append(m.list, p)
	}
	return m.prefix + strconv.Itoa(n) + "x"
}

// cut splits s around its first mark.
func (m *marks) cut(s string) (before string, p app.Placeholder, after string, found bool) {
	before, rest, found := strings.Cut(s, m.prefix)
	if !found {
		return s, p, "", false
	}
	number, after, _ := strings.Cut(rest, "x")
	n, err := strconv.Atoi(number)
	if err != nil || n >= len(m.list) { // a mark is cut nowhere
		return s, p, "", false
	}
	return before, m.list[n], after, true
}

// replaced returns s with something else in the place of its marks.
func (m *marks) replaced(s string, by func(p app.Placeholder) string) string {
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
