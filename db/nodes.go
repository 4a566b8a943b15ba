package db

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"mailer/app"
)

// One process works on a database of PostgreSQL: that of the row of nodes that is not dead.
// It renews its row every beat, by the clock of the database. Once that failed to come for
// deadAfter, another process may take over: it marks the row, and from then on every group of
// writes of the old one is refused, however late it comes: each begins by holding that row.
const (
	// DefaultBeat is how often the process that works says so.
	DefaultBeat = time.Second
	// unsureAfter and deadAfter count beats.
	unsureAfter = 3
	deadAfter   = 5
)

// errFenced: another process took over.
var errFenced = refuse(ErrInUse, "another mailer serve took over the work on this database, since nothing was heard of this one; nothing more is written or sent here")

// replaced is errFenced as a latched ErrFailed, of which nothing is said: no storage failed.
type replaced struct{ error }

// Unwrap tells what it is.
func (r replaced) Unwrap() []error { return []error{r.error, ErrFailed} }

// node is the process that works on a database; without an id it is one that only stands
// beside it.
type node struct {
	id      string
	beat    time.Duration
	began   time.Time
	assured atomic.Int64 // when the last beat was confirmed, as a time since began
	others  atomic.Int64 // groups of writes, as of the last beat
	conn    *sql.Conn    // of the beats, which must not depend on there being room for another one
	cut     func()       // breaks all connections
	ended   chan struct{}
}

// postgresNow is the database's clock in Unix milliseconds.
const postgresNow = `(extract(epoch FROM clock_timestamp()) * 1000)::bigint`

// worker is who works on the database, by its row.
type worker struct {
	id, address string
	silent      time.Duration // since its last beat
}

// join takes the work up, which it may have to wait for: with opts.Standby until the process
// that has it is dead, else only until it is clear that it is not. Error: ErrInUse.
func (n *node) join(ctx context.Context, d *DB, opts Options) error {
	n.beat, n.began = cmp.Or(opts.Beat, DefaultBeat), time.Now()
	id := app.NewID()
	var first *worker
	var away time.Time // when the database could not be asked last
	for {
		// Once the database is back, the process that works is to have time for a beat.
		holder, err := n.take(ctx, d, id, opts, time.Since(away) < unsureAfter*n.beat)
		if errors.Is(err, ErrMoved) {
			return err
		}
		if err != nil && first != nil && opts.Standby && ctx.Err() == nil {
			holder, away = first, time.Now() // for now, as while its standby takes over
		} else if err != nil {
			return fmt.Errorf("take up the work on %s: %w", d.name, err)
		}
		if holder == nil {
			break
		}
		if first == nil {
			first = holder
			if err := wait(opts); err != nil {
				return err
			}
		}
		if !opts.Standby && (holder.id != first.id || holder.silent < first.silent) {
			return refuse(ErrInUse, "%s is worked on by another mailer serve (%s); stop that first, or start this one with --standby, so that it takes over once the other is gone", d.name, holder.address)
		}
		first.silent = max(first.silent, holder.silent)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(n.beat / 4):
		}
	}
	n.id, n.ended = id, make(chan struct{})
	n.assured.Store(int64(time.Since(n.began)))
	go n.beats(d)
	return nil
}

func wait(opts Options) error {
	if opts.Waiting == nil || !opts.Standby {
		return nil
	}
	opts.Log.Info("standing by: another server works on the database", "db", Name(opts.Path))
	return opts.Waiting()
}

