package inbound

import (
	"strings"

	"mailer/app"
	"mailer/app/kit/htmltext"
)

// ReplyText returns what the author of an answer wrote: the text without quotes, the lines that
// introduce them, and signatures. Text between and below quotes is kept. The HTML is read where it
// marks quotes better than the text. It takes linear time.
//
// Forwarded mail is returned whole: what it quotes is what it says. So is a message in which
// nothing is recognised, or in which nothing is left. Of a text the first MiB is read, and the rest left out.
func ReplyText(m *Message) string {
	text, _ := replyText(m)
	return text
}

// replyText returns also the work, in bytes looked at.
func replyText(m *Message) (text string, work int) {
	whole := strings.Trim(lineFeeds(app.CutText(m.Text, maxReply)), "\n \t")
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
	lower := strings.Replace(strings.ToLower(strings.TrimSpace(subject)), " :", ":", 1) // French
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
