package engine

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"time"

	"modernc.org/sqlite"

	"mailer/app"
	"mailer/app/kit/clock"
)

// maxGroup is the maximum number of closures that share a commit.
const maxGroup = 64

// Tx is a write transaction, valid only inside its closure. Now is the time of the transaction;
// SQL never queries the time.
type Tx struct {
	Reader
	Now     time.Time
	after   []func()
	changed map[string]bool // by Tx.ChangedCounts
	// Extra is a value of the caller of Write for Options.BeforeCommit.
	Extra any
	db    *DB    // nil: the database is not opened by Open
	asOf  uint64 // SuppressionVersion of what was prefetched; 0: the transaction's
}

// AfterCommit registers fn, which is called once the transaction is on disk, before Write
// returns, and never after a rollback. fn must not block.
func (tx *Tx) AfterCommit(fn func()) { tx.after = append(tx.after, fn) }

// request is a closure to be run by the writer.
type request struct {
	ctx      context.Context
	fn       func(*Tx) error
	critical bool
	batched  bool        // may wait for others
	begun    atomic.Bool // also set when the request was refused: whichever happens first wins
	tx       *Tx
	err      error
	done     chan error
}

// Write runs fn in a transaction and returns once the transaction is on disk. Waiting closures
// share one commit. A closure that fails is rolled back alone, and its error is returned
// unchanged. fn may be run again after a failed commit, so it must assign captured variables
// rather than add to them. It must not block and must not call Write. If ctx ends before fn has
// begun, the error of ctx is returned; after that Write waits for the outcome. Errors of the
// store: ErrFull, ErrLocked, ErrFiles, ErrUnreachable, ErrFailed, ErrClosed; ErrDamaged if fn
// read damaged content.
func (d *DB) Write(ctx context.Context, fn func(*Tx) error) error {
	if err := d.refusal(); err != nil {
		return err
	}
	return d.submit(&request{ctx: ctx, fn: fn, done: make(chan error, 1)})
}

// WriteBatched is Write for work that no client waits for: it may wait for Options.Gather, so
// that others share its commit.
func (d *DB) WriteBatched(ctx context.Context, fn func(*Tx) error) error {
	if err := d.refusal(); err != nil {
		return err
	}
	return d.submit(&request{ctx: ctx, fn: fn, batched: true, done: make(chan error, 1)})
}

// WriteCritical is Write for what must be stored even during an outage: results of sent mail,
// opt-outs, cancellations. On a full disk it uses the reserve. It waits for a PostgreSQL database
// that is unreachable or full, but if a client waits for the response (app.WithClientWaiting) it
// returns an error after clientTimeout, and a closure that has not begun is then not run.
func (d *DB) WriteCritical(ctx context.Context, fn func(*Tx) error) error {
	return d.submit(&request{ctx: ctx, fn: fn, critical: true, done: make(chan error, 1)})
}

// WriteCriticalAsync is a batched WriteCritical that queues fn and returns a function that waits
// for the outcome. Writes are committed in the order in which they were queued.
func (d *DB) WriteCriticalAsync(ctx context.Context, fn func(*Tx) error) (wait func() error) {
	r := &request{ctx: ctx, fn: fn, critical: true, batched: true, done: make(chan error, 1)}
	if err := d.enqueue(r); err != nil {
		return func() error { return err }
	}
	return func() error { return d.await(r) }
}

func (d *DB) submit(r *request) error {
	if d.Cluster().Shared() && (!r.critical || app.IsClientWaiting(r.ctx)) {
		return submitWaiting(d, r)
	}
	if err := d.enqueue(r); err != nil {
		return err
	}
	return d.await(r)
}

func (d *DB) enqueue(r *request) error {
	select {
	case <-d.failed:
		return d.Err()
	case <-d.closing:
		return ErrClosed
	default:
	}
	select {
	case d.queue <- r:
		return nil
	case <-r.ctx.Done():
		return r.ctx.Err()
	case <-d.done:
		return ErrClosed
	}
}

func (d *DB) await(r *request) error {
	nested := time.NewTimer(nestedAfter)
	defer nested.Stop()
	select {
	case err := <-r.done:
		return err
	case <-nested.C:
		if onWriter() {
			panic(nestedWrite)
		}
	case <-d.done:
	}
	select {
	case err := <-r.done:
		return err
	case <-d.done: // the writer may have answered before it ended
		select {
		case err := <-r.done:
			return err
		default:
			return ErrClosed
		}
	}
}

// Queued reports whether a Write waits to be run.
func (d *DB) Queued() bool { return len(d.queue) > 0 }

// always is a channel from which can always be received.
var always = func() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// writeLoop uses the only write connection until Close, then runs what is queued and ends.
func (d *DB) writeLoop(s Conn) {
	defer close(d.unsynced)
	defer s.close()
	for {
		var batched <-chan struct{}
		if len(d.batched) > 0 {
			batched = always
		}
		select {
		case r := <-d.queue:
			d.commit(&s, d.gather(&s, r))
		case <-batched:
			d.commit(&s, d.gather(&s, nil))
		case c := <-d.tasksForWriter:
			c.done <- c.fn(&s)
		case <-d.closing:
			for len(d.queue)+len(d.batched) > 0 {
				d.commit(&s, d.gather(&s, nil))
			}
			return
		}
	}
}

