package engine

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"mailer/db/migrations"
)

// Migrating says how Migrate works.
type Migrating struct {
	// DryRun changes nothing, works while a server runs, and refuses what Migrate would refuse.
	DryRun bool
	// Dumped states that the operator has a dump of a PostgreSQL database, which incompatible steps
	// need.
	Dumped bool
	// Begin is called with the plan, before anything is changed; nil: not called.
	Begin func(Migration)
	// Step is called before each step with its name, and with "copy" before the copy; nil: not called.
	Step func(name string)
}

func (how Migrating) begin(m Migration) {
	if how.Begin != nil {
		how.Begin(m)
	}
}

func (how Migrating) step(name string) {
	if how.Step != nil {
		how.Step(name)
	}
}

// CopyStep is what Migrating.Step gets before the database is copied.
const CopyStep = "copy"

// Migration is the result of Migrate or, for a dry run, what Migrate would do.
type Migration struct {
	From  int      `json:"from"`
	To    int      `json:"to"`
	Steps []string `json:"steps"`
	// Incompatible are the steps on whose result older programs can't work, with the reason.
	Incompatible []string `json:"incompatible,omitempty"`
	Seconds      int64    `json:"expected_seconds,omitzero"`
	Copy         string   `json:"copy,omitempty"`    // path of the copy of the old database
	Removed      []string `json:"removed,omitempty"` // paths of older copies that were removed
}

// planned is a Migration with its steps.
type planned struct {
	Migration
	before schemaVersion
	steps  []step
}

// incompatibleNames returns the names of the incompatible steps.
func (p *planned) incompatibleNames() string {
	var names []string
	for _, s := range p.steps {
		if s.breaks != "" {
			names = append(names, s.name)
		}
	}
	return strings.Join(names, ", ")
}

// planSteps finds the steps that a database lacks. A database of a newer program on which this one
// can work lacks none. Error: ErrNew.
func planSteps(name string, have schemaVersion, all []step) (p planned, err error) {
	p = planned{Migration: Migration{From: have.version, To: baseVersion + len(all)}, before: have}
	if have.version > p.To {
		if have.oldest > p.To {
			return p, have.refuseNewer(Name(name), p.To)
		}
		p.To = have.version
		return p, nil
	}
	p.steps = all[have.version-baseVersion:]
	for _, s := range p.steps {
		p.Steps = append(p.Steps, s.name)
		if s.breaks != "" {
			p.Incompatible = append(p.Incompatible, s.name+": "+s.breaks)
		}
	}
	return p, nil
}

// bytesPerSecond is how fast a database is copied and a step goes through it, for expected times: what
// a slow disk does. Each step counts as one pass, although one that only adds needs less.
const bytesPerSecond = 100e6

func expectedSeconds(size int64, passes int) int64 {
	return 1 + int64(float64(size)*float64(passes)/bytesPerSecond)
}

// ExpectedTime returns the expected time in words.
func (m Migration) ExpectedTime() string {
	const minute, hour = 60, 3600
	switch {
	case m.Seconds < 2*minute:
		return fmt.Sprintf("about %d s", m.Seconds)
	case m.Seconds < 2*hour:
		return fmt.Sprintf("about %d min", m.Seconds/minute)
	}
	return fmt.Sprintf("about %d h", m.Seconds/hour)
}

