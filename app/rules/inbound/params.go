package inbound

import (
	"slices"
	"strconv"
	"strings"
)

// maxParams is the maximum number of parameters of a field.
const maxParams = 100

// readType parses a Content-Type. usual is the type if there is none. Parameters have names in
// lower case and decoded values.
func readType(value, usual string) (kind string, params map[string]string) {
	kind, params = readParams(value)
	switch {
	case kind == "" && len(params) == 0:
		kind = usual
	case kind == "text": // RFC 1049
		kind = "text/plain"
	case !isMediaType(kind):
		kind = "application/octet-stream"
	}
	return kind, params
}

// isMediaType reports whether a text in lower case is a type and a subtype (RFC 6838 4.2).
func isMediaType(s string) bool {
	main, sub, ok := strings.Cut(s, "/")
	bad := func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && !strings.ContainsRune("!#$&-^_.+", r)
	}
	return ok && main != "" && sub != "" && len(s) <= maxFilename && !strings.ContainsFunc(main, bad) && !strings.ContainsFunc(sub, bad)
}

// piece is a part of a parameter's value (RFC 2231 3).
type piece struct {
	index    int
	extended bool // percent-encoded
	value    string
}

// readParams parses the value of a field with parameters (RFC 2045 5.1, RFC 2231) that may violate
// the grammar: unquoted blanks, missing quotes, encoded words (RFC 2047).
func readParams(value string) (first string, params map[string]string) {
	first, rest, _ := strings.Cut(value, ";")
	first, _, _ = strings.Cut(first, "(")
	first = strings.ToLower(strings.Trim(first, " \t\"'"))
	params = map[string]string{}
	pieces := map[string][]piece{}
	for n := 0; rest != "" && n < maxParams; n++ {
		var name, v string
		name, v, rest = nextParam(rest)
		if name == "" {
			continue
		}
		base, ext, starred := strings.Cut(name, "*")
		if !starred {
			if _, known := params[name]; !known {
				params[name] = decodeWords(v, "")
			}
			continue
		}
		p := piece{value: v}
		ext, p.extended = strings.CutSuffix(ext, "*")
		if ext == "" { // name*=
			p.extended = true
		} else if i, err := strconv.Atoi(ext); err == nil && i >= 0 && i < maxParams {
			p.index = i
		}
		pieces[base] = append(pieces[base], p)
	}
	for base, list := range pieces {
		if text := joinPieces(list); text != "" {
			params[base] = text
		}
	}
	return first, params
}

// nextParam cuts the first parameter from a text.
func nextParam(s string) (name, value, rest string) {
	s = strings.TrimLeft(s, " \t;")
	end := strings.IndexAny(s, "=;")
	if end < 0 || s[end] == ';' {
		_, rest, _ = strings.Cut(s, ";")
		return "", "", rest
	}
	name = strings.ToLower(strings.Trim(s[:end], " \t"))
	s = strings.TrimLeft(s[end+1:], " \t")
	if !strings.HasPrefix(s, `"`) {
		value, rest, _ = strings.Cut(s, ";")
		return name, strings.Trim(value, " \t"), rest
	}
	var b strings.Builder
	i := 1
	for ; i < len(s) && s[i] != '"'; i++ {
		if s[i] == '\\' && i+1 < len(s) && (s[i+1] == '"' || s[i+1] == '\\') {
			i++
		}
		b.WriteByte(s[i])
	}
	_, rest, _ = strings.Cut(s[min(i, len(s)):], ";")
	return name, b.String(), rest
}

// joinPieces returns the value of a parameter in pieces.
func joinPieces(list []piece) string {
	slices.SortStableFunc(list, func(a, b piece) int { return a.index - b.index })
	label := ""
	if list[0].extended {
		if set, rest, ok := strings.Cut(list[0].value, "'"); ok {
			if _, text, ok := strings.Cut(rest, "'"); ok {
				label, list[0].value = set, text
			}
		}
	}
	var b []byte
	plain := true
	for _, p := range list {
		if p.extended {
			b, plain = append(b, fromPercent(p.value)...), false
		} else {
			b = append(b, p.value...)
		}
	}
	if plain {
		return decodeWords(string(b), "")
	}
	return toUTF8(b, label)
}

// fromPercent decodes percent-encoding and leaves invalid sequences unchanged.
func fromPercent(s string) []byte {
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			if high, low := hexValue(s[i+1]), hexValue(s[i+2]); high >= 0 && low >= 0 {
				out = append(out, byte(high<<4|low))
				i += 2
				continue
			}
		}
		out = append(out, s[i])
	}
	return out
}
