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
)

// One process works on a database of PostgreSQL: that of the row of nodes that is not dead
// and says so. It renews its row every beat, by the clock of the database. Once that failed to
// come for deadAfter, another process may take over: it marks the row, and from then on every
// group of writes of the old one is refused, however late it comes: each begins by holding
// that row. Others answer meanwhile (answering.go), or stand by.
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

// node is a process that works on a database or waits for that; without an id it is a command
// beside one.
type node struct {
	id      string
	works   atomic.Bool
	beat    time.Duration
	began   time.Time
	assured atomic.Int64 // when the last beat was confirmed, as a time since began
	opts    Options
	away    time.Time     // when a beat failed last, or the clock was moved, of one that does not work
	others  atomic.Int64  // groups of writes, as of the last beat
	written atomic.Int64  // groups of this process: those that wrote nothing are none
	conn    *sql.Conn     // of the beats, which must not depend on there being room for another one
	said    int           // beats while it works
	left    time.Duration // until the one that works has been silent for long; not above 0: it is
	cut     func()        // breaks all connections
	ended   chan struct{}
}

// postgresNow is the database's clock in Unix milliseconds.
const postgresNow = `(extract(epoch FROM clock_timestamp()) * 1000)::bigint`

// worker is who works on the database, by its row.
type worker struct {
	id, address string
	works       bool
	silent      time.Duration // since its last beat
}

