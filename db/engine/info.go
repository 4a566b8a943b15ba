package engine

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// SQLiteVersion returns the version of the built-in SQLite.
func SQLiteVersion(ctx context.Context) (string, error) {
	pool, err := sql.Open("sqlite", "file::memory:")
	if err != nil {
		return "", fmt.Errorf("ask SQLite: %w", err)
	}
	defer pool.Close()
	var version string
	if err := pool.QueryRowContext(ctx, "SELECT sqlite_version()").Scan(&version); err != nil {
		return "", fmt.Errorf("ask SQLite: %w", err)
	}
	return version, nil
}

// IsStorage reports whether err is a fault of the disk or of the database file.
func IsStorage(err error) bool { return isStorage(err) || errors.Is(err, ErrFailed) }

// IsCorrupt reports whether err means that the database file is corrupt.
func IsCorrupt(err error) bool {
	code := primaryCode(err)
	return code == sqliteCorrupt || code == sqliteNotADB
}

// IsReadOnly reports whether err means that the database file cannot be written.
func IsReadOnly(err error) bool { return primaryCode(err) == sqliteReadOnly }

// IsNew reports whether nothing in the database has been encrypted yet, so that a missing master
// key may be created.
func (d *DB) IsNew(ctx context.Context) (bool, error) {
	return Get(ctx, d, func(r *Reader) (bool, error) {
		var n int
		err := r.Row("SELECT count(*) FROM settings", nil, &n)
		return n == 0, err
	})
}
