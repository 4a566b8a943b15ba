package engine

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"time"
)

// SQLite overwrites deleted content with zeros (secure_delete), but old bytes remain in the
// write-ahead log, and in the unused part of a page after its rows moved to another page in a
// split. TruncateLog and CleanPages overwrite both.

// ErrBusy means that a reader holds an old snapshot, so that the log cannot be truncated.
var ErrBusy = errors.New("db: readers hold an old snapshot")

// writerTask is a function that runs on the writer's connection, outside of any transaction.
type writerTask struct {
	fn   func(*Conn) error
	done chan error
}

// run runs fn on the writer's connection, between two transactions. fn must be short.
func (d *DB) run(ctx context.Context, fn func(*Conn) error) error {
	c := &writerTask{fn: fn, done: make(chan error, 1)}
	select {
	case d.tasksForWriter <- c:
	case <-ctx.Done():
		return ctx.Err()
	case <-d.failed:
		return d.Err()
	case <-d.closing:
		return ErrClosed
	}
	select {
	case err := <-c.done:
		return err
	case <-d.done:
		select {
		case err := <-c.done:
			return err
		default:
			return ErrClosed
		}
	}
}

// TruncateLog moves the write-ahead log to the database file and truncates it. On PostgreSQL it
// does nothing. Error: ErrBusy.
func (d *DB) TruncateLog(ctx context.Context) error {
	if d.path == "" {
		return nil // PostgreSQL manages its own files
	}
	return d.run(ctx, func(s *Conn) error {
		// The timeout of 5 s is for locks of other processes; readers are not waited for.
		if err := s.pragma(`PRAGMA busy_timeout = 20`); err != nil {
			return err
		}
		var busy, inLog, moved int
		row := s.conn.QueryRowContext(context.Background(), `PRAGMA wal_checkpoint(TRUNCATE)`)
		err := errors.Join(row.Scan(&busy, &inLog, &moved), s.pragma(`PRAGMA busy_timeout = 5000`))
		if err == nil && busy != 0 {
			return ErrBusy
		}
		if primaryCode(err) == sqliteBusy {
			return ErrBusy
		}
		if err != nil {
			return fmt.Errorf("empty the log: %w", err)
		}
		return nil
	})
}

// pragma runs a PRAGMA and discards its rows.
func (s *Conn) pragma(text string) error {
	rows, err := s.conn.QueryContext(context.Background(), text)
	if err != nil {
		return err
	}
	return rows.Close()
}

// pagesPerRead is how many pages are read in one snapshot, pagesPerWrite how many are cleaned in
// one transaction.
const (
	pagesPerRead  = 4096
	pagesPerWrite = 64
)

// maxCleanPages bounds the page numbers (128 GB): an overflow page begins with a page number,
// whose first byte must not look like the type of a b-tree page.
const maxCleanPages = 2 << 24

// CleanPages overwrites with zeros those unused parts of pages for which dirty returns true. It
// reads the whole database, pagesPerRead pages at a time. On PostgreSQL it does nothing.
func (d *DB) CleanPages(ctx context.Context, dirty func([]byte) bool) error {
	if d.path == "" {
		return nil // PostgreSQL manages its own files
	}
	d.pages.Lock() // Shrink could move an unread page to a number that was already read
	defer d.pages.Unlock()
	var count int64
	err := d.Read(ctx, func(r *Reader) error { return r.Row(`PRAGMA page_count`, nil, &count) })
	if err != nil {
		return fmt.Errorf("count pages: %w", err)
	}
	if count >= maxCleanPages {
		d.log.Warn("the database is too large for old bytes to be looked for in its pages", "pages", count)
		return nil
	}
	for first := int64(1); first > 0; {
		var found []int64
		err := d.Read(ctx, func(r *Reader) (err error) {
			found, first, err = r.dirtyPages(first, pagesPerRead, dirty)
			return err
		})
		if err != nil {
			return fmt.Errorf("look for old bytes: %w", err)
		}
		for len(found) > 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
			n := min(len(found), pagesPerWrite)
			if err := d.wipe(ctx, found[:n], dirty); err != nil {
				return fmt.Errorf("wipe old bytes: %w", err)
			}
			found = found[n:]
		}
	}
	return nil
}

