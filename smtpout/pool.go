package smtpout

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"mailer/app"
)

const (
	// idleLimit is how long an unused connection is kept.
	idleLimit = 30 * time.Second
	// connLimit is how many transactions one connection carries.
	connLimit = 100
)

// pool bounds and keeps connections. A slot stands for one connection in use or
// being opened or left; since a connection is opened only while none is idle,
// used and idle ones together never outnumber the slots. Where the relay refuses
// one while others work, the slots become as many as those.
type pool struct {
	slots     *slots
	ceiling   *ceiling
	idleLimit time.Duration
	connLimit int
	log       *slog.Logger

	mu      sync.Mutex
	idle    []*conn       // the last one was used last
	busy    int           // connections in use
	opening int           // connections being opened
	round   *openingRound // of openings
	timer   *time.Timer
	closed  bool
	work    sync.WaitGroup // goodbyes being said

	refusal     app.Reply // that lowered the limit, not logged yet
	loggedLimit int       // limit that was logged last
	loggedAt    time.Time // and when
}

// openingRound are openings at one time, of which some were refused while it is not known
// yet whether any succeeds.
type openingRound struct {
	over   chan struct{}
	worked bool
}

func newPool(n int, log *slog.Logger) *pool {
	c := newCeiling(n)
	more := func() bool {
		raised := c.raise()
		if raised {
			log.Debug("smtp: one connection more is tried", "limit", c.limit())
		}
		return raised
	}
	return &pool{
		slots:   &slots{limit: c.limit, grow: more, reserve: true},
		ceiling: c, idleLimit: idleLimit, connLimit: connLimit, log: log, loggedLimit: n,
		round: newOpeningRound(),
	}
}

func newOpeningRound() *openingRound { return &openingRound{over: make(chan struct{})} }

// get waits for a slot and returns the connection that was used last; nil: the
// caller opens one at the place, and tells how that went by opened or refused.
// Every connection taken or opened is followed by one give, drop or reopen.
func (p *pool) get(ctx context.Context, who claimant) (*conn, *slot, error) {
	at, err := p.slots.acquire(ctx, who)
	if err != nil {
		return nil, nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.idle) > 0 {
		c := p.idle[len(p.idle)-1]
		p.idle = p.idle[:len(p.idle)-1]
		if p.usable(c) {
			p.busy++
			c.slot = at
			return c, nil, nil
		}
		c.cut()
	}
	p.opening++
	return nil, at, nil
}

func (p *pool) usable(c *conn) bool { return time.Since(c.since) < p.idleLimit }

// reopen ends a connection that was found dead; the caller opens another at its
// place.
func (p *pool) reopen(dead *conn) *slot {
	dead.cut()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.busy--
	p.opening++
	return dead.slot
}

// opened notes a connection that was opened at a place.
func (p *pool) opened(c *conn, at *slot) {
	c.slot = at
	p.mu.Lock()
	defer p.mu.Unlock()
	p.busy++
	p.loggedLimit = max(p.loggedLimit, p.working())
	p.openingEnded(true)
	p.logLimit()
}

// refused notes a connection that could not be opened, and gives its place up. It
// reports whether the relay works nevertheless, so that the caller is to wait for
// one of the connections that it lets us have; it waits for those that are being
// opened at the same time where none works yet.
func (p *pool) refused(ctx context.Context, at *slot, reply app.Reply) bool {
	p.mu.Lock()
	r, working := p.round, p.working() > 0
	p.openingEnded(false)
	p.mu.Unlock()
	if !working {
		select {
		case <-r.over:
			working = r.worked
		case <-ctx.Done():
		}
	}
	stopped := ctx.Err() != nil // then the relay has refused nothing
	if !stopped {
		p.adjustLimit(working, reply)
	}
	p.slots.release(at)
	return working && !stopped
}

// openingEnded counts an opening that has ended. A round is over with its first success,
// or when all have failed. p.mu is held.
func (p *pool) openingEnded(succeeded bool) {
	if p.opening--; succeeded || p.opening == 0 {
		p.round.worked = p.working() > 0
		close(p.round.over)
		p.round = newOpeningRound()
	}
}

// working counts the connections that work. p.mu is held.
func (p *pool) working() int {
	n := p.busy
	for _, c := range p.idle {
		if p.usable(c) {
			n++
		}
	}
	return n
}

