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
	stmts   map[string]*Statement // of SQLite
	changes *changeCounts         // of Tx.Changed, and of other processes
	pg      *postgresSession      // nil: SQLite
	named   *[]query              // receives the queries, instead of the database (Prefetch); nil: usual
}

// newSession returns a session that sends each statement immediately.
func newSession(conn *sql.Conn, words dialect) Conn {
	s := Conn{conn: conn, dialect: words, stmts: map[string]*Statement{}, changes: &changeCounts{}}
	if words.postgres() {
		s.pg = &postgresSession{translated: map[string]string{}, immediate: true}
	}
	return s
}

func (s *Conn) close() error {
	for _, stmt := range s.stmts {
		stmt.Close()
	}
	if s.conn == nil {
		return nil
	}
	if err := s.conn.Close(); !errors.Is(err, sql.ErrConnDone) { // it was broken
		return err
	}
	return nil
}

// Statement is a statement that is run repeatedly. SQLite has prepared it; pgx prepares each
// statement when it is first run.
type Statement struct {
	*sql.Stmt // nil: PostgreSQL
	conn      *Conn
	text      string
}

// Close releases the statement.
func (p *Statement) Close() {
	if p.Stmt != nil {
		p.Stmt.Close()
	}
}

// Row scans the first row.
func (p *Statement) Row(ctx context.Context, args []any, dest ...any) error {
	if p.Stmt == nil {
		return p.conn.row(ctx, p.text, args, dest...)
	}
	return notFound(p.QueryRowContext(ctx, args...).Scan(dest...))
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

// Prepare returns a statement that the caller closes.
func (s *Conn) Prepare(query string) (*Statement, error) {
	if s.pg != nil {
		return &Statement{conn: s, text: query}, nil
	}
	stmt, err := s.conn.PrepareContext(context.Background(), query)
	if err != nil {
		return nil, err
	}
	return &Statement{Stmt: stmt, conn: s, text: query}, nil
}

// Reader runs queries in one snapshot.
type Reader struct {
	Conn
}
