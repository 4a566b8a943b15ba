package engine

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"mailer/app/kit/platform"
)

// movingSuffix ends the name of a file while a database is moved into it.
const movingSuffix = ".moving"

func jsonOfSQLite(column string) string { return "json(" + column + ")" }

// fileSource begins to read a file, with a lock that keeps others from writing.
func fileSource(ctx context.Context, path string) (*moveSide, error) {
	s, err := fileSide(ctx, path, "mode=rw&_busy_timeout=5000&_synchronous=FULL&_dqs=0&_pragma=trusted_schema(0)&_pragma=temp_store(memory)&_pragma=cache_size(-8000)")
	if err != nil {
		return nil, err
	}
	if _, err := s.Exec("BEGIN IMMEDIATE"); err != nil {
		return nil, errors.Join(fmt.Errorf("begin to move: %w", err), s.close())
	}
	return s, nil
}

// fileSide opens a file that other connections may have open too.
func fileSide(ctx context.Context, path, how string) (*moveSide, error) {
	pool, err := sql.Open("sqlite", dsn(path, how))
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	pool.SetMaxOpenConns(1)
	conn, err := pool.Conn(ctx)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open %s: %w", path, err), pool.Close())
	}
	return &moveSide{Conn: newSession(conn, sqliteEngine{}), pool: pool, jsonText: jsonOfSQLite}, nil
}

// fileTarget is a new file. It is written under a temporary name.
type fileTarget struct {
	path     string // symbolic links resolved
	schema   string
	lock     *os.File
	writer   *moveSide
	reader   *moveSide
	deferred []string // statements that create its indexes
	done     bool
}

// newFileTarget resolves the path of the file. Error: ErrNotFound.
func newFileTarget(name, schema string) (*fileTarget, error) {
	path, _, err := resolvePath(name, true)
	if errors.Is(err, ErrNotDatabase) { // checkFree reports the existing file
		path, err = name, nil
	}
	if err == nil {
		path, err = filepath.Abs(path)
	}
	return &fileTarget{path: path, schema: schema}, err
}

func (f *fileTarget) name() string { return f.path }

func (f *fileTarget) staged() string { return f.path + movingSuffix }

func (f *fileTarget) side() *moveSide { return f.reader }

// checkFree refuses a path that exists. A log that an earlier database left behind would become
// part of the new one.
func (f *fileTarget) checkFree() error {
	for _, side := range []string{"", "-wal", "-journal"} {
		if exists(f.path + side) {
			return refuse(ErrConflict, "%s is there already, and was left as it is; name a file that is not there with --to", f.path+side)
		}
	}
	return nil
}

func (f *fileTarget) begin(ctx context.Context) (err error) {
	if err := f.checkFree(); err != nil {
		return err
	}
	if f.lock, err = lockDatabase(f.path, f.path); err != nil {
		return err
	}
	if err := f.clear(); err != nil {
		return err
	}
	if err := createPrivate(f.staged()); err != nil {
		return fmt.Errorf("create %s: %w", f.staged(), err)
	}
	if info, err := os.Stat(filepath.Dir(f.path)); err == nil {
		if err := chownLike(f.staged(), info); err != nil {
			return fmt.Errorf("create %s: %w", f.staged(), err)
		}
	}
	// No journal and no sync: the file of an interrupted move is removed anyway.
	f.writer, err = fileSide(ctx, f.staged(), "mode=rw&_auto_vacuum=2&_foreign_keys=0&_dqs=0&_pragma=trusted_schema(0)&_pragma=journal_mode(off)&_pragma=synchronous(off)&_pragma=temp_store(file)&_pragma=cache_size(-32000)")
	if err != nil {
		return err
	}
	return f.makeTables(ctx)
}

// makeTables creates the schema without its indexes, which are built faster after the rows are
// inserted.
func (f *fileTarget) makeTables(ctx context.Context) error {
	if _, err := f.writer.conn.ExecContext(ctx, "BEGIN IMMEDIATE; "+f.schema); err != nil {
		return fmt.Errorf("make schema: %w", err)
	}
	rows, err := f.writer.conn.QueryContext(ctx, `SELECT name, sql FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL`)
	if err != nil {
		return fmt.Errorf("make schema: %w", err)
	}
	drop := ""
	for rows.Next() {
		var name, text string
		if err := rows.Scan(&name, &text); err != nil {
			return errors.Join(err, rows.Close())
		}
		drop += "DROP INDEX " + name + ";"
		f.deferred = append(f.deferred, text)
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return fmt.Errorf("make schema: %w", err)
	}
	_, err = f.writer.conn.ExecContext(ctx, drop)
	return err
}

