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

// Every server on a PostgreSQL database has a row in nodes, which it renews with each heartbeat, by
// the clock of the database. One server leads. A server without a heartbeat for deadHeartbeats
// intervals is marked dead: by the leader or, if it was the leader, by the server that takes the
// lead. Marking fences it: every group of writes begins by locking the row of its server, and fails
// if the row is marked. Other servers may then take over its work.
const (
	// DefaultHeartbeat is the interval of heartbeats.
	DefaultHeartbeat = time.Second
	// leaseHeartbeats and deadHeartbeats are numbers of heartbeat intervals.
	leaseHeartbeats = 3
	deadHeartbeats  = 5
)

// errFenced means that another server marked this one dead.
var errFenced = refuse(ErrInUse, "another mailer serve on this database took this one for dead, since nothing was heard of it, and its work over; nothing more is written or sent here")

// replaced is errFenced as an ErrFailed without its text, because no storage failed.
type replaced struct{ error }

// Unwrap returns the error and ErrFailed.
func (r replaced) Unwrap() []error { return []error{r.error, ErrFailed} }

// node is this server in the table nodes, or a server that waits to join. Without an id it is a
// command that runs beside a server.
type node struct {
	id               string
	leads            atomic.Bool
	interval         time.Duration
	deadAfter        time.Duration // silence after which a server counts as dead
	started          time.Time
	confirmed        atomic.Int64 // when the last confirmed heartbeat was sent, as a time since started
	opts             Options
	lastFailure      time.Time     // when a heartbeat last failed, or the clock was adjusted
	externalGroups   atomic.Int64  // groups of other processes, as of the last heartbeat
	ownGroups        atomic.Int64  // committed groups of this process
	rules            int64         // marks.rules as of the last heartbeat
	conn             *sql.Conn     // of the heartbeats, which must not depend on a free connection
	leaderHeartbeats int           // heartbeats sent while it leads
	silentHeartbeats int           // consecutive heartbeats at which another server was silent for too long
	leaderTimeLeft   time.Duration // until the leader counts as silent; not positive: it does
	closeConns       func()        // breaks all connections
	done             chan struct{}
	endCleanly       atomic.Bool // it has no work in progress
	peers            atomic.Pointer[peers]
}

// postgresNow is the clock of the database in Unix milliseconds.
const postgresNow = `(extract(epoch FROM clock_timestamp()) * 1000)::bigint`

// leader is the leader of the cluster, as stored in its row.
type leader struct {
	id, address string
	leads       bool
	silent      time.Duration // since its last heartbeat
}

