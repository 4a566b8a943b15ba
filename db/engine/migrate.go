package engine

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"mailer/app"
	"mailer/app/kit/clock"
)

// steps are the numbered schema changes since the first release. Before the first release only
// schema.sql is edited.
//
//go:embed all:migrations
var steps embed.FS

// baseVersion is the user_version of schema.sql without any step.
const baseVersion = 1

// stepNames returns the steps in dir in order: NNN_name.sql, numbered from 002 without gaps. A
// step may have a variant for PostgreSQL (postgresStep).
func stepNames(dir fs.FS) ([]string, error) {
	names, err := fs.Glob(dir, "migrations/*.sql")
	if err != nil {
		return nil, fmt.Errorf("list migrations: %w", err)
	}
	names = slices.DeleteFunc(names, func(name string) bool { return strings.HasSuffix(name, postgresStep) })
	for i, name := range names {
		if !strings.HasPrefix(name, fmt.Sprintf("migrations/%03d_", baseVersion+1+i)) {
			return nil, fmt.Errorf("migration %s: number %03d expected", name, baseVersion+1+i)
		}
	}
	return names, nil
}

func userVersion(ctx context.Context, conn *sql.Conn) (int, error) {
	var v int
	if err := conn.QueryRowContext(ctx, "PRAGMA user_version").Scan(&v); err != nil {
		return 0, fmt.Errorf("read schema version: %w", err)
	}
	return v, nil
}

// refuseNewer and refuseOlder return the error for a database of another version.
func refuseNewer(path string, have, want int) error {
	return refuse(ErrNew, "%s is of a newer version of mailer (its schema is %d, this program knows %d); start the newer program, or put back the copy that its mailer migrate made", path, have, want)
}

func refuseOlder(path string, have, want int) error {
	return refuse(ErrOld, "%s is of an older version of mailer (its schema is %d, this program needs %d); stop the server and run mailer migrate --db %s", path, have, want, path)
}

// refuseSchema returns the error for a database whose schema no release has made. The program
// that made the database can still read it.
func refuseSchema(path, diff string) error {
	return refuse(ErrSchema, "%s does not have the schema of its version: %s. Another build from before the first release made it, or it was changed by hand; neither can be migrated, and the file was left as it is. To move what is in it: run mailer export DIR --db %s with the program that made it, once a team, and mailer import mailer DIR --apply with this one, on a new file (--db NAME)", path, diff, path)
}

// prepareSchema creates the schema in an empty database and reports whether it did. It refuses a
// database of another version. Errors: ErrOld, ErrNew, ErrSchema, ErrNotDatabase.
func prepareSchema(ctx context.Context, conn *sql.Conn, opts Options) (made bool, err error) {
	names, err := stepNames(steps)
	if err != nil {
		return false, err
	}
	want := baseVersion + len(names)
	have, err := userVersion(ctx, conn)
	switch {
	case err != nil:
		return false, fmt.Errorf("open database %s: %w", opts.Path, err)
	case have == want:
		return false, checkSchema(ctx, conn, opts)
	case have > want:
		return false, refuseNewer(opts.Path, have, want)
	case have > 0:
		return false, refuseOlder(opts.Path, have, want)
	}
	err = inTransaction(ctx, conn, func() error {
		// Another process may have created it during the wait for the lock.
		if have, err = userVersion(ctx, conn); err != nil || have == want {
			return err
		}
		made = true
		return makeSchema(ctx, conn, opts, want)
	})
	if err == nil {
		err = checkVacuum(ctx, conn, opts.Path)
	}
	return made && err == nil, err
}

func makeSchema(ctx context.Context, conn *sql.Conn, opts Options, version int) error {
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
	_, err := conn.ExecContext(ctx, fmt.Sprintf("PRAGMA user_version = %d", version))
	return err
}

// checkSchema refuses a database that has the version of this program but another schema. Error:
// ErrSchema.
func checkSchema(ctx context.Context, conn *sql.Conn, opts Options) error {
	if err := checkVacuum(ctx, conn, opts.Path); err != nil {
		return err
	}
	want, err := formOf(ctx, opts.Schema)
	if err != nil {
		return err
	}
	have, err := schemaForm(ctx, conn)
	if err != nil {
		return err
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
		_, rerr := conn.ExecContext(ctx, "ROLLBACK")
		return errors.Join(err, rerr)
	}
	if _, err := conn.ExecContext(ctx, "COMMIT"); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	return nil
}

// Migration is the result of Migrate or, for a dry run, what Migrate would do.
type Migration struct {
	From  int      `json:"from"`
	To    int      `json:"to"`
	Steps []string `json:"steps"`
	Copy  string   `json:"copy,omitempty"` // path of the copy of the old database
}

// Migrate brings the database at opts.Path to the version of this program, each step in one
// transaction, after copying a database file. It creates a missing database if opts.Create is
// set. A dry run changes nothing, works while a server runs, and refuses what Migrate would
// refuse. Errors: ErrInUse, ErrNew, ErrSchema, ErrNotDatabase, ErrNotFound.
func Migrate(ctx context.Context, opts Options, dryRun bool) (Migration, error) {
	m, err := migrate(ctx, opts, dryRun, steps)
	if err != nil || IsRemote(opts.Path) || m.From == 0 || dryRun {
		return m, err
	}
	// Check the result, or the database as it is if there was no step to run.
	opts.Create = false
	d, err := Open(ctx, opts)
	if err != nil {
		return m, err
	}
	return m, d.Close()
}

