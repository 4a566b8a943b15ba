package rest

import (
	"cmp"
	"context"
	"log/slog"
	"net/netip"
	"sync"
	"time"

	"mailer/app"
	"mailer/app/kit/fair"
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

// timedSemaphore bounds the memory of one kind of body, in bytes, or the number of lists at work.
// Callers wait for a bounded time, and long waits are logged.
type timedSemaphore struct {
	*fair.Semaphore[memoryOwner]
	name    string        // in the log and in /readyz
	maxWait time.Duration // how long a caller waits for memory
	log     *slog.Logger

	mu       sync.Mutex
	shortage shortage
}

// shortage is a period in which callers waited long. The zero value is no shortage.
type shortage struct {
	began, last time.Time
	refused     int
}

func newTimedSemaphore(name string, capacity, share int64, maxWait time.Duration, log *slog.Logger) *timedSemaphore {
	return &timedSemaphore{
		Semaphore: fair.New(fair.Config[memoryOwner]{Capacity: capacity, Share: share, LeaveHalf: true}),
		name:      name, maxWait: maxWait, log: log,
	}
}

// acquire waits for n units for an owner. The caller must Release them. Errors:
// CodeServiceUnavailable after maxWait; the error of ctx.
func (l *timedSemaphore) acquire(ctx context.Context, owner memoryOwner, n int64) (waited bool, err error) {
	if l.TryAcquire(owner, n) {
		l.endShortage()
		return false, nil
	}
	limited, cancel := context.WithTimeout(ctx, l.maxWait)
	defer cancel()
	long := time.AfterFunc(shortageAfter, func() { l.noteShortage(owner, n) })
	defer long.Stop()
	err = l.Acquire(limited, owner, n)
	if err == nil || ctx.Err() != nil {
		return true, err
	}
	l.noteShortage(owner, n)
	return true, l.refusal(owner, n)
}

// refusal is the error for an owner that did not get n bytes.
func (l *timedSemaphore) refusal(owner memoryOwner, n int64) error {
	switch {
	case l.serverShort(l.Usage(owner), n):
		l.mu.Lock()
		defer l.mu.Unlock()
		l.shortage.refused++
		return NewError(app.CodeServiceUnavailable, "The server has too many "+l.name+" at work; try again later")
	case owner.team != "":
		return NewError(app.CodeServiceUnavailable, "Your team has too many "+l.name+" running or waiting; send fewer at the same time, or try again later")
	}
	return NewError(app.CodeServiceUnavailable, "Your address has too many "+l.name+" on their way; try again later")
}

// serverShort reports whether an owner waits for n bytes of the server's memory, and not because
// its share is used up.
func (l *timedSemaphore) serverShort(u fair.Usage[memoryOwner], n int64) bool {
	owners := int64(u.Owners)
	if u.Held == 0 {
		owners++
	}
	return u.Held+n <= l.Share && (u.Used+n > l.Capacity || u.Held+n <= l.Capacity/(owners+1))
}

// noteShortage records that an owner waits long for n bytes, and logs the beginning of a shortage.
func (l *timedSemaphore) noteShortage(owner memoryOwner, n int64) {
	u := l.Usage(owner)
	if !l.serverShort(u, n) {
		return
	}
	l.mu.Lock()
	first := l.shortage.began.IsZero()
	l.shortage.last = time.Now()
	if first {
		l.shortage.began = l.shortage.last
	}
	l.mu.Unlock()
	if first {
		l.log.Warn("requests wait for room for their bodies", "lane", l.name, "waiting", u.Waiting,
			"used_bytes", u.Used, "capacity_bytes", l.Capacity, "holders", u.Owners, "most_bytes", u.MostHeld, "most_by", u.Most.String())
	}
}

// starved reports whether memory is short.
func (l *timedSemaphore) starved() bool {
	l.endShortage()
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.shortage.began.IsZero()
}

// endShortage ends a shortage that is over, and logs its end.
func (l *timedSemaphore) endShortage() {
	l.mu.Lock()
	over := l.shortage
	if over.began.IsZero() || time.Since(over.last) < shortageEnds {
		l.mu.Unlock()
		return
	}
	l.shortage = shortage{}
	l.mu.Unlock()
	l.log.Info("there is room for bodies again", "lane", l.name, "refused", over.refused, "lasted", over.last.Sub(over.began))
}
