package engine

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"mailer/app"
	"mailer/app/kit/clock"
)

// baseVersion is the version of base/schema.sql of package migrations.
const baseVersion = 1

// stepNames returns the steps in dir in order: NNN_name.sql, numbered from 002 without gaps. A
// step may have a variant for PostgreSQL (postgresStep).
func stepNames(dir fs.FS) ([]string, error) {
	names, err := fs.Glob(dir, "*.sql")
	if err != nil {
		return nil, fmt.Errorf("list migrations: %w", err)
	}
	names = slices.DeleteFunc(names, func(name string) bool { return strings.HasSuffix(name, postgresStep) })
	for i, name := range names {
		if !strings.HasPrefix(name, fmt.Sprintf("%03d_", baseVersion+1+i)) {
			return nil, fmt.Errorf("migration %s: number %03d expected", name, baseVersion+1+i)
		}
	}
	return names, nil
}

// refuseSchema returns the error for a database whose schema no release has made. The program
// that made the database can still read it.
func refuseSchema(path, diff string) error {
	return refuse(ErrSchema, "%s does not have the schema of its version: %s. Another build from before the first release made it, or it was changed by hand; neither can be migrated, and the file was left as it is. To move what is in it: run mailer export DIR --db %s with the program that made it, once a team, and mailer import mailer DIR --apply with this one, on a new file (--db NAME)", path, diff, path)
}

// prepared says what was found in a database.
type prepared struct {
	made  bool // the database was empty, and its schema was created
	newer bool // the database is of a newer program, and this one can work on it
}

// prepareSchema creates the schema in an empty database. It refuses a database of another version,
// unless this program can work on it. Errors: ErrOld, ErrNew, ErrSchema,
// ErrNotDatabase.
func prepareSchema(ctx context.Context, conn *sql.Conn, opts Options) (p prepared, err error) {
	have, err := readFileVersion(ctx, conn)
	if err != nil {
		return p, fmt.Errorf("open database %s: %w", opts.Path, err)
	}
	if have.version > 0 {
		p.newer, err = checkFileVersion(ctx, conn, opts, have)
		return p, err
	}
	now, err := newSchemaVersion(ctx, opts.Schema)
	if err != nil {
		return p, err
	}
	err = inTransaction(ctx, conn, func() error {
		// Another process may have created it during the wait for the lock.
		if have, err = readFileVersion(ctx, conn); err != nil || have.version == now.version {
			return err
		}
		p.made = true
		return makeSchema(ctx, conn, opts, now)
	})
	if err == nil {
		err = checkVacuum(ctx, conn, opts.Path)
	}
	p.made = p.made && err == nil
	return p, err
}

func makeSchema(ctx context.Context, conn *sql.Conn, opts Options, version schemaVersion) error {
	var tables int
	if err := conn.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema").Scan(&tables); err != nil {
		return fmt.Errorf("make schema: %w", err)
	}
	if tables > 0 {
		return refuse(ErrNotDatabase, "%s is another program's database, and was left as it is; name another file with --db", opts.Path)
	}
	if _, err := conn.ExecContext(ctx, opts.Schema); err != nil {
		return fmt.Errorf("make schema: %w", err)
	}
	if _, err := conn.ExecContext(ctx, "INSERT INTO teams (id, name, created_at) VALUES (?, ?, ?)",
		app.NewID(), app.DefaultTeam, clock.Now().UnixMilli()); err != nil {
		return fmt.Errorf("make first team: %w", err)
	}
	return version.writeFile(ctx, conn)
}

// checkFileVersion refuses a database that this program can't work on, and reports whether it is of
// a newer program. Errors: ErrOld, ErrNew, ErrSchema.
func checkFileVersion(ctx context.Context, conn *sql.Conn, opts Options, have schemaVersion) (newer bool, err error) {
	if newer, err = have.check(opts.Path); err != nil {
		return newer, err
	}
	if err := checkVacuum(ctx, conn, opts.Path); err != nil {
		return newer, err
	}
	return newer, checkSchema(ctx, conn, opts, newer)
}

// checkSchema refuses a database that has the version of this program but another schema. A newer
// one may have more than this program knows. Error: ErrSchema.
func checkSchema(ctx context.Context, conn querier, opts Options, newer bool) error {
	want, err := formOf(ctx, opts.Schema)
	if err != nil {
		return err
	}
	have, err := schemaForm(ctx, conn)
	if err != nil {
		return err
	}
	if newer {
		have = commonForm(have, want)
	}
	if diff := firstDifference(have, want); diff != "" {
		return refuseSchema(opts.Path, diff)
	}
	return nil
}

// checkVacuum refuses a database without incremental vacuum, which can only be set before the
// first table is created. Error: ErrSchema.
func checkVacuum(ctx context.Context, conn *sql.Conn, path string) error {
	var mode int
	if err := conn.QueryRowContext(ctx, "PRAGMA auto_vacuum").Scan(&mode); err != nil {
		return fmt.Errorf("read pragma auto_vacuum: %w", err)
	}
	const incremental = 2
	if mode != incremental {
		return refuseSchema(path, fmt.Sprintf("auto_vacuum is %d, must be %d", mode, incremental))
	}
	return nil
}

func inTransaction(ctx context.Context, conn *sql.Conn, fn func() error) error {
	if _, err := conn.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	if err := fn(); err != nil {
		_, rerr := conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK")
		return errors.Join(err, rerr)
	}
	if _, err := conn.ExecContext(ctx, "COMMIT"); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	return nil
}