func (f *fileTarget) fill(ctx context.Context, t *movedTable, rows *tableRows) error {
	placeholders := make([]string, len(t.columns))
	for i, c := range t.columns {
		placeholders[i] = map[bool]string{true: "jsonb(?)", false: "?"}[c.json]
	}
	insert, err := f.writer.conn.PrepareContext(ctx, "/* into any table */ INSERT INTO "+t.name+" ("+strings.Join(t.columnNames(), ", ")+") VALUES ("+strings.Join(placeholders, ", ")+")")
	if err != nil {
		return err
	}
	defer insert.Close()
	for rows.Next() {
		if err := ctx.Err(); err != nil {
			return err
		}
		// With a cancellable context the driver starts a goroutine for each row.
		if _, err := insert.ExecContext(context.WithoutCancel(ctx), rows.values...); err != nil {
			return f.explainFull(fmt.Errorf("%s: %w", t.keyOf(rows.values), err))
		}
	}
	return rows.Err()
}

func (f *fileTarget) explainFull(err error) error {
	if platform.IsFull(err) || isFull(err) {
		return refuse(ErrFull, "the disk of %s has no room for the database, and nothing was moved; make room, or name a file on another disk", f.path)
	}
	return err
}

// finish creates the indexes and syncs the file before it is read back.
func (f *fileTarget) finish(ctx context.Context) error {
	version, err := newSchemaVersion(ctx, f.schema)
	if err == nil {
		err = version.writeFile(ctx, f.writer.conn)
	}
	if err != nil {
		return f.explainFull(fmt.Errorf("finish %s: %w", f.staged(), err))
	}
	for _, text := range append(f.deferred, "COMMIT") {
		if _, err := f.writer.conn.ExecContext(ctx, text); err != nil {
			return f.explainFull(fmt.Errorf("finish %s: %w", f.staged(), err))
		}
	}
	err = f.writer.close()
	if f.writer = nil; err != nil {
		return fmt.Errorf("finish %s: %w", f.staged(), err)
	}
	if _, err := syncFile(f.staged()); err != nil {
		return err
	}
	if f.reader, err = fileSide(ctx, f.staged(), "mode=ro&_query_only=1&_dqs=0&_pragma=trusted_schema(0)&_pragma=temp_store(memory)&_pragma=cache_size(-8000)"); err != nil {
		return err
	}
	return f.check(ctx)
}

// check refuses a file with broken foreign keys or damaged pages.
func (f *fileTarget) check(ctx context.Context) error {
	rows, err := f.reader.conn.QueryContext(ctx, "PRAGMA foreign_key_check")
	if err != nil {
		return fmt.Errorf("check foreign keys: %w", err)
	}
	broken := rows.Next()
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return fmt.Errorf("check foreign keys: %w", err)
	}
	if broken {
		return fmt.Errorf("%w: rows of the source lack what they belong to; mailer check names them, and nothing was moved", ErrDamaged)
	}
	return checkIntegrity(ctx, &f.reader.Conn)
}

// commit renames the file to its final name.
func (f *fileTarget) commit(context.Context) error {
	err := f.reader.close()
	if f.reader = nil; err != nil {
		return err
	}
	if err := f.checkFree(); err != nil {
		return err
	}
	if err := os.Rename(f.staged(), f.path); err != nil {
		return err
	}
	f.done = true
	return platform.SyncDir(filepath.Dir(f.path))
}

func (f *fileTarget) close() error {
	var errs []error
	for _, side := range []*moveSide{f.writer, f.reader} {
		if side != nil {
			errs = append(errs, side.close())
		}
	}
	if f.lock == nil {
		return errors.Join(errs...)
	}
	if !f.done {
		errs = append(errs, f.clear())
	}
	return errors.Join(append(errs, f.lock.Close())...)
}

// clear removes an incomplete file, also one of an earlier process.
func (f *fileTarget) clear() error {
	for _, side := range []string{"-wal", "-shm", "-journal", ""} {
		if err := os.Remove(f.staged() + side); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove what an earlier move left: %w", err)
		}
	}
	return nil
}
