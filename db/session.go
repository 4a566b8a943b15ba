package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"mailer/app/kit/membudget"
)

// session is one connection with its prepared statements. It is used by one
// goroutine at a time. Statements run without a cancellable context: the driver
// would start a goroutine for each, and every statement here is bounded.
type session struct {
	conn    *sql.Conn // nil: not yet connected
	words   dialect
	queue   *queued // of a writer whose writes leave together; nil: each leaves at once
	stmts   map[string]*prepared
	room    membudget.Room // of the answer that is read for; nil: no bound
	counted *counted       // what its statements, and those of others, may have changed
	beside  *besides       // of a reader whose questions may leave together; nil: each leaves at once
}

func newSession(conn *sql.Conn, words dialect) session {
	return session{conn: conn, words: words, stmts: map[string]*prepared{}, counted: &counted{}}
}

func (s *session) close() error {
	for _, stmt := range s.stmts {
		stmt.Close()
	}
	if s.queue != nil {
		if err := s.queue.beside.close(); err != nil {
			return err
		}
	}
	if err := s.beside.close(); err != nil {
		return err
	}
	if s.conn == nil {
		return nil
	}
	if err := s.conn.Close(); !errors.Is(err, sql.ErrConnDone) { // the one that was lost
		return err
	}
	return nil
}

// prepared is a statement in the engine's words.
type prepared struct {
	*sql.Stmt
	words dialect
	queue *queued // what it waits for
	kind  kind
}

// ExecContext is that of the statement.
func (p *prepared) ExecContext(ctx context.Context, args ...any) (sql.Result, error) {
	if err := p.queue.flush(); err != nil {
		return nil, err
	}
	return p.Stmt.ExecContext(ctx, p.words.bind(args)...)
}

// QueryContext is that of the statement.
func (p *prepared) QueryContext(ctx context.Context, args ...any) (*sql.Rows, error) {
	if err := p.queue.flush(); err != nil {
		return nil, err
	}
	return p.Stmt.QueryContext(ctx, p.words.bind(args)...)
}

// QueryRowContext is that of the statement.
func (p *prepared) QueryRowContext(ctx context.Context, args ...any) *sql.Row {
	_ = p.queue.flush() // it stays, and fails the transaction
	return p.Stmt.QueryRowContext(ctx, p.words.bind(args)...)
}

// isPostgres reports whether the engine of the session is PostgreSQL.
func (s *session) isPostgres() bool { return s.words.postgres() }

// stmt prepares a statement once.
func (s *session) stmt(query string) (*prepared, error) {
	p, ok := s.stmts[query]
	if !ok {
		var err error
		if p, err = s.prepare(query); err != nil {
			return nil, fmt.Errorf("prepare: %w", err)
		}
		p.kind = kindOf(query)
		s.stmts[query] = p
	}
	s.counted.add(p.kind)
	return p, nil
}

// prepare prepares a statement that the caller closes.
func (s *session) prepare(query string) (*prepared, error) {
	stmt, err := s.conn.PrepareContext(context.Background(), s.words.words(query))
	if err != nil {
		return nil, err
	}
	return &prepared{Stmt: stmt, words: s.words, queue: s.queue}, nil
}

// Reader is a read-only view; its methods are the queries of every resource.
type Reader struct {
	session
}
