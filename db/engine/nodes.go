package engine

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// Every server on a database of PostgreSQL has a row in nodes, which it renews each beat, by
// the clock of the database; one of them leads. A server that no beat of came for deadHeartbeats is
// taken for dead: the one that leads marks its row, or whoever takes the lead over that of the
// WriteOne that led. From then on every group of writes of the dead one is refused, however late it
// comes: each begins by holding that row. What it had in work is free for others then.
const (
	// DefaultHeartbeat is how often a server says that it is there.
	DefaultHeartbeat = time.Second
	// leaseHeartbeats and deadHeartbeats count beats.
	leaseHeartbeats = 3
	deadHeartbeats  = 5
)

// errFenced: another server took this one for dead.
var errFenced = refuse(ErrInUse, "another mailer serve on this database took this one for dead, since nothing was heard of it, and its work over; nothing more is written or sent here")

// replaced is errFenced as a latched ErrFailed, of which nothing is said: no storage failed.
type replaced struct{ error }

// Unwrap tells what it is.
func (r replaced) Unwrap() []error { return []error{r.error, ErrFailed} }

// node is a server on a database, or one that waits to be; without an id it is a command
// beside one.
type node struct {
	id               string
	leads            atomic.Bool
	interval         time.Duration
	started          time.Time
	confirmed        atomic.Int64 // when the last beat was confirmed, as a time since began
	opts             Options
	lastFailure      time.Time     // when a beat failed last, or the clock was moved
	externalGroups   atomic.Int64  // groups of writes, as of the last beat
	ownGroups        atomic.Int64  // groups of this process: those that wrote nothing are none
	rules            int64         // marks.rules as of the last beat
	conn             *sql.Conn     // of the beats, which must not depend on there being room for another one
	leaderHeartbeats int           // beats while it leads
	silentHeartbeats int           // the latest of them, at each of which another server had been silent for long
	leaderTimeLeft   time.Duration // until the one that leads has been silent for long; not above 0: it is
	closeConns       func()        // breaks all connections
	done             chan struct{}
	endCleanly       atomic.Bool // nothing of it is in work any more
	peers            atomic.Pointer[peers]
}

// postgresNow is the database's clock in Unix milliseconds.
const postgresNow = `(extract(epoch FROM clock_timestamp()) * 1000)::bigint`

// leader is who leads on the database, by its row.
type leader struct {
	id, address string
	leads       bool
	silent      time.Duration // since its last beat
}