// take makes this process the one that works, unless another one does, which it returns;
// with spare also one that was silent for long.
func (n *node) take(ctx context.Context, d *DB, id string, opts Options, spare bool) (holder *worker, err error) {
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, 2*deadAfter*n.beat)
	defer cancel()
	conn, err := d.pool.Conn(ctx) // whose transactions end soon where this process stands still
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	if w, err := working(ctx, conn); err != nil || w != nil && (spare || w.silent < deadAfter*n.beat) {
		return w, err // without the lock, which beats wait for
	}
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return nil, err
	}
	defer func() {
		if rerr := tx.Rollback(); !errors.Is(rerr, sql.ErrTxDone) {
			err = errors.Join(err, rerr)
		}
	}()
	if _, err := tx.ExecContext(ctx, `LOCK TABLE nodes IN SHARE ROW EXCLUSIVE MODE`); err != nil {
		return nil, err
	}
	w, err := working(ctx, tx)
	if err != nil || w != nil && w.silent < deadAfter*n.beat {
		return w, err
	}
	// A group that is being committed holds the row, with a lock that an UPDATE alone does not
	// wait for.
	for _, text := range []string{`SELECT FROM nodes WHERE dead IS NULL FOR UPDATE`, `UPDATE nodes SET dead = ` + postgresNow + ` WHERE dead IS NULL`} {
		if _, err := tx.ExecContext(ctx, text); err != nil {
			return nil, err
		}
	}
	if _, err := tx.ExecContext(ctx, `DELETE FROM writers WHERE at < `+postgresNow+` - 86400000`); err != nil { // of processes that were killed
		return nil, err
	}
	if err := refuseMoved(ctx, tx, opts); err != nil { // while this process waited, for that row too
		return nil, err
	}
	host, _ := os.Hostname() // only told
	if _, err := tx.ExecContext(ctx, `INSERT INTO nodes (id, started_at, seen_at, address) VALUES ($1, `+postgresNow+`, `+postgresNow+`, $2)`, id, fmt.Sprintf("%s, process %d", host, os.Getpid())); err != nil {
		return nil, err
	}
	if err := tx.Commit(); err != nil {
		return nil, err
	}
	if w != nil {
		d.log.Warn("took over the work of a server that is gone", "db", d.name, "it", w.address, "silent_for", w.silent, "after", time.Since(began))
	}
	return nil, nil
}

// working returns the process that works; nil: none.
func working(ctx context.Context, tx asker) (*worker, error) {
	var w worker
	var silent int64
	err := tx.QueryRowContext(ctx, `SELECT id, address, `+postgresNow+` - seen_at FROM nodes WHERE dead IS NULL`).Scan(&w.id, &w.address, &silent)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	w.silent = time.Duration(silent) * time.Millisecond
	return &w, err
}

// beats says every beat that this process works, until d is closed.
func (n *node) beats(d *DB) {
	defer close(n.ended)
	defer n.hangUp()
	tick := time.NewTicker(n.beat)
	defer tick.Stop()
	for {
		select {
		case <-d.closing:
			return
		case <-d.failed:
			return
		case <-tick.C:
		}
		switch began, err := time.Since(n.began), n.say(d); {
		case errors.Is(err, errFenced):
			d.fail(err)
			return
		case err == nil:
			n.assured.Store(int64(began))
		case !n.sure(): // who waits for an answer may wait for ever
			n.cut()
		}
	}
}

func (n *node) hangUp() {
	if n.conn != nil {
		_ = n.conn.Close() // nothing is under way
	}
	n.conn = nil
}

// say renews the row of this process. Error: errFenced.
func (n *node) say(d *DB) error {
	ctx, cancel := context.WithTimeout(context.Background(), unsureAfter*n.beat)
	defer cancel()
	if n.conn == nil {
		conn, err := d.ro.Conn(ctx)
		if err != nil {
			return err
		}
		n.conn = conn
	}
	var groups int64
	err := n.conn.QueryRowContext(ctx, `UPDATE nodes SET seen_at = `+postgresNow+` WHERE id = $1 AND dead IS NULL RETURNING (SELECT n FROM changes)`, n.id).Scan(&groups)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return errFenced
	case err != nil:
		n.hangUp()
	default:
		n.others.Store(groups - int64(d.commits.Load())) // those under way are no matter: it is looked once more
	}
	return err
}

// sure reports whether no other process can have taken over yet.
func (n *node) sure() bool {
	return n.id == "" || time.Since(n.began)-time.Duration(n.assured.Load()) < unsureAfter*n.beat
}

// leave hands the work to whoever waits for it.
func (n *node) leave(d *DB) error {
	if n.id == "" {
		return nil
	}
	<-n.ended
	if !n.sure() {
		return nil // the database is away; that nothing is heard tells who waits
	}
	ctx, cancel := context.WithTimeout(context.Background(), unsureAfter*n.beat)
	defer cancel()
	_, err := d.ro.ExecContext(ctx, `UPDATE nodes SET dead = `+postgresNow+` WHERE id = $1 AND dead IS NULL`, n.id)
	return err
}
