package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"golang.org/x/term"
)

// progressDelay is how long work must take before a bar appears: most work is done sooner.
const progressDelay = 2 * time.Second

// refreshEvery is how often a bar is drawn.
const refreshEvery = 100 * time.Millisecond

// Bar shows progress, rate and remaining time on a terminal. It is safe for concurrent use.
type Bar struct {
	on      terminal
	what    string
	unit    string // of the parts; empty: a plain number
	began   time.Time
	done    atomic.Int64
	total   atomic.Int64 // 0: not known
	end     context.CancelFunc
	stopped chan struct{} // closed when drawing has ended
}

// Progress starts a bar on standard error for total parts; 0: not known. The bar appears after two
// seconds, only on a terminal, and disappears with Done or when ctx ends. what begins its line,
// like "check".
func Progress(ctx context.Context, what string, total int64) *Bar {
	return newBar(ctx, stderr(), what, total, "")
}

// ProgressBytes is Progress for bytes.
func ProgressBytes(ctx context.Context, what string, total int64) *Bar {
	return newBar(ctx, stderr(), what, total, "MiB")
}

// terminal is where a bar is drawn; without a writer nothing is drawn.
type terminal struct {
	w       io.Writer
	columns int
}

func stderr() terminal {
	columns, _, err := term.GetSize(int(os.Stderr.Fd()))
	if err != nil || os.Getenv("TERM") == "dumb" {
		return terminal{}
	}
	return terminal{os.Stderr, columns}
}

// barMargin is the width of everything in a bar's line but its name and the bar itself.
const barMargin = 50

func newBar(ctx context.Context, on terminal, what string, total int64, unit string) *Bar {
	b := &Bar{on: on, what: what, unit: unit, began: time.Now()}
	b.total.Store(total)
	if on.w == nil {
		return b
	}
	b.stopped = make(chan struct{})
	ctx, b.end = context.WithCancel(ctx)
	go b.refresh(ctx)
	return b
}

// refresh draws the bar periodically until ctx ends.
func (b *Bar) refresh(ctx context.Context) {
	defer close(b.stopped)
	tick := time.NewTicker(refreshEvery)
	defer tick.Stop()
	width := 0
	for {
		select {
		case <-tick.C:
			took := time.Since(b.began)
			if took < progressDelay {
				continue
			}
			line := b.line(took)
			// A closed terminal does not fail the work.
			_, _ = fmt.Fprintf(b.on.w, "\r%-*s", width, line)
			width = utf8.RuneCountInString(line)
		case <-ctx.Done():
			if width > 0 {
				_, _ = fmt.Fprintf(b.on.w, "\r%*s\r", width, "")
			}
			return
		}
	}
}

// line returns the bar's line after a time.
func (b *Bar) line(took time.Duration) string {
	done, total := b.done.Load(), b.total.Load()
	rate := float64(done) / took.Seconds()
	if total <= 0 {
		return fmt.Sprintf("%s %s (%s/s) [%s]", b.what, b.count(float64(done)), b.count(rate), took.Round(time.Second))
	}
	share := min(1, float64(done)/float64(total))
	left := "?"
	if done > 0 {
		left = time.Duration(float64(took) * (1 - share) / share).Round(time.Second).String()
	}
	width := min(40, max(5, b.on.columns-len(b.what)-barMargin))
	full := int(share * float64(width))
	return fmt.Sprintf("%s %3.0f%% |%s%s| (%s/%s, %s/s) [%s:%s]", b.what, 100*share, strings.Repeat("█", full), strings.Repeat(" ", width-full),
		b.count(float64(done)), b.count(float64(total)), b.count(rate), took.Round(time.Second), left)
}

// count formats a number of parts.
func (b *Bar) count(n float64) string {
	if b.unit == "" {
		return fmt.Sprintf("%.0f", n)
	}
	return fmt.Sprintf("%.1f %s", n/(1<<20), b.unit)
}

// At sets how many parts are done. It can be used as a callback; total may change.
func (b *Bar) At(done, total int64) {
	b.done.Store(done)
	if total > 0 {
		b.total.Store(total)
	}
}

// Done removes the bar.
func (b *Bar) Done() {
	if b.end != nil {
		b.end()
		<-b.stopped
	}
}
