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

// apartKey marks the context of a closure that stands apart.
type apartKey struct{}

// Apart returns a context for a Write whose closure stands apart: it reads nothing that
// others do that stand apart write at the same moment, or it may as well have read it before
// they did, or it calls Tx.InTurn before. What two of them insert is kept apart by a
// constraint. On a file closures run one after the other, whatever they are.
func Apart(ctx context.Context) context.Context { return context.WithValue(ctx, apartKey{}, true) }

// InTurn waits until all closures that were queued before this one have ended, where this one
// stands apart. From then on it runs as if it did not, before those behind it that are in
// turn too.
func (tx *Tx) InTurn() {
	if p := tx.part(); p != nil {
		p.stop(nil, true)
	}
}

// besideAtOnce bounds what Beside runs at once.
const besideAtOnce = 16

// Beside calls fn for each number below n. Where the closure stands apart, so do the calls,
// some of which run beside each other, each with a Tx of its own; else they come one after
// the other.
func (tx *Tx) Beside(n int, fn func(tx *Tx, i int)) {
	parent := tx.part()
	if parent == nil {
		for i := range n {
			fn(tx, i)
		}
		return
	}
	for from := 0; from < n; from += besideAtOnce {
		parent.split(tx, from, min(from+besideAtOnce, n), fn)
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
	session Conn
	all     *besides
	asked   []*question   // what it stopped for
	turn    bool          // it stopped for its turn
	stopped chan bool     // it stopped (true) or ended
	resume  chan struct{} // it goes on
	over    bool
	err     error // of what all had sent; it asks no more
	fault   any   // that it panicked with
}

// stop has a part wait for answers, or for its turn.
func (p *part) stop(asked []*question, turn bool) {
	p.asked, p.turn = asked, turn
	p.stopped <- true
	<-p.resume
}

// ask sends questions with those of others and waits for their answers.
func (p *part) ask(asked ...*question) error {
	if p.err == nil {
		p.stop(asked, false)
	}
	return p.err
}

// run runs what a part does.
func (p *part) run(fn func()) {
	defer func() {
		p.fault = recover()
		p.stopped <- false
	}()
	fn()
}

// begin has a part run until it stops or ends.
func (p *part) begin(fn func()) {
	go p.run(fn)
	p.over = !<-p.stopped
}

// step has a part go on until it stops or ends.
func (p *part) step() {
	p.resume <- struct{}{}
	p.over = !<-p.stopped
}

// split runs fn for some numbers beside each other, for the closure of p.
func (p *part) split(tx *Tx, from, to int, fn func(tx *Tx, i int)) {
	c := crew{into: p.session.queue, send: p.ask, turn: func() { p.stop(nil, true) }}
	txs := make([]*Tx, 0, to-from)
	defer func() {
		for i, child := range c.parts {
			p.session.queue.changes += child.session.queue.changes
			tx.add(txs[i])
			p.all.free = append(p.all.free, child)
		}
	}()
	for range to - from {
		child, err := p.all.take(&p.session)
		if err != nil {
			panic(err) // of what makes no connection
		}
		child.err = p.err
		c.parts = append(c.parts, child)
		txs = append(txs, &Tx{Reader: Reader{Conn: child.session}, Now: tx.Now, db: tx.db, stood: tx.stood, Extra: tx.Extra})
	}
	for i, child := range c.parts {
		child.begin(func() { fn(txs[i], from+i) })
	}
	c.carryOn()
	for _, child := range c.parts {
		if child.fault != nil {
			panic(child.fault)
		}
	}
}

// add has what another Tx of the same closure changed, and does later, be of tx.
func (tx *Tx) add(other *Tx) {
	tx.after = append(tx.after, other.after...)
	for id := range other.touched {
		tx.Changed(id)
	}
}

// besides are the sessions of parts, which are kept from group to group.
type besides struct {
	pool *sql.DB // nil: none was needed yet
	free []*part
	made []*part
}

// take returns a part whose session is like s. Its statements are known by their texts alone.
func (b *besides) take(s *Conn) (*part, error) {
	if b.pool == nil {
		b.pool = sql.OpenDB(apartDriver{})
	}
	if len(b.free) == 0 {
		conn, err := b.pool.Conn(context.Background())
		if err != nil {
			return nil, err
		}
		p := &part{session: newSession(conn, s.words), all: b, stopped: make(chan bool), resume: make(chan struct{})}
		p.session.queue = &queued{words: map[string]queuedWords{}, part: p}
		if s.queue != nil {
			p.session.queue.words = s.queue.words
		}
		if err := conn.Raw(func(driver any) error { driver.(*apartConn).part = p; return nil }); err != nil {
			return nil, errors.Join(err, conn.Close())
		}
		b.made, b.free = append(b.made, p), append(b.free, p)
	}
	p := b.free[len(b.free)-1]
	b.free = b.free[:len(b.free)-1]
	p.session.Budget, p.session.counted, p.over, p.err, p.asked, p.turn, p.fault = s.Budget, s.counted, false, nil, nil, false, nil
	p.session.queue.reset()
	return p, nil
}

// close ends the sessions. What comes after it makes new ones.
func (b *besides) close() error {
	if b == nil || b.pool == nil {
		return nil
	}
	var errs []error
	for _, p := range b.made {
		errs = append(errs, p.session.close())
	}
	errs = append(errs, b.pool.Close())
	*b = besides{}
	return errors.Join(errs...)
}

// crew are parts that run beside each other.
type crew struct {
	parts []*part
	into  *queued                  // what they write leaves through
	send  func(...*question) error // sends that, and questions
	turn  func()                   // waits for the turn of all
}

// carryOn has the parts go on until all have ended.
func (c *crew) carryOn() {
	for c.goOn() {
	}
	c.hand()
}

// hand has what parts wrote leave with what is sent next, in their order.
func (c *crew) hand() {
	for _, p := range c.parts {
		q := p.session.queue
		c.into.waiting = append(c.into.waiting, q.waiting...)
		q.waiting = nil
	}
}

// goOn has the parts that stopped go on. It answers false where all have ended.
func (c *crew) goOn() bool {
	var asking []*part
	var asked []*question
	var first *part // that has not ended
	for _, p := range c.parts {
		if p.over {
			continue
		}
		if first == nil {
			first = p
		}
		if !p.turn {
			asking, asked = append(asking, p), append(asked, p.asked...)
		}
	}
	switch {
	case first == nil:
		return false
	case first.turn:
		c.turn()
		first.step()
		return true
	}
	c.hand()
	if err := c.send(asked...); err != nil {
		for _, p := range c.parts {
			p.err = err
		}
	}
	for _, p := range asking {
		p.step()
	}
	return true
}

// standsApart reports whether a closure may run beside others.
func standsApart(s *Conn, r *request) bool {
	return s.queue != nil && !s.queue.at && r.ctx.Value(apartKey{}) != nil
}

// runsOf parts a group into runs of closures that stand apart, and single other ones.
func runsOf(s *Conn, group []*request) [][]*request {
	var runs [][]*request
	before := false
	for i, r := range group {
		apart := standsApart(s, r)
		if apart && before {
			last := &runs[len(runs)-1]
			*last = append(*last, r)
		} else {
			runs = append(runs, group[i:i+1:i+1])
		}
		before = apart
	}
	return runs
}

// runBeside runs closures beside each other. The error it returns is one that the whole
// transaction must not survive.
func runBeside(d *DB, s *Conn, run []*request, now time.Time) error {
	c := crew{into: s.queue, send: func(asked ...*question) error { s.queue.send(asked); return s.queue.failed }, turn: func() {}}
	defer func() { s.queue.beside.free = append(s.queue.beside.free, c.parts...) }()
	var requests []*request
	stood := s.counted.standings
	for _, r := range run {
		if r.err = r.ctx.Err(); r.err != nil && !r.vital {
			continue
		}
		p, err := s.queue.beside.take(s)
		if err != nil {
			return fmt.Errorf("run closures beside each other: %w", err)
		}
		r.tx = &Tx{Reader: Reader{Conn: p.session}, Now: now, db: d, stood: &stood}
		c.parts, requests = append(c.parts, p), append(requests, r)
	}
	for i, p := range c.parts {
		p.begin(func() { requests[i].err = d.call(requests[i]) })
	}
	c.carryOn()
	for i, p := range c.parts {
		s.queue.changes += p.session.queue.changes
		if err := requests[i].err; err != nil && (p.err != nil || p.session.queue.changes > 0 || failedInside(err)) {
			return errors.Join(errAlone, s.queue.failed)
		}
	}
	return s.queue.failed
}