// dirtyPages checks limit pages from page first on. next is the page to continue with; 0: the
// end.
func (r *Reader) dirtyPages(first int64, limit int, dirty func([]byte) bool) (found []int64, next int64, err error) {
	stmt, err := r.Statement(`WITH RECURSIVE numbers_open (i) AS (SELECT ?1 UNION ALL SELECT n.i + 1 FROM numbers_open AS n WHERE n.i < ?2)
		SELECT p.pgno, p.data FROM numbers_open AS n CROSS JOIN sqlite_dbpage AS p ON p.pgno = n.i`)
	if err != nil {
		return nil, 0, err
	}
	rows, err := stmt.QueryContext(context.Background(), first, first+int64(limit)-1)
	if err != nil {
		return nil, 0, err
	}
	defer rows.Close()
	last := first - 1
	for rows.Next() {
		var page sql.RawBytes
		if err := rows.Scan(&last, &page); err != nil {
			return nil, 0, err
		}
		if gap := unused(page, last); len(gap) > 0 && dirty(gap) {
			found = append(found, last)
		}
	}
	if last == first+int64(limit)-1 {
		next = last + 1
	}
	return found, next, rows.Err()
}

// unused returns the part of a b-tree page between the cell pointers and the cell content
// (database file format, 1.6); nil for other pages.
func unused(page []byte, number int64) []byte {
	header := 0
	if number == 1 {
		header = 100
	}
	if len(page) < header+12 || isPointerMap(number, int64(len(page))) {
		return nil
	}
	size := 8
	switch page[header] {
	case 2, 5:
		size = 12
	case 10, 13:
	default:
		return nil
	}
	begin := header + size + 2*int(binary.BigEndian.Uint16(page[header+3:]))
	end := int(binary.BigEndian.Uint16(page[header+5:]))
	if end == 0 {
		end = 1 << 16
	}
	if begin >= end || end > len(page) {
		return nil
	}
	return page[begin:end]
}

// isPointerMap reports whether a page is a pointer map (database file format, 1.8). A pointer map
// begins with bytes that could be those of a b-tree page. The first one is page 2, and each
// describes the pages that follow it. SQLite leaves the page at lockByte empty; a pointer map of
// that number moves to the next page.
func isPointerMap(number, size int64) bool {
	const lockByte, entry = 1 << 30, 5
	every := size/entry + 1
	at := (number-2)/every*every + 2
	if at == lockByte/size+1 {
		at++
	}
	return number > 1 && number == at
}

// wipe zeroes the unused parts of pages. It opens its own connection, because the writer's is in
// SQLite's defensive mode and may not write pages. The writer waits meanwhile.
func (d *DB) wipe(ctx context.Context, pages []int64, dirty func([]byte) bool) error {
	return d.run(ctx, func(*Conn) error {
		pool, err := sql.Open("sqlite", dsn(d.path, "_busy_timeout=5000&_txlock=immediate&_synchronous=FULL&_dqs=0&_pragma=trusted_schema(0)&_pragma=secure_delete(1)&_pragma=cache_size(-2000)"))
		if err != nil {
			return err
		}
		pool.SetMaxOpenConns(1)
		conn, err := pool.Conn(context.Background())
		if err != nil {
			return errors.Join(err, pool.Close())
		}
		err = wipeWith(conn, pages, dirty)
		return errors.Join(err, conn.Close(), pool.Close())
	})
}

func wipeWith(conn *sql.Conn, pages []int64, dirty func([]byte) bool) error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // after Commit it does nothing
	for _, number := range pages {
		var page []byte
		if err := tx.QueryRowContext(ctx, `SELECT data FROM sqlite_dbpage WHERE pgno = ?`, number).Scan(&page); err != nil {
			return err
		}
		gap := unused(page, number)
		if len(gap) == 0 || !dirty(gap) {
			continue
		}
		clear(gap)
		if _, err := tx.ExecContext(ctx, `UPDATE sqlite_dbpage SET data = ? WHERE pgno = ?`, page, number); err != nil {
			return err
		}
	}
	return tx.Commit()
}
