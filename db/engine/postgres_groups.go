package engine

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
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

// begin queues the statements that begin the transaction of a group, wait for the groups of other
// processes and fail on a server that was marked dead. They are sent with the first statement of
// the group. They are sent before any closure runs if other processes changed what is cached,
// which must be read again first, or did so before the last group, since they probably still do.
func (e *postgresEngine) begin(d *DB, s *Conn) error {
	e.group++
	e.before, e.bump = *s.changes, marks{}
	note := []any{e.writer, e.group, e.lastRow}
	queries := []*pendingQuery{{text: beginGroup}, {text: lockGroups}, {text: noteGroup, args: note}}
	strict := []*pendingQuery{
		queries[0],
		queries[1],
		{text: noteGroup + `, 1 / CASE WHEN rules = $4 AND erasures = $5 THEN 1 ELSE 0 END`, args: append(note, e.known.rules, e.known.erasures)},
	}
	if e.node.id != "" {
		queries = append(queries, &pendingQuery{text: `SELECT id FROM nodes WHERE id = $1 AND dead IS NULL FOR KEY SHARE`, args: []any{e.node.id}})
		strict = append(strict, &pendingQuery{text: `SELECT 1 / count(*) FROM (SELECT id FROM nodes WHERE id = $1 AND dead IS NULL FOR KEY SHARE) AS me`, args: []any{e.node.id}})
	}
	others := false
	begun := func(queries []*pendingQuery) (err error) {
		if e.node.id != "" && len(queries[3].rows) == 0 {
			return errFenced
		}
		e.now, err = marksOf(queries[2].rows)
		others = !e.now.sameRules(e.known)
		return err
	}
	s.queue.opening = &opening{queries, func(queries []*pendingQuery) error {
		if err := begun(queries); err != nil || !others {
			return err
		}
		return errStaleBegin
	}, strict}
	if !s.queue.beginFirst && !s.queue.immediate && !e.othersWrote {
		return nil
	}
	s.queue.beginFirst, s.queue.opening.begun = false, begun
	if s.queue.send(nil); s.queue.failed != nil {
		return s.queue.failed
	}
	noteExternalErasure(d, e.now.erasures != e.known.erasures)
	e.known, e.othersWrote = e.now, others // reported once
	err := d.noteExternalWrites(s, others)
	e.before = *s.changes // what others changed is not to be reported to them again
	return err
}

func marksOf(rows [][]driver.Value) (m marks, err error) {
	if len(rows) != 1 {
		return m, fmt.Errorf("begin: %d rows of a group", len(rows))
	}
	for i, into := range []*int64{&m.n, &m.rules, &m.erasures} {
		n, ok := rows[0][i].(int64)
		if !ok {
			return m, fmt.Errorf("begin: %v is not a number", rows[0][i])
		}
		*into = n
	}
	return m, nil
}

// commit commits the transaction of a group.
func (e *postgresEngine) commit(s *Conn) error {
	e.queueMarks(s)
	none, err := s.queue.finish()
	if err == nil && !none {
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
		s.queue.writes = append(s.queue.writes, pendingWrite{`UPDATE writes SET rules = rules + $1, erasures = erasures + $2 WHERE n = (SELECT max(n) FROM writes)`, []any{e.bump.rules, e.bump.erasures}})
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

// errStaleBegin means that others changed what is cached, or marked this server dead, which was
// found after closures had begun.
var errStaleBegin = errors.New("db: others wrote")

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
