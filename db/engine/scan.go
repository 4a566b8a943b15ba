package engine

import (
	"context"
	"database/sql"
	"errors"
)

// Scanner is the part of sql.Row and sql.Rows that a scan function needs.
type Scanner interface{ Scan(dest ...any) error }

// Exec runs a statement and returns the number of rows that it touched. Error: ErrNotFound for a
// row whose parent is missing.
func (s *Conn) Exec(query string, args ...any) (int64, error) {
	stmt, err := s.Statement(query)
	if err != nil {
		return 0, err
	}
	if s.queue != nil {
		s.queue.changes++
	}
	res, err := stmt.ExecContext(context.Background(), args...)
	if err != nil {
		return 0, mapForeignKey(err)
	}
	return res.RowsAffected()
}

// Row scans the first row of a query. Error: ErrNotFound if there is none.
func (s *Conn) Row(query string, args []any, dest ...any) error {
	stmt, err := s.Statement(query)
	if err != nil {
		return err
	}
	return notFound(ReadFault(query, s.firstRow(stmt, args).Scan(dest...)))
}

// firstRow returns the first row of a query.
func (s *Conn) firstRow(stmt *Statement, args []any) *sql.Row {
	row := stmt.QueryRowContext(context.Background(), args...)
	for p := retries(0); p.retry(row.Err()); {
		row = stmt.QueryRowContext(context.Background(), args...)
	}
	return row
}

// Exists returns nil if a query for a number has a row, otherwise ErrNotFound.
func (s *Conn) Exists(query string, args ...any) error {
	var n int
	return s.Row(query, args, &n)
}

// The generic functions are compiled for each type of row, so they contain only what depends on it.

// One returns the result of scan for the first row of a query. Error: ErrNotFound if there is
// none.
func One[T any](s *Conn, scan func(Scanner) (T, error), query string, args ...any) (v T, err error) {
	stmt, err := s.Statement(query)
	if err == nil {
		v, err = scan(s.firstRow(stmt, args))
		err = notFound(ReadFault(query, err))
	}
	return v, err
}

// List returns the results of scan for all rows of a query.
func List[T any](s *Conn, scan func(Scanner) (T, error), query string, args ...any) (out []T, err error) {
	if err = s.Each(query, args, into(&out, scan)); err != nil {
		return nil, err
	}
	return out, nil
}

// Collect is List for a prepared statement. It ends with ctx.
func Collect[T any](ctx context.Context, stmt *Statement, scan func(Scanner) (T, error), args ...any) (out []T, err error) {
	if err = each(ctx, stmt, args, into(&out, scan)); err != nil {
		return nil, err
	}
	return out, nil
}

// into returns a function that appends the result of scan for a row to out.
func into[T any](out *[]T, scan func(Scanner) (T, error)) func(Scanner) error {
	return func(row Scanner) error {
		v, err := scan(row)
		if err == nil {
			*out = append(*out, v)
		}
		return err
	}
}

// Each calls take with every row of a query, until take fails.
func (s *Conn) Each(query string, args []any, take func(Scanner) error) error {
	stmt, err := s.Statement(query)
	if err != nil {
		return err
	}
	return ReadFault(query, each(context.Background(), stmt, args, take))
}

// each calls take with every row of a statement, until take fails.
func each(ctx context.Context, stmt *Statement, args []any, take func(Scanner) error) error {
	rows, err := stmt.QueryContext(ctx, args...)
	for p := retries(0); p.retry(err); {
		rows, err = stmt.QueryContext(ctx, args...)
	}
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := take(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// scanText scans a row with one text column.
func scanText(s Scanner) (string, error) {
	var v string
	err := s.Scan(&v)
	return v, err
}

// notFound turns sql.ErrNoRows into ErrNotFound.
func notFound(err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return ErrNotFound
	}
	return err
}

// ignoreNotFound turns ErrNotFound into nil.
func ignoreNotFound(err error) error {
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}

// oneRow returns none if no row was touched.
func oneRow(n int64, err, none error) error {
	if err == nil && n == 0 {
		return none
	}
	return err
}
