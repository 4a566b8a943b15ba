package render

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"

	"mailer/app"
)

// marks replaces placeholders while the HTML is parsed: by words that have no meaning in HTML and
// do not occur otherwise.
type marks struct {
	prefix  string
	numbers map[app.Placeholder]int
	list    []app.Placeholder // by number
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
		m.list = append(m.list, p)
	}
	return m.prefix + strconv.Itoa(n) + "x"
}

// cut splits s at its first mark.
func (m *marks) cut(s string) (before string, p app.Placeholder, after string, found bool) {
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
