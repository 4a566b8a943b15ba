package cli

import (
	"io"
	"os"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/term"

	"mailer/app/kit/mailbox"
)

// columnGap separates columns.
const columnGap = "  "

// stateHeads are the heads of columns with coloured states.
var stateHeads = []string{"STATE", "STATUS", "LIVE", "OK", "LAST EVENT"}

const (
	green  = "\x1b[32m"
	yellow = "\x1b[33m"
	red    = "\x1b[31m"
	plain  = "\x1b[0m"
)

// stateColours are the colours of states: green is good, yellow waits, red is an error. Other words
// have no colour.
var stateColours = map[string]string{
	"ok": green, "✓": green, "✗": red, "yes": green, "open": green, "verified": green, "found": green, "enabled": green, "sent": green, "delivered": green, "opened": green,
	"clicked": green, "completed": green, "published": green, "active": green,
	"pending": yellow, "not_started": yellow, "not_checked": yellow, "queued": yellow, "scheduled": yellow, "due": yellow, "retry": yellow, "held": yellow,
	"paused": yellow, "quota": yellow, "paced": yellow, "relay": yellow, "resting": yellow, "delivery_delayed": yellow, "in_progress": yellow, "warning": yellow,
	"disabled": yellow, "suspended": yellow, "canceled": yellow, "later": yellow, "draining": yellow,
	"no": red, "failed": red, "failing": red, "bounced": red, "complained": red, "suppressed": red, "missing": red, "wrong": red, "mismatch": red,
	"conflict": red, "expired": red, "damaged": red,
}

// colourful reports whether w shows colours: a terminal whose user has not disabled them
// (no-color.org).
func colourful(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && term.IsTerminal(int(f.Fd()))
}

// State formats a state for w, coloured on a terminal.
func State(w io.Writer, word string) string { return painted(printable(word), colourful(w)) }

func painted(word string, colours bool) string {
	colour := stateColours[strings.ToLower(word)]
	if !colours || colour == "" {
		return word
	}
	return colour + word + plain
}

// write aligns the columns by their visible width.
func (t Table) write(w io.Writer, colours bool) error {
	lines := [][]string{t.Head}
	for _, row := range t.Rows {
		lines = append(lines, row.Cells)
	}
	var widths []int
	for _, cells := range lines {
		for i, cell := range cells {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(printable(cell)))
		}
	}
	var b strings.Builder
	for n, cells := range lines {
		for i, cell := range cells {
			cell = printable(cell)
			padding := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if n > 0 && i < len(t.Head) && slices.Contains(stateHeads, t.Head[i]) {
				cell = painted(cell, colours)
			}
			b.WriteString(cell)
			if i < len(cells)-1 {
				b.WriteString(padding + columnGap)
			}
		}
		b.WriteByte('\n')
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// printable makes a text safe to print on one line. A name or a relay's reply could contain
// characters that move the cursor, overwrite other lines, or reorder the line.
func printable(text string) string { return strings.Map(shownAs, text) }

// printableLines is printable for a text of several lines.
func printableLines(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = printable(line)
	}
	return strings.Join(lines, "\n")
}

func shownAs(r rune) rune {
	switch {
	case mailbox.IsControl(r):
		return ' '
	case mailbox.IsHidden(r), unicode.Is(unicode.Bidi_Control, r):
		return utf8.RuneError
	}
	return r
}