// join takes the lead, and waits if another server has it: with opts.Standby until that server is
// dead, otherwise only until it is seen to be alive. With opts.JoinCluster the server then joins
// as a member. Error: ErrInUse.
func (n *node) join(ctx context.Context, d *DB, id string, opts Options) error {
	n.interval, n.started = cmp.Or(opts.Heartbeat, DefaultHeartbeat), time.Now()
	n.deadAfter = cmp.Or(opts.DeadAfter, deadHeartbeats*n.interval)
	var first *leader
	var lastFailure time.Time // when a query last failed
	for {
		// After an outage of the database the leader gets time for a heartbeat first.
		holder, err := n.takeLead(ctx, d, id, opts, time.Since(lastFailure) < leaseHeartbeats*n.interval)
		if errors.Is(err, ErrMoved) {
			return err
		}
		if err != nil && ctx.Err() != nil {
			return ctx.Err() // not the error that the driver made of it
		}
		if err != nil && first != nil && opts.Standby {
			holder, lastFailure = first, time.Now() // an outage, such as a failover of the database: try again
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

// start begins the heartbeats.
func (n *node) start(ctx context.Context, d *DB, id string) error {
	n.id, n.done, n.lastFailure = id, make(chan struct{}), time.Now()
	n.confirmed.Store(int64(time.Since(n.started)))
	var ids string
	if err := d.ro.QueryRowContext(ctx, `SELECT `+liveNodes).Scan(&ids); err != nil {
		close(n.done) // deregister does not wait
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

// takeLead makes this process the leader, unless another server is, which it returns. With
// giveTime it also returns a leader that counts as silent.
func (n *node) takeLead(ctx context.Context, d *DB, id string, opts Options, giveTime bool) (holder *leader, err error) {
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, 2*n.deadAfter)
	defer cancel()
	conn, err := d.pool.Conn(ctx) // the server ends its transactions soon if this process hangs
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	if w, err := currentLeader(ctx, conn, opts, n.deadAfter); err != nil || w != nil && (giveTime || w.silent < n.deadAfter) {
		return w, err // without the lock, for which heartbeats would wait
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
	w, err := currentLeader(ctx, tx, opts, n.deadAfter)
	if err != nil || w != nil && w.silent < n.deadAfter {
		return w, err
	}
	// A group that is being committed has a lock on the row for which an UPDATE does not wait,
	// but SELECT FOR UPDATE does.
	for _, text := range []string{`SELECT FROM nodes WHERE dead IS NULL AND leads = 1 FOR UPDATE`, `UPDATE nodes SET dead = ` + postgresNow + ` WHERE dead IS NULL AND leads = 1`,
		`DELETE FROM nodes WHERE (dead IS NOT NULL OR leads = 0) AND seen_at < ` + postgresNow + ` - 86400000`} {
		if _, err := tx.ExecContext(ctx, text); err != nil {
			return nil, err
		}
	}
	if _, err := tx.ExecContext(ctx, deleteOldWrites); err != nil { // left by killed processes
		return nil, err
	}
	if err := refuseMoved(ctx, tx, opts); err != nil { // it may have been moved during the wait
		return nil, err
	}
	if err := refuseNew(ctx, tx, opts); err != nil { // or migrated
		return nil, err
	}
	asked := time.Now()
	if err := insertLeader(ctx, tx, id); err != nil {
		return nil, err
	}
	if err := tx.Commit(); err != nil {
		return nil, err
	}
	n.confirmed.Store(int64(asked.Sub(n.started))) // since the query was sent: it may have waited for long
	if w != nil && w.leads {
		d.log.Warn("took the lead over from a server that is gone", "db", d.name, "it", w.address, "silent_for", w.silent, "after", time.Since(began))
	}
	return nil, nil
}

// insertLeader stores that a process leads. Error: errFenced.
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

// terminateSilent terminates the transactions of servers that are silent for too long, because
// others wait for their locks. PostgreSQL itself ends only idle transactions, not one whose
// client was cut off in the middle of a message.
func (n *node) terminateSilent(ctx context.Context, d *DB, tx rowQuerier) {
	var ended int
	err := tx.QueryRowContext(ctx, `SELECT count(pg_terminate_backend(a.pid)) FROM pg_stat_activity a JOIN nodes n ON a.application_name = 'mailer ' || n.id
		WHERE a.datname = current_database() AND a.usename = current_user AND a.backend_xid IS NOT NULL AND a.pid <> pg_backend_pid()
			AND n.seen_at < `+postgresNow+` - $1::bigint`, n.deadAfter.Milliseconds()).Scan(&ended)
	if err != nil && ctx.Err() == nil { // not fatal
		d.log.Warn("what a silent server left on the database can't be ended", "db", d.name, "error", err)
	}
	if ended > 0 {
		d.log.Warn("ended what silent servers left on the database", "db", d.name, "connections", ended)
	}
}

// markDead marks servers dead that were silent for deadHeartbeats intervals and for one heartbeat
// more, since the clock of the database may have been set. It skips a server whose transaction
// still locks its row: that transaction is being terminated.
func (n *node) markDead(ctx context.Context, d *DB) error {
	n.terminateSilent(ctx, d, n.conn)
	rows, err := n.conn.QueryContext(ctx, `UPDATE nodes SET dead = `+postgresNow+` WHERE id IN
		(SELECT id FROM nodes WHERE dead IS NULL AND id <> $1 AND seen_at < `+postgresNow+` - $2::bigint FOR UPDATE SKIP LOCKED) RETURNING address`,
		n.id, n.deadAfter.Milliseconds())
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

// upsertNode stores the heartbeat of a process and whether it leads. A process that was marked
// dead is not stored.
const upsertNode = `INSERT INTO nodes (id, started_at, seen_at, leads, address) VALUES ($1, ` + postgresNow + `, ` + postgresNow + `, $2, $3)
	ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at, leads = excluded.leads WHERE nodes.dead IS NULL`

// hostAndPID names this process in messages.
func hostAndPID() string {
	host, _ := os.Hostname() // only for messages
	return fmt.Sprintf("%s, process %d", host, os.Getpid())
}

// currentLeader returns the leader. For a server that wants to be the only one it also returns a
// live member, one that was heard of within deadAfter. nil: none.
func currentLeader(ctx context.Context, tx rowQuerier, opts Options, deadAfter time.Duration) (*leader, error) {
	var w leader
	var silent int64
	alone := int64(1)
	if opts.Standby || opts.JoinCluster {
		alone = 0
	}
	err := tx.QueryRowContext(ctx, `SELECT id, address, leads = 1, `+postgresNow+` - seen_at FROM nodes
		WHERE dead IS NULL AND (leads = 1 OR $1::bigint = 1 AND seen_at > `+postgresNow+` - $2::bigint) ORDER BY leads DESC, seen_at DESC LIMIT 1`,
		alone, deadAfter.Milliseconds()).Scan(&w.id, &w.address, &w.leads, &silent)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	w.silent = time.Duration(silent) * time.Millisecond
	return &w, err
}

// heartbeatLoop sends heartbeats until d is closed.
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
		case err != nil && !n.confirmedRecently(): // a query without an answer would wait with no limit
			n.closeConns()
		}
		if !leads && n.leads.Load() {
			close(d.lead)
		}
		pause = max(n.nextDelay(err)-(time.Since(n.started)-began), n.interval/50)
	}
}

// nextDelay returns the time until the next heartbeat after one that ended with err. It is short
// after a failure, because the lease is not renewed until a heartbeat succeeds, and at most the
// time until a silent leader counts as dead.
func (n *node) nextDelay(err error) time.Duration {
	switch {
	case err != nil:
		return n.interval / 10
	case n.leads.Load() || n.leaderTimeLeft <= 0:
		return n.interval
	}
	return min(n.interval, n.leaderTimeLeft+n.interval/50)
}

// heartbeat sends one heartbeat. The leader also marks silent servers dead, but after an outage
// of the database gives them time for a heartbeat first.
func (n *node) heartbeat(d *DB, leads bool) error {
	if !leads {
		return n.memberHeartbeat(d)
	}
	var silent, orphans int64
	err := n.renew(d, renewLeader, []any{n.id, n.deadAfter.Milliseconds()}, &silent, &orphans)
	if n.leaderHeartbeats++; err != nil {
		return err
	}
	if n.silentHeartbeats++; silent == 0 {
		n.silentHeartbeats = 0
	}
	ctx, cancel := context.WithTimeout(context.Background(), leaseHeartbeats*n.interval)
	defer cancel()
	switch {
	case n.silentHeartbeats > 1 && time.Since(n.lastFailure) >= n.deadAfter:
		if err := n.markDead(ctx, d); err != nil {
			d.log.Warn("a server that is gone can't be taken for dead yet", "db", d.name, "err", err)
			n.closeConn()
		}
	case n.leaderHeartbeats%deadHeartbeats == 0:
		n.terminateSilent(ctx, d, n.conn) // left by servers that are dead already
	}
	if orphans > 0 {
		notify(d.orphaned)
	}
	return nil
}

// closeConn closes the connection of the heartbeats. The next heartbeat opens another.
func (n *node) closeConn() {
	if n.conn != nil {
		_ = n.conn.Close() // nothing is running on it
	}
	n.conn = nil
}

// liveNodes is the expression for the sorted ids of the live servers, separated by commas.
const liveNodes = `(SELECT coalesce(string_agg(id, ',' ORDER BY id), '') FROM nodes WHERE dead IS NULL)`

// renewReturning are the columns that each heartbeat returns.
const renewReturning = `(SELECT max(n) FROM writes), (SELECT rules FROM writes ORDER BY n DESC LIMIT 1), ` + postgresNow + `, ` + liveNodes

// renewLeader renews the row of the leader. It also counts the silent servers, and the dead ones
// whose work has not been taken over.
const renewLeader = `UPDATE nodes SET seen_at = ` + postgresNow + ` WHERE id = $1 AND leads = 1 AND dead IS NULL RETURNING ` + renewReturning + `,
	(SELECT count(*) FROM nodes WHERE dead IS NULL AND id <> $1 AND seen_at < ` + postgresNow + ` - $2::bigint), (SELECT count(*) FROM nodes WHERE dead IS NOT NULL AND freed = 0)`

// renew renews the row of this process with the statement text. It detects writes of other
// processes, follows the clock and refreshes the members. into receives further columns of the
// statement. Error: errFenced.
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
		n.lastFailure = time.Now() // by the new time every server was silent for long
	}
	if n.rules != rules {
		n.rules = rules
		d.generations.bumpAll()
	}
	others := groups - n.ownGroups.Load() // an own group in progress counts once too much until the next heartbeat
	if n.externalGroups.Swap(others) != others {
		notify(d.externalWrites)
	}
	n.refreshMembers(d, ids)
	return nil
}

// notify sends to a channel with a buffer of one without blocking.
func notify(ch chan<- struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

// leaseValid reports whether no other server can have marked this one dead yet.
func (n *node) leaseValid() bool { return n.id == "" || n.confirmedRecently() }

// confirmedRecently reports whether a heartbeat was confirmed within leaseHeartbeats intervals.
func (n *node) confirmedRecently() bool {
	return time.Since(n.started)-time.Duration(n.confirmed.Load()) < leaseHeartbeats*n.interval
}

// deregister marks the row of this server dead, so that another one can lead immediately.
func (n *node) deregister(d *DB) error {
	if n.id == "" {
		return nil
	}
	<-n.done
	if !n.confirmedRecently() {
		return nil // unreachable: the other servers notice the missing heartbeats
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

// peers are the live servers of the cluster.
type peers struct {
	ids   []string // sorted
	since time.Time
	index int // of this server in ids; -1: missing
}

// refreshMembers stores the list of live servers and reports changes of it.
func (n *node) refreshMembers(d *DB, list string) {
	ids := strings.Split(list, ",")
	old := n.peers.Load()
	if old != nil && slices.Equal(old.ids, ids) {
		return
	}
	next := &peers{ids: ids, since: time.Now(), index: slices.Index(ids, n.id)}
	if old != nil { // this server has been a member since then
		next.since = old.since
	} else if len(ids) <= 1 {
		next.since = time.Time{}
	}
	n.peers.Store(next)
	for _, fn := range d.onClusterChange {
		fn()
	}
}
