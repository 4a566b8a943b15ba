package smtpout

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

const (
	// idleLimit is how long an unused connection is kept.
	idleLimit = 30 * time.Second
	// connLimit is how many transactions one connection carries.
	connLimit = 100
)

// pool bounds and keeps connections. A slot stands for one connection in use or
// being opened or left; since a connection is opened only while none is idle,
// used and idle ones together never outnumber the slots.
type pool struct {
	slots     *slots
	idleLimit time.Duration
	connLimit int
	log       *slog.Logger

	mu     sync.Mutex
	idle   []*conn // the last one was used last
	timer  *time.Timer
	closed bool
	work   sync.WaitGroup // goodbyes being said
}

func newPool(n int, log *slog.Logger) *pool {
	return &pool{slots: newSlots(n), idleLimit: idleLimit, connLimit: connLimit, log: log}
}

// take waits for a slot and returns the connection that was used last; nil: the
// caller opens one. Mail of a broadcast waits behind all other. Every take is
// followed by one give, retire or drop.
func (p *pool) take(ctx context.Context, bulk bool) (*conn, error) {
	if err := p.slots.take(ctx, bulk); err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.idle) > 0 {
		c := p.idle[len(p.idle)-1]
		p.idle = p.idle[:len(p.idle)-1]
		if time.Since(c.since) < p.idleLimit {
			return c, nil
		}
		c.cut()
	}
	return nil, nil
}

// give hands a connection back for others to use.
func (p *pool) give(c *conn) {
	if c.used >= p.connLimit || !p.keep(c) {
		p.retire(c)
		return
	}
	p.slots.give()
}

// keep puts c among the idle ones, unless the pool is closed.
func (p *pool) keep(c *conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	c.since = time.Now()
	p.idle = append(p.idle, c)
	if p.timer == nil {
		p.timer = time.AfterFunc(p.idleLimit, p.reap)
	}
	return true
}

// drop ends a connection (nil: none was opened) at once and frees its slot.
func (p *pool) drop(c *conn) {
	if c != nil {
		c.cut()
	}
	p.slots.give()
}

// retire says QUIT on a connection in the background; the slot is free once the
// connection is gone.
func (p *pool) retire(c *conn) {
	p.mu.Lock()
	closed := p.closed
	if !closed {
		p.work.Add(1)
	}
	p.mu.Unlock()
	if closed {
		p.drop(c)
		return
	}
	go func() {
		defer p.work.Done()
		defer p.slots.give()
		p.leave(c)
	}()
}

func (p *pool) leave(c *conn) {
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
	old := p.ripe()
	if p.timer = nil; len(p.idle) > 0 {
		p.timer = time.AfterFunc(max(p.idleLimit-time.Since(p.idle[0].since), time.Millisecond), p.reap)
	}
	p.mu.Unlock()
	for _, c := range old {
		p.retire(c)
	}
}

// ripe takes out the connections that are idle for too long, with a slot for
// each. Where no slot is free they stay: a waiting Send is about to use them.
func (p *pool) ripe() []*conn {
	var old []*conn
	for len(p.idle) > 0 && time.Since(p.idle[0].since) >= p.idleLimit {
		if !p.slots.tryTake() {
			return old
		}
		old = append(old, p.idle[0])
		p.idle = p.idle[1:]
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
			p.leave(c)
		}()
	}
	p.work.Wait()
}
