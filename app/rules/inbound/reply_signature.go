package inbound

import (
	"strings"
	"unicode/utf8"
)

// signatures marks the signatures: each ends a run of lines without quotes.
func (t *trimmer) signatures() {
	for end := len(t.lines); end > 0; {
		if t.kinds[end-1] != lineText && t.kinds[end-1] != lineBlank {
			end--
			continue
		}
		begin := end
		for begin > 0 && (t.kinds[begin-1] == lineText || t.kinds[begin-1] == lineBlank) {
			begin--
		}
		t.signature(begin, end)
		end = begin
	}
}

// signature marks the signature at the end of a range.
func (t *trimmer) signature(begin, end int) {
	for i := begin; i < end; i++ {
		line := strings.TrimRight(t.lines[i], "\r\u00a0")
		if line == "-- " || (line == "--" || line == "—") && end-i <= maxSignature {
			t.seen.signature = true
			t.mark(i, end, lineSignature)
			end = i
			break
		}
	}
	for i, n := end-1, 0; i >= begin && n < maxTail; i-- {
		if t.kinds[i] == lineBlank {
			continue
		}
		n++
		if isSentFrom(t.lines[i]) && t.onlyLinks(i+1, end) {
			t.seen.signature = true
			t.mark(i, end, lineSignature)
			end, n = i, 0
		}
	}
	for end > begin && t.seen.signature && (t.kinds[end-1] == lineBlank || isDivider(t.lines[end-1])) && end < len(t.lines) && t.kinds[end] == lineSignature {
		end-- // a line of underscores above "Sent from my phone"
		t.kinds[end] = lineSignature
	}
}

// onlyLinks reports whether a range has nothing but blank lines, addresses of pages and lines.
func (t *trimmer) onlyLinks(from, to int) bool {
	for i := from; i < to; i++ {
		line := strings.TrimLeft(t.lines[i], " \t<([")
		if t.kinds[i] != lineBlank && !strings.HasPrefix(line, "http") && !isDivider(line) {
			return false
		}
	}
	return true
}

// isSentFrom reports whether a line is one like "Sent from my iPhone".
func isSentFrom(line string) bool {
	line = strings.Trim(line, " \t*_-\u00a0")
	if len(line) > maxIntro/4 {
		return false
	}
	text, _, _ := strings.Cut(strings.ToLower(line), "<http")
	text, _, _ = strings.Cut(text, "(http")
	if utf8.RuneCountInString(text) > 80 {
		return false
	}
	for _, known := range sentFrom {
		if strings.HasPrefix(text, known) {
			return hasAny(text, sentDevices)
		}
	}
	return false
}
