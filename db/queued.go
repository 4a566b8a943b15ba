package db

import (
	"context"
	"database/sql"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
)

// queued are the writes of a session that leave together, with the next statement that
// something is asked of, or with the commit: of a database elsewhere each way there and back
// costs more than the statement.
type queued struct {
	conn    *sql.Conn
	batch   *pgx.Batch
	single  []bool // must touch a row
	words   map[string]queuedWords
	at      bool  // at once, one by one: where one of a group failed, its closure must hear of it
	changes int   // statements that may have changed something
	failed  error // of one that left without its closure
}

// queuedWords is a statement as it is sent, and whether it counts in standings.
type queuedWords struct {
	text      string
	standings bool
}

func newQueued(conn *sql.Conn) *queued {
	return &queued{conn: conn, batch: &pgx.Batch{}, words: map[string]queuedWords{}}
}

// reset forgets what a transaction that is over left.
func (q *queued) reset() {
	if q != nil {
		q.batch, q.single, q.changes, q.failed = &pgx.Batch{}, nil, 0, nil
	}
}

// write runs a statement of which nobody asks how many rows it touches: at once, or with
// what comes next. Error: ErrNotFound for a row whose parent is gone, where it is run at
// once.
func (s *session) write(query string, args ...any) error {
	if s.queue == nil || s.queue.at {
		_, err := s.exec(query, args...)
		return err
	}
	s.enqueue(query, args, false)
	return nil
}

// one is write for a statement that must touch a row. Error: ErrNotFound where it does not:
// of one that waits, its closure hears when it is run again.
func (s *session) one(query string, args ...any) error {
	if s.queue == nil || s.queue.at {
		n, err := s.exec(query, args...)
		return oneRow(n, err, ErrNotFound)
	}
	s.enqueue(query, args, true)
	return nil
}

func (s *session) enqueue(query string, args []any, single bool) {
	q := s.queue
	w, ok := q.words[query]
	if !ok {
		w = queuedWords{s.words.words(query), changesStandings.MatchString(query)}
		q.words[query] = w
	}
	if w.standings {
		*s.standings++
	}
	q.batch.Queue(w.text, s.words.bind(args)...)
	q.single = append(q.single, single)
	q.changes++
}

// flush sends what waits. Its error stays: what follows rests on what failed. A nil queue has
// nothing to send.
func (q *queued) flush() error {
	if q == nil || q.failed != nil || q.batch.Len() == 0 {
		return q.failure()
	}
	batch, single := q.batch, q.single
	q.batch, q.single = &pgx.Batch{}, nil
	q.failed = q.conn.Raw(func(driver any) error { return send(driver.(*stdlib.Conn).Conn(), batch, single) })
	return q.failed
}

func (q *queued) failure() error {
	if q == nil {
		return nil
	}
	return q.failed
}

func send(conn *pgx.Conn, batch *pgx.Batch, single []bool) (err error) {
	results := conn.SendBatch(context.Background(), batch)
	defer func() { err = errors.Join(err, results.Close()) }()
	for _, single := range single {
		tag, err := results.Exec()
		if err != nil {
			return orphan(err)
		}
		if single && tag.RowsAffected() == 0 {
			return ErrNotFound
		}
	}
	return nil
}

// errAlone: a closure of a group failed after it had changed something, or what it had queued
// did; the group is run again one by one.
var errAlone = errors.New("db: to be run one by one")

// failedInside reports whether an error is one of a statement, after which PostgreSQL takes no
// more of its transaction.
func failedInside(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg)
}
