package rest

import (
	"bytes"
	"strconv"
)

// ReplaceLoneSurrogates replaces escaped lone surrogates in a JSON text by \ufffd, in place. RFC
// 8259 8.2 allows them, and calls the behaviour of software unpredictable. Programs that cut
// strings by UTF-16 units produce them, such as half of an emoji at the end of a subject.
func ReplaceLoneSurrogates(text []byte) {
	for i := bytes.IndexByte(text, '\\'); i >= 0 && i+1 < len(text); {
		next := i + 2
		if unit, ok := escapedUnit(text, i); ok {
			next = i + 6
			low, paired := escapedUnit(text, next)
			switch {
			case unit < 0xd800 || unit > 0xdfff:
			case unit < 0xdc00 && paired && low >= 0xdc00 && low <= 0xdfff:
				next += 6
			default:
				copy(text[i:], `\ufffd`)
			}
		}
		more := bytes.IndexByte(text[min(next, len(text)):], '\\')
		if more < 0 {
			return
		}
		i = next + more
	}
}

// escapedUnit decodes a \uXXXX that begins at i.
func escapedUnit(text []byte, i int) (unit uint64, ok bool) {
	if i+6 > len(text) || text[i] != '\\' || text[i+1] != 'u' {
		return 0, false
	}
	unit, err := strconv.ParseUint(string(text[i+2:i+6]), 16, 16)
	return unit, err == nil
}