// join takes the lead, which it may have to wait for: with opts.Standby until the process
// that has it is dead, else only until it is clear that it is not; with opts.JoinCluster it
// works beside it. Error: ErrInUse.
func (n *node) join(ctx context.Context, d *DB, id string, opts Options) error {
	n.interval, n.started = cmp.Or(opts.Heartbeat, DefaultHeartbeat), time.Now()
	var first *leader
	var lastFailure time.Time // when the database could not be asked last
	for {
		// Once the database is back, the process that leads is to have time for a beat.
		holder, err := n.takeLead(ctx, d, id, opts, time.Since(lastFailure) < leaseHeartbeats*n.interval)
		if errors.Is(err, ErrMoved) {
			return err
		}
		if err != nil && ctx.Err() != nil {
			return ctx.Err() // whatever the driver makes of it
		}
		if err != nil && first != nil && opts.Standby {
			holder, lastFailure = first, time.Now() // for now, as while its standby takes over
		} else if err != nil {
			return fmt.Errorf("take the lead on %s: %w", d.name, err)
		}
		if holder == nil {
			break
		}
		if opts.JoinCluster {
			return n.joinAsMember(ctx, d, id, opts)
		}
		if first == nil {
			first = holder
			if err := notifyWaiting(opts); err != nil {
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
		case <-time.After(n.interval / 4):
		}
	}
	n.leads.Store(true)
	close(d.lead)
	return n.start(ctx, d, id)
}

// start begins the beats.
func (n *node) start(ctx context.Context, d *DB, id string) error {
	n.id, n.done, n.lastFailure = id, make(chan struct{}), time.Now()
	n.confirmed.Store(int64(time.Since(n.started)))
	var ids string
	if err := d.ro.QueryRowContext(ctx, `SELECT `+liveNodes).Scan(&ids); err != nil {
		close(n.done) // it leaves at once
		return fmt.Errorf("look who works on %s: %w", d.name, err)
	}
	n.refreshMembers(d, ids)
	go n.heartbeatLoop(d)
	return nil
}

func notifyWaiting(opts Options) error {
	if opts.Waiting == nil || !opts.Standby {
		return nil
	}
	opts.Log.Info("standing by: another server works on the database", "db", Name(opts.Path))
	return opts.Waiting()
}

// take makes this process the one that leads, unless another one does, which it returns;
// with spare also one that was silent for long.
func (n *node) takeLead(ctx context.Context, d *DB, id string, opts Options, giveTime bool) (holder *leader, err error) {
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, 2*deadHeartbeats*n.interval)
	defer cancel()
	conn, err := d.pool.Conn(ctx) // whose transactions end soon where this process stands still
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	if w, err := currentLeader(ctx, conn, opts, n.interval); err != nil || w != nil && (giveTime || w.silent < deadHeartbeats*n.interval) {
		return w, err // without the lock, which beats wait for
	}
	n.terminateSilent(ctx, d, conn)
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
	w, err := currentLeader(ctx, tx, opts, n.interval)
	if err != nil || w != nil && w.silent < deadHeartbeats*n.interval {
		return w, err
	}
	// A group that is being committed holds the row, with a lock that an UPDATE alone does not
	// wait for.
	for _, text := range []string{`SELECT FROM nodes WHERE dead IS NULL AND leads = 1 FOR UPDATE`, `UPDATE nodes SET dead = ` + postgresNow + ` WHERE dead IS NULL AND leads = 1`,
		`DELETE FROM nodes WHERE (dead IS NOT NULL OR leads = 0) AND seen_at < ` + postgresNow + ` - 86400000`} {
		if _, err := tx.ExecContext(ctx, text); err != nil {
			return nil, err
		}
	}
	if _, err := tx.ExecContext(ctx, deleteOldWrites); err != nil { // of processes that were killed
		return nil, err
	}
	if err := refuseMoved(ctx, tx, opts); err != nil { // while this process waited, for that row too
		return nil, err
	}
	asked := time.Now()
	if err := insertLeader(ctx, tx, id); err != nil {
		return nil, err
	}
	if err := tx.Commit(); err != nil {
		return nil, err
	}
	n.confirmed.Store(int64(asked.Sub(n.started))) // as a beat: it may have waited for long
	if w != nil && w.leads {
		d.log.Warn("took the lead over from a server that is gone", "db", d.name, "it", w.address, "silent_for", w.silent, "after", time.Since(began))
	}
	return nil, nil
}

// lead notes that a process leads. Error: errFenced.
func insertLeader(ctx context.Context, tx *sql.Tx, id string) error {
	res, err := tx.ExecContext(ctx, upsertNode, id, 1, hostAndPID())
	if err != nil {
		return err
	}
	if n, err := res.RowsAffected(); err != nil || n > 0 {
		return err
	}
	return errFenced
}

// terminateSilent ends the transactions in which servers write of which nothing was heard for long.
// Others wait for them, and the database ends by itself only those that stand idle: not one
// that was cut off in the midst of what it was saying.
func (n *node) terminateSilent(ctx context.Context, d *DB, tx rowQuerier) {
	var ended int
	err := tx.QueryRowContext(ctx, `SELECT count(pg_terminate_backend(a.pid)) FROM pg_stat_activity a JOIN nodes n ON a.application_name = 'mailer ' || n.id
		WHERE a.datname = current_database() AND a.usename = current_user AND a.backend_xid IS NOT NULL AND a.pid <> pg_backend_pid()
			AND n.seen_at < `+postgresNow+` - $1::bigint`, (deadHeartbeats * n.interval).Milliseconds()).Scan(&ended)
	if err != nil && ctx.Err() == nil { // which is no reason not to work
		d.log.Warn("what a silent server left on the database can't be ended", "db", d.name, "error", err)
	}
	if ended > 0 {
		d.log.Warn("ended what silent servers left on the database", "db", d.name, "connections", ended)
	}
}

// markDead takes servers for dead that were silent for long and for a beat more (the clock of the
// database may have been set), so that nothing more of them comes
// and what they had in work is free. One whose transaction still holds its row is left to the
// next time: it is being ended.
func (n *node) markDead(ctx context.Context, d *DB) error {
	n.terminateSilent(ctx, d, n.conn)
	rows, err := n.conn.QueryContext(ctx, `UPDATE nodes SET dead = `+postgresNow+` WHERE id IN
		(SELECT id FROM nodes WHERE dead IS NULL AND id <> $1 AND seen_at < `+postgresNow+` - $2::bigint FOR UPDATE SKIP LOCKED) RETURNING address`,
		n.id, (deadHeartbeats * n.interval).Milliseconds())
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var address string
		if err := rows.Scan(&address); err != nil {
			return err
		}
		d.log.Warn("a server is gone; what it had in work is taken over", "db", d.name, "it", address)
	}
	return rows.Err()
}

