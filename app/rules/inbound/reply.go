package inbound

import (
	"strings"
	"unicode/utf8"

	"mailer/app/kit/htmltext"
)

// ReplyText returns what the author of an answer wrote: the text without quotes, the lines that
// introduce them, and signatures. Text between and below quotes is kept. The HTML is read where it
// marks quotes better than the text. It takes linear time.
//
// Forwarded mail is returned whole: what it quotes is what it says. So is a message in which
// nothing is recognised, or in which nothing is left. Of a text the first MiB is read.
func ReplyText(m *Message) string {
	text, _ := replyText(m)
	return text
}

// replyText returns also the work, in bytes looked at.
func replyText(m *Message) (text string, work int) {
	whole := strings.Trim(lineFeeds(m.Text), "\n \t")
	if isForward(m.Subject) {
		return whole, 0
	}
	t := trimmer{}
	found := ""
	if !m.textMade {
		found = t.trim(m.Text)
	}
	recognised := t.score() > 0
	work = t.work
	if score := t.score(); score < quoteScore+signatureScore && m.HTML != "" {
		source, marks := markQuotes(m.HTML)
		if m.textMade || marks.score() > score {
			rich := trimmer{seen: marks}
			if text := rich.trim(htmltext.PlainText(source)); text != "" && (m.textMade || rich.score() > score) {
				found, recognised = text, rich.score() > 0
			}
			work += rich.work
		}
	}
	if found == "" || !recognised {
		return whole, work
	}
	return found, work
}

// isForward reports whether a subject is that of forwarded mail.
func isForward(subject string) bool {
	lower := strings.ToLower(strings.TrimSpace(subject))
	for _, prefix := range forwardPrefixes {
		if strings.HasPrefix(lower, prefix) {
			return true
		}
	}
	return false
}

// seen says what was recognised in a message.
type seen struct{ quote, signature bool }

const (
	quoteScore     = 2
	signatureScore = 1
)

func (s seen) score() (n int) {
	if s.quote {
		n += quoteScore
	}
	if s.signature {
		n += signatureScore
	}
	return n
}

// lineKind is what a line is.
type lineKind byte

const (
	lineText      lineKind = iota
	lineBlank              // nothing visible
	lineQuoted             // begins with >
	lineIntro              // introduces a quote: removed
	lineSignature          // removed
	lineRest               // of a quote without marks: removed
)

// trimmer removes quotes and signatures from a text.
type trimmer struct {
	seen
	lines []string
	kinds []lineKind
	label []label
	quote []int // for each line, the index of the first quoted line at or after it
	work  int   // bytes looked at, for tests
}

// Limits of what is looked at around a line.
const (
	maxReply      = 1 << 20 // bytes of text
	maxIntroLines = 4       // of the line before a quote, which programs wrap
	maxIntro      = 1000
	maxLabelLines = 12 // of the header of a quoted message
	maxQuoteGap   = 3  // lines between the line before a quote and the quote
	maxLabel      = 60 // bytes of a label
	maxTail       = 5  // lines of a signature that a telephone adds
	maxSignature  = 12 // lines after two dashes without a blank
)

// trim returns what is left; empty: nothing.
func (t *trimmer) trim(text string) string {
	if len(text) > maxReply {
		text = strings.ToValidUTF8(text[:maxReply], "")
	}
	t.lines = strings.Split(lineFeeds(text), "\n")
	t.kinds, t.label = make([]lineKind, len(t.lines)), make([]label, len(t.lines))
	t.quote = make([]int, len(t.lines)+1)
	t.quote[len(t.lines)] = len(t.lines)
	for i := len(t.lines) - 1; i >= 0; i-- {
		t.work += len(t.lines[i])
		if t.kinds[i] = kindOf(t.lines[i]); t.kinds[i] == lineText {
			t.label[i] = labelOf(t.lines[i])
		}
		t.quote[i] = t.quote[i+1]
		if t.kinds[i] == lineQuoted {
			t.quote[i] = i
			t.seen.quote = true
		}
	}
	for i := 0; i < len(t.lines); i++ {
		if t.kinds[i] != lineText {
			continue
		}
		begin, end, sure := t.introAt(i)
		switch {
		case end == 0:
		case t.quotedNear(end):
			t.seen.quote = true
			t.mark(begin, end, lineIntro)
			i = end - 1
		case sure:
			t.seen.quote = true
			t.mark(begin, len(t.lines), lineRest)
			i = len(t.lines)
		}
	}
	t.dividers()
	t.signatures()
	return t.join()
}

// dividers marks the lines of dashes above quotes.
func (t *trimmer) dividers() {
	for i, last := 0, -1; i < len(t.lines); i++ {
		switch t.kinds[i] {
		case lineBlank:
		case lineText:
			last = i
		default:
			if last >= 0 && isDivider(t.lines[last]) {
				t.kinds[last] = lineIntro
			}
			last = -1
		}
	}
}

func (t *trimmer) mark(from, to int, kind lineKind) {
	for i := from; i < to; i++ {
		t.kinds[i] = kind
	}
}

// kindOf returns what a line is alone.
func kindOf(line string) lineKind {
	text := strings.TrimLeft(line, " \t\u00a0\u200b")
	switch {
	case strings.TrimSpace(text) == "":
		return lineBlank
	case text[0] == '>' && len(line)-len(text) <= 3, strings.HasPrefix(text, "＞"):
		return lineQuoted
	}
	return lineText
}

// quotedNear reports whether quoted lines follow soon.
func (t *trimmer) quotedNear(i int) bool {
	next := t.quote[min(i, len(t.lines))]
	if next-i > maxQuoteGap || next == len(t.lines) {
		return false
	}
	for ; i < next; i++ {
		if t.kinds[i] == lineText {
			return false
		}
	}
	return true
}

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

// join returns the text lines. Where lines were removed, one blank line is left.
func (t *trimmer) join() string {
	var b strings.Builder
	blank, removed := 0, false
	for i, line := range t.lines {
		switch t.kinds[i] {
		case lineBlank:
			blank++
		case lineText:
			if b.Len() > 0 {
				if removed {
					blank = 1
				}
				b.WriteString(strings.Repeat("\n", blank+1))
			}
			b.WriteString(strings.TrimRight(line, " \t\u00a0"))
			blank, removed = 0, false
		default:
			removed = true
		}
	}
	return strings.Trim(b.String(), "\n")
}
