package engine

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"strings"
)

// postgresStep ends the name of a step that PostgreSQL runs instead of the step of the same name
// for files.
const postgresStep = ".postgres.sql"

// migrateRemote is Migrate for PostgreSQL. Nothing is copied: all steps run in one transaction,
// which a dry run rolls back. Error: also ErrInUse.
func migrateRemote(ctx context.Context, opts Options, dryRun bool, dir fs.FS) (m Migration, err error) {
	names, err := stepNames(dir)
	if err != nil {
		return m, err
	}
	if remoteInUse(opts.Path) {
		return m, refuse(ErrInUse, "%s is worked on by a mailer serve; stop all of them first", Name(opts.Path))
	}
	pool, err := openBriefly(opts.Path, dialTimeout)
	if err != nil {
		return m, err
	}
	defer pool.Close()
	conn, err := pool.Conn(ctx)
	if err != nil {
		return m, openError(Name(opts.Path), err)
	}
	defer conn.Close()
	if err := checkPostgres(ctx, conn, Name(opts.Path), nil); err != nil {
		return m, err
	}
	m.To = baseVersion + len(names)
	err = migrateWithin(ctx, conn, opts, dryRun, dir, &m, names)
	if err != nil || m.From > 0 || dryRun {
		return m, err
	}
	opts.Lock = false
	d, err := Open(ctx, opts) // creates the tables
	if err != nil {
		return m, err
	}
	return m, d.Close()
}

// migrateWithin runs the missing steps and compares the result with the schema.
func migrateWithin(ctx context.Context, conn *sql.Conn, opts Options, dryRun bool, dir fs.FS, m *Migration, names []string) (err error) {
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("migrate %s: %w", Name(opts.Path), err)
	}
	defer func() {
		if rerr := tx.Rollback(); !errors.Is(rerr, sql.ErrTxDone) {
			err = errors.Join(err, rerr)
		}
	}()
	ours, err := lockSchema(ctx, tx, Name(opts.Path))
	if err != nil {
		return err
	}
	if !ours {
		m.Steps = []string{"schema.sql"}
		return nil
	}
	if err := tx.QueryRowContext(ctx, `SELECT max(version) FROM schema_versions`).Scan(&m.From); err != nil {
		return fmt.Errorf("read schema version of %s: %w", Name(opts.Path), err)
	}
	if m.From > m.To {
		return refuseNewer(Name(opts.Path), m.From, m.To)
	}
	m.Steps = names[m.From-baseVersion:]
	for i, name := range m.Steps {
		if err := remoteStep(ctx, tx, dir, name, m.From+i+1, opts.Schema); err != nil {
			return err
		}
	}
	if len(m.Steps) == 0 {
		if err := checkPostgresVersion(ctx, tx, opts.Path, m.To, opts.Schema); err != nil {
			return err
		}
	}
	if err := comparePostgres(ctx, tx, Name(opts.Path), opts.Schema); err != nil || dryRun {
		return err
	}
	return tx.Commit()
}

// remoteStep runs one step.
func remoteStep(ctx context.Context, tx *sql.Tx, dir fs.FS, name string, version int, schema string) error {
	own := strings.TrimSuffix(name, ".sql") + postgresStep
	text, err := fs.ReadFile(dir, own)
	statement := string(text)
	if errors.Is(err, fs.ErrNotExist) {
		text, err = fs.ReadFile(dir, name)
		statement = stepToPostgres(string(text), schema)
	}
	if err != nil {
		return fmt.Errorf("read migration: %w", err)
	}
	if _, err := tx.ExecContext(ctx, statement); err != nil {
		return fmt.Errorf("migration %s: %w", name, err)
	}
	if _, err := tx.ExecContext(ctx, `INSERT INTO schema_versions (version, sum, made_at) VALUES ($1, $2, `+postgresNow+`)`, version, schemaSum(schema)); err != nil {
		return fmt.Errorf("migration %s: %w", name, err)
	}
	return nil
}
