package engine

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"

	"github.com/jackc/pgx/v5/pgconn"

	"mailer/app/kit/build"
	"mailer/app/kit/clock"
	"mailer/db/migrations"
)

// schemaVersion is a row of schema_versions. The newest row describes the database.
type schemaVersion struct {
	version int
	oldest  int    // version of the oldest program that may work on the database
	program string // version of the program that wrote the row; empty: unknown
	sum     string // schemaSum of that program
}

// latestVersion returns the version of schema.sql.
func latestVersion() (int, error) {
	names, err := stepNames(migrations.Steps)
	return baseVersion + len(names), err
}

// newVersions holds the results of newSchemaVersion, by schema: each is the same for the whole process.
var newVersions sync.Map

// newSchemaVersion returns the row of a database that this program creates.
func newSchemaVersion(ctx context.Context, schema string) (schemaVersion, error) {
	if known, ok := newVersions.Load(schema); ok {
		return known.(schemaVersion), nil
	}
	all, err := readSteps(ctx, migrations.Steps, schema)
	if err != nil {
		return schemaVersion{}, err
	}
	v := schemaVersion{version: baseVersion + len(all), oldest: minVersionOf(all), program: build.Version(), sum: schemaSum(schema)}
	newVersions.Store(schema, v)
	return v, nil
}

// after returns the row of a database after a step.
func (v schemaVersion) after(s step, schema string) schemaVersion {
	return schemaVersion{version: s.version, oldest: s.minVersion(v.oldest), program: build.Version(), sum: schemaSum(schema)}
}

const insertVersion = `INSERT INTO schema_versions (version, min_version, program, sum, made_at) VALUES (?, ?, ?, ?, ?)`

// writePostgres inserts the row in a PostgreSQL database. now is in Unix milliseconds.
func (v schemaVersion) writePostgres(ctx context.Context, q execer, now int64) error {
	return v.write(ctx, q, ToPostgres(insertVersion), now)
}

func (v schemaVersion) write(ctx context.Context, q execer, insert string, now int64) error {
	if _, err := q.ExecContext(ctx, insert, v.version, v.oldest, v.program, v.sum, now); err != nil {
		return fmt.Errorf("write schema version: %w", err)
	}
	return nil
}

// execer is a connection or a transaction.
type execer interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// writeFile inserts the row in a file and sets the version of the file.
func (v schemaVersion) writeFile(ctx context.Context, conn execer) error {
	if err := v.write(ctx, conn, insertVersion, clock.Now().UnixMilli()); err != nil {
		return err
	}
	if _, err := conn.ExecContext(ctx, fmt.Sprintf("PRAGMA user_version = %d", v.version)); err != nil {
		return fmt.Errorf("write schema version: %w", err)
	}
	return nil
}

// readFileVersion returns the version of a file; version 0: the file is empty or another program's.
// Without a row for its version, no other program may work on the database.
func readFileVersion(ctx context.Context, q rowQuerier) (v schemaVersion, err error) {
	if err := q.QueryRowContext(ctx, "PRAGMA user_version").Scan(&v.version); err != nil {
		return v, fmt.Errorf("read schema version: %w", err)
	}
	v.oldest = v.version
	var made bool
	err = q.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema WHERE name = 'schema_versions'").Scan(&made)
	if err != nil || !made {
		return v, wrapVersion(err)
	}
	err = q.QueryRowContext(ctx, "SELECT min_version, program, sum FROM schema_versions WHERE version = ?", v.version).Scan(&v.oldest, &v.program, &v.sum)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return v, wrapVersion(err)
}

// readPostgresVersion returns the version of a PostgreSQL database. Error: ErrSchema for one of a
// program before 0.4.0.
func readPostgresVersion(ctx context.Context, q rowQuerier, name string) (v schemaVersion, err error) {
	err = q.QueryRowContext(ctx, `SELECT version, min_version, program, sum FROM schema_versions ORDER BY version DESC LIMIT 1`).Scan(&v.version, &v.oldest, &v.program, &v.sum)
	const undefinedColumn = "42703"
	if pg := (*pgconn.PgError)(nil); errors.As(err, &pg) && pg.Code == undefinedColumn {
		return v, refuseSchema(name, "the table schema_versions lacks a column")
	}
	return v, wrapVersion(err)
}

func wrapVersion(err error) error {
	if err != nil {
		return fmt.Errorf("read schema version: %w", err)
	}
	return nil
}

// check refuses a database that this program can't work on, and reports whether the database is of a
// newer program. name is a path, or a URL without a password. Errors: ErrOld, ErrNew.
func (v schemaVersion) check(name string) (newer bool, err error) {
	want, err := latestVersion()
	switch {
	case err != nil:
		return false, err
	case v.version < want:
		return false, v.refuseOlder(name, want)
	case v.version > want && v.oldest > want:
		return true, v.refuseNewer(Name(name), want)
	}
	return v.version > want, nil
}

// refuseNew refuses a PostgreSQL database on which only newer programs can work. Error: ErrNew.
func refuseNew(ctx context.Context, q rowQuerier, opts Options) error {
	have, err := readPostgresVersion(ctx, q, Name(opts.Path))
	if err == nil {
		_, err = have.check(withoutPassword(opts.Path))
	}
	return err
}

// refuseNewer returns the error for a database on which only newer programs can work.
func (v schemaVersion) refuseNewer(name string, want int) error {
	if v.program == "" {
		return refuse(ErrNew, "%s was written by a newer version of mailer (its schema is version %d, and mailer %s knows version %d); start the newer program, or go back to a copy from before its migration", name, v.version, build.Version(), want)
	}
	return refuse(ErrNew, "%s was written by mailer %s, and mailer %s can't work on it (its schema is version %d, and this program knows version %d); start mailer %s or a newer one, or go back to a copy from before its migration",
		name, v.program, build.Version(), v.version, want, v.program)
}

// refuseOlder returns the error for a database that must be migrated first.
func (v schemaVersion) refuseOlder(name string, want int) error {
	written := "by an older version of mailer"
	if v.program != "" {
		written = "by mailer " + v.program
	}
	return refuse(ErrOld, "%s was written %s (its schema is version %d, and mailer %s needs version %d); run mailer migrate --db %s, or start the server with --migrate", Name(name), written, v.version, build.Version(), want, name)
}
