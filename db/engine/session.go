package engine

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// Conn is a connection with its prepared statements. Only one goroutine may use it at a time.
// Statements run without a cancellable context, for which the driver would start a goroutine
// each; every statement is short.
type Conn struct {
	conn    *sql.Conn // nil: not yet connected
	dialect dialect
	queue   *writeQueue // buffers the writes of a writer on PostgreSQL; nil: writes are sent immediately
	stmts   map[string]*Statement
	changes *changeCounts // of Tx.Changed, and of other processes
	parts   *partPool     // for Reader.Concurrently on PostgreSQL; nil: calls run one after the other
}

func newSession(conn *sql.Conn, words dialect) Conn {
	return Conn{conn: conn, dialect: words, stmts: map[string]*Statement{}, changes: &changeCounts{}}
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
	if err := s.conn.Close(); !errors.Is(err, sql.ErrConnDone) { // it was broken
		return err
	}
	return nil
}

// Statement is a prepared statement in the engine's SQL.
type Statement struct {
	*sql.Stmt
	dialect dialect
	queue   *writeQueue // sent before the statement
}

// ExecContext sends the buffered writes and runs the statement.
func (p *Statement) ExecContext(ctx context.Context, args ...any) (sql.Result, error) {
	if err := p.queue.flush(); err != nil {
		return nil, err
	}
	return p.Stmt.ExecContext(ctx, p.dialect.bind(args)...)
}

// QueryContext sends the buffered writes and runs the query.
func (p *Statement) QueryContext(ctx context.Context, args ...any) (*sql.Rows, error) {
	if err := p.queue.flush(); err != nil {
		return nil, err
	}
	return p.Stmt.QueryContext(ctx, p.dialect.bind(args)...)
}

// QueryRowContext sends the buffered writes and runs the query.
func (p *Statement) QueryRowContext(ctx context.Context, args ...any) *sql.Row {
	_ = p.queue.flush() // the queue keeps the error, which fails the transaction
	return p.Stmt.QueryRowContext(ctx, p.dialect.bind(args)...)
}

// IsPostgres reports whether the engine of the session is PostgreSQL.
func (s *Conn) IsPostgres() bool { return s.dialect.postgres() }

// Statement returns a prepared statement, which it prepares once.
func (s *Conn) Statement(query string) (*Statement, error) {
	p, ok := s.stmts[query]
	if !ok {
		var err error
		if p, err = s.Prepare(query); err != nil {
			return nil, fmt.Errorf("prepare: %w", err)
		}
		s.stmts[query] = p
	}
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

// Reader runs queries in one snapshot.
type Reader struct {
	Conn
}
