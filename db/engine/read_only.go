package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
)

// OpenReadOnly opens the database of another server for reading. It changes and migrates nothing,
// and leaves no new file beside the database. Writes return ErrClosed. Errors: ErrOld, ErrNew,
// ErrSchema, ErrNotDatabase, ErrNotFound.
func OpenReadOnly(ctx context.Context, path, schema string) (*DB, error) {
	d := &DB{engine: sqliteEngine{}, name: path, log: slog.New(slog.DiscardHandler), readers: newReaderPool(readers), queue: make(chan *request), closing: make(chan struct{}), done: make(chan struct{}), abandoned: make(chan struct{}), released: make(chan struct{}),
		failed: make(chan struct{})}
	close(d.done) // there is no writer
	if err := d.openReadOnly(ctx, path, schema); err != nil {
		return nil, errors.Join(err, d.release())
	}
	return d, nil
}

func (d *DB) openReadOnly(ctx context.Context, path, schema string) error {
	real, isNew, err := resolveFile(path, false)
	if err != nil {
		return err
	}
	if isNew {
		return refuse(ErrNotDatabase, "%s is empty", path)
	}
	d.path = real
	mode := "mode=ro"
	if logLength(real) == 0 && !exists(real+"-shm") {
		// No process has it open, so it cannot change. Without immutable SQLite would create files beside it.
		mode = "mode=ro&immutable=1"
	} else if !exists(real + "-shm") {
		d.removeOnClose = real + "-shm" // a copy with its log, of which SQLite builds the index
	}
	if err := d.openReaders(ctx, mode, readers, false); err != nil {
		return d.explainOpen(path, fmt.Errorf("open database %s: %w", path, err))
	}
	return d.Read(ctx, func(r *Reader) error { return checkReadable(ctx, r, path, schema) })
}

// checkReadable refuses a database of another version or schema. Errors: ErrOld, ErrNew,
// ErrSchema, ErrNotDatabase.
func checkReadable(ctx context.Context, r *Reader, path, schema string) error {
	have, err := readFileVersion(ctx, r.conn)
	if err != nil {
		return err
	}
	if have.version == 0 {
		return refuse(ErrNotDatabase, "%s is another program's database", path)
	}
	newer, err := have.check(path)
	if err != nil {
		return err
	}
	return checkSchema(ctx, r.conn, Options{Path: path, Schema: schema}, newer)
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, fs.ErrNotExist)
}
