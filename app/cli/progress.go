package cli

import (
	"context"
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// progressDelay is how long a work may take before a bar appears: most are over sooner,
// and a bar that flashes by tells nobody anything.
const progressDelay = 2 * time.Second

// refreshEvery is how often a bar is drawn.
const refreshEvery = 100 * time.Millisecond

// Bar shows on a terminal how far a work is, at what rate, and how long it still takes.
// It is safe for concurrent use.
type Bar struct {
	bar   *progressbar.ProgressBar // nil: nobody looks
	end   context.CancelFunc
	gone  chan struct{} // closed when the bar is
	total int64
}

// Progress begins a bar on standard error for a work of total parts; 0: how many there
// are is not known. It appears after two seconds, not at all where standard error is no
// terminal, and goes with Done or when ctx ends. what begins its line, like "check".
func Progress(ctx context.Context, what string, total int64) *Bar {
	return newBar(ctx, stderr(), what, total)
}

// ProgressBytes is Progress for a work that is counted in bytes.
func ProgressBytes(ctx context.Context, what string, total int64) *Bar {
	return newBar(ctx, stderr(), what, total, progressbar.OptionShowBytes(true), progressbar.OptionUseIECUnits(true))
}

// terminal is what a bar is drawn on; without a writer nothing is.
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

// besideBar is the most that stands in the line of a bar beside what it is about and the
// bar itself: how much is done, the rate and two times.
const besideBar = 50

func newBar(ctx context.Context, on terminal, what string, total int64, more ...progressbar.Option) *Bar {
	if on.w == nil {
		return &Bar{}
	}
	options := append([]progressbar.Option{
		progressbar.OptionSetWriter(&lateWriter{on.w, time.Now().Add(progressDelay)}),
		progressbar.OptionSetDescription(what),
		progressbar.OptionSetWidth(min(40, max(5, on.columns-len(what)-besideBar))),
		progressbar.OptionThrottle(refreshEvery),
		progressbar.OptionSetSpinnerChangeInterval(0), // its own ticker races with the bar's end
		progressbar.OptionClearOnFinish(),
	}, more...)
	if total > 0 {
		options = append(options, progressbar.OptionShowCount(), progressbar.OptionShowIts(), progressbar.OptionSetItsString("of them"))
	} else {
		total = -1
	}
	b := &Bar{bar: progressbar.NewOptions64(total, options...), total: total, gone: make(chan struct{})}
	b.bar.StartWithoutRender()
	ctx, b.end = context.WithCancel(ctx)
	go b.refresh(ctx)
	return b
}

// refresh draws the bar again and again, also while no part is done, until ctx ends.
func (b *Bar) refresh(ctx context.Context) {
	defer close(b.gone)
	tick := time.NewTicker(refreshEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			_ = b.bar.RenderBlank() // a terminal that is gone is no trouble of the work
		case <-ctx.Done():
			_ = b.bar.Finish()
			return
		}
	}
}

// At notes that done parts of total are done, where a work says so itself; it fits a
// callback. The total may be another each time.
func (b *Bar) At(done, total int64) {
	if b.bar == nil {
		return
	}
	if total > 0 && total != b.total {
		b.total = total
		b.bar.ChangeMax64(total)
	}
	_ = b.bar.Set64(done)
}

// Done takes the bar away.
func (b *Bar) Done() {
	if b.bar != nil {
		b.end()
		<-b.gone
	}
}

// lateWriter writes nothing until a time.
type lateWriter struct {
	w    io.Writer
	from time.Time
}

func (l *lateWriter) Write(b []byte) (int, error) {
	if time.Now().Before(l.from) {
		return len(b), nil
	}
	return l.w.Write(b)
}
