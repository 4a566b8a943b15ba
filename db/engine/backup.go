package engine

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/go-json-experiment/json"

	"mailer/app/kit/clock"
)

// ErrLogGrows means that the write-ahead log would exceed its bound while the database is copied,
// because too much is written.
var ErrLogGrows = errors.New("db: the log grows too fast for a copy")

// Bounds of a copy. While the snapshot of a copy is open, SQLite cannot move pages from the
// write-ahead log to the database file, so the log keeps every commit. A log of up to 1 GB is
// moved after the copy.
const (
	maxLog   = 768 << 20
	shortLog = 128 << 20
	// copySyncBytes is how much of the copy is written between two syncs. A commit that syncs the
	// log waits for everything that the disk has to write.
	copySyncBytes = 4 << 20
	copyTries     = 3
	// checkpointTimeout is how long a copy waits until the log is short again.
	checkpointTimeout = 30 * time.Second
)

// markSetting is the setting in which a copy stores its mark.
const markSetting = "copied"

// mark identifies a copy.
type mark struct {
	At int64 `json:"at"` // Unix milliseconds
}

// Copy is a copy of a database, checked and on the disk.
type Copy struct {
	Bytes  int64
	Emails int64
	At     time.Time // every commit before it is in the copy
}

// copier makes one copy.
type copier struct {
	path     string // of the database, symbolic links resolved
	file     string // of the copy
	maxLog   int64
	progress func(done, all int64)
}

// Copy writes a consistent copy of the database to file, which the caller created empty, and
// checks the copy. It reads one snapshot while others go on writing. If the log would exceed 1
// GB, it closes the snapshot, moves the log to the database and starts again, at most copyTries
// times. progress is called with bytes and may be nil. Errors: ErrLogGrows, ErrDamaged.
func (d *DB) Copy(ctx context.Context, file string, progress func(done, all int64)) (Copy, error) {
	if err := OnlyFiles(d.name); err != nil {
		return Copy{}, err
	}
	if progress == nil {
		progress = func(int64, int64) {}
	}
	c := copier{path: d.path, file: file, maxLog: maxLog, progress: progress}
	return c.run(ctx)
}

func (c *copier) run(ctx context.Context) (made Copy, err error) {
	for try := 1; ; try++ {
		if err := c.checkpointLog(ctx); err != nil {
			return made, err
		}
		made.At = clock.Now()
		err := c.copyPages(ctx)
		if err == nil {
			break
		}
		if !errors.Is(err, ErrLogGrows) || try == copyTries {
			return made, errors.Join(err, c.checkpointLog(ctx))
		}
	}
	if err := c.checkpointLog(ctx); err != nil {
		return made, err
	}
	err = c.finish(ctx, &made)
	return made, err
}

// copyPages writes all pages of one snapshot to the file.
func (c *copier) copyPages(ctx context.Context) error {
	pool, err := sql.Open("sqlite", dsn(c.path, "mode=ro&_query_only=1&_busy_timeout=5000&_dqs=0&_pragma=cache_size(-2000)"))
	if err != nil {
		return fmt.Errorf("open database to copy it: %w", err)
	}
	defer pool.Close()
	pool.SetMaxOpenConns(1)
	conn, err := pool.Conn(ctx)
	for p := retries(0); p.retry(err); {
		conn, err = pool.Conn(ctx)
	}
	if err != nil {
		return fmt.Errorf("open database to copy it: %w", err)
	}
	r := &Reader{newSession(conn, sqliteEngine{})}
	defer r.close()
	if _, err := r.Exec("BEGIN"); err != nil {
		return fmt.Errorf("begin to copy: %w", err)
	}
	err = c.copyFrom(ctx, r)
	_, _ = r.Exec("ROLLBACK")
	return err
}

func (c *copier) copyFrom(ctx context.Context, r *Reader) error {
	var pages, size int64
	if err := errors.Join(r.Row(`PRAGMA page_count`, nil, &pages), r.Row(`PRAGMA page_size`, nil, &size)); err != nil {
		return fmt.Errorf("ask how large the database is: %w", err)
	}
	f, err := os.OpenFile(c.file, os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return fmt.Errorf("write copy: %w", err)
	}
	err = c.writePages(ctx, r, f, pages*size)
	return errors.Join(err, f.Close())
}

func (c *copier) writePages(ctx context.Context, r *Reader, f *os.File, all int64) error {
	stmt, err := r.Statement(`SELECT data FROM sqlite_dbpage`)
	if err != nil {
		return err
	}
	rows, err := stmt.QueryContext(context.Background())
	if err != nil {
		return fmt.Errorf("read pages: %w", err)
	}
	defer rows.Close()
	var done, synced int64
	w := bufio.NewWriterSize(f, 256<<10)
	for rows.Next() {
		var page sql.RawBytes
		if err := rows.Scan(&page); err != nil {
			return fmt.Errorf("read pages: %w", err)
		}
		n, err := w.Write(page)
		if err != nil {
			return fmt.Errorf("write copy: %w", err)
		}
		if done += int64(n); done-synced < copySyncBytes && done < all {
			continue
		}
		if err := errors.Join(w.Flush(), f.Sync()); err != nil {
			return fmt.Errorf("write copy: %w", err)
		}
		synced = done
		c.progress(done, all)
		if err := errors.Join(ctx.Err(), c.checkLog()); err != nil {
			return err
		}
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("read pages: %w", err)
	}
	if done != all {
		return fmt.Errorf("read pages: %d bytes came, not %d: %w", done, all, io.ErrUnexpectedEOF)
	}
	return nil
}