// DefaultGather is how long a group of writes waits for others to share its commit, which writes
// the same pages for one closure as for many. It is short, since a group is written while the
// previous ones are synced.
const DefaultGather = 150 * time.Microsecond

// busyGroup is the mean group size from which waiting for others pays off.
const busyGroup = 3

// maxBatched is the maximum number of batched closures in a group on SQLite. It is low, since a request
// that a client waits for can wait for one such group before its own. On PostgreSQL, where a group costs
// round trips rather than time for each closure, only maxGroup bounds them.
const maxBatched = 16

// gather returns a group of waiting requests, with first unless it is nil: those that are not
// batched, then the oldest batched ones; the other batched ones stay in d.batched. It waits shortly
// for more requests under load, and if all of the group are batched. A single request that is not
// batched never waits.
func (d *DB) gather(s *Conn, first *request) []*request {
	limit := maxBatched
	if s.pg != nil {
		limit = maxGroup
	}
	group := make([]*request, 0, maxGroup)
	join := func(r *request) {
		if r.batched {
			d.batched = append(d.batched, r)
			return
		}
		group = append(group, r)
	}
	if first != nil {
		join(first)
	}
	var timer *time.Timer
gathering:
	for len(group) < maxGroup-maxBatched {
		select {
		case r := <-d.queue:
			join(r)
			continue
		default:
		}
		if d.gatherFor < 0 || len(d.batched) >= limit || len(group) > 0 && d.meanGroup < busyGroup {
			break
		}
		if timer == nil {
			timer = time.NewTimer(d.gatherFor)
			defer timer.Stop()
		}
		select {
		case r := <-d.queue:
			join(r)
		case <-timer.C:
			break gathering
		}
	}
	n := min(len(d.batched), limit, maxGroup-len(group))
	group = append(group, d.batched[:n]...)
	d.batched = slices.Delete(d.batched, 0, n)
	d.meanGroup += (float64(len(group)) - d.meanGroup) / 8
	return group
}

// commit runs a group in one transaction. Requests that were written are answered once they are
// on disk (syncLoop), the others immediately.
func (d *DB) commit(s *Conn, group []*request) {
	began := time.Now()
	if group = begin(group); len(group) == 0 {
		return
	}
	if err := d.refusal(); err != nil { // an outage began after they were queued
		if group = keepCritical(group, err); len(group) == 0 {
			return
		}
	}
	group, err := d.commitUndamaged(s, group)
	if isFull(err) {
		d.setFull(err)
		group, err = d.commitUndamaged(s, keepCritical(group, ErrFull))
	}
	var rest []*request
	if err != nil && (d.engine.lost(s) || writeRefusal(err) != nil) {
		group, rest, err = reconnect(d, s, group, err)
	}
	finishGroup(d, group, began, err)
	for chunk := range slices.Chunk(rest, maxGroup) {
		d.commit(s, chunk)
	}
}

// finishGroup answers a group that failed, and hands one that was committed to syncLoop.
func finishGroup(d *DB, group []*request, began time.Time, err error) {
	if len(group) == 0 {
		return
	}
	if err = d.handleFault(err); err != nil {
		answer(&d.generations, group, err)
		return
	}
	d.unsynced <- unsyncedGroup{group, began}
}

// answer answers every request of a group; err is the error of the whole transaction.
func answer(g *generations, group []*request, err error) {
	for _, r := range group {
		if err == nil && r.err == nil {
			g.bump(r.tx.changed)
			for _, fn := range r.tx.after {
				fn()
			}
		}
		if err != nil {
			r.err = err
		}
		r.done <- r.err
	}
}

// errReadDamaged means that a closure read damaged content. SQLite does not commit such a
// transaction.
var errReadDamaged = errors.New("db: a closure read what is damaged")

// commitUndamaged is tryCommit without the closures that read damaged content, which it answers
// with their errors. It returns the others.
func (d *DB) commitUndamaged(s *Conn, group []*request) ([]*request, error) {
	tries := retries(0)
	for len(group) > 0 {
		err := d.tryCommit(s, group)
		if !errors.Is(err, errReadDamaged) {
			if tries.retry(err) {
				continue
			}
			return group, err
		}
		group = slices.DeleteFunc(group, func(r *request) bool {
			damaged := readDamaged(r.err)
			if damaged {
				r.done <- r.err
			}
			return damaged
		})
	}
	return nil, nil
}

func readDamaged(err error) bool { return errors.Is(err, ErrDamaged) && IsUnreadable(err) }

// handleFault begins an outage, or stops the store, if the error of a commit requires it. It
// returns the error in the store's terms.
func (d *DB) handleFault(err error) error {
	switch {
	case err == nil:
		return nil
	case isFull(err):
		return ErrFull
	case isLocked(err):
		d.setLocked(err)
		return d.lockedBy(d.path)
	case d.outOfFiles(err):
		d.setOutOfFiles(err, d.openDir)
		return fmt.Errorf("%w: %w", ErrFiles, err)
	case isStorage(err), errors.Is(err, errFenced):
		d.fail(err)
		return d.Err()
	}
	return err
}

