package rest

import (
	"cmp"
	"context"
	"log/slog"
	"net/netip"
	"slices"
	"sync"
	"time"

	"mailer/app"
)

const (
	// shortageAfter is the waiting time from which memory counts as short.
	shortageAfter = 3 * time.Second
	// shortageEnds is the time after the last long wait at which a shortage is over.
	shortageEnds = 5 * time.Second
)

// memoryOwner is the owner of a share: a team, or the client's network for public routes.
type memoryOwner struct {
	team   string
	client netip.Prefix
}

// String returns the owner's name in the log.
func (w memoryOwner) String() string { return cmp.Or(w.team, w.client.String()) }

// fairSemaphore bounds the memory of one kind of body. No owner can use it up: an owner holds at
// most its share, and at most as much as stays free. So there is always memory for one more owner.
type fairSemaphore struct {
	name     string // in the log and in /readyz
	capacity int64
	share    int64         // limit of one owner
	maxWait  time.Duration // how long a caller waits for memory
	log      *slog.Logger

	mu       sync.Mutex
	used     int64
	held     map[memoryOwner]int64
	waiting  []*waiter // in order of arrival
	shortage shortage
}

// waiter is a caller that waits for n bytes.
type waiter struct {
	owner memoryOwner
	n     int64
	ready chan struct{} // closed when the bytes are granted
}

// shortage is a period in which callers waited long. The zero value is no shortage.
type shortage struct {
	began, last time.Time
	refused     int
}

func newFairSemaphore(name string, capacity, share int64, maxWait time.Duration, log *slog.Logger) *fairSemaphore {
	return &fairSemaphore{name: name, capacity: capacity, share: share, maxWait: maxWait, log: log, held: map[memoryOwner]int64{}}
}

// fits reports whether an owner may take n more bytes.
func (l *fairSemaphore) fits(owner memoryOwner, n int64) bool {
	held, used := l.held[owner]+n, l.used+n
	return held <= min(l.share, l.capacity-used)
}

// acquire waits for n bytes for an owner. Callers of one owner are served in order. Errors:
// CodeServiceUnavailable after maxWait; the error of ctx.
func (l *fairSemaphore) acquire(ctx context.Context, owner memoryOwner, n int64) (waited bool, err error) {
	l.mu.Lock()
	if l.fits(owner, n) && !l.hasWaiter(owner) {
		l.held[owner] += n
		l.used += n
		over := l.endShortage()
		l.mu.Unlock()
		l.logRecovered(over)
		return false, nil
	}
	w := &waiter{owner: owner, n: n, ready: make(chan struct{})}
	l.waiting = append(l.waiting, w)
	l.mu.Unlock()
	return true, l.wait(ctx, w)
}

// hasWaiter reports whether a caller of an owner waits already.
func (l *fairSemaphore) hasWaiter(owner memoryOwner) bool {
	return slices.ContainsFunc(l.waiting, func(w *waiter) bool { return w.owner == owner })
}

func (l *fairSemaphore) wait(ctx context.Context, w *waiter) error {
	first := min(shortageAfter, l.maxWait)
	for _, pause := range []time.Duration{first, l.maxWait - first} {
		select {
		case <-w.ready:
			return nil
		case <-ctx.Done():
			if l.removeWaiter(w) {
				return ctx.Err()
			}
			return nil
		case <-time.After(pause):
			l.noteShortage(w)
		}
	}
	if !l.removeWaiter(w) {
		return nil
	}
	return l.refusal(w)
}

// removeWaiter removes a waiter; false if its bytes were granted meanwhile.
func (l *fairSemaphore) removeWaiter(w *waiter) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := slices.Index(l.waiting, w)
	if at < 0 {
		return false
	}
	l.waiting = slices.Delete(l.waiting, at, at+1)
	l.grant() // a later waiter may want less
	return true
}

// release returns n bytes of an owner.
func (l *fairSemaphore) release(owner memoryOwner, n int64) {
	if n == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.used -= n
	if left := l.held[owner] - n; left > 0 {
		l.held[owner] = left
	} else {
		delete(l.held, owner)
	}
	l.grant()
}

// grant serves all waiters that fit.
func (l *fairSemaphore) grant() {
	if len(l.waiting) == 0 {
		return
	}
	skipped := map[memoryOwner]bool{} // owners whose earlier waiter still waits
	l.waiting = slices.DeleteFunc(l.waiting, func(w *waiter) bool {
		if skipped[w.owner] || !l.fits(w.owner, w.n) {
			skipped[w.owner] = true
			return false
		}
		l.held[w.owner] += w.n
		l.used += w.n
		close(w.ready)
		return true
	})
}

// refusal is the error for a waiter that was not served.
func (l *fairSemaphore) refusal(w *waiter) error {
	l.mu.Lock()
	own := !l.serverShort(w)
	if !own {
		l.shortage.refused++
	}
	l.mu.Unlock()
	switch {
	case !own:
		return NewError(app.CodeServiceUnavailable, "The server has too many "+l.name+" at work; try again later")
	case w.owner.team != "":
		return NewError(app.CodeServiceUnavailable, "Your team has too many "+l.name+" running or waiting; send fewer at the same time, or try again later")
	}
	return NewError(app.CodeServiceUnavailable, "Your address has too many "+l.name+" on their way; try again later")
}

// serverShort reports whether a waiter waits for the server's memory, and not because its owner's
// share is used up.
func (l *fairSemaphore) serverShort(w *waiter) bool {
	held, holders := l.held[w.owner], int64(len(l.held))
	if held == 0 {
		holders++
	}
	return held+w.n <= l.share && (l.used+w.n > l.capacity || held+w.n <= l.capacity/(holders+1))
}

// noteShortage records that a waiter waits long, and logs the beginning of a shortage.
func (l *fairSemaphore) noteShortage(w *waiter) {
	l.mu.Lock()
	if !slices.Contains(l.waiting, w) || !l.serverShort(w) {
		l.mu.Unlock()
		return
	}
	first := l.shortage.began.IsZero()
	l.shortage.last = time.Now()
	if first {
		l.shortage.began = l.shortage.last
	}
	used, waiting, holders := l.used, len(l.waiting), len(l.held)
	var by memoryOwner
	for owner, n := range l.held {
		if n > l.held[by] {
			by = owner
		}
	}
	most := l.held[by]
	l.mu.Unlock()
	if first {
		l.log.Warn("requests wait for room for their bodies", "lane", l.name, "waiting", waiting,
			"used_bytes", used, "capacity_bytes", l.capacity, "holders", holders, "most_bytes", most, "most_by", by.String())
	}
}

// starved reports whether memory is short.
func (l *fairSemaphore) starved() bool {
	l.mu.Lock()
	over := l.endShortage()
	short := !l.shortage.began.IsZero()
	l.mu.Unlock()
	l.logRecovered(over)
	return short
}

// endShortage ends and returns a shortage that is over.
func (l *fairSemaphore) endShortage() shortage {
	if l.shortage.began.IsZero() || time.Since(l.shortage.last) < shortageEnds {
		return shortage{}
	}
	over := l.shortage
	l.shortage = shortage{}
	return over
}

func (l *fairSemaphore) logRecovered(s shortage) {
	if !s.began.IsZero() {
		l.log.Info("there is room for bodies again", "lane", l.name, "refused", s.refused, "lasted", s.last.Sub(s.began))
	}
}