// upsertNode says of a process that it is there, and whether it leads; not of one that was taken
// for dead.
const upsertNode = `INSERT INTO nodes (id, started_at, seen_at, leads, address) VALUES ($1, ` + postgresNow + `, ` + postgresNow + `, $2, $3)
	ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at, leads = excluded.leads WHERE nodes.dead IS NULL`

// whereabouts is what people are told of where this process is.
func hostAndPID() string {
	host, _ := os.Hostname() // only told
	return fmt.Sprintf("%s, process %d", host, os.Getpid())
}

// leading returns the process that leads; for one that wants to be alone another one that is
// there too. nil: none.
func currentLeader(ctx context.Context, tx rowQuerier, opts Options, beat time.Duration) (*leader, error) {
	var w leader
	var silent int64
	alone := int64(1)
	if opts.Standby || opts.JoinCluster {
		alone = 0
	}
	err := tx.QueryRowContext(ctx, `SELECT id, address, leads = 1, `+postgresNow+` - seen_at FROM nodes
		WHERE dead IS NULL AND (leads = 1 OR $1::bigint = 1 AND seen_at > `+postgresNow+` - $2::bigint) ORDER BY leads DESC, seen_at DESC LIMIT 1`,
		alone, (deadHeartbeats*beat).Milliseconds()).Scan(&w.id, &w.address, &w.leads, &silent)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	w.silent = time.Duration(silent) * time.Millisecond
	return &w, err
}

// beats says every beat that this server is there, until d is closed.
func (n *node) heartbeatLoop(d *DB) {
	defer close(n.done)
	defer n.closeConn()
	pause := n.interval
	for {
		select {
		case <-d.closing:
			return
		case <-d.failed:
			return
		case <-time.After(pause):
		}
		began, leads := time.Since(n.started), n.leads.Load()
		err := n.heartbeat(d, leads)
		switch {
		case errors.Is(err, errFenced), errors.Is(err, ErrMoved):
			d.fail(err)
			return
		case err != nil && !n.confirmedRecently(): // who waits for an answer may wait for ever
			n.closeConns()
		}
		if !leads && n.leads.Load() {
			close(d.lead)
		}
		pause = max(n.nextDelay(err)-(time.Since(n.started)-began), n.interval/50)
	}
}

// pause is how long it is from one beat to the next, if err is what became of it: short where
// it failed, since this process is not sure until one comes through, and no longer than the
// WriteOne that leads has left, of whom nothing is heard.
func (n *node) nextDelay(err error) time.Duration {
	switch {
	case err != nil:
		return n.interval / 10
	case n.leads.Load() || n.leaderTimeLeft <= 0:
		return n.interval
	}
	return min(n.interval, n.leaderTimeLeft+n.interval/50)
}

// heartbeat is one beat. The one that leads looks after the others meanwhile: once the database
// is back from being away, they are to have time for a beat before.
func (n *node) heartbeat(d *DB, leads bool) error {
	if !leads {
		return n.memberHeartbeat(d)
	}
	var silent, orphans int64
	err := n.renew(d, renewLeader, []any{n.id, (deadHeartbeats * n.interval).Milliseconds()}, &silent, &orphans)
	if n.leaderHeartbeats++; err != nil {
		return err
	}
	if n.silentHeartbeats++; silent == 0 {
		n.silentHeartbeats = 0
	}
	ctx, cancel := context.WithTimeout(context.Background(), leaseHeartbeats*n.interval)
	defer cancel()
	switch {
	case n.silentHeartbeats > 1 && time.Since(n.lastFailure) >= deadHeartbeats*n.interval:
		if err := n.markDead(ctx, d); err != nil {
			d.log.Warn("a server that is gone can't be taken for dead yet", "db", d.name, "err", err)
			n.closeConn()
		}
	case n.leaderHeartbeats%deadHeartbeats == 0:
		n.terminateSilent(ctx, d, n.conn) // of those of the past
	}
	if orphans > 0 {
		notify(d.orphaned)
	}
	return nil
}

