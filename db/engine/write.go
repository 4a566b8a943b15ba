package engine

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"time"

	"modernc.org/sqlite"

	"mailer/app"
	"mailer/app/kit/clock"
)

// maxGroup is how many closures share one commit at most.
const maxGroup = 64

// Tx is a write transaction, valid inside its closure only. Now is set once:
// SQL never asks for the time.
type Tx struct {
	Reader
	Now     time.Time
	after   []func()
	changed map[string]bool // Changed
	// Extra is what the caller of Write keeps with the transaction, for Options.BeforeCommit.
	Extra any
	db    *DB // nil: of no database in use
	// stood is the mark of Standings where the closure stands apart: from before all that run
	// beside it.
	baseSuppressions *uint64
}

// AfterCommit has fn called once the transaction is on disk, before Write
// answers; never when it rolled back. fn must not block.
func (tx *Tx) AfterCommit(fn func()) { tx.after = append(tx.after, fn) }

// request is a closure on its way through the writer.
type request struct {
	ctx      context.Context
	fn       func(*Tx) error
	critical bool
	batched  bool        // may wait for others
	begun    atomic.Bool // or given up by who asked: the first of both holds
	tx       *Tx
	err      error
	done     chan error
}

// Write runs fn in a transaction and answers once it is on disk. Waiting
// closures share one commit; one that fails rolls back alone, and its error
// comes back as it is. fn may be run again after a failed commit, so it must
// set what it captures rather than add to it; it must not wait, and it must not
// call Write. When ctx ends before fn has begun, ctx's error comes back; after
// that the outcome is awaited. Errors of the store: ErrFull, ErrLocked, ErrFiles,
// ErrFailed, ErrClosed; ErrDamaged where fn read what is damaged.
func (d *DB) Write(ctx context.Context, fn func(*Tx) error) error {
	if err := d.refusal(); err != nil {
		return err
	}
	return d.submit(&request{ctx: ctx, fn: fn, done: make(chan error, 1)})
}

// WriteBatched is Write for work that no client waits for: it may wait for
// Options.Gather, so that others share its commit.
func (d *DB) WriteBatched(ctx context.Context, fn func(*Tx) error) error {
	if err := d.refusal(); err != nil {
		return err
	}
	return d.submit(&request{ctx: ctx, fn: fn, batched: true, done: make(chan error, 1)})
}

// WriteCritical is Write for what must not wait for disk space: results of mail
// that left, opt-outs, cancels. On a full disk it uses the reserve; a database elsewhere that
// is away or full it waits for, but where somebody waits for an answer (app.WithClientWaiting): they
// are refused after clientTimeout, and what has not begun by then is not written.
func (d *DB) WriteCritical(ctx context.Context, fn func(*Tx) error) error {
	return d.submit(&request{ctx: ctx, fn: fn, critical: true, done: make(chan error, 1)})
}

// WriteCriticalAsync is WriteCritical, patiently: it puts fn in the queue before it
// returns, and returns the function that waits for the outcome. Writes are
// committed in the order in which they were queued.
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

// nestedAfter is how long a Write waits before it asks whether it waits for
// itself: walking the callers is too dear to be done each time.
const nestedAfter = 2 * time.Second

const nestedWrite = "db: Write called inside a Write closure; pass the *Tx on instead"

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

// Queued reports whether a Write waits for its turn.
func (d *DB) Queued() bool { return len(d.queue) > 0 }

// writeLoop owns the one write connection until Close, then does what is
// queued and ends.
func (d *DB) writeLoop(s Conn) {
	defer close(d.unsynced)
	defer s.close()
	for {
		select {
		case r := <-d.queue:
			d.commit(&s, d.gather(r))
		case c := <-d.tasksForWriter:
			c.done <- c.fn(&s)
		case <-d.closing:
			for {
				select {
				case r := <-d.queue:
					d.commit(&s, d.gather(r))
				default:
					return
				}
			}
		}
	}
}

// DefaultGather is how long a group of writes waits for others to share its commit, which
// costs the same pages for one closure as for many. It is short, since groups are written
// while the ones before them are being synced.
const DefaultGather = 150 * time.Microsecond

// crowded is the mean group from which it pays to wait.
const busyGroup = 3

// gather takes what else is waiting, up to a group. It waits a little for more
// while all of the group are patient, and under load; a lone caller never waits.
func (d *DB) gather(first *request) []*request {
	group := append(make([]*request, 0, maxGroup), first)
	defer func() { d.meanGroup += (float64(len(group)) - d.meanGroup) / 8 }()
	urgent := !first.batched
	var timer *time.Timer
	join := func(r *request) {
		group = append(group, r)
		urgent = urgent || !r.batched
	}
	for len(group) < maxGroup {
		select {
		case r := <-d.queue:
			join(r)
			continue
		default:
		}
		if d.gatherFor < 0 || urgent && d.meanGroup < busyGroup {
			return group
		}
		if timer == nil {
			timer = time.NewTimer(d.gatherFor)
			defer timer.Stop()
		}
		select {
		case r := <-d.queue:
			join(r)
		case <-timer.C:
			return group
		}
	}
	return group
}