func migrate(ctx context.Context, opts Options, dryRun bool, dir fs.FS) (Migration, error) {
	if IsRemote(opts.Path) {
		return migrateRemote(ctx, opts, dryRun, dir)
	}
	names, err := stepNames(dir)
	if err != nil {
		return Migration{}, err
	}
	path, isNew, err := resolvePath(opts.Path, opts.Create)
	if err != nil {
		return Migration{}, err
	}
	if isNew {
		return createNew(ctx, opts, dryRun, baseVersion+len(names))
	}
	query := "mode=ro&_busy_timeout=5000"
	if !dryRun {
		lock, err := lockDatabase(opts.Path, path)
		if err != nil {
			return Migration{}, err
		}
		defer lock.Close()
		query = "_busy_timeout=5000&_foreign_keys=0"
	}
	pool, err := sql.Open("sqlite", dsn(path, query))
	if err != nil {
		return Migration{}, fmt.Errorf("open database: %w", err)
	}
	defer pool.Close()
	conn, err := pool.Conn(ctx)
	if err != nil {
		return Migration{}, fmt.Errorf("open database: %w", err)
	}
	defer conn.Close()
	run := migration{conn: conn, opts: opts, dir: dir}
	m, err := run.plan(ctx, names)
	if err != nil || dryRun || len(m.Steps) == 0 {
		return m, err
	}
	return m, run.run(ctx, &m)
}

func createNew(ctx context.Context, opts Options, dryRun bool, version int) (Migration, error) {
	m := Migration{From: 0, To: version, Steps: []string{"schema.sql"}}
	if dryRun {
		return m, nil
	}
	opts.Create, opts.Lock = true, true
	d, err := Open(ctx, opts)
	if err != nil {
		return Migration{}, err
	}
	return m, d.Close()
}

// migration is the migration of a file.
type migration struct {
	conn *sql.Conn
	opts Options
	dir  fs.FS
}

// plan finds the steps that the database lacks. It refuses them if they do not produce the schema
// of this version, or if there is no disk space for the copy. It only reads.
func (r *migration) plan(ctx context.Context, names []string) (Migration, error) {
	have, err := userVersion(ctx, r.conn)
	if err != nil {
		return Migration{}, err
	}
	m := Migration{From: have, To: baseVersion + len(names)}
	if have > m.To {
		return m, refuseNewer(r.opts.Path, have, m.To)
	}
	if have < baseVersion {
		return m, refuse(ErrNotDatabase, "%s is another program's database, and was left as it is; name another file with --db", r.opts.Path)
	}
	if err := checkVacuum(ctx, r.conn, r.opts.Path); err != nil {
		return m, err
	}
	m.Steps = names[have-baseVersion:]
	if err := r.rehearse(ctx, m.Steps); err != nil || len(m.Steps) == 0 {
		return m, err
	}
	return m, r.checkDiskSpace(ctx, DiskFree)
}

// rehearse runs the steps in memory, on an empty database with the schema of this one, and
// compares the result with the schema of this version. Error: ErrSchema.
func (r *migration) rehearse(ctx context.Context, names []string) error {
	want, err := formOf(ctx, r.opts.Schema)
	if err != nil {
		return err
	}
	text, err := schemaTextOf(ctx, r.conn)
	if err != nil {
		return err
	}
	for _, name := range names {
		step, err := fs.ReadFile(r.dir, name)
		if err != nil {
			return fmt.Errorf("read migration: %w", err)
		}
		text += string(step) + "\n"
	}
	have, err := formOf(ctx, text)
	if err != nil {
		return refuseSchema(r.opts.Path, err.Error())
	}
	if diff := firstDifference(have, want); diff != "" {
		return refuseSchema(r.opts.Path, diff)
	}
	return nil
}

func (r *migration) run(ctx context.Context, m *Migration) (err error) {
	if m.Copy, err = r.copyAside(ctx, m.From); err != nil {
		return err
	}
	for i, name := range m.Steps {
		if err := runStep(ctx, r.conn, r.dir, name, m.From+i+1); err != nil {
			return err
		}
	}
	return nil
}

// runStep runs one step. Foreign keys are off, because rebuilding a table would otherwise delete
// its child rows; they are checked before the commit.
func runStep(ctx context.Context, conn *sql.Conn, dir fs.FS, name string, version int) error {
	text, err := fs.ReadFile(dir, name)
	if err != nil {
		return fmt.Errorf("read migration: %w", err)
	}
	return inTransaction(ctx, conn, func() error {
		if _, err := conn.ExecContext(ctx, string(text)); err != nil {
			return fmt.Errorf("migration %s: %w", name, err)
		}
		rows, err := conn.QueryContext(ctx, "PRAGMA foreign_key_check")
		if err != nil {
			return fmt.Errorf("migration %s: check foreign keys: %w", name, err)
		}
		broken := rows.Next()
		if err := errors.Join(rows.Err(), rows.Close()); err != nil {
			return fmt.Errorf("migration %s: check foreign keys: %w", name, err)
		}
		if broken {
			return fmt.Errorf("migration %s: it breaks a foreign key", name)
		}
		_, err = conn.ExecContext(ctx, fmt.Sprintf("PRAGMA user_version = %d", version))
		return err
	})
}
