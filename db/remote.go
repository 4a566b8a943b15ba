package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/jackc/pgx/v5/stdlib"
)

// IsRemote reports whether a name is that of a database elsewhere, and not of a file.
func IsRemote(name string) bool { return postgresName(name) != "" }

// Name is a database's name as people may see it: without a password.
func Name(name string) string {
	if IsRemote(name) {
		return postgresName(name)
	}
	return name
}

// Beside is what the names of files begin with that lie beside a database; of one elsewhere
// they lie in the working directory.
func Beside(name string) string {
	if IsRemote(name) {
		return "mailer"
	}
	return name
}

// Folder is where the files lie that belong to a database.
func Folder(name string) string { return filepath.Dir(Beside(name)) }

// OnlyFiles refuses, in words, what is done to a database in a file alone.
func OnlyFiles(name string) error {
	if !IsRemote(name) {
		return nil
	}
	return refuse(ErrNotDatabase, "%s is not a file: copies, restores and checks of it are made with PostgreSQL's own tools, like pg_dump, pg_restore and pg_amcheck; after a restore mailer restore --mark holds what waited there", Name(name))
}

// briefly connects to a database elsewhere for one question.
func briefly(name string, patience time.Duration) (*sql.DB, error) {
	e := &postgresEngine{}
	if err := e.configure(name); err != nil {
		return nil, err
	}
	e.config.ConnectTimeout = patience
	return stdlib.OpenDB(*e.config), nil
}

// remoteInUse reports whether a server works on a database elsewhere.
func remoteInUse(name string) bool {
	pool, err := briefly(name, dialPatience)
	if err != nil {
		return false
	}
	defer pool.Close()
	ctx, cancel := context.WithTimeout(context.Background(), dialPatience)
	defer cancel()
	tx, err := pool.BeginTx(ctx, nil)
	if err != nil {
		return false
	}
	defer func() { _ = tx.Rollback() }() // it only read
	w, err := leading(ctx, tx, Options{}, DefaultBeat)
	return err == nil && w != nil && w.silent < deadAfter*DefaultBeat
}

// migrateRemote is Migrate for a database elsewhere, of which nothing is copied aside. Error:
// also ErrInUse.
func migrateRemote(ctx context.Context, opts Options, dryRun bool, dir fs.FS) (m Migration, err error) {
	names, err := stepNames(dir)
	if err != nil {
		return m, err
	}
	if remoteInUse(opts.Path) {
		return m, refuse(ErrInUse, "%s is worked on by a mailer serve; stop all of them first", Name(opts.Path))
	}
	pool, err := briefly(opts.Path, dialPatience)
	if err != nil {
		return m, err
	}
	defer pool.Close()
	conn, err := pool.Conn(ctx)
	if err != nil {
		return m, refusedOpen(Name(opts.Path), err)
	}
	defer conn.Close()
	m.To = baseVersion + len(names)
	if m.From, err = remoteVersion(ctx, conn); err != nil {
		return m, err
	}
	switch {
	case m.From > m.To:
		return m, newer(Name(opts.Path), m.From, m.To)
	case m.From == 0:
		m.Steps = []string{"schema.sql"}
	default:
		m.Steps = names[m.From-baseVersion:]
	}
	if dryRun {
		return m, nil
	}
	for i, name := range m.Steps {
		if m.From == 0 {
			break // Open makes it
		}
		if err := remoteStep(ctx, conn, dir, name, m.From+i+1, opts.Schema); err != nil {
			return m, err
		}
	}
	opts.Lock = false
	d, err := Open(ctx, opts)
	if err != nil {
		return m, err
	}
	return m, d.Close()
}

// remoteVersion is that of the schema; 0: the database is empty.
func remoteVersion(ctx context.Context, conn *sql.Conn) (version int, err error) {
	var there bool
	if err := conn.QueryRowContext(ctx, `SELECT to_regclass('schema_versions') IS NOT NULL`).Scan(&there); err != nil || !there {
		return 0, err
	}
	err = conn.QueryRowContext(ctx, `SELECT max(version) FROM schema_versions`).Scan(&version)
	return version, err
}

// remoteStep runs one step of the schema in a transaction of its own.
func remoteStep(ctx context.Context, conn *sql.Conn, dir fs.FS, name string, version int, schema string) (err error) {
	text, err := fs.ReadFile(dir, name)
	if err != nil {
		return fmt.Errorf("read migration: %w", err)
	}
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("migration %s: %w", name, err)
	}
	defer func() {
		if rerr := tx.Rollback(); !errors.Is(rerr, sql.ErrTxDone) {
			err = errors.Join(err, rerr)
		}
	}()
	if _, err := tx.ExecContext(ctx, postgresSchema(string(text))); err != nil {
		return fmt.Errorf("migration %s: %w", name, err)
	}
	if _, err := tx.ExecContext(ctx, `INSERT INTO schema_versions (version, sum, made_at) VALUES ($1, $2, `+postgresNow+`)`, version, schemaSum(schema)); err != nil {
		return fmt.Errorf("migration %s: %w", name, err)
	}
	return tx.Commit()
}
