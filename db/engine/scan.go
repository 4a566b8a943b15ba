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
func (s *Conn) Exec(text string, args ...any) (int64, error) {
	if s.pg != nil {
		touched, err := s.execAll([]query{s.translate(text, args)})
		return touched[0], err
	}
	stmt, err := s.Statement(text)
	if err != nil {
		return 0, err
	}
	res, err := stmt.ExecContext(context.Background(), args...)
	if err != nil {
		return 0, mapForeignKey(err)
	}
	return res.RowsAffected()
}

// ExecAll runs the same statement with several sets of arguments, on PostgreSQL in one round trip.
// It returns how many rows each run touched.
func (s *Conn) ExecAll(text string, args [][]any) (touched []int64, err error) {
	if s.pg != nil {
		queries := make([]query, len(args))
		for i := range args {
			queries[i] = s.translate(text, args[i])
		}
		return s.execAll(queries)
	}
	touched = make([]int64, len(args))
	for i := range args {
		if touched[i], err = s.Exec(text, args[i]...); err != nil {
			return touched, err
		}
	}
	return touched, nil
}

// Row scans the first row of a query. Error: ErrNotFound if there is none.
func (s *Conn) Row(query string, args []any, dest ...any) error {
	if s.pg != nil {
		return s.row(context.Background(), query, args, dest...)
	}
	stmt, err := s.Statement(query)
	if err != nil {
		return err
	}
	return notFound(ReadFault(query, s.firstRow(stmt, args).Scan(dest...)))
}

// row is Row for PostgreSQL.
func (s *Conn) row(ctx context.Context, query string, args []any, dest ...any) error {
	found := false
	err := s.run(ctx, query, args, func(r rows) error {
		if !r.Next() {
			return r.Err()
		}
		found = true
		return r.Scan(dest...)
	})
	if err == nil && !found {
		return ErrNotFound
	}
	return err
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
	if s.pg != nil {
		v, err = scan(rowScanner{s, query, args})
		return v, notFound(err)
	}
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
	if s.pg != nil {
		return s.run(context.Background(), query, args, takeAll(take))
	}
	stmt, err := s.Statement(query)
	if err != nil {
		return err
	}
	return ReadFault(query, each(context.Background(), stmt, args, take))
}

// each calls take with every row of a statement, until take fails.
func each(ctx context.Context, stmt *Statement, args []any, take func(Scanner) error) error {
	if stmt.Stmt == nil {
		return stmt.conn.run(ctx, stmt.text, args, takeAll(take))
	}
	rows, err := stmt.QueryContext(ctx, args...)
	for p := retries(0); p.retry(err); {
		rows, err = stmt.QueryContext(ctx, args...)
	}
	if err != nil {
		return err
	}
	defer rows.Close()
	return takeAll(take)(rows)
}

// takeAll returns a function that calls take with every row, until take fails.
func takeAll(take func(Scanner) error) func(rows) error {
	return func(r rows) error {
		for r.Next() {
			if err := take(r); err != nil {
				return err
			}
		}
		return r.Err()
	}
}

// rowScanner scans the first row of a query on PostgreSQL.
type rowScanner struct {
	conn *Conn
	text string
	args []any
}

// Scan implements Scanner.
func (f rowScanner) Scan(dest ...any) error {
	return f.conn.row(context.Background(), f.text, f.args, dest...)
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
