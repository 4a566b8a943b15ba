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
	// shortageAfter is from when on waiting for room counts as a lane that is short.
	shortageAfter = 3 * time.Second
	// shortageEnds is how long after its last sign a shortage is over.
	shortageEnds = 5 * time.Second
)

// holder is who a share of a lane belongs to: a team, or, where no key is needed, a
// client.
type holder struct {
	team   string
	client netip.Prefix
}

// String is the holder as the log has it.
func (w holder) String() string { return cmp.Or(w.team, w.client.String()) }

// lane bounds the memory of one kind of body. Nobody can use it up: a holder has at
// most its share, and never more than is left free. So however many have theirs,
// there is always room for one more.
type lane struct {
	name     string // as the log and /readyz have it
	capacity int64
	share    int64         // of one holder
	patience time.Duration // how long somebody waits for room
	log      *slog.Logger

	mu      sync.Mutex
	used    int64
	held    map[holder]int64
	waiting []*waiter // in the order in which they came
	short   shortage
}

// waiter waits for n bytes of a lane.
type waiter struct {
	who   holder
	n     int64
	ready chan struct{} // closed once it has them
}

// shortage is a time in which a lane was short of room. The zero value: it was not.
type shortage struct {
	began, last time.Time
	refused     int
}

func newFairSemaphore(name string, capacity, share int64, patience time.Duration, log *slog.Logger) *lane {
	return &lane{name: name, capacity: capacity, share: share, patience: patience, log: log, held: map[holder]int64{}}
}

// fits reports whether a holder may have n more.
func (l *lane) fits(owner holder, n int64) bool {
	held, used := l.held[owner]+n, l.used+n
	return held <= min(l.share, l.capacity-used)
}

// take waits for n bytes more for a holder; those of one holder are served in their
// order. Errors: CodeServiceUnavailable where none came free in time, that of ctx.
func (l *lane) take(ctx context.Context, owner holder, n int64) (waited bool, err error) {
	l.mu.Lock()
	if l.fits(owner, n) && !l.waits(owner) {
		l.held[owner] += n
		l.used += n
		over := l.recovered()
		l.mu.Unlock()
		l.logRecovered(over)
		return false, nil
	}
	w := &waiter{who: owner, n: n, ready: make(chan struct{})}
	l.waiting = append(l.waiting, w)
	l.mu.Unlock()
	return true, l.wait(ctx, w)
}

// waits reports whether somebody of a holder waits already.
func (l *lane) waits(owner holder) bool {
	return slices.ContainsFunc(l.waiting, func(w *waiter) bool { return w.who == owner })
}

func (l *lane) wait(ctx context.Context, w *waiter) error {
	first := min(shortageAfter, l.patience)
	for _, pause := range []time.Duration{first, l.patience - first} {
		select {
		case <-w.ready:
			return nil
		case <-ctx.Done():
			if l.leave(w) {
				return ctx.Err()
			}
			return nil
		case <-time.After(pause):
			l.noteShortage(w)
		}
	}
	if !l.leave(w) {
		return nil
	}
	return l.refusal(w)
}

// leave takes a waiter out; false: it has its room by now.
func (l *lane) leave(w *waiter) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := slices.Index(l.waiting, w)
	if at < 0 {
		return false
	}
	l.waiting = slices.Delete(l.waiting, at, at+1)
	l.wake() // one behind it may want less
	return true
}

// give hands n bytes of a holder back.
func (l *lane) give(owner holder, n int64) {
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
	l.wake()
}

// wake serves all waiters for whom there is room now.
func (l *lane) wake() {
	if len(l.waiting) == 0 {
		return
	}
	behind := map[holder]bool{} // one who came before still waits
	l.waiting = slices.DeleteFunc(l.waiting, func(w *waiter) bool {
		if behind[w.who] || !l.fits(w.who, w.n) {
			behind[w.who] = true
			return false
		}
		l.held[w.who] += w.n
		l.used += w.n
		close(w.ready)
		return true
	})
}

// refusal is what a waiter hears that got no room.
func (l *lane) refusal(w *waiter) error {
	l.mu.Lock()
	own := !l.lacks(w)
	if !own {
		l.short.refused++
	}
	l.mu.Unlock()
	switch {
	case !own:
		return NewError(app.CodeServiceUnavailable, "The server has too many "+l.name+" at work; try again later")
	case w.who.team != "":
		return NewError(app.CodeServiceUnavailable, "Your team has too many "+l.name+" running or waiting; send fewer at the same time, or try again later")
	}
	return NewError(app.CodeServiceUnavailable, "Your address has too many "+l.name+" on their way; try again later")
}

// lacks reports whether it is the lane that has no room for a waiter, and not the
// waiter's own share that is used up.
func (l *lane) lacks(w *waiter) bool {
	held, holders := l.held[w.who], int64(len(l.held))
	if held == 0 {
		holders++
	}
	return held+w.n <= l.share && (l.used+w.n > l.capacity || held+w.n <= l.capacity/(holders+1))
}

// noteShortage notes that somebody waits for long, and warns of it once.
func (l *lane) noteShortage(w *waiter) {
	l.mu.Lock()
	if !slices.Contains(l.waiting, w) || !l.lacks(w) {
		l.mu.Unlock()
		return
	}
	first := l.short.began.IsZero()
	l.short.last = time.Now()
	if first {
		l.short.began = l.short.last
	}
	used, waiting, holders := l.used, len(l.waiting), len(l.held)
	var by holder
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

// starved reports whether the lane is short of room.
func (l *lane) starved() bool {
	l.mu.Lock()
	over := l.recovered()
	short := !l.short.began.IsZero()
	l.mu.Unlock()
	l.logRecovered(over)
	return short
}

// recovered ends a shortage that is over, and returns it.
func (l *lane) recovered() shortage {
	if l.short.began.IsZero() || time.Since(l.short.last) < shortageEnds {
		return shortage{}
	}
	over := l.short
	l.short = shortage{}
	return over
}

func (l *lane) logRecovered(s shortage) {
	if !s.began.IsZero() {
		l.log.Info("there is room for bodies again", "lane", l.name, "refused", s.refused, "lasted", s.last.Sub(s.began))
	}
}
