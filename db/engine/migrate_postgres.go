package engine

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// postgresStep ends the name of a step that PostgreSQL runs instead of the step of the same name
// for files.
const postgresStep = ".postgres.sql"

// Servers of an older version may work on the database while compatible steps run. A step that waits
// for the lock of a table makes every later statement on the table wait too. So it gives up after
// stepLockTimeout, and the whole migration is tried again until stepLockTries are over.
const (
	stepLockTimeout = time.Second
	stepLockTries   = 60
)

// migrateRemote is Migrate for PostgreSQL. Nothing is copied: all steps run in one transaction,
// which a dry run rolls back. Error: also ErrInUse.
func migrateRemote(ctx context.Context, opts Options, how Migrating, all []step) (m Migration, err error) {
	pool, err := openBriefly(opts.Path)
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
	for try := 1; ; try++ {
		m, err = migrateWithin(ctx, conn, opts, how, all)
		if !lockedOnPostgres(err) {
			break
		}
		if try == stepLockTries {
			return m, lockedError(Name(opts.Path), err)
		}
		how.Begin = nil // it was called
		select {
		case <-ctx.Done():
			return m, ctx.Err()
		case <-time.After(stepLockTimeout):
		}
	}
	if err != nil || m.From > 0 || how.DryRun {
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
func migrateWithin(ctx context.Context, conn *sql.Conn, opts Options, how Migrating, all []step) (m Migration, err error) {
	name := Name(opts.Path)
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return m, fmt.Errorf("migrate %s: %w", name, err)
	}
	defer func() {
		if rerr := tx.Rollback(); !errors.Is(rerr, sql.ErrTxDone) {
			err = errors.Join(err, rerr)
		}
	}()
	ours, err := lockSchema(ctx, tx, name)
	if err != nil {
		return m, err
	}
	if !ours {
		return Migration{To: baseVersion + len(all), Steps: []string{"schema.sql"}}, nil
	}
	have, err := readPostgresVersion(ctx, tx, name)
	if err != nil {
		return m, err
	}
	p, err := planSteps(opts.Path, have, all)
	switch {
	case err != nil:
		return p.Migration, err
	case len(p.steps) > 0:
		err = runRemote(ctx, tx, opts, how, &p)
	case p.To > baseVersion+len(all): // of a newer program, whose schema is unknown
		return p.Migration, nil
	default:
		err = have.checkSum(name, opts.Schema)
	}
	if err == nil {
		err = comparePostgres(ctx, tx, name, opts.Schema)
	}
	if err != nil || how.DryRun {
		return p.Migration, err
	}
	return p.Migration, tx.Commit()
}

// runRemote runs the missing steps. It first waits for the groups of writes of running servers, so
// that no step can wait for a writer that waits for the step.
func runRemote(ctx context.Context, tx *sql.Tx, opts Options, how Migrating, p *planned) error {
	var size int64
	if err := tx.QueryRowContext(ctx, `SELECT pg_database_size(current_database())`).Scan(&size); err != nil {
		return fmt.Errorf("ask how large the database is: %w", err)
	}
	p.Seconds = expectedSeconds(size, len(p.steps))
	if _, err := tx.ExecContext(ctx, fmt.Sprintf(`SET LOCAL lock_timeout = %d`, stepLockTimeout.Milliseconds())); err != nil {
		return err
	}
	if len(p.Incompatible) > 0 {
		if err := refuseIncompatible(ctx, tx, opts, how, p); err != nil {
			return err
		}
	}
	if !how.DryRun {
		how.begin(p.Migration)
	}
	if _, err := tx.ExecContext(ctx, lockGroups); err != nil {
		return fmt.Errorf("wait for running writes: %w", err)
	}
	version := p.before
	for _, s := range p.steps {
		how.step(s.name)
		version = version.after(s, opts.Schema)
		if _, err := tx.ExecContext(ctx, s.postgres); err != nil {
			return fmt.Errorf("migration %s: %w; nothing was changed", s.name, err)
		}
		now := time.Time{}
		if err := tx.QueryRowContext(ctx, `SELECT clock_timestamp()`).Scan(&now); err != nil {
			return fmt.Errorf("migration %s: %w", s.name, err)
		}
		if err := version.writePostgres(ctx, tx, now.UnixMilli()); err != nil {
			return fmt.Errorf("migration %s: %w", s.name, err)
		}
	}
	return nil
}

// refuseIncompatible refuses incompatible steps without a dump, and while a server works on the
// database, whose version can only be an older one. Until the end of the transaction no server can
// begin to. Silent servers are marked dead, so that they write nothing if they come back. Errors:
// ErrOld, ErrInUse.
func refuseIncompatible(ctx context.Context, tx *sql.Tx, opts Options, how Migrating, p *planned) error {
	name := Name(opts.Path)
	if _, err := tx.ExecContext(ctx, `LOCK TABLE nodes IN SHARE ROW EXCLUSIVE MODE`); err != nil {
		return fmt.Errorf("look who works on %s: %w", name, err)
	}
	var alive string
	err := tx.QueryRowContext(ctx, `SELECT coalesce(string_agg(address, '; ' ORDER BY address), '') FROM nodes WHERE dead IS NULL AND seen_at > `+postgresNow+` - $1`, (deadHeartbeats * DefaultHeartbeat).Milliseconds()).Scan(&alive)
	if err != nil {
		return fmt.Errorf("look who works on %s: %w", name, err)
	}
	if alive != "" {
		return refuse(ErrInUse, "%s is in use by servers of an older version, which can't work on the result of this migration (%s): %s; stop them, then run mailer migrate --dumped again", name, p.incompatibleNames(), alive)
	}
	if !how.Dumped && !how.DryRun {
		return refuse(ErrOld, "%s was left as it is: older versions can't work on the result of this migration (%s), and a PostgreSQL database is not copied first; stop all servers, make a dump with pg_dump, then run mailer migrate --dumped --db %s", name, p.incompatibleNames(), withoutPassword(opts.Path))
	}
	_, err = tx.ExecContext(ctx, `UPDATE nodes SET dead = `+postgresNow+` WHERE dead IS NULL`)
	return err
}
