package inbound

import "strings"

// introAt returns the range of the lines that introduce a quote and of which line i is one; end is
// 0 if there is none. sure: they do even if no line that begins with > follows.
func (t *trimmer) introAt(i int) (begin, end int, sure bool) {
	if isOriginal(t.lines[i]) {
		end = t.labelsFrom(i + 1)
		if end < 0 {
			end = i + 1
		}
		if next := t.nextText(end); next < len(t.lines) { // some write both
			if _, after, _ := t.wroteAt(next); after > 0 && t.quotedNear(after) {
				end = after
			}
		}
		return i, end, true
	}
	if end = t.labelsFrom(i); end >= 0 {
		return t.divider(i), end, true
	}
	return t.wroteAt(i)
}

// nextText returns the index of the next line that isn't blank.
func (t *trimmer) nextText(i int) int {
	for end := min(len(t.lines), i+maxQuoteGap); i < end && t.kinds[i] == lineBlank; {
		i++
	}
	return i
}

// divider returns the start of a line of dashes or underscores before a line, or that line.
func (t *trimmer) divider(i int) int {
	for j := i - 1; j >= 0 && i-j <= maxQuoteGap; j-- {
		if t.kinds[j] == lineBlank {
			continue
		}
		if isDivider(t.lines[j]) {
			return j
		}
		break
	}
	return i
}

func isDivider(line string) bool {
	line = strings.TrimSpace(line)
	return len(line) >= 3 && strings.Trim(line, "_-=*–—") == ""
}

// isOriginal reports whether a line is one like "-----Original Message-----".
func isOriginal(line string) bool {
	line = strings.TrimSpace(line)
	if len(line) > maxIntro/4 || !strings.HasPrefix(line, "--") && !strings.HasPrefix(line, "__") && !strings.HasPrefix(line, "##") && !strings.HasPrefix(line, "——") {
		return false
	}
	words := strings.ToLower(strings.Trim(line, "-_#—– \t"))
	words = strings.ReplaceAll(words, "’", "'")
	for _, known := range originalWords {
		if words == known || strings.HasPrefix(words, known) && len(words) <= len(known)+3 {
			return true
		}
	}
	// Zoho: ---- On Mon, 2 Jan 2026 15:04:05 +0100 Ann <ann@example.com> wrote ----
	return strings.HasSuffix(line, "---") && hasAny(words, wroteWords) && (hasTime(words) || hasYear(words))
}

// labelOf returns which field of a quoted header a line is; 0: none.
func labelOf(line string) label {
	line = strings.TrimLeft(line, " \t*\u00a0")
	line = line[:min(len(line), maxLabel)]
	at := strings.IndexByte(line, ':')
	if wide := strings.Index(line, "："); wide >= 0 && (at < 0 || wide < at) {
		at = wide
	}
	if at <= 0 {
		return 0
	}
	return labels[strings.ToLower(strings.Trim(line[:at], " \t*\u00a0\u3000"))]
}

// labelsFrom returns the end of the header of a quoted message that begins at a line; -1: none
// does. It has an author, a date and a subject or recipients. A form that somebody fills in has
// such lines too, but mostly not all of them.
func (t *trimmer) labelsFrom(i int) (end int) {
	end = -1
	for n := 0; i < len(t.lines) && t.kinds[i] == lineBlank && n < 2; n++ {
		i++
	}
	if i >= len(t.lines) || t.kinds[i] != lineText {
		return -1
	}
	if first := t.label[i]; first != labelFrom && first != labelDate && first != labelSubject {
		return -1
	}
	var found [labelSubject + 1]bool
	address := false
	for j := i; j < len(t.lines) && j < i+maxLabelLines; j++ {
		if t.kinds[j] == lineQuoted {
			break
		}
		t.work++
		if kind := t.label[j]; kind != 0 && !found[kind] {
			found[kind] = true
			end = j + 1
			address = address || kind == labelFrom && strings.ContainsAny(t.lines[j][:min(len(t.lines[j]), maxIntro)], "@<[")
		} else if t.kinds[j] == lineBlank && j+1 < len(t.lines) && (t.label[j+1] == 0 || found[t.label[j+1]]) {
			break
		}
	}
	if found[labelFrom] && found[labelDate] && (found[labelSubject] || found[labelTo] && address) {
		return end
	}
	return -1
}

