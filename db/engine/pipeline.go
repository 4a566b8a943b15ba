package engine

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// Of a database elsewhere each question of a closure costs a way there and back. Closures of
// a group that stand apart (Apart) run beside each other: one at a time, as ever, but where
// WriteOne asks something it stops, and once all have stopped, or ended, what they ask leaves
// together. A group then takes as many ways as the closure that asks most.

// pipelinedKey marks the context of a closure that stands apart.
type pipelinedKey struct{}

// Pipelined returns a context for a Write whose closure stands apart: it reads nothing that
// others do that stand apart write at the same moment, or it may as well have read it before
// they did, or it calls Tx.Serialize before. What two of them insert is kept apart by a
// constraint. On a file closures run one after the other, whatever they are.
func Pipelined(ctx context.Context) context.Context {
	return context.WithValue(ctx, pipelinedKey{}, true)
}

// Serialize waits until all closures that were queued before this one have ended, where this one
// stands apart. From then on it runs as if it did not, before those behind it that are in
// turn too.
func (tx *Tx) Serialize() {
	if p := tx.part(); p != nil {
		p.yield(nil, true)
	}
}

// maxParts bounds what Beside runs at once.
const maxParts = 16

// Concurrently calls fn for each number below n. Where the closure stands apart, so do the calls,
// some of which run beside each other, each with a Tx of its own; else they come one after
// the other.
func (tx *Tx) Concurrently(n int, fn func(tx *Tx, i int)) {
	parent := tx.part()
	if parent == nil {
		for i := range n {
			fn(tx, i)
		}
		return
	}
	for from := 0; from < n; from += maxParts {
		parent.split(tx, from, min(from+maxParts, n), fn)
	}
}

// part is that of the closure; nil: it does not stand apart.
func (tx *Tx) part() *part {
	if tx.queue == nil {
		return nil
	}
	return tx.queue.part
}

// part is a closure that runs beside others, or some of what it does, with a session of its
// own.
type part struct {
	session    Conn
	pool       *partPool
	queries    []*pendingQuery // what it stopped for
	serial     bool            // it stopped for its turn
	stopped    chan bool       // it stopped (true) or ended
	resume     chan struct{}   // it goes on
	ended      bool
	err        error // of what all had sent; it asks no more
	panicValue any   // that it panicked with
}

// stop has a part wait for answers, or for its turn.
func (p *part) yield(queries []*pendingQuery, serial bool) {
	p.queries, p.serial = queries, serial
	p.stopped <- true
	<-p.resume
}

// ask sends questions with those of others and waits for their answers.
func (p *part) query(queries ...*pendingQuery) error {
	if p.err == nil {
		p.yield(queries, false)
	}
	return p.err
}

// run runs what a part does.
func (p *part) run(fn func()) {
	defer func() {
		p.panicValue = recover()
		p.stopped <- false
	}()
	fn()
}

// begin has a part run until it stops or ends.
func (p *part) start(fn func()) {
	go p.run(fn)
	p.ended = !<-p.stopped
}

// step has a part go on until it stops or ends.
func (p *part) step() {
	p.resume <- struct{}{}
	p.ended = !<-p.stopped
}

// split runs fn for some numbers beside each other, for the closure of p.
func (p *part) split(tx *Tx, from, to int, fn func(tx *Tx, i int)) {
	b := batch{writes: p.session.queue, send: p.query, serialize: func() { p.yield(nil, true) }}
	txs := make([]*Tx, 0, to-from)
	defer func() {
		for i, child := range b.parts {
			p.session.queue.changes += child.session.queue.changes
			tx.add(txs[i])
			p.pool.free = append(p.pool.free, child)
		}
	}()
	for range to - from {
		child, err := p.pool.take(&p.session)
		if err != nil {
			panic(err) // of what makes no connection
		}
		child.err = p.err
		b.parts = append(b.parts, child)
		txs = append(txs, &Tx{Reader: Reader{Conn: child.session}, Now: tx.Now, db: tx.db, baseSuppressions: tx.baseSuppressions, Extra: tx.Extra})
	}
	for i, child := range b.parts {
		child.start(func() { fn(txs[i], from+i) })
	}
	b.run()
	for _, child := range b.parts {
		if child.panicValue != nil {
			panic(child.panicValue)
		}
	}
}

// add has what another Tx of the same closure changed, and does later, be of tx.
func (tx *Tx) add(other *Tx) {
	tx.after = append(tx.after, other.after...)
	for id := range other.changed {
		tx.Changed(id)
	}
}

// partPool are the sessions of parts, which are kept from group to group.
type partPool struct {
	pool *sql.DB // nil: none was needed yet
	free []*part
	made []*part
}