// join takes the work up, which it may have to wait for: with opts.Standby until the process
// that has it is dead, else only until it is clear that it is not; with opts.Several it does
// so beside it. Error: ErrInUse.
func (n *node) join(ctx context.Context, d *DB, id string, opts Options) error {
	n.beat, n.began = cmp.Or(opts.Beat, DefaultBeat), time.Now()
	var first *worker
	var away time.Time // when the database could not be asked last
	for {
		// Once the database is back, the process that works is to have time for a beat.
		holder, err := n.take(ctx, d, id, opts, time.Since(away) < unsureAfter*n.beat)
		if errors.Is(err, ErrMoved) {
			return err
		}
		if err != nil && ctx.Err() != nil {
			return ctx.Err() // whatever the driver makes of it
		}
		if err != nil && first != nil && opts.Standby {
			holder, away = first, time.Now() // for now, as while its standby takes over
		} else if err != nil {
			return fmt.Errorf("take up the work on %s: %w", d.name, err)
		}
		if holder == nil {
			break
		}
		if opts.Several {
			return n.answer(ctx, d, id, opts)
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
	n.id = id
	n.works.Store(true)
	close(d.work)
	n.start(d)
	return nil
}

func (n *node) start(d *DB) {
	n.ended = make(chan struct{})
	n.assured.Store(int64(time.Since(n.began)))
	go n.beats(d)
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
	if w, err := working(ctx, conn, opts, n.beat); err != nil || w != nil && (spare || w.silent < deadAfter*n.beat) {
		return w, err // without the lock, which beats wait for
	}
	n.endSilent(ctx, d, conn)
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
	w, err := working(ctx, tx, opts, n.beat)
	if err != nil || w != nil && w.silent < deadAfter*n.beat {
		return w, err
	}
	// A group that is being committed holds the row, with a lock that an UPDATE alone does not
	// wait for.
	for _, text := range []string{`SELECT FROM nodes WHERE dead IS NULL AND works = 1 FOR UPDATE`, `UPDATE nodes SET dead = ` + postgresNow + ` WHERE dead IS NULL AND works = 1`,
		`DELETE FROM nodes WHERE (dead IS NOT NULL OR works = 0) AND seen_at < ` + postgresNow + ` - 86400000`} {
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
	if _, err := tx.ExecContext(ctx, noteNode, id, 1, address()); err != nil {
		return nil, err
	}
	if err := tx.Commit(); err != nil {
		return nil, err
	}
	if w != nil && w.works {
		d.log.Warn("took over the work of a server that is gone", "db", d.name, "it", w.address, "silent_for", w.silent, "after", time.Since(began))
	}
	return nil, nil
}

// endSilent ends the transactions in which servers write of which nothing was heard for long.
// Others wait for them, and the database ends by itself only those that stand idle: not one
// that was cut off in the midst of what it was saying.
func (n *node) endSilent(ctx context.Context, d *DB, tx asker) {
	var ended int
	err := tx.QueryRowContext(ctx, `SELECT count(pg_terminate_backend(a.pid)) FROM pg_stat_activity a JOIN nodes n ON a.application_name = 'mailer ' || n.id
		WHERE a.datname = current_database() AND a.usename = current_user AND a.backend_xid IS NOT NULL AND a.pid <> pg_backend_pid()
			AND n.seen_at < `+postgresNow+` - $1::bigint`, (deadAfter * n.beat).Milliseconds()).Scan(&ended)
	if err != nil && ctx.Err() == nil { // which is no reason not to work
		d.log.Warn("what a silent server left on the database can't be ended", "db", d.name, "error", err)
	}
	if ended > 0 {
		d.log.Warn("ended what silent servers left on the database", "db", d.name, "connections", ended)
	}
}

// noteNode says of a process that it is there, and whether it works.
const noteNode = `INSERT INTO nodes (id, started_at, seen_at, works, address) VALUES ($1, ` + postgresNow + `, ` + postgresNow + `, $2, $3)
	ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at, works = excluded.works, dead = NULL`

// address is what people are told of where this process is.
func address() string {
	host, _ := os.Hostname() // only told
	return fmt.Sprintf("%s, process %d", host, os.Getpid())
}

// working returns the process that works; for one that wants to be alone another one that is
// there too. nil: none.
func working(ctx context.Context, tx asker, opts Options, beat time.Duration) (*worker, error) {
	var w worker
	var silent int64
	alone := int64(1)
	if opts.Standby || opts.Several {
		alone = 0
	}
	err := tx.QueryRowContext(ctx, `SELECT id, address, works = 1, `+postgresNow+` - seen_at FROM nodes
		WHERE dead IS NULL AND (works = 1 OR $1::bigint = 1 AND seen_at > `+postgresNow+` - $2::bigint) ORDER BY works DESC, seen_at DESC LIMIT 1`,
		alone, (deadAfter*beat).Milliseconds()).Scan(&w.id, &w.address, &w.works, &silent)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	w.silent = time.Duration(silent) * time.Millisecond
	return &w, err
}

// beats says every beat that this process works, or is there, until d is closed.
func (n *node) beats(d *DB) {
	defer close(n.ended)
	defer n.hangUp()
	pause := n.beat
	for {
		select {
		case <-d.closing:
			return
		case <-d.failed:
			return
		case <-time.After(pause):
		}
		began, works := time.Since(n.began), n.works.Load()
		err := n.beatOnce(d, works)
		switch {
		case errors.Is(err, errFenced), errors.Is(err, ErrMoved):
			d.fail(err)
			return
		case err == nil:
			n.assured.Store(int64(began))
		case !n.assuredLately(): // who waits for an answer may wait for ever
			n.cut()
		}
		if !works && n.works.Load() {
			close(d.work)
		}
		pause = max(n.pause(err)-(time.Since(n.began)-began), n.beat/50)
	}
}

// pause is how long it is from one beat to the next, if err is what became of it: short where
// it failed, since this process is not sure until one comes through, and no longer than the
// one that works has left, of whom nothing is heard.
func (n *node) pause(err error) time.Duration {
	switch {
	case n.works.Load() && err != nil:
		return n.beat / 10
	case n.works.Load() || n.left <= 0:
		return n.beat
	}
	return min(n.beat, n.left+n.beat/50)
}

func (n *node) beatOnce(d *DB, works bool) error {
	if !works {
		return n.stand(d)
	}
	err := n.say(d, sayWorks, []any{n.id})
	if n.said++; err != nil || n.said%deadAfter != 0 {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), unsureAfter*n.beat)
	defer cancel()
	n.endSilent(ctx, d, n.conn) // of those that answer beside it
	return nil
}

func (n *node) hangUp() {
	if n.conn != nil {
		_ = n.conn.Close() // nothing is under way
	}
	n.conn = nil
}

// sayWorks renews the row of the process that works.
const sayWorks = `UPDATE nodes SET seen_at = ` + postgresNow + ` WHERE id = $1 AND works = 1 AND dead IS NULL RETURNING (SELECT n FROM changes), ` + postgresNow

// say renews the row of this process, and finds out whether others wrote, and what time it
// is. into is what else the statement returns. Error: errFenced.
func (n *node) say(d *DB, text string, args []any, into ...any) error {
	ctx, cancel := context.WithTimeout(context.Background(), unsureAfter*n.beat)
	defer cancel()
	if n.conn == nil {
		conn, err := d.ro.Conn(ctx)
		if err != nil {
			return err
		}
		n.conn = conn
	}
	var groups, shown int64
	asked := time.Now()
	err := n.conn.QueryRowContext(ctx, text, args...).Scan(append([]any{&groups, &shown}, into...)...)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return errFenced
	case err != nil:
		n.hangUp()
	default:
		if keepTime(d, shown, asked) {
			n.away = time.Now() // by the new time everybody was silent for long
		}
		others := groups - n.written.Load() // those under way are no matter: it is looked once more
		if n.others.Swap(others) != others {
			d.generations.bumpAll()
			hear(d)
		}
	}
	return err
}

// sure reports whether no other process can have taken over yet.
func (n *node) sure() bool { return !n.works.Load() || n.assuredLately() }

// assuredLately reports whether a beat was confirmed lately.
func (n *node) assuredLately() bool {
	return time.Since(n.began)-time.Duration(n.assured.Load()) < unsureAfter*n.beat
}

// leave hands the work to whoever waits for it.
func (n *node) leave(d *DB) error {
	if n.id == "" {
		return nil
	}
	<-n.ended
	if !n.assuredLately() {
		return nil // the database is away; that nothing is heard tells who waits
	}
	ctx, cancel := context.WithTimeout(context.Background(), unsureAfter*n.beat)
	defer cancel()
	_, err := d.ro.ExecContext(ctx, `UPDATE nodes SET dead = `+postgresNow+` WHERE id = $1 AND dead IS NULL`, n.id)
	return err
}
