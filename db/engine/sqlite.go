package engine

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"

	_ "modernc.org/sqlite"
)

// sqliteEngine is a SQLite file with one writer in this process.
type sqliteEngine struct{}

// translate returns the statement unchanged.
func (sqliteEngine) translate(text string) string { return text }

func (sqliteEngine) bind(args []any) []any { return args }

func (sqliteEngine) closeConns() {}

func (sqliteEngine) postgres() bool { return false }

func (sqliteEngine) beginRead(ctx context.Context, d *DB, s *Conn) error {
	if s.conn == nil { // Options.Lazy
		conn, err := d.openReader(ctx)
		if err != nil {
			return err
		}
		s.conn = conn
	}
	_, err := s.Exec("BEGIN")
	return err
}

func (sqliteEngine) endRead(s *Conn) error {
	_, err := s.Exec("ROLLBACK")
	return err
}

// begin takes the write lock.
func (sqliteEngine) begin(d *DB, s *Conn, _ []query) error {
	if _, err := s.Exec("BEGIN IMMEDIATE"); err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	var version int64
	if err := s.Row(`PRAGMA data_version`, nil, &version); err != nil {
		return fmt.Errorf("look whether others wrote: %w", err)
	}
	others := d.dataVersion != 0 && version != d.dataVersion
	if err := d.noteExternalWrites(s, others); err != nil {
		return err
	}
	d.dataVersion = version
	return nil
}

func (sqliteEngine) commit(s *Conn) error {
	_, err := s.Exec("COMMIT")
	return err
}

// A file needs none of the following.

func (sqliteEngine) lost(*Conn) bool                                { return false }
func (sqliteEngine) renew(context.Context, *DB, *Conn) error        { return nil }
func (sqliteEngine) committed(context.Context, *Conn) (bool, error) { return true, nil }
func (sqliteEngine) leaseValid() bool                               { return true }
func (sqliteEngine) partition() Partition                           { return Partition{Count: 1} }
func (sqliteEngine) endCleanly()                                    {}
func (sqliteEngine) owner() string                                  { return "" }
func (sqliteEngine) close(*DB) error                                { return nil }
func (sqliteEngine) nodes(context.Context, *DB) ([]Node, error)     { return nil, nil }

// version includes the size and time of the log, to which every process appends before it
// commits.
func (sqliteEngine) version(d *DB) Version {
	v := Version{commits: d.commits.Load()}
	if log, err := os.Stat(d.path + "-wal"); err == nil {
		v.size, v.modified = log.Size(), log.ModTime()
	}
	return v
}

func (sqliteEngine) externalVersion(s *Conn) (n int64, err error) {
	return n, s.Row(`PRAGMA data_version`, nil, &n)
}

// open opens or creates the file, its readers and its reserve, and takes its lock if opts.Lock is
// set.
func (e sqliteEngine) open(ctx context.Context, d *DB, opts Options) (Conn, error) {
	conn, err := openFile(ctx, d, opts)
	return newSession(conn, e), err
}

func openFile(ctx context.Context, d *DB, opts Options) (*sql.Conn, error) {
	path, isNew, err := resolvePath(opts.Path, opts.Create)
	if err != nil {
		return nil, err
	}
	d.path, d.name = path, path
	if err := refuseLinked(opts.Path, path); err != nil {
		return nil, err
	}
	if opts.Lock {
		if d.lock, err = lockDatabase(opts.Path, path); err != nil {
			return nil, err
		}
	}
	if isNew {
		if err := createPrivate(path); err != nil {
			return nil, fmt.Errorf("create database: %w", err)
		}
	}
	conn, err := d.openWriter(ctx)
	for p := retries(0); p.retry(err); {
		conn, err = d.openWriter(ctx)
	}
	if err != nil {
		return nil, d.explainOpen(opts.Path, fmt.Errorf("open database %s: %w", opts.Path, err))
	}
	if d.prepared, err = prepareSchema(ctx, conn, opts); err != nil {
		return nil, d.explainOpen(opts.Path, err)
	}
	d.logNewer()
	if err := refuseMoved(ctx, conn, opts); err != nil {
		return nil, d.explainOpen(opts.Path, err)
	}
	if d.made {
		abs, _ := filepath.Abs(path) // empty if there is no working directory
		d.log.Info("made a new database", "path", cmp.Or(abs, path))
	}
	if err := d.openReaders(ctx, "mode=ro", cmp.Or(opts.Readers, readers), opts.Lazy); err != nil {
		return nil, d.explainOpen(opts.Path, fmt.Errorf("open readers: %w", err))
	}
	if opts.Lock {
		if err := d.makeReserve(); tooManyFiles(err) {
			d.setOutOfFiles(err, d.makeReserve)
		} else if err != nil {
			d.setFull(err)
		}
		close(d.lead)
	}
	if d.wal, err = disableSync(ctx, conn, path); err != nil {
		return nil, d.explainOpen(opts.Path, fmt.Errorf("open database %s: %w", opts.Path, err))
	}
	d.sync = func() error { return syncData(d.wal) }
	return conn, nil
}