// Migrate brings the database at opts.Path to the version of this program, each step in one
// transaction, after copying a database file. It creates a missing database if opts.Create is
// set. After a kill at any time it can be run again. Errors: ErrInUse, ErrNew, ErrSchema,
// ErrNotDatabase, ErrNotFound, ErrFull, and ErrOld for steps that need a dump first.
func Migrate(ctx context.Context, opts Options, how Migrating) (Migration, error) {
	m, err := migrate(ctx, opts, how, migrations.Steps)
	if err != nil && ctx.Err() != nil {
		return m, fmt.Errorf("the migration was interrupted (%w): each step is done completely or not at all; run mailer migrate again", ctx.Err())
	}
	if err != nil || IsRemote(opts.Path) || m.From == 0 || how.DryRun {
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

func migrate(ctx context.Context, opts Options, how Migrating, dir fs.FS) (Migration, error) {
	all, err := readSteps(ctx, dir, opts.Schema)
	if err != nil {
		return Migration{}, err
	}
	if IsRemote(opts.Path) {
		return migrateRemote(ctx, opts, how, all)
	}
	path, isNew, err := resolvePath(opts.Path, opts.Create)
	if err != nil {
		return Migration{}, err
	}
	if isNew {
		return createNew(ctx, opts, how, baseVersion+len(all))
	}
	query := "mode=ro&_busy_timeout=5000"
	if !how.DryRun {
		lock, err := lockDatabase(opts.Path, path)
		if err != nil {
			return Migration{}, err
		}
		defer lock.Close()
		query = "_busy_timeout=5000&_synchronous=FULL&_foreign_keys=0"
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
	run := migration{conn: conn, opts: opts}
	p, err := run.plan(ctx, all)
	if err != nil || how.DryRun || len(p.steps) == 0 {
		return p.Migration, err
	}
	how.begin(p.Migration)
	err = run.run(ctx, &p, how)
	return p.Migration, err
}

func createNew(ctx context.Context, opts Options, how Migrating, version int) (Migration, error) {
	m := Migration{From: 0, To: version, Steps: []string{"schema.sql"}}
	if how.DryRun {
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
}

// plan finds the steps that the database lacks. It refuses them if they do not produce the schema
// of this version, or if there is no disk space for the copy. It only reads.
func (r *migration) plan(ctx context.Context, all []step) (p planned, err error) {
	have, err := readFileVersion(ctx, r.conn)
	if err != nil {
		return p, err
	}
	if have.version < baseVersion {
		return p, refuse(ErrNotDatabase, "%s is another program's database, and was left as it is; name another file with --db", r.opts.Path)
	}
	if p, err = planSteps(r.opts.Path, have, all); err != nil {
		return p, err
	}
	if err := checkVacuum(ctx, r.conn, r.opts.Path); err != nil {
		return p, err
	}
	if have.version > baseVersion+len(all) {
		return p, checkSchema(ctx, r.conn, r.opts, true)
	}
	if err := r.rehearse(ctx, p.steps); err != nil || len(p.steps) == 0 {
		return p, err
	}
	size, err := r.size(ctx)
	if err != nil {
		return p, err
	}
	p.Seconds = expectedSeconds(size, 1+len(p.steps))
	return p, r.checkDiskSpace(size, DiskFree)
}

// rehearse runs the steps in memory, on an empty database with the schema of this one, and
// compares the result with the schema of this version. Error: ErrSchema.
func (r *migration) rehearse(ctx context.Context, steps []step) error {
	want, err := formOf(ctx, r.opts.Schema)
	if err != nil {
		return err
	}
	text, err := schemaTextOf(ctx, r.conn)
	if err != nil {
		return err
	}
	for _, s := range steps {
		text += s.file + "\n"
	}
	have, err := formOf(ctx, text)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return refuseSchema(r.opts.Path, err.Error())
	}
	if diff := firstDifference(have, want); diff != "" {
		return refuseSchema(r.opts.Path, diff)
	}
	return nil
}

func (r *migration) run(ctx context.Context, p *planned, how Migrating) (err error) {
	how.step(CopyStep)
	if p.Copy, err = r.copyAside(ctx, p.From); err != nil {
		return err
	}
	version := p.before
	for _, s := range p.steps {
		how.step(s.name)
		version = version.after(s, r.opts.Schema)
		if err := runStep(ctx, r.conn, s, version); err != nil {
			return fmt.Errorf("%w; the database is as it was before this step, and its copy is %s: run mailer migrate again", err, p.Copy)
		}
	}
	p.Removed, err = RemoveOldCopies(r.opts.Path, time.Time{})
	return err
}

// runStep runs one step. Foreign keys are off, because rebuilding a table would otherwise delete
// its child rows; they are checked before the commit.
func runStep(ctx context.Context, conn *sql.Conn, s step, version schemaVersion) error {
	return inTransaction(ctx, conn, func() error {
		if _, err := conn.ExecContext(ctx, s.file); err != nil {
			return fmt.Errorf("migration %s: %w", s.name, err)
		}
		rows, err := conn.QueryContext(ctx, "PRAGMA foreign_key_check")
		if err != nil {
			return fmt.Errorf("migration %s: check foreign keys: %w", s.name, err)
		}
		broken := rows.Next()
		if err := errors.Join(rows.Err(), rows.Close()); err != nil {
			return fmt.Errorf("migration %s: check foreign keys: %w", s.name, err)
		}
		if broken {
			return fmt.Errorf("migration %s: it breaks a foreign key", s.name)
		}
		return version.writeFile(ctx, conn)
	})
}
