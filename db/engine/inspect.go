package engine

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// File is a database file that is only read, whether or not a server is running on it.
type File struct{ pool *sql.DB }

// OpenFile opens the database file at path for reading. Errors: those of Open for a file that is
// missing or not a database.
func OpenFile(path string) (*File, error) {
	real, isNew, err := resolvePath(path, false)
	if err != nil {
		return nil, err
	}
	if isNew {
		return nil, refuse(ErrNotDatabase, "%s is empty; name another file with --db", path)
	}
	pool, err := sql.Open("sqlite", dsn(real, "mode=ro&_query_only=1&_busy_timeout=5000&_pragma=cache_size(-8000)"))
	if err != nil {
		return nil, fmt.Errorf("check %s: %w", path, err)
	}
	pool.SetMaxOpenConns(1)
	return &File{pool}, nil
}

// Close closes the file.
func (f *File) Close() error { return f.pool.Close() }

// Read runs fn in one snapshot. It returns the errors of fn and of SQLite unchanged.
func (f *File) Read(ctx context.Context, fn func(*Reader) error) error {
	conn, err := f.pool.Conn(ctx)
	for p := retries(0); p.retry(err); {
		conn, err = f.pool.Conn(ctx)
	}
	if err != nil {
		return err
	}
	r := &Reader{newSession(conn, sqliteEngine{})}
	defer r.close()
	if _, err := r.Exec("BEGIN"); err != nil {
		return err
	}
	err = fn(r)
	_, _ = r.Exec("ROLLBACK") // nothing was written
	return errors.Join(err, ctx.Err())
}