// closeConn ends the connection of the beats: the next one makes another.
func (n *node) closeConn() {
	if n.conn != nil {
		_ = n.conn.Close() // nothing is under way
	}
	n.conn = nil
}

// liveNodes are the ids of the servers that are not dead, in their order, parted by commas.
const liveNodes = `(SELECT coalesce(string_agg(id, ',' ORDER BY id), '') FROM nodes WHERE dead IS NULL)`

// renewReturning is what each beat returns.
const renewReturning = `(SELECT max(n) FROM writes), (SELECT rules FROM writes ORDER BY n DESC LIMIT 1), ` + postgresNow + `, ` + liveNodes

// renewLeader renews the row of the server that leads, and counts the others that were silent for
// long and those that are dead and whose work is not free yet.
const renewLeader = `UPDATE nodes SET seen_at = ` + postgresNow + ` WHERE id = $1 AND leads = 1 AND dead IS NULL RETURNING ` + renewReturning + `,
	(SELECT count(*) FROM nodes WHERE dead IS NULL AND id <> $1 AND seen_at < ` + postgresNow + ` - $2::bigint), (SELECT count(*) FROM nodes WHERE dead IS NOT NULL AND freed = 0)`

// renew renews the row of this process, and finds out whether others wrote, what time it is and
// who else is there. into is what else the statement returns. Error: errFenced.
func (n *node) renew(d *DB, text string, args []any, into ...any) error {
	ctx, cancel := context.WithTimeout(context.Background(), leaseHeartbeats*n.interval)
	defer cancel()
	if n.conn == nil {
		conn, err := d.ro.Conn(ctx)
		if err != nil {
			n.lastFailure = time.Now()
			return err
		}
		n.conn = conn
	}
	var groups, rules, shown int64
	var ids string
	asked := time.Now()
	err := n.conn.QueryRowContext(ctx, text, args...).Scan(append([]any{&groups, &rules, &shown, &ids}, into...)...)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return errFenced
	case err != nil:
		n.lastFailure = time.Now()
		n.closeConn()
		return err
	}
	n.confirmed.Store(int64(asked.Sub(n.started)))
	if followClock(d, shown, asked) {
		n.lastFailure = time.Now() // by the new time everybody was silent for long
	}
	if n.rules != rules {
		n.rules = rules
		d.generations.bumpAll()
	}
	others := groups - n.ownGroups.Load() // those under way are no matter: it is looked once more
	if n.externalGroups.Swap(others) != others {
		notify(d.externalWrites)
	}
	n.refreshMembers(d, ids)
	return nil
}

// notify has a channel of one place have a value.
func notify(ch chan<- struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

// sure reports whether no other server can have taken this one for dead yet.
func (n *node) leaseValid() bool { return n.id == "" || n.confirmedRecently() }

// confirmedRecently reports whether a beat was confirmed lately.
func (n *node) confirmedRecently() bool {
	return time.Since(n.started)-time.Duration(n.confirmed.Load()) < leaseHeartbeats*n.interval
}

// close says that this server is gone, so that another one leads at once.
func (n *node) deregister(d *DB) error {
	if n.id == "" {
		return nil
	}
	<-n.done
	if !n.confirmedRecently() {
		return nil // the database is away; that nothing is heard tells the others
	}
	ctx, cancel := context.WithTimeout(context.Background(), leaseHeartbeats*n.interval)
	defer cancel()
	well := int64(0)
	if n.endCleanly.Load() {
		well = 1
	}
	_, err := d.ro.ExecContext(ctx, `UPDATE nodes SET dead = `+postgresNow+`, well = $2 WHERE id = $1 AND dead IS NULL`, n.id, well)
	return err
}

// peers are the servers on a database.
type peers struct {
	ids   []string // of those that are not dead, in their order
	since time.Time
	index int // of this one among them; -1: none
}

// refreshMembers notes who is there.
func (n *node) refreshMembers(d *DB, list string) {
	ids := strings.Split(list, ",")
	old := n.peers.Load()
	if old != nil && slices.Equal(old.ids, ids) {
		return
	}
	next := &peers{ids: ids, since: time.Now(), index: slices.Index(ids, n.id)}
	if old != nil { // who was there before has sent all the time
		next.since = old.since
	} else if len(ids) <= 1 {
		next.since = time.Time{}
	}
	n.peers.Store(next)
	for _, fn := range d.onClusterChange {
		fn()
	}
}
