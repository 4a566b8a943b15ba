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

// writeQueue buffers the writes of a session. They are sent in one round trip with the next
// query, or with the commit, because a round trip to PostgreSQL costs more than a statement.
type writeQueue struct {
	conn       *sql.Conn
	writes     []pendingWrite
	statements map[string]queueStatement
	immediate  bool      // send each write immediately, so that its closure gets its error
	changes    int       // number of statements that may have changed something
	failed     error     // of a buffered write or a query
	opening    *opening  // begins the transaction, sent with the first statement; nil: it has begun
	beginFirst bool      // begin the transaction before any closure runs
	part       *part     // whose writes these are; nil: those of closures that are not pipelined
	parts      *partPool // sessions of pipelined closures
	// onSlow is called with the process id of the connection on the server if a round trip takes
	// longer than slowAfter; nil: never.
	onSlow    func(pid uint32)
	slowAfter time.Duration
}

// opening are the statements that begin a transaction.
type opening struct {
	queries []*pendingQuery
	// begun is called with their results. Its error rolls the transaction back.
	begun func(queries []*pendingQuery) error
	// strict are statements that fail themselves if begun would return an error, so that COMMIT
	// can be sent with them.
	strict []*pendingQuery
}

// pendingWrite is a statement that was not sent yet.
type pendingWrite struct {
	text string
	args []any
}

// queueStatement is a translated statement.
type queueStatement struct {
	text, single string // single: fails if no row is touched
}

func newWriteQueue(conn *sql.Conn) *writeQueue {
	return &writeQueue{conn: conn, statements: map[string]queueStatement{}, parts: &partPool{}}
}

// reset clears the state of a transaction that has ended.
func (q *writeQueue) reset() {
	if q != nil {
		q.writes, q.changes, q.failed, q.opening = nil, 0, nil, nil
	}
}

// Write runs a statement whose number of rows does not matter. On PostgreSQL it may be buffered
// until the next query or the commit. Error: ErrNotFound for a row whose parent is missing, if
// the statement is run immediately.
func (s *Conn) Write(query string, args ...any) error {
	if s.queue == nil || s.queue.immediate {
		_, err := s.Exec(query, args...)
		return err
	}
	s.enqueue(query, args, false)
	return nil
}

// WriteOne is Write for a statement that must touch a row. Error: ErrNotFound if it does not. If
// a buffered statement fails, the group is run again with immediate writes, and its closure gets
// the error then.
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
		w = queueStatement{text: s.dialect.translate(query)}
		w.single = requireRow(w.text)
		q.statements[query] = w
	}
	text := w.text
	if single {
		text = w.single
	}
	// The caller may reuse args for the next row, so copy them.
	q.writes = append(q.writes, pendingWrite{text, s.dialect.bind(slices.Clone(args))})
	q.changes++
}

// flush sends the buffered writes. Its error is kept, because later statements depend on what
// failed. A nil queue has nothing to send; the writes of a part are sent with its queries.
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

// send sends the buffered writes and then queries in one round trip.
func (q *writeQueue) send(queries []*pendingQuery) {
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
		return exchange(conn, first, writes, queries)
	})
	if opening != nil && q.failed == nil {
		q.failed = opening.begun(first)
	}
	q.beginFirst = q.beginFirst || errors.Is(q.failed, errStaleBegin)
}

// finish sends the buffered writes and the COMMIT in one round trip, together with the opening if
// that was not sent. none: nothing was written or queried, so there is no transaction.
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

// exchange sends statements in one round trip and reads the results.
func exchange(conn *pgx.Conn, first []*pendingQuery, writes []pendingWrite, queries []*pendingQuery) (err error) {
	batch := &pgx.Batch{}
	for _, a := range first {
		batch.Queue(a.text, a.args...)
	}
	for _, w := range writes {
		batch.Queue(w.text, w.args...)
	}
	for _, a := range queries {
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
	for _, a := range queries {
		if err := a.read(conn, results); err != nil {
			return mapForeignKey(err)
		}
	}
	return nil
}

// staleBegin returns errStaleBegin if a strict statement failed by its division by zero.
func staleBegin(err error) error {
	var pg *pgconn.PgError
	if errors.As(err, &pg) && pg.Code == postgresDivision {
		return errStaleBegin
	}
	return err
}

// requireRow makes a statement fail by a division by zero if it touches no row, so that a COMMIT
// sent with it fails too.
func requireRow(text string) string {
	return "/* must touch a row */ WITH touched AS (" + text + " RETURNING 1) SELECT 1 / count(*) FROM touched"
}

// errRunSingly means that a closure failed after it changed something, or that a buffered write
// failed. The group is run again with each closure in its own savepoint.
var errRunSingly = errors.New("db: to be run one by one")

// failedInside reports whether err is that of a statement, after which PostgreSQL refuses the
// rest of the transaction.
func failedInside(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg)
}
