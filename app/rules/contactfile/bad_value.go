package contactfile

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxBadValue limits the stored part of a refused value, in characters. It is longer than any
// address, so that erasures find addresses in it.
const maxBadValue = 320

// badValue returns the stored part of a value: whole words without control characters.
func badValue(text string) string {
	text = strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == utf8.RuneError {
			return -1
		}
		return r
	}, text))
	if utf8.RuneCountInString(text) <= maxBadValue {
		return text
	}
	text = string([]rune(text)[:maxBadValue])
	at := strings.LastIndexFunc(text, unicode.IsSpace)
	if at < 0 {
		return ""
	}
	return strings.TrimSpace(text[:at]) + "…"
}

// cellOf returns the value of the column that an error of ContactInput.Validate is about.
func (s *Sheet) cellOf(err error, row Row) string {
	words := s.Describe(err)
	for i := range s.Columns {
		if c := &s.Columns[i]; c.Index < len(row.Cells) && strings.HasPrefix(words, "Column "+c.Name+" ") {
			return row.Cells[c.Index]
		}
	}
	return ""
}
