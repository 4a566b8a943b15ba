package cli

import (
	"context"
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// progressDelay is how long work must take before a bar appears: most work is done sooner.
const progressDelay = 2 * time.Second

// refreshEvery is how often a bar is drawn.
const refreshEvery = 100 * time.Millisecond

// Bar shows progress, rate and remaining time on a terminal. It is safe for concurrent use.
type Bar struct {
	bar     *progressbar.ProgressBar // nil: nothing is drawn
	end     context.CancelFunc
	stopped chan struct{} // closed when drawing has ended
}

// Progress starts a bar on standard error for total parts; 0: not known. The bar appears after two
// seconds, only on a terminal, and disappears with Done or when ctx ends. what begins its line,
// like "check".
func Progress(ctx context.Context, what string, total int64) *Bar {
	return newBar(ctx, stderr(), what, total)
}

// ProgressBytes is Progress for bytes.
func ProgressBytes(ctx context.Context, what string, total int64) *Bar {
	return newBar(ctx, stderr(), what, total, progressbar.OptionShowBytes(true), progressbar.OptionUseIECUnits(true))
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

func newBar(ctx context.Context, on terminal, what string, total int64, more ...progressbar.Option) *Bar {
	if on.w == nil {
		return &Bar{}
	}
	if total <= 0 {
		total = -1
	}
	options := append([]progressbar.Option{
		progressbar.OptionSetWriter(&delayedWriter{w: on.w, began: time.Now()}),
		progressbar.OptionSetDescription(what),
		progressbar.OptionSetWidth(min(40, max(5, on.columns-len(what)-barMargin))),
		progressbar.OptionShowCount(),
		progressbar.OptionShowIts(),
		progressbar.OptionThrottle(refreshEvery),
		progressbar.OptionSetSpinnerChangeInterval(0), // refresh draws; a second ticker would race with Done
		progressbar.OptionClearOnFinish(),
	}, more...)
	b := &Bar{bar: progressbar.NewOptions64(total, options...), stopped: make(chan struct{})}
	b.bar.StartWithoutRender()
	ctx, b.end = context.WithCancel(ctx)
	go b.refresh(ctx)
	return b
}

// refresh draws the bar periodically, also while no part is done, until ctx ends.
func (b *Bar) refresh(ctx context.Context) {
	defer close(b.stopped)
	tick := time.NewTicker(refreshEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			_ = b.bar.RenderBlank() // a closed terminal does not fail the work
		case <-ctx.Done():
			_ = b.bar.Finish()
			return
		}
	}
}

// At sets how many parts are done. It can be used as a callback; total may change.
func (b *Bar) At(done, total int64) {
	if b.bar == nil {
		return
	}
	if total > 0 && total != b.bar.GetMax64() {
		b.bar.ChangeMax64(total)
	}
	_ = b.bar.Set64(done)
}

// Done removes the bar.
func (b *Bar) Done() {
	if b.bar != nil {
		b.end()
		<-b.stopped
	}
}

// delayedWriter writes nothing until progressDelay after it began.
type delayedWriter struct {
	w     io.Writer
	began time.Time
}

func (d *delayedWriter) Write(b []byte) (int, error) {
	if time.Since(d.began) < progressDelay {
		return len(b), nil
	}
	return d.w.Write(b)
}