// commit runs a group in one transaction. What is written is answered once it is on disk
// (syncLoop), the rest at once.
func (d *DB) commit(s *Conn, group []*request) {
	began := time.Now()
	if group = begin(group); len(group) == 0 {
		return
	}
	if err := d.refusal(); err != nil { // since they were queued
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

// settle answers a group, or has it answered once it is on disk.
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

// answer tells every request of a group what became of it: err where the transaction as a
// whole failed.
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

// errReadDamaged: SQLite commits no transaction in which something could not be read.
var errReadDamaged = errors.New("db: a closure read what is damaged")

// commitUndamaged is tryCommit without the closures that read what is damaged, which it
// answers. It returns the others.
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

// handleFault notes what the error of a commit means for the ones to come, and returns
// it in the store's terms.
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

// keepCritical answers the requests that are refused for now and returns the rest.
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

// tryCommit answers with the error of the transaction as a whole; what one
// closure did wrong stands in its request.
func (d *DB) tryCommit(s *Conn, group []*request) error {
	select {
	case <-d.failed:
		return d.Err()
	default:
	}
	err := tryGroup(d, s, group)
	if s.queue != nil && s.queue.beginFirst {
		err = tryGroup(d, s, group)
	}
	if s.queue == nil || err == nil || d.engine.lost(s) || errors.Is(err, errFenced) || writeRefusal(err) != nil {
		return err
	}
	s.queue.immediate = true // whatever it was: each is told what its own writes met
	defer func() { s.queue.immediate = false }()
	return tryGroup(d, s, group)
}

// tryGroup runs a group in one transaction.
func tryGroup(d *DB, s *Conn, group []*request) error {
	s.queue.reset()
	if err := d.engine.begin(d, s); err != nil {
		return errors.Join(err, rollback(s))
	}
	now := clock.Now()
	for _, run := range splitRuns(s, group) {
		if err := runClosures(d, s, run, now); err != nil {
			return errors.Join(err, rollback(s))
		}
	}
	if err := errors.Join(beforeCommit(d, s, group, now), s.queue.failure()); err != nil {
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

// beforeCommit runs Options.BeforeCommit for the closures of a group that did not fail.
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

func runClosures(d *DB, s *Conn, run []*request, now time.Time) error {
	if isPipelined(s, run[0]) {
		return runPipelined(d, s, run, now)
	}
	return d.runOne(s, run[0], now)
}

// runOne runs one closure in a savepoint. The error it returns is one that the
// whole transaction must not survive.
func (d *DB) runOne(s *Conn, r *request, now time.Time) error {
	if r.err = r.ctx.Err(); r.err != nil && !r.critical {
		return nil
	}
	if s.queue != nil && !s.queue.immediate {
		return runQueued(d, s, r, now)
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

// runQueued runs one closure whose writes are queued, without a savepoint: one that fails
// after it changed something has the group be run again, one by one.
func runQueued(d *DB, s *Conn, r *request, now time.Time) error {
	before := s.queue.changes
	r.tx = &Tx{Reader: Reader{Conn: *s}, Now: now, db: d}
	if r.err = d.call(r); r.err == nil || s.queue.failed == nil && s.queue.changes == before && !d.engine.lost(s) && !failedInside(r.err) {
		return s.queue.failure()
	}
	return errRunSingly
}

// call turns a panic of a closure into its error: one bad request must not end
// the writer.
func (d *DB) call(r *request) (err error) {
	defer func() {
		if p := recover(); p != nil {
			d.log.Error("panic in a write", "panic", p, "stack", string(debug.Stack()))
			err = fmt.Errorf("db: panic in a write: %v", p)
		}
	}()
	return r.fn(r.tx)
}

// rollback ends the transaction; SQLite may have ended it by itself, which is
// no error.
func rollback(s *Conn) error {
	s.queue.reset() // what waits, or failed, is no more
	_, err := s.Exec("ROLLBACK")
	var se *sqlite.Error
	if errors.As(err, &se) && se.Code()&0xff == sqliteError {
		return nil
	}
	return err
}

// The functions that the goroutines of a writer run, as runtime names them.
const (
	writerName = "mailer/db/engine.(*DB).writeLoop"
	partName   = "mailer/db/engine.(*part).run"
	syncerName = "mailer/db/engine.(*DB).syncLoop"
)

// onWriter reports whether the caller runs on a goroutine of a writer: inside a
// closure, or what it had called after its commit. No context says so, since a
// closure may pass on any; its callers do.
func onWriter() bool {
	callers := make([]uintptr, 64)
	n := runtime.Callers(2, callers)
	for n == len(callers) {
		callers = make([]uintptr, 2*n)
		n = runtime.Callers(2, callers)
	}
	frames := runtime.CallersFrames(callers[:n])
	for {
		frame, more := frames.Next()
		if frame.Function == writerName || frame.Function == partName || frame.Function == syncerName {
			return true
		}
		if !more {
			return false
		}
	}
}