// keepCritical answers all requests that are not critical with err and returns the others.
func keepCritical(group []*request, err error) []*request {
	var critical []*request
	for _, r := range group {
		if r.critical {
			critical = append(critical, r)
			continue
		}
		r.done <- err
	}
	return critical
}

// tryCommit runs a group and commits it. It returns the error of the whole transaction; the error
// of a closure is in its request.
func (d *DB) tryCommit(s *Conn, group []*request) error {
	select {
	case <-d.failed:
		return d.Err()
	default:
	}
	err := tryGroup(d, s, group)
	if s.pg == nil || err == nil || d.engine.lost(s) || errors.Is(err, errFenced) || writeRefusal(err) != nil {
		return err
	}
	s.pg.immediate = true // so that each closure gets the errors of its own writes
	defer func() { s.pg.immediate = false }()
	return tryGroup(d, s, group)
}

// tryGroup runs a group in one transaction.
func tryGroup(d *DB, s *Conn, group []*request) error {
	s.pg.reset()
	if err := d.engine.begin(d, s, s.queriesOfGroup(group)); err != nil {
		return errors.Join(err, rollback(s))
	}
	now := clock.Now()
	for _, r := range group {
		if err := d.runOne(s, r, now); err != nil {
			return errors.Join(err, rollback(s))
		}
	}
	if err := errors.Join(beforeCommit(d, s, group, now), s.checkWrites()); err != nil {
		return errors.Join(err, rollback(s))
	}
	if err := d.engine.commit(s); err != nil {
		if d.engine.lost(s) {
			return fmt.Errorf("%w: %w", errUnknown, err)
		}
		return errors.Join(fmt.Errorf("commit: %w", err), rollback(s))
	}
	return nil
}

// beforeCommit calls Options.BeforeCommit for the closures of a group that did not fail.
func beforeCommit(d *DB, s *Conn, group []*request, now time.Time) error {
	if d.beforeCommit == nil {
		return nil
	}
	var extras []any
	for _, r := range group {
		if r.err == nil && r.tx.Extra != nil {
			extras = append(extras, r.tx.Extra)
		}
	}
	return d.beforeCommit(&Tx{Reader: Reader{Conn: *s}, Now: now}, extras)
}

// runOne runs one closure in a savepoint. A returned error requires that the whole transaction is
// rolled back.
func (d *DB) runOne(s *Conn, r *request, now time.Time) error {
	if r.err = r.ctx.Err(); r.err != nil && !r.critical {
		return nil
	}
	if s.pg != nil && !s.pg.immediate {
		return runBuffered(d, s, r, now)
	}
	if _, err := s.Exec("SAVEPOINT one"); err != nil {
		return fmt.Errorf("savepoint: %w", err)
	}
	r.tx = &Tx{Reader: Reader{Conn: *s}, Now: now, db: d}
	if r.err = d.call(r); r.err == nil {
		_, err := s.Exec("RELEASE one")
		return err
	}
	if errors.Is(r.err, ErrDamaged) {
		d.logDamage(r.err)
		if readDamaged(r.err) {
			return errReadDamaged
		}
	} else if isStorage(r.err) || isLocked(r.err) || d.engine.lost(s) || writeRefusal(r.err) != nil {
		return r.err // SQLite may have rolled back everything already
	}
	if _, err := s.Exec("ROLLBACK TO one"); err != nil {
		return fmt.Errorf("rollback to savepoint: %w", err)
	}
	_, err := s.Exec("RELEASE one")
	return err
}

// runBuffered runs one closure with buffered writes, without a savepoint. If the closure fails
// after it changed something, it returns errRunSingly.
func runBuffered(d *DB, s *Conn, r *request, now time.Time) error {
	before := s.pg.changes
	r.tx = &Tx{Reader: Reader{Conn: *s}, Now: now, db: d}
	if r.prefetches() {
		r.tx.asOf = s.pg.asOf
	}
	if r.err = d.call(r); r.err != nil && (s.pg.failed != nil || s.pg.changes > before || d.engine.lost(s) || failedInside(r.err)) {
		return errRunSingly
	}
	if s.pg.changes > before && !r.prefetches() {
		s.outdate()
	}
	return s.pg.failure()
}

// call runs a closure and turns a panic into its error, so that one bad request does not end the
// writer.
func (d *DB) call(r *request) (err error) {
	defer func() {
		if p := recover(); p != nil {
			d.log.Error("panic in a write", "panic", p, "stack", string(debug.Stack()))
			err = fmt.Errorf("db: panic in a write: %v", p)
		}
	}()
	return r.fn(r.tx)
}

// rollback rolls the transaction back. It is no error if SQLite has done so already.
func rollback(s *Conn) error {
	s.pg.reset() // discard buffered writes and their error
	_, err := s.Exec("ROLLBACK")
	var se *sqlite.Error
	if errors.As(err, &se) && se.Code()&0xff == sqliteError {
		return nil
	}
	return err
}