// wroteAt returns the range of the lines that introduce a quote and begin at line i, like introAt.
// They may be wrapped.
func (t *trimmer) wroteAt(i int) (begin, end int, sure bool) {
	joined := ""
	var starts []int // of the lines in joined
	for j := i; j < len(t.lines) && j < i+maxIntroLines && t.kinds[j] == lineText; j++ {
		line := strings.ToLower(strings.Trim(strings.ReplaceAll(t.lines[j][:min(len(t.lines[j]), maxIntro)], "\u00a0", " "), " \t*_\u3000"))
		if len(joined)+len(line) > maxIntro {
			break
		}
		t.work += len(line)
		if j > i {
			joined += " "
		}
		starts = append(starts, len(joined))
		joined += line
		if strings.HasSuffix(joined, ":") || strings.HasSuffix(joined, "：") {
			t.work += 2 * len(joined) * len(starts)
			sure, ok := introduces(joined, starts, t.quotedNear(j+1))
			if ok {
				return i, j + 1, sure
			}
			break
		}
	}
	return 0, 0, false
}

// introduces reports whether joined lines in lower case introduce a quote, and no fewer of them.
// starts are the starts of the lines. near: a line that begins with > follows.
func introduces(joined string, starts []int, near bool) (sure, ok bool) {
	for n := len(starts) - 1; n >= 0; n-- {
		if beginsAndWrote(joined[starts[n]:]) {
			return hasTime(joined), n == 0
		}
	}
	for n := len(starts) - 1; n >= 0; n-- {
		if wroteAfterAddress(joined[starts[n]:]) {
			return strings.Contains(joined, "<") || hasTime(strings.ReplaceAll(joined, "@", " ")), n == 0
		}
	}
	return false, near && len(starts) == 1 && len(joined) >= 12 && (hasTime(joined) || hasYear(joined)) // of an unknown language
}

// beginsAndWrote reports whether a text is one like "On 3 May 2026, Ann wrote:".
func beginsAndWrote(s string) bool {
	for _, word := range beginsWrote {
		if strings.HasPrefix(s, word) {
			return (hasTime(s) || hasYear(s)) && hasAny(s, wroteWords)
		}
	}
	return false
}

// wroteAfterAddress reports whether a text is one like "Ann <ann@example.com> wrote:", or begins
// with a date. Gmail writes no verb in Japanese.
func wroteAfterAddress(s string) bool {
	if s != "" && isDigit(s[0]) && hasYear(s) && (hasAny(s, wroteWords) || strings.Contains(s, "年") && strings.Contains(s, "日")) {
		return true
	}
	at := strings.IndexByte(s, '@')
	return at >= 0 && hasAny(s[at:], wroteWords)
}

// hasTime reports whether a text has an address, or a time of day.
func hasTime(s string) bool {
	if strings.IndexByte(s, '@') >= 0 {
		return true
	}
	for i := 1; i+2 < len(s); i++ {
		c := s[i]
		if (c == ':' || c == 'h' || c == '.') && isDigit(s[i-1]) && isDigit(s[i+1]) && isDigit(s[i+2]) && (i+3 == len(s) || !isDigit(s[i+3])) {
			return true
		}
	}
	return false
}

// hasYear reports whether a text has a year of this or the last century.
func hasYear(s string) bool {
	digits := 0
	for i := 0; i < len(s); i++ {
		if !isDigit(s[i]) {
			digits = 0
			continue
		}
		if digits++; digits == 4 && (i+1 == len(s) || !isDigit(s[i+1])) && (s[i-3:i-1] == "20" || s[i-3:i-1] == "19") {
			return true
		}
	}
	return false
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func hasAny(s string, words []string) bool {
	for _, w := range words {
		if strings.Contains(s, w) {
			return true
		}
	}
	return false
}
