package engine

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"mailer/app/kit/membudget"
)

// Conn is one connection with its prepared statements. It is used by one
// goroutine at a time. Statements run without a cancellable context: the driver
// would start a goroutine for each, and every statement here is bounded.
type Conn struct {
	conn    *sql.Conn // nil: not yet connected
	dialect dialect
	queue   *writeQueue // of a writer whose writes leave together; nil: each leaves at once
	stmts   map[string]*Statement
	Budget  membudget.Budget // of the answer that is read for; nil: no bound
	counted *counted         // what its statements, and those of others, may have changed
	parts   *partPool        // of a reader whose questions may leave together; nil: each leaves at once
}

func newSession(conn *sql.Conn, words dialect) Conn {
	return Conn{conn: conn, dialect: words, stmts: map[string]*Statement{}, counted: &counted{}}
}

func (s *Conn) close() error {
	for _, stmt := range s.stmts {
		stmt.Close()
	}
	if s.queue != nil {
		if err := s.queue.parts.close(); err != nil {
			return err
		}
	}
	if err := s.parts.close(); err != nil {
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

// Statement is a statement in the engine's words.
type Statement struct {
	*sql.Stmt
	dialect dialect
	queue   *writeQueue // what it waits for
	kind    Kind
}

// ExecContext is that of the statement.
func (p *Statement) ExecContext(ctx context.Context, args ...any) (sql.Result, error) {
	if err := p.queue.flush(); err != nil {
		return nil, err
	}
	return p.Stmt.ExecContext(ctx, p.dialect.bind(args)...)
}

// QueryContext is that of the statement.
func (p *Statement) QueryContext(ctx context.Context, args ...any) (*sql.Rows, error) {
	if err := p.queue.flush(); err != nil {
		return nil, err
	}
	return p.Stmt.QueryContext(ctx, p.dialect.bind(args)...)
}

// QueryRowContext is that of the statement.
func (p *Statement) QueryRowContext(ctx context.Context, args ...any) *sql.Row {
	_ = p.queue.flush() // it stays, and fails the transaction
	return p.Stmt.QueryRowContext(ctx, p.dialect.bind(args)...)
}

// IsPostgres reports whether the engine of the session is PostgreSQL.
func (s *Conn) IsPostgres() bool { return s.dialect.postgres() }

// Statement prepares a statement once.
func (s *Conn) Statement(query string) (*Statement, error) {
	p, ok := s.stmts[query]
	if !ok {
		var err error
		if p, err = s.Prepare(query); err != nil {
			return nil, fmt.Errorf("prepare: %w", err)
		}
		p.kind = KindOf(query)
		s.stmts[query] = p
	}
	s.counted.add(p.kind)
	return p, nil
}

// Prepare prepares a statement that the caller closes.
func (s *Conn) Prepare(query string) (*Statement, error) {
	stmt, err := s.conn.PrepareContext(context.Background(), s.dialect.translate(query))
	if err != nil {
		return nil, err
	}
	return &Statement{Stmt: stmt, dialect: s.dialect, queue: s.queue}, nil
}

// Reader is a read-only view; its methods are the queries of every resource.
type Reader struct {
	Conn
}
