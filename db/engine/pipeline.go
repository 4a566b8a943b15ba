package engine

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// On PostgreSQL each query of a closure costs a round trip. The pipelined closures of a group
// (Pipelined) are run as coroutines: only one runs at a time, and it yields when it queries the
// database. When all have yielded or ended, their queries are sent in one round trip. A group then
// takes as many round trips as the closure with the most queries.

// pipelinedKey marks the context of a pipelined closure.
type pipelinedKey struct{}

// Pipelined returns a context for a Write whose closure may run interleaved with other pipelined
// closures. The closure must not read anything that those write at the same time, unless an
// earlier state is as good, or call Tx.Serialize first. Conflicting inserts must be prevented by
// a constraint. On a file closures always run one after the other.
func Pipelined(ctx context.Context) context.Context {
	return context.WithValue(ctx, pipelinedKey{}, true)
}

// Serialize waits until all closures that were queued before a pipelined one have ended. From
// then on the closure runs as if it were not pipelined, before later closures that are serialized
// too.
func (tx *Tx) Serialize() {
	if p := tx.part(); p != nil {
		p.yield(nil, true)
	}
}

// maxParts bounds how many calls Concurrently runs at the same time.
const maxParts = 16

// Concurrently calls fn for each number below n. In a pipelined closure up to maxParts calls run
// interleaved, each with its own Tx; in any other closure they run one after the other.
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

// part returns the part of the closure; nil: the closure is not pipelined.
func (tx *Tx) part() *part {
	if tx.queue == nil {
		return nil
	}
	return tx.queue.part
}

// part is a pipelined closure, or one call of Concurrently in it, with its own session. It runs
// in a goroutine of its own, but never at the same time as another part of the group.
type part struct {
	session    Conn
	pool       *partPool
	queries    []*pendingQuery // for which it yielded
	serial     bool            // it yielded in Serialize
	stopped    chan bool       // it yielded (true) or ended
	resume     chan struct{}   // lets it continue
	ended      bool
	err        error // of the last round trip; later queries fail
	panicValue any   // of its goroutine
}

// yield makes a part wait for the results of queries or, with serial, for its turn.
func (p *part) yield(queries []*pendingQuery, serial bool) {
	p.queries, p.serial = queries, serial
	p.stopped <- true
	<-p.resume
}

// query sends queries together with those of other parts and waits for the results.
func (p *part) query(queries ...*pendingQuery) error {
	if p.err == nil {
		p.yield(queries, false)
	}
	return p.err
}

// run runs fn in the goroutine of the part.
func (p *part) run(fn func()) {
	defer func() {
		p.panicValue = recover()
		p.stopped <- false
	}()
	fn()
}

// start runs a part until it yields or ends.
func (p *part) start(fn func()) {
	go p.run(fn)
	p.ended = !<-p.stopped
}

// step continues a part until it yields or ends.
func (p *part) step() {
	p.resume <- struct{}{}
	p.ended = !<-p.stopped
}

// split runs fn interleaved for the numbers from from to to, for the closure of p.
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
			panic(err) // pipelinedDriver never fails to connect
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

// add adds the changes and AfterCommit functions of another Tx of the same closure.
func (tx *Tx) add(other *Tx) {
	tx.after = append(tx.after, other.after...)
	for id := range other.changed {
		tx.ChangedCounts(id)
	}
}

// partPool keeps the sessions of parts from group to group.
type partPool struct {
	pool *sql.DB // nil: not used yet
	free []*part
	made []*part
}

// take returns a part with a session like s. The statements of the session are identified by
// their texts; nothing is prepared on the server.
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
	p.session.changes, p.ended, p.err, p.queries, p.serial, p.panicValue = s.changes, false, nil, nil, false, nil
	p.session.queue.reset()
	return p, nil
}

// close closes the sessions. The pool can be used again.
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

// batch is a set of parts that run interleaved.
type batch struct {
	parts     []*part
	writes    *writeQueue                  // receives what the parts write
	send      func(...*pendingQuery) error // sends the writes, and queries
	serialize func()                       // waits until all earlier closures have ended
}

// run continues the parts until all have ended.
func (c *batch) run() {
	for c.advance() {
	}
	c.flush()
}

// flush appends what the parts wrote, in their order, to what is sent next.
func (c *batch) flush() {
	for _, p := range c.parts {
		q := p.session.queue
		c.writes.writes = append(c.writes.writes, q.writes...)
		q.writes = nil
	}
}

// advance sends the queries of all parts and continues them. It returns false when all have
// ended.
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

// isPipelined reports whether a closure runs pipelined.
func isPipelined(s *Conn, r *request) bool {
	return s.queue != nil && !s.queue.immediate && r.ctx.Value(pipelinedKey{}) != nil
}

// splitRuns splits a group into runs of consecutive pipelined closures and single other closures.
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

// runPipelined runs closures interleaved. A returned error requires that the whole transaction is
// rolled back.
func runPipelined(d *DB, s *Conn, run []*request, now time.Time) error {
	b := batch{writes: s.queue, send: func(asked ...*pendingQuery) error { s.queue.send(asked); return s.queue.failed }, serialize: func() {}}
	defer func() { s.queue.parts.free = append(s.queue.parts.free, b.parts...) }()
	var requests []*request
	baseSuppressions := s.changes[Suppressions]
	for _, r := range run {
		if r.err = r.ctx.Err(); r.err != nil && !r.critical {
			continue
		}
		p, err := s.queue.parts.take(s)
		if err != nil {
			return fmt.Errorf("run pipelined closures: %w", err)
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
