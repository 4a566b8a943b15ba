package engine

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
)

// Groups of writes of all processes come one after the other: each begins by locking the one
// Row of changes until its commit. The row is only ever locked: each UPDATE would leave a
// version of it that PostgreSQL keeps for as long as any transaction on the database that is
// older, like that of a pg_dump, and that each group would have to walk past. For the same
// reason each group inserts its row of writes and deletes the one that its process inserted
// before: the newest row is found at the end of the key, and the last one of a process by its
// number, however many dead ones there are.

// lockGroups has the transaction wait for those of other processes.
const lockGroups = `SELECT 1 FROM changes WHERE id = 1 FOR UPDATE`

// lastGroup is the newest row of writes.
const lastGroup = `SELECT n, rules, erasures FROM writes ORDER BY n DESC LIMIT 1`

// noteGroup has the transaction of a group say whose it is, and which one of that process; it
// needs the lock. The number of a transaction of PostgreSQL would not do: after a crash, or on a
// standby that was promoted, PostgreSQL counts on from what it knows, and another transaction
// may get the number of one that was lost.
const noteGroup = `WITH last AS (` + lastGroup + `), former AS (DELETE FROM writes WHERE n = $3)
	INSERT INTO writes (n, writer, own, at, rules, erasures) SELECT n + 1, $1, $2, ` + postgresNow + `, rules, erasures FROM last RETURNING n, rules, erasures`

// beginGroup begins a transaction of writes: each statement sees what was committed before it,
// so that the ones behind the lock see what the group before wrote.
const beginGroup = `BEGIN ISOLATION LEVEL READ COMMITTED`

// marks are the number of a group among those of all processes, and how many of them up to it
// Changed what processes remember (kind).
type marks struct{ n, rules, erasures int64 }

// sameRules reports whether what processes remember is the same at both.
func (m marks) sameRules(other marks) bool {
	return m.rules == other.rules && m.erasures == other.erasures
}

// begin begins the transaction of a group, which waits for those of other processes, and
// refuses a server that was taken for dead. It leaves with the first statement; only where
// others changed what is remembered since the last group it comes first, since that is to be
// read again before anything relies on it; and where they did before the last one, since they
// probably go on.
func (e *postgresEngine) begin(d *DB, s *Conn) error {
	e.group++
	e.before, e.bump = *s.counted, marks{}
	note := []any{e.writer, e.group, e.lastRow}
	asks := []*pendingQuery{{text: beginGroup}, {text: lockGroups}, {text: noteGroup, args: note}}
	strict := []*pendingQuery{
		asks[0],
		asks[1],
		{text: noteGroup + `, 1 / CASE WHEN rules = $4 AND erasures = $5 THEN 1 ELSE 0 END`, args: append(note, e.known.rules, e.known.erasures)},
	}
	if e.node.id != "" {
		asks = append(asks, &pendingQuery{text: `SELECT id FROM nodes WHERE id = $1 AND dead IS NULL FOR KEY SHARE`, args: []any{e.node.id}})
		strict = append(strict, &pendingQuery{text: `SELECT 1 / count(*) FROM (SELECT id FROM nodes WHERE id = $1 AND dead IS NULL FOR KEY SHARE) AS me`, args: []any{e.node.id}})
	}
	others := false
	begun := func(asks []*pendingQuery) (err error) {
		if e.node.id != "" && len(asks[3].rows) == 0 {
			return errFenced
		}
		e.now, err = marksOf(asks[2].rows)
		others = !e.now.sameRules(e.known)
		return err
	}
	s.queue.opening = &opening{asks, func(asks []*pendingQuery) error {
		if err := begun(asks); err != nil || !others {
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
	e.known, e.othersWrote = e.now, others // told of once
	return d.noteExternalWrites(s, others)
}

func marksOf(rows [][]driver.Value) (m marks, err error) {
	if len(rows) != 1 {
		return m, fmt.Errorf("begin: %d rows of a group", len(rows))
	}
	for i, into := range []*int64{&m.n, &m.rules, &m.erasures} {
		n, ok := rows[0][i].(int64)
		if !ok {
			return m, fmt.Errorf("begin: %v is no number", rows[0][i])
		}
		*into = n
	}
	return m, nil
}

// commit ends the transaction of a group.
func (e *postgresEngine) commit(s *Conn) error {
	e.queueMarks(s)
	none, err := s.queue.finish()
	if err == nil && !none {
		e.noteCommitted(marks{e.now.n, e.now.rules + e.bump.rules, e.now.erasures + e.bump.erasures})
	}
	return err
}

// mark has the transaction say what it changed of what others remember, in its row, which is
// the newest one.
func (e *postgresEngine) queueMarks(s *Conn) {
	if s.counted.rules != e.before.rules {
		e.bump.rules = 1
	}
	if s.counted.erasures != e.before.erasures {
		e.bump.erasures = 1
	}
	if e.bump != (marks{}) {
		s.queue.writes = append(s.queue.writes, pendingWrite{`UPDATE writes SET rules = rules + $1, erasures = erasures + $2 WHERE n = (SELECT max(n) FROM writes)`, []any{e.bump.rules, e.bump.erasures}})
	}
}

// noteCommitted notes that the group under way is on the database.
func (e *postgresEngine) noteCommitted(as marks) {
	e.known, e.ownGroups, e.lastRow = as, e.ownGroups+1, as.n
	e.node.ownGroups.Store(e.ownGroups)
}

// committed asks what became of a group whose answer to COMMIT was lost. It waits for the row
// that the group locks as long as its connection lives on the other side. That it asks in a
// transaction that writes, and so is on the synchronous standby once it is answered, has the
// group be there too.
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

// errStaleBegin: others wrote since the last group, or took this server for dead, which showed
// only after closures had begun.
var errStaleBegin = errors.New("db: others wrote")

func (e *postgresEngine) externalVersion(s *Conn) (n int64, err error) {
	err = s.Row(`SELECT max(n) FROM writes`, nil, &n)
	return n - e.ownGroups, err
}

// deleteWrite deletes a row, but not the newest one of all, from which all count on.
const deleteWrite = `DELETE FROM writes WHERE n < (SELECT max(n) FROM writes) AND n = $1`

// deleteOldWrites deletes the rows that processes left a day ago which were killed.
const deleteOldWrites = `DELETE FROM writes WHERE n < (SELECT max(n) FROM writes) AND at < ` + postgresNow + ` - 86400000`

// close clears away what tells of this process.
func (e *postgresEngine) close(d *DB) error {
	if d.ro == nil || e.group == 0 || !e.leaseValid() {
		return e.node.deregister(d)
	}
	ctx, cancel := context.WithTimeout(context.Background(), dialTimeout)
	defer cancel()
	if _, err := d.ro.ExecContext(ctx, deleteWrite, e.lastRow); err != nil {
		d.log.Debug("the row of a writer that ended stays", "err", err) // it is cleared away with old ones
	}
	return e.node.deregister(d)
}
