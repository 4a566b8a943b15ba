package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// The groups of writes of all processes are serialized: each begins by locking the only row of changes
// until its commit. The row is locked but never updated: an UPDATE would leave a dead row version,
// which PostgreSQL keeps while an older transaction runs, such as a pg_dump, and which each group
// would have to skip. For the same reason each group inserts a row into writes and deletes the
// previous one of its process: the newest row is at the end of the primary key, and a process finds
// its own by number, however many dead row versions there are.

// lockGroups makes a group wait for the groups of other processes.
const lockGroups = `SELECT 1 FROM changes WHERE id = 1 FOR UPDATE`

// lastGroup selects the newest row of writes.
const lastGroup = `SELECT n, rules, erasures FROM writes ORDER BY n DESC LIMIT 1`

// noteGroup stores the process of a group and the number of the group in that process. It needs
// the lock. The transaction id of PostgreSQL would not do: after a crash, or on a promoted
// standby, another transaction may get the id of one that was lost.
const noteGroup = `WITH last AS (` + lastGroup + `), former AS (DELETE FROM writes WHERE n = $3)
	INSERT INTO writes (n, writer, own, at, rules, erasures) SELECT n + 1, $1, $2, ` + postgresNow + `, rules, erasures FROM last RETURNING n, rules, erasures`

// beginGroup begins a transaction in which each statement sees what was committed before it, so
// that statements after the lock see the writes of the previous group.
const beginGroup = `BEGIN ISOLATION LEVEL READ COMMITTED`

// marks are the number of a group among those of all processes, and how many groups up to it
// changed what processes cache (Cached).
type marks struct{ n, rules, erasures int64 }

// sameRules reports whether nothing that processes cache changed between both.
func (m marks) sameRules(other marks) bool {
	return m.rules == other.rules && m.erasures == other.erasures
}

// begin begins the transaction of a group, waits for the groups of other processes, and fails on
// a server that was marked dead. The queries to prefetch leave in the same round trip. If other
// processes changed what is cached, it is read again before any closure runs.
func (e *postgresEngine) begin(d *DB, s *Conn, prefetch []query) error {
	e.group++
	e.bump = marks{}
	first := []query{{text: beginGroup}, {text: lockGroups}, {noteGroup, []any{e.writer, e.group, e.lastRow}}}
	if e.node.id != "" {
		first = append(first, query{`SELECT id FROM nodes WHERE id = $1 AND dead IS NULL FOR KEY SHARE`, []any{e.node.id}})
	}
	fenced := false
	err := s.prefetch(first, prefetch, func(i int, r pgx.Rows) error {
		switch i {
		case 2:
			if r.Next() {
				return r.Scan(&e.now.n, &e.now.rules, &e.now.erasures)
			}
			return errors.New("the row of the group is missing")
		case 3:
			fenced = !r.Next()
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	if fenced {
		return errFenced
	}
	others := !e.now.sameRules(e.known)
	noteExternalErasure(d, e.now.erasures != e.known.erasures)
	e.known = e.now // reported once
	err = d.noteExternalWrites(s, others)
	e.before, s.pg.asOf = *s.changes, 1+s.changes[Suppressions] // what others changed is not to be reported to them again
	return err
}

// commit commits the transaction of a group.
func (e *postgresEngine) commit(s *Conn) error {
	e.queueMarks(s)
	err := s.commitPostgres()
	if err == nil {
		e.noteCommitted(marks{e.now.n, e.now.rules + e.bump.rules, e.now.erasures + e.bump.erasures})
	}
	return err
}

// queueMarks queues a statement that stores, in the newest row of writes, whether the group
// changed what other processes cache.
func (e *postgresEngine) queueMarks(s *Conn) {
	if s.changes.rules() != e.before.rules() {
		e.bump.rules = 1
	}
	if s.changes[Erasures] != e.before[Erasures] {
		e.bump.erasures = 1
	}
	if e.bump != (marks{}) {
		s.pg.writes = append(s.pg.writes, bufferedWrite{query: query{`UPDATE writes SET rules = rules + $1, erasures = erasures + $2 WHERE n = (SELECT max(n) FROM writes)`, []any{e.bump.rules, e.bump.erasures}}})
	}
}

// noteCommitted notes that the current group was committed.
func (e *postgresEngine) noteCommitted(as marks) {
	e.known, e.ownGroups, e.lastRow = as, e.ownGroups+1, as.n
	e.node.ownGroups.Store(e.ownGroups)
}

// committed reports whether a group was committed whose COMMIT got no answer. It waits for the
// lock of the group, which the server holds as long as the lost connection lives there. It asks
// in a transaction that writes: when that one is confirmed by the synchronous standby, so is the
// group.
func (e *postgresEngine) committed(ctx context.Context, s *Conn) (bool, error) {
	var found []string
	text := fmt.Sprintf("%s; UPDATE changes SET id = id; SELECT n, rules, erasures FROM writes WHERE n > %d AND writer = '%s' AND own = %d; COMMIT", beginGroup, e.lastRow, e.writer, e.group)
	err := s.simpleWithin(ctx, text, func(values []string) { found = append(found, values...) })
	if err != nil {
		return false, fmt.Errorf("ask what became of a commit: %w", err)
	}
	if len(found) == 0 {
		return false, nil
	}
	var as marks
	if _, err := fmt.Sscan(found[0]+" "+found[1]+" "+found[2], &as.n, &as.rules, &as.erasures); err != nil {
		return false, fmt.Errorf("ask what became of a commit: %w", err)
	}
	e.noteCommitted(as)
	return true, nil
}

func (e *postgresEngine) externalVersion(s *Conn) (n int64, err error) {
	err = s.Row(`SELECT max(n) FROM writes`, nil, &n)
	return n - e.ownGroups, err
}

// deleteWrite deletes a row of writes, unless it is the newest one, from which all processes
// count on.
const deleteWrite = `DELETE FROM writes WHERE n < (SELECT max(n) FROM writes) AND n = $1`

// deleteOldWrites deletes rows of killed processes that are older than a day.
const deleteOldWrites = `DELETE FROM writes WHERE n < (SELECT max(n) FROM writes) AND at < ` + postgresNow + ` - 86400000`

// close deletes the row of writes of this process and deregisters the node.
func (e *postgresEngine) close(d *DB) error {
	if d.ro == nil || e.group == 0 || !e.leaseValid() {
		return e.node.deregister(d)
	}
	ctx, cancel := context.WithTimeout(context.Background(), dialTimeout)
	defer cancel()
	if _, err := d.ro.ExecContext(ctx, deleteWrite, e.lastRow); err != nil {
		d.log.Debug("the row of a writer that ended stays", "err", err) // deleteOldWrites deletes it later
	}
	return e.node.deregister(d)
}
