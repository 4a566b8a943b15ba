package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// Statements wait for locks of other transactions: mostly for those of other processes of this
// program, which last for as long as a group of writes does, and for 10 seconds at most where a
// server was lost in the midst of one. Whoever else holds a lock may do so for hours: an ALTER
// TABLE, a VACUUM FULL, a transaction that somebody forgot. Then new work is refused, as it is
// while another program locks a file.

const (
	// groupLockTimeout is how long a statement that writes waits for a lock: longer than a lost
	// server may cost.
	groupLockTimeout = 12 * time.Second
	// lockReportAfter is after what part of it the one is looked for who holds the lock.
	lockReportAfter = 5.0 / 12
)

// postgresLocked is the SQLSTATE of a statement that waited for a lock too long.
const postgresLocked = "55P03"

// lockedOnPostgres reports whether err says that a transaction of somebody held a lock too long.
func lockedOnPostgres(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.Code == postgresLocked
}

// lockHolder is who holds a lock that the writer waits for, as far as PostgreSQL tells.
type lockHolder struct {
	pid         int64 // 0: a prepared transaction
	user, name  string
	query       string
	transaction string // tells it from the next one of the same connection; empty: it is over
}

// ours reports whether it is another process of this program.
func (l *lockHolder) ours() bool { return strings.HasPrefix(l.name, applicationName("")+" ") }

// Error says who it is.
func (l *lockHolder) Error() string {
	if l.pid == 0 {
		return "a prepared transaction holds it: pg_prepared_xacts shows it, ROLLBACK PREPARED ends it"
	}
	return fmt.Sprintf("the process %d of PostgreSQL holds it (user %s, application %q), whose last statement is: %s", l.pid, l.user, l.name, strings.Join(strings.Fields(l.query), " "))
}

// findHolder asks for the transaction that the connection pid waits for in the end, and for no
// other one itself; nil: it waits for none.
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

// reportLockHolder is called while the connection pid of the writer waits for long: new work is
// refused where it waits for a lock of somebody else.
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
	if errors.Is(d.Err(), ErrLocked) { // the wait ended before anybody knew who it is
		d.log.Warn("another program still holds a lock on the database", "db", d.name, "err", holder)
	}
	setLockedOnPostgres(d, holder, holder)
}

// lockedError is the refusal of new work while somebody holds a lock on the database.
func lockedError(name string, cause error) error {
	return refuse(ErrLocked, "%s is locked by another program, like one that alters a table, or a transaction that somebody forgot (%s); end it with pg_terminate_backend, or wait until it is done", name, cause)
}

// setLockedOnPostgres refuses new work until nobody holds a lock that groups of writes need.
// holder is who does; nil: nobody knows.
func setLockedOnPostgres(d *DB, holder *lockHolder, cause error) {
	const every = time.Second
	why := &outage{lockedError(d.name, cause)}
	d.writerOutage.CompareAndSwap(nil, why)
	next := time.Now()
	d.setOutage(why.err, next, "another program holds a lock on the database", cause, func() error {
		if time.Now().Before(next) {
			return why.err
		}
		err := probeLocks(d, holder)
		next = time.Now().Add(every)
		if err == nil {
			d.writerOutage.CompareAndSwap(why, nil)
		}
		return err
	})
}

// probeLocksSQL takes the locks that groups of writes may need, and gives them back.
const probeLocksSQL = beginGroup + `; SET LOCAL lock_timeout = '1s'; ` + lockGroups + `;
	DO $$ DECLARE t regclass; BEGIN
		FOR t IN SELECT oid FROM pg_class WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace LOOP
			EXECUTE 'LOCK TABLE ' || t || ' IN ROW EXCLUSIVE MODE';
		END LOOP;
	END $$; ROLLBACK`

// probeLocks is nil where nobody holds a lock that groups of writes may need, and the transaction
// of holder is over.
func probeLocks(d *DB, holder *lockHolder) error {
	ctx, cancel := context.WithTimeout(context.Background(), dialTimeout)
	defer cancel()
	conn, err := d.pool.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	if holder != nil && holder.transaction != "" {
		var held bool
		err := conn.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM pg_locks WHERE pid::bigint = $1 AND virtualtransaction = $2)`, holder.pid, holder.transaction).Scan(&held)
		if err != nil || held {
			return cmp.Or(err, error(holder))
		}
	}
	return (&Conn{conn: conn}).simpleWithin(ctx, probeLocksSQL, func([]string) {})
}
