package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// session is one connection with its prepared statements. It is used by one
// goroutine at a time. Statements run without a cancellable context: the driver
// would start a goroutine for each, and every statement here is bounded.
type session struct {
	conn  *sql.Conn
	stmts map[string]*sql.Stmt
}

func newSession(conn *sql.Conn) session {
	return session{conn: conn, stmts: map[string]*sql.Stmt{}}
}

func (s *session) close() error {
	for _, stmt := range s.stmts {
		stmt.Close()
	}
	return s.conn.Close()
}

func (s *session) stmt(query string) (*sql.Stmt, error) {
	if stmt := s.stmts[query]; stmt != nil {
		return stmt, nil
	}
	stmt, err := s.conn.PrepareContext(context.Background(), query)
	if err != nil {
		return nil, fmt.Errorf("prepare: %w", err)
	}
	s.stmts[query] = stmt
	return stmt, nil
}

// exec runs a statement and gives the number of rows that it touched. Error:
// ErrNotFound for a row whose parent is gone.
func (s *session) exec(query string, args ...any) (int64, error) {
	stmt, err := s.stmt(query)
	if err != nil {
		return 0, err
	}
	res, err := stmt.ExecContext(context.Background(), args...)
	if err != nil {
		return 0, orphan(err)
	}
	return res.RowsAffected()
}

// row scans the one row of a query. Error: ErrNotFound where there is none.
func (s *session) row(query string, args []any, dest ...any) error {
	stmt, err := s.stmt(query)
	if err != nil {
		return err
	}
	err = stmt.QueryRowContext(context.Background(), args...).Scan(dest...)
	if errors.Is(err, sql.ErrNoRows) {
		return ErrNotFound
	}
	return err
}

// scanner is the part of sql.Rows that a scan function needs.
type scanner interface{ Scan(dest ...any) error }

// list runs a query and collects what scan makes of each row.
func list[T any](s *session, scan func(scanner) (T, error), query string, args ...any) ([]T, error) {
	stmt, err := s.stmt(query)
	if err != nil {
		return nil, err
	}
	return collect(context.Background(), stmt, scan, args...)
}

// collect is list for a statement at hand that may end with ctx.
func collect[T any](ctx context.Context, stmt *sql.Stmt, scan func(scanner) (T, error), args ...any) ([]T, error) {
	rows, err := stmt.QueryContext(ctx, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []T
	for rows.Next() {
		v, err := scan(rows)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, rows.Err()
}

// Reader is a read-only view; its methods are the queries of every resource.
type Reader struct {
	session
}