// createPrivate creates an empty file that only its owner can read. SQLite gives its log the same
// mode.
func createPrivate(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

func dsn(path, query string) string {
	return "file:" + (&url.URL{Path: path}).EscapedPath() + "?" + query
}

func (d *DB) openWriter(ctx context.Context) (*sql.Conn, error) {
	pool, err := sql.Open("sqlite", dsn(d.path, "_busy_timeout=5000&_auto_vacuum=2&_txlock=immediate&_journal_mode=WAL&_synchronous=FULL&_foreign_keys=1&_dqs=0&_defensive=1"+
		"&_pragma=trusted_schema(0)&_pragma=secure_delete(1)&_pragma=temp_store(memory)&_pragma=cache_size(-8000)&_pragma=journal_size_limit(67108864)"))
	if err != nil {
		return nil, err
	}
	d.pool = pool
	pool.SetMaxOpenConns(1)
	conn, err := pool.Conn(ctx)
	if err != nil {
		return nil, err
	}
	return conn, assertPragmas(ctx, conn, map[string]string{
		"journal_mode": "wal", "synchronous": "2", "foreign_keys": "1", "trusted_schema": "0", "secure_delete": "1", "busy_timeout": "5000",
	})
}

// openReaders opens the pool of n readers with a mode of SQLite and connects each reader or, with
// lazy, only the first one.
func (d *DB) openReaders(ctx context.Context, mode string, n int, lazy bool) error {
	pool, err := sql.Open("sqlite", dsn(d.path, mode+"&_query_only=1&_busy_timeout=5000&_dqs=0&_pragma=trusted_schema(0)&_pragma=temp_store(memory)&_pragma=cache_size(-2000)"))
	if err != nil {
		return err
	}
	d.ro = pool
	pool.SetMaxOpenConns(n)
	for i := range n {
		var conn *sql.Conn
		if !lazy || i == n-1 { // the last one put back is taken first
			if conn, err = d.openReader(ctx); err != nil {
				return err
			}
		}
		d.readers.put(&Reader{Conn: newSession(conn, sqliteEngine{})})
		d.opened++
	}
	return nil
}

func (d *DB) openReader(ctx context.Context) (*sql.Conn, error) {
	conn, err := d.ro.Conn(ctx)
	for p := retries(0); p.retry(err); {
		conn, err = d.ro.Conn(ctx)
	}
	if err != nil {
		return nil, err
	}
	if err := assertPragmas(ctx, conn, map[string]string{"query_only": "1", "trusted_schema": "0"}); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

// assertPragmas checks the settings that the DSN asked for, because the driver ignores a
// misspelled key.
func assertPragmas(ctx context.Context, conn *sql.Conn, want map[string]string) error {
	for name, value := range want {
		var got string
		if err := conn.QueryRowContext(ctx, "PRAGMA "+name).Scan(&got); err != nil {
			return fmt.Errorf("read pragma %s: %w", name, err)
		}
		if got != value {
			return fmt.Errorf("pragma %s is %s, must be %s", name, got, value)
		}
	}
	return nil
}