// take returns a part whose session is like s. Its statements are known by their texts alone.
func (b *partPool) take(s *Conn) (*part, error) {
	if b.pool == nil {
		b.pool = sql.OpenDB(pipelinedDriver{})
	}
	if len(b.free) == 0 {
		conn, err := b.pool.Conn(context.Background())
		if err != nil {
			return nil, err
		}
		p := &part{session: newSession(conn, s.dialect), pool: b, stopped: make(chan bool), resume: make(chan struct{})}
		p.session.queue = &writeQueue{statements: map[string]queueStatement{}, part: p}
		if s.queue != nil {
			p.session.queue.statements = s.queue.statements
		}
		if err := conn.Raw(func(driver any) error { driver.(*pipelinedConn).part = p; return nil }); err != nil {
			return nil, errors.Join(err, conn.Close())
		}
		b.made, b.free = append(b.made, p), append(b.free, p)
	}
	p := b.free[len(b.free)-1]
	b.free = b.free[:len(b.free)-1]
	p.session.Budget, p.session.counted, p.ended, p.err, p.queries, p.serial, p.panicValue = s.Budget, s.counted, false, nil, nil, false, nil
	p.session.queue.reset()
	return p, nil
}

// close ends the sessions. What comes after it makes new ones.
func (b *partPool) close() error {
	if b == nil || b.pool == nil {
		return nil
	}
	var errs []error
	for _, p := range b.made {
		errs = append(errs, p.session.close())
	}
	errs = append(errs, b.pool.Close())
	*b = partPool{}
	return errors.Join(errs...)
}

// batch are parts that run beside each other.
type batch struct {
	parts     []*part
	writes    *writeQueue                  // what they write leaves through
	send      func(...*pendingQuery) error // sends that, and questions
	serialize func()                       // waits for the turn of all
}

// run has the parts go on until all have ended.
func (c *batch) run() {
	for c.advance() {
	}
	c.flush()
}

// flush has what parts wrote leave with what is sent next, in their order.
func (c *batch) flush() {
	for _, p := range c.parts {
		q := p.session.queue
		c.writes.writes = append(c.writes.writes, q.writes...)
		q.writes = nil
	}
}

// advance has the parts that stopped go on. It answers false where all have ended.
func (c *batch) advance() bool {
	var parts []*part
	var queries []*pendingQuery
	var first *part // that has not ended
	for _, p := range c.parts {
		if p.ended {
			continue
		}
		if first == nil {
			first = p
		}
		if !p.serial {
			parts, queries = append(parts, p), append(queries, p.queries...)
		}
	}
	switch {
	case first == nil:
		return false
	case first.serial:
		c.serialize()
		first.step()
		return true
	}
	c.flush()
	if err := c.send(queries...); err != nil {
		for _, p := range c.parts {
			p.err = err
		}
	}
	for _, p := range parts {
		p.step()
	}
	return true
}

// isPipelined reports whether a closure may run beside others.
func isPipelined(s *Conn, r *request) bool {
	return s.queue != nil && !s.queue.immediate && r.ctx.Value(pipelinedKey{}) != nil
}

// splitRuns parts a group into runs of closures that stand apart, and single other ones.
func splitRuns(s *Conn, group []*request) [][]*request {
	var runs [][]*request
	previous := false
	for i, r := range group {
		pipelined := isPipelined(s, r)
		if pipelined && previous {
			last := &runs[len(runs)-1]
			*last = append(*last, r)
		} else {
			runs = append(runs, group[i:i+1:i+1])
		}
		previous = pipelined
	}
	return runs
}

// runPipelined runs closures beside each other. The error it returns is one that the whole
// transaction must not survive.
func runPipelined(d *DB, s *Conn, run []*request, now time.Time) error {
	b := batch{writes: s.queue, send: func(asked ...*pendingQuery) error { s.queue.send(asked); return s.queue.failed }, serialize: func() {}}
	defer func() { s.queue.parts.free = append(s.queue.parts.free, b.parts...) }()
	var requests []*request
	baseSuppressions := s.counted.suppressions
	for _, r := range run {
		if r.err = r.ctx.Err(); r.err != nil && !r.critical {
			continue
		}
		p, err := s.queue.parts.take(s)
		if err != nil {
			return fmt.Errorf("run closures beside each other: %w", err)
		}
		r.tx = &Tx{Reader: Reader{Conn: p.session}, Now: now, db: d, baseSuppressions: &baseSuppressions}
		b.parts, requests = append(b.parts, p), append(requests, r)
	}
	for i, p := range b.parts {
		p.start(func() { requests[i].err = d.call(requests[i]) })
	}
	b.run()
	for i, p := range b.parts {
		s.queue.changes += p.session.queue.changes
		if err := requests[i].err; err != nil && (p.err != nil || p.session.queue.changes > 0 || failedInside(err)) {
			return errors.Join(errRunSingly, s.queue.failed)
		}
	}
	return s.queue.failed
}
