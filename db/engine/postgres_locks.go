package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
)

// Most locks for which statements wait belong to other processes of this program. They last as long as
// a group of writes, and at most 10 seconds if a server was lost in the middle of one. Other
// programs may hold a lock for hours: an ALTER TABLE, a VACUUM FULL, a forgotten transaction. Then
// new work is refused, as it is while another program locks a file.

const (
	// groupLockTimeout is how long a statement that writes waits for a lock: longer than a lost
	// server can block it.
	groupLockTimeout = 12 * time.Second
	// lockReportAfter is the part of the lock timeout after which the holder of the lock is
	// searched for.
	lockReportAfter = 5.0 / 12
)

// postgresLocked is the SQLSTATE of a statement that exceeded the lock timeout.
const postgresLocked = "55P03"

// lockedOnPostgres reports whether err means that another transaction held a lock for too long.
func lockedOnPostgres(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.Code == postgresLocked
}

// lockHolder is the process of PostgreSQL that holds a lock for which the writer waits.
type lockHolder struct {
	pid         int64 // 0: a prepared transaction
	user, name  string
	query       string
	transaction string // distinguishes transactions of a connection; empty: it has ended
}

// ours reports whether the holder is another process of this program.
func (l *lockHolder) ours() bool { return strings.HasPrefix(l.name, applicationName("")+" ") }

// Error describes the holder.
func (l *lockHolder) Error() string {
	if l.pid == 0 {
		return "a prepared transaction holds it: pg_prepared_xacts shows it, ROLLBACK PREPARED ends it"
	}
	return fmt.Sprintf("the process %d of PostgreSQL holds it (user %s, application %q), whose last statement is: %s", l.pid, l.user, l.name, strings.Join(strings.Fields(l.query), " "))
}

// findHolder returns the transaction for which the connection pid waits, directly or indirectly,
// and which itself waits for none; nil: it does not wait.
func findHolder(ctx context.Context, d *DB, pid uint32) (*lockHolder, error) {
	rows, err := d.ro.QueryContext(ctx, `WITH RECURSIVE chain (pid) AS (SELECT unnest(pg_blocking_pids($1::bigint::int)) UNION SELECT unnest(pg_blocking_pids(c.pid)) FROM chain AS c)
		SELECT c.pid, coalesce(a.usename, ''), coalesce(a.application_name, ''), coalesce(left(a.query, 300), ''), coalesce((SELECT min(l.virtualtransaction) FROM pg_locks AS l WHERE l.pid = c.pid), '')
		FROM chain AS c LEFT JOIN pg_stat_activity AS a ON a.pid = c.pid WHERE cardinality(pg_blocking_pids(c.pid)) = 0 ORDER BY c.pid LIMIT 1`, int64(pid))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	if !rows.Next() {
		return nil, rows.Err()
	}
	var l lockHolder
	return &l, rows.Scan(&l.pid, &l.user, &l.name, &l.query, &l.transaction)
}

// reportLockHolder is called while the connection pid of the writer waits for a long time. It
// refuses new work if another program holds the lock.
func reportLockHolder(d *DB, pid uint32) {
	ctx, cancel := context.WithTimeout(context.Background(), dialTimeout)
	defer cancel()
	holder, err := findHolder(ctx, d, pid)
	if err != nil {
		d.log.Debug("who holds up the writer can't be found out", "db", d.name, "err", err)
	}
	select {
	case <-d.closing:
		return
	default:
	}
	if err != nil || holder == nil || holder.ours() {
		return
	}
	setLockedOnPostgres(d, holder, holder)
}

// lockedError is the error for new work while another program holds a lock on the database.
func lockedError(name string, cause error) error {
	return refuse(ErrLocked, "%s is locked by another program, like one that alters a table, or a transaction that somebody forgot (%s); end it with pg_terminate_backend, or wait until it is done", name, cause)
}

// setLockedOnPostgres refuses new work until no lock blocks groups of writes. holder is the
// process that holds one; nil: unknown, so it is searched for and logged.
func setLockedOnPostgres(d *DB, holder *lockHolder, cause error) {
	const every = time.Second
	why := &outage{lockedError(d.name, cause)}
	d.writerOutage.CompareAndSwap(nil, why)
	next := time.Now()
	d.setOutage(why.err, next, "another program holds a lock on the database", cause, func() error {
		if time.Now().Before(next) {
			return why.err
		}
		found, err := probeLocks(d, holder)
		if holder == nil && found != nil {
			holder = found
			d.log.Warn("another program still holds a lock on the database", "db", d.name, "err", holder)
		}
		next = time.Now().Add(every)
		if err == nil {
			d.writerOutage.CompareAndSwap(why, nil)
		}
		return err
	})
}

// probeSearchAfter is the part of the probe's lock timeout after which an unknown holder is searched
// for.
const probeSearchAfter = 200 * time.Millisecond

// probeLocksSQL takes the locks that groups of writes may need, and releases them.
const probeLocksSQL = beginGroup + `; SET LOCAL lock_timeout = '2s'; ` + lockGroups + `;
	DO $$ DECLARE t regclass; BEGIN
		FOR t IN SELECT oid FROM pg_class WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace LOOP
			EXECUTE 'LOCK TABLE ' || t || ' IN ROW EXCLUSIVE MODE';
		END LOOP;
	END $$; ROLLBACK`

// probeLocks returns no error if no lock blocks groups of writes and the transaction of holder has
// ended. If holder is nil, it returns who holds the lock; nil: nobody, or it can't be found out.
func probeLocks(d *DB, holder *lockHolder) (*lockHolder, error) {
	ctx, cancel := context.WithTimeout(context.Background(), dialTimeout)
	defer cancel()
	conn, err := d.pool.Conn(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	if holder != nil && holder.transaction != "" {
		var held bool
		err := conn.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM pg_locks WHERE pid::bigint = $1 AND virtualtransaction = $2)`, holder.pid, holder.transaction).Scan(&held)
		if err != nil || held {
			return nil, cmp.Or(err, error(holder))
		}
	}
	probe := func() error { return (&Conn{conn: conn}).simpleWithin(ctx, probeLocksSQL, func([]string) {}) }
	if holder != nil {
		return nil, probe()
	}
	var pid uint32
	if err := conn.Raw(func(driver any) error { pid = driver.(*stdlib.Conn).Conn().PgConn().PID(); return nil }); err != nil {
		return nil, err
	}
	found := make(chan *lockHolder, 1)
	search := time.AfterFunc(probeSearchAfter, func() {
		h, err := findHolder(ctx, d, pid)
		if err != nil || h != nil && h.ours() {
			h = nil // the next probe searches again
		}
		found <- h
	})
	err = probe()
	if !search.Stop() {
		holder = <-found
	}
	return holder, err
}