// checkLog returns ErrLogGrows once the log is longer than maxLog.
func (c *copier) checkLog() error {
	if size := logLength(c.path); size > c.maxLog {
		return refuse(ErrLogGrows, "%s is written to so fast that its log came to %d MB while it was copied; nothing was copied: try again when less is sent, or copy to a faster disk", c.path, size>>20)
	}
	return nil
}

// logLength returns the size of the write-ahead log in bytes; 0: there is none.
func logLength(path string) int64 {
	info, err := os.Stat(path + "-wal")
	if err != nil {
		return 0
	}
	return info.Size()
}

// checkpointLog moves a long log to the database file and truncates it, so that no commit of the
// server has to move all of it.
func (c *copier) checkpointLog(ctx context.Context) error {
	if logLength(c.path) < shortLog {
		return nil
	}
	pool, err := sql.Open("sqlite", dsn(c.path, "mode=rw&_busy_timeout=20&_synchronous=FULL")) // no client waits for this
	if err != nil {
		return fmt.Errorf("open database to shorten its log: %w", err)
	}
	defer pool.Close()
	pool.SetMaxOpenConns(1)
	for deadline := time.Now().Add(checkpointTimeout); ; {
		for _, pragma := range []string{`PRAGMA wal_checkpoint(PASSIVE)`, `PRAGMA wal_checkpoint(TRUNCATE)`} {
			var busy, inLog, moved int
			if err := pool.QueryRowContext(ctx, pragma).Scan(&busy, &inLog, &moved); err != nil && !isLocked(err) {
				return fmt.Errorf("shorten the log: %w", err)
			}
		}
		if logLength(c.path) < shortLog || time.Now().After(deadline) {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// finish stores the mark in the copy and checks the copy.
func (c *copier) finish(ctx context.Context, made *Copy) error {
	pool, err := sql.Open("sqlite", dsn(c.file, "mode=rw&_busy_timeout=5000&_synchronous=FULL&_dqs=0&_pragma=cache_size(-8000)"))
	if err != nil {
		return fmt.Errorf("open copy: %w", err)
	}
	defer pool.Close()
	pool.SetMaxOpenConns(1)
	conn, err := pool.Conn(ctx)
	if err != nil {
		return fmt.Errorf("open copy: %w", err)
	}
	s := newSession(conn, sqliteEngine{})
	err = finishCopy(ctx, &s, made)
	if err := errors.Join(err, s.close(), pool.Close()); err != nil {
		return err
	}
	made.Bytes, err = syncFile(c.file)
	return err
}

func finishCopy(ctx context.Context, s *Conn, made *Copy) error {
	tx := &Tx{Reader: Reader{Conn: *s}, Now: made.At}
	note, err := json.Marshal(mark{At: made.At.UnixMilli()})
	if err != nil {
		return fmt.Errorf("mark copy: %w", err)
	}
	// Without WAL the copy is a single file that can be opened on a read-only file system.
	if err := s.pragma(`PRAGMA journal_mode = DELETE`); err != nil {
		return fmt.Errorf("mark copy: %w", err)
	}
	if err := tx.SetSetting(markSetting, note); err != nil {
		return fmt.Errorf("mark copy: %w", err)
	}
	if err := tx.Row(`SELECT count(*) FROM emails`, nil, &made.Emails); err != nil {
		return fmt.Errorf("count the emails of the copy: %w", err)
	}
	return checkIntegrity(ctx, s)
}

// checkIntegrity returns ErrDamaged if SQLite finds a damaged page or index.
func checkIntegrity(ctx context.Context, s *Conn) error {
	var found string
	if err := s.conn.QueryRowContext(ctx, `PRAGMA integrity_check(1)`).Scan(&found); err != nil {
		return fmt.Errorf("check pages: %w", err)
	}
	if found != "ok" {
		return fmt.Errorf("%w: %s", ErrDamaged, found)
	}
	return nil
}

// syncFile syncs a file to disk and returns its size.
func syncFile(path string) (int64, error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, fmt.Errorf("sync %s: %w", path, err)
	}
	info, err := f.Stat()
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return 0, fmt.Errorf("sync %s: %w", path, err)
	}
	return info.Size(), nil
}

// Path returns the path of the database file with symbolic links resolved, or the name of a
// PostgreSQL database without its password.
func (d *DB) Path() string { return d.name }
