package engine

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
)

// queued are the writes of a session that leave together, with the next statement that
// something is asked of, or with the commit: of a database elsewhere each way there and back
// costs more than the statement.
type writeQueue struct {
	conn       *sql.Conn
	writes     []pendingWrite
	statements map[string]queueStatement
	immediate  bool      // at once, one by one: where one of a group failed, its closure must hear of it
	changes    int       // statements that may have changed something
	failed     error     // of one that left without its closure
	opening    *opening  // what begins the transaction, and leaves with what comes first; nil: it has begun
	beginFirst bool      // it is to begin before any closure does
	part       *part     // whose writes these are; nil: of all closures, one after the other
	parts      *partPool // the sessions of closures that run beside others
	// slow is called with the connection's process on the server where an answer takes longer
	// than slowAfter; nil: nobody asks.
	onSlow    func(pid uint32)
	slowAfter time.Duration
}

// opening begins a transaction.
type opening struct {
	queries []*pendingQuery
	// begun is called with their answers. Its error takes the transaction back.
	begun func(asks []*pendingQuery) error
	// strict are asks that fail themselves where begun would refuse their answers: the end of
	// the transaction may leave with them.
	strict []*pendingQuery
}

// pending is a statement that has not left.
type pendingWrite struct {
	text string
	args []any
}

// queueStatement is a statement as it is sent.
type queueStatement struct {
	text, single string // single: which fails where it touches no row
	kind         Kind
}

func newWriteQueue(conn *sql.Conn) *writeQueue {
	return &writeQueue{conn: conn, statements: map[string]queueStatement{}, parts: &partPool{}}
}

// reset forgets what a transaction that is over left.
func (q *writeQueue) reset() {
	if q != nil {
		q.writes, q.changes, q.failed, q.opening = nil, 0, nil, nil
	}
}

// Write runs a statement of which nobody asks how many rows it touches: at once, or with
// what comes next. Error: ErrNotFound for a row whose parent is gone, where it is run at
// once.
func (s *Conn) Write(query string, args ...any) error {
	if s.queue == nil || s.queue.immediate {
		_, err := s.Exec(query, args...)
		return err
	}
	s.enqueue(query, args, false)
	return nil
}

// WriteOne is write for a statement that must touch a row. Error: ErrNotFound where it does not:
// of one that waits, its closure hears when it is run again.
func (s *Conn) WriteOne(query string, args ...any) error {
	if s.queue == nil || s.queue.immediate {
		n, err := s.Exec(query, args...)
		return oneRow(n, err, ErrNotFound)
	}
	s.enqueue(query, args, true)
	return nil
}

func (s *Conn) enqueue(query string, args []any, single bool) {
	q := s.queue
	w, ok := q.statements[query]
	if !ok {
		w = queueStatement{text: s.dialect.translate(query), kind: KindOf(query)}
		w.single = requireRow(w.text)
		q.statements[query] = w
	}
	s.counted.add(w.kind)
	text := w.text
	if single {
		text = w.single
	}
	// Who writes many sets puts one after the other into the same arguments.
	q.writes = append(q.writes, pendingWrite{text, s.dialect.bind(slices.Clone(args))})
	q.changes++
}

// flush sends what waits. Its error stays: what follows rests on what failed. A nil queue has
// nothing to send, and what a part has leaves with what it asks.
func (q *writeQueue) flush() error {
	if q == nil || q.part != nil || q.failed != nil || len(q.writes) == 0 && q.opening == nil {
		return q.failure()
	}
	q.send(nil)
	return q.failed
}

func (q *writeQueue) failure() error {
	if q == nil {
		return nil
	}
	return q.failed
}

// send sends what waits, and then what is asked, in one way there and back.
func (q *writeQueue) send(asks []*pendingQuery) {
	writes, opening := q.writes, q.opening
	q.writes, q.opening = nil, nil
	var first []*pendingQuery
	if opening != nil {
		first = opening.queries
	}
	q.failed = q.conn.Raw(func(driver any) error {
		conn := driver.(*stdlib.Conn).Conn()
		if q.onSlow != nil {
			defer time.AfterFunc(q.slowAfter, func() { q.onSlow(conn.PgConn().PID()) }).Stop()
		}
		return exchange(conn, first, writes, asks)
	})
	if opening != nil && q.failed == nil {
		q.failed = opening.begun(first)
	}
	q.beginFirst = q.beginFirst || errors.Is(q.failed, errStaleBegin)
}

// finish sends what waits and has the transaction end with it, in one way also where that is
// still to be begun. Where nothing was written or asked there is none, which it reports.
func (q *writeQueue) finish() (none bool, err error) {
	if q.opening != nil {
		if len(q.writes) == 0 {
			return true, nil
		}
		q.opening.queries = q.opening.strict
	}
	end := &pendingQuery{text: "COMMIT"}
	if q.send([]*pendingQuery{end}); q.failed == nil && end.tag != "COMMIT" { // PostgreSQL rolls back what failed before, without an error
		q.failed = errors.New("the transaction was rolled back")
	}
	return false, q.failed
}

// exchange sends statements in one way there and back.
func exchange(conn *pgx.Conn, first []*pendingQuery, writes []pendingWrite, asks []*pendingQuery) (err error) {
	batch := &pgx.Batch{}
	for _, a := range first {
		batch.Queue(a.text, a.args...)
	}
	for _, w := range writes {
		batch.Queue(w.text, w.args...)
	}
	for _, a := range asks {
		batch.Queue(a.text, a.args...)
	}
	results := conn.SendBatch(context.Background(), batch)
	defer func() { err = errors.Join(err, results.Close()) }()
	for _, a := range first {
		if err := a.read(conn, results); err != nil {
			return fmt.Errorf("begin: %w", staleBegin(err))
		}
	}
	for range writes {
		if _, err := results.Exec(); err != nil {
			return mapForeignKey(err)
		}
	}
	for _, a := range asks {
		if err := a.read(conn, results); err != nil {
			return mapForeignKey(err)
		}
	}
	return nil
}

// staleBegin is errStaleBegin for what fails of an opening by a division.
func staleBegin(err error) error {
	var pg *pgconn.PgError
	if errors.As(err, &pg) && pg.Code == postgresDivision {
		return errStaleBegin
	}
	return err
}

// requireRow has a statement fail that touches no row, by a division: the commit that leaves
// with it must not take place.
func requireRow(text string) string {
	return "/* must touch a row */ WITH touched AS (" + text + " RETURNING 1) SELECT 1 / count(*) FROM touched"
}

// errRunSingly: a closure of a group failed after it had changed something, or what it had queued
// did; the group is run again one by one.
var errRunSingly = errors.New("db: to be run one by one")

// failedInside reports whether an error is one of a statement, after which PostgreSQL takes no
// more of its transaction.
func failedInside(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg)
}
