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

// pool limits and reuses connections. A slot stands for one connection that is in use, being opened
// or being closed. A connection is opened only if none is idle, so the used and idle ones together
// never outnumber the slots. If the relay refuses a connection while others work, the number of
// slots is lowered to those.
type pool struct {
	slots     *slots
	ceiling   *ceiling
	idleLimit time.Duration
	connLimit int
	log       *slog.Logger

	mu      sync.Mutex
	idle    []*conn       // least recently used first
	busy    int           // connections in use
	opening int           // connections being opened
	round   *openingRound // current round of openings
	timer   *time.Timer
	closed  bool
	work    sync.WaitGroup // connections being closed

	refusal     app.Reply // reply that lowered the limit, not logged yet
	loggedLimit int       // limit logged last
	loggedAt    time.Time // when it was logged
}

// openingRound is a group of concurrent openings, of which some were refused while none has
// succeeded yet.
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

// get waits for a slot and returns the most recently used idle connection. If there is none, the
// caller opens one for the slot and reports the result with opened or refused. Every connection
// taken or opened must be passed to put, drop or reopen once.
func (p *pool) get(ctx context.Context, req slotRequest) (*conn, *slot, error) {
	s, err := p.slots.acquire(ctx, req)
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
			c.slot = s
			return c, nil, nil
		}
		c.cut()
	}
	p.opening++
	return nil, s, nil
}

func (p *pool) usable(c *conn) bool { return time.Since(c.since) < p.idleLimit }

// reopen closes a connection that was found dead. The caller opens another one for its slot.
func (p *pool) reopen(dead *conn) *slot {
	dead.cut()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.busy--
	p.opening++
	return dead.slot
}

// opened records a connection that was opened for a slot.
func (p *pool) opened(c *conn, s *slot) {
	c.slot = s
	p.mu.Lock()
	defer p.mu.Unlock()
	p.busy++
	p.loggedLimit = max(p.loggedLimit, p.working())
	p.openingEnded(true)
	p.logLimit()
}

// refused records that a connection could not be opened, and releases its slot. It reports whether
// other connections work, so that the caller should wait for one of those. If none works yet, it
// waits for the concurrent openings.
func (p *pool) refused(ctx context.Context, s *slot, reply app.Reply) bool {
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
	stopped := ctx.Err() != nil // canceled: the relay refused nothing
	if !stopped {
		p.adjustLimit(working, reply)
	}
	p.slots.release(s)
	return working && !stopped
}

// openingEnded counts an opening that has ended. A round is over at its first success, or when all
// have failed. p.mu is held.
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

// adjustLimit lowers the limit to the connections that work or are being opened, after one was
// refused. If none works, the relay has other trouble and the configured limit is restored.
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

// logLimit logs a lowered limit once no opening is pending. A failed attempt to raise the limit is
// only logged at debug level. p.mu is held.
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

// refusedTransaction closes a new connection on which the relay refused a transaction with 421. If
// others work, this counts as a refused connection. It reports whether others work.
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

// put returns a connection for reuse.
func (p *pool) put(c *conn) {
	s := c.slot // read before c can be taken by others
	if c.used >= p.connLimit || !p.keep(c) {
		p.retire(c)
		return
	}
	p.slots.release(s)
}

// keep adds c to the idle connections unless the pool is closed.
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

// drop closes a connection immediately and releases its slot.
func (p *pool) drop(c *conn) {
	c.cut()
	p.mu.Lock()
	p.busy--
	p.mu.Unlock()
	p.slots.release(c.slot)
}

// retire sends QUIT in the background. The slot is released when the connection is closed.
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

// reap closes connections that were idle for too long. The timer calls it in its own goroutine.
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

// takeExpired removes the connections that were idle for too long, with a slot for each. If no slot
// is free they stay, because a waiting Send is about to use them.
func (p *pool) takeExpired() []*conn {
	var old []*conn
	for len(p.idle) > 0 && time.Since(p.idle[0].since) >= p.idleLimit {
		s := p.slots.tryAcquire()
		if s == nil {
			return old
		}
		c := p.idle[0]
		c.slot = s
		p.busy++
		old, p.idle = append(old, c), p.idle[1:]
	}
	return old
}

// close closes all idle connections and waits until that is done.
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