// adjustLimit makes the slots as many as the connections that work, or may yet, after
// one more was refused. A relay of which none works has other trouble than their
// number: once it is over, all is as it was configured.
func (p *pool) adjustLimit(working bool, reply app.Reply) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !working {
		p.ceiling.reset()
		p.loggedLimit, p.refusal = p.ceiling.limit(), app.Reply{}
		return
	}
	p.ceiling.lower(p.working() + p.opening)
	p.refusal = reply
	p.logLimit()
}

// logLimit logs a limit that was lowered, once it is known how far. Where one
// connection more was tried in vain, nothing has changed. p.mu is held.
func (p *pool) logLimit() {
	if p.opening > 0 || p.refusal == (app.Reply{}) {
		return
	}
	level, limit := slog.LevelWarn, p.ceiling.limit()
	if limit == p.loggedLimit || time.Since(p.loggedAt) < raiseInterval {
		level = slog.LevelDebug
	} else {
		p.loggedLimit, p.loggedAt = limit, time.Now()
	}
	p.log.Log(context.Background(), level, "smtp: the relay takes no more connections at once",
		"limit", limit, "code", p.refusal.Code, "reply", p.refusal.Text)
	p.refusal = app.Reply{}
}

// refusedTransaction ends a new connection on which the relay takes no transaction (421), like one
// that it refuses: where others work, it is one too many. It reports whether they do.
func (p *pool) refusedTransaction(c *conn, reply app.Reply) (working bool) {
	c.cut()
	p.mu.Lock()
	p.busy--
	working = p.working() > 0
	p.mu.Unlock()
	if working {
		p.adjustLimit(true, reply)
	}
	p.slots.release(c.slot)
	return working
}

// put hands a connection back for others to use.
func (p *pool) put(c *conn) {
	at := c.slot // read before others may take c
	if c.used >= p.connLimit || !p.keep(c) {
		p.retire(c)
		return
	}
	p.slots.release(at)
}

// keep puts c among the idle ones, unless the pool is closed.
func (p *pool) keep(c *conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	p.busy--
	c.since = time.Now()
	p.idle = append(p.idle, c)
	if p.timer == nil {
		p.timer = time.AfterFunc(p.idleLimit, p.reap)
	}
	return true
}

// drop ends a connection at once and frees its slot.
func (p *pool) drop(c *conn) {
	c.cut()
	p.mu.Lock()
	p.busy--
	p.mu.Unlock()
	p.slots.release(c.slot)
}

// retire says QUIT on a connection in the background; the slot is free once the
// connection is gone.
func (p *pool) retire(c *conn) {
	p.mu.Lock()
	closed := p.closed
	if !closed {
		p.busy--
		p.work.Add(1)
	}
	p.mu.Unlock()
	if closed {
		p.drop(c)
		return
	}
	go func() {
		defer p.work.Done()
		defer p.slots.release(c.slot)
		p.quit(c)
	}()
}

func (p *pool) quit(c *conn) {
	defer func() {
		if r := recover(); r != nil {
			p.log.Error("smtp: panic while leaving a connection", "panic", r)
		}
	}()
	c.quit()
}

// reap leaves connections that were idle for too long. It runs by the timer, in
// a goroutine of its own.
func (p *pool) reap() {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return
	}
	old := p.takeExpired()
	if p.timer = nil; len(p.idle) > 0 {
		p.timer = time.AfterFunc(max(p.idleLimit-time.Since(p.idle[0].since), time.Millisecond), p.reap)
	}
	p.mu.Unlock()
	for _, c := range old {
		p.retire(c)
	}
}

// takeExpired takes out the connections that are idle for too long, with a slot for
// each. Where no slot is free they stay: a waiting Send is about to use them.
func (p *pool) takeExpired() []*conn {
	var old []*conn
	for len(p.idle) > 0 && time.Since(p.idle[0].since) >= p.idleLimit {
		at := p.slots.tryAcquire()
		if at == nil {
			return old
		}
		c := p.idle[0]
		c.slot = at
		p.busy++
		old, p.idle = append(old, c), p.idle[1:]
	}
	return old
}

// close leaves all idle connections and waits until they are gone.
func (p *pool) close() {
	p.mu.Lock()
	idle := p.idle
	p.idle, p.closed = nil, true
	if p.timer != nil {
		p.timer.Stop()
	}
	p.work.Add(len(idle))
	p.mu.Unlock()
	for _, c := range idle {
		go func() {
			defer p.work.Done()
			p.quit(c)
		}()
	}
	p.work.Wait()
}
