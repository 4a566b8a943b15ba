package engine

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json"

	"mailer/app/kit/clock"
)

// A move copies all tables of one snapshot between a file and PostgreSQL, while nothing else writes
// to the source. The target is committed only after each of its tables was read back and compared
// with the source. The source is marked as moved before that commit, so that a server can never be
// started on both: queued mail would be sent twice.

// Moving are the parameters of a move.
type Moving struct {
	From, To string // as Options.Path; one of them is a file
	Schema   string // the text of schema.sql
	// Progress is called with the number of rows read and the number to read; nil: not called.
	Progress func(done, all int64)

	before func(step string) error // for tests: called before each step
}

// Moved is the result of a move.
type Moved struct {
	From   string       `json:"from"`
	To     string       `json:"to"`
	At     time.Time    `json:"at"`
	Rows   int64        `json:"rows"`
	Tables []MovedTable `json:"tables"`
}

// MovedTable is a table that is equal in both databases.
type MovedTable struct {
	Table string `json:"table"`
	Rows  int64  `json:"rows"`
	// Sum is the sum of the SHA-256 hashes of the rows, in hexadecimal.
	Sum string `json:"sum"`
}

// movedSetting is the setting that marks a database as moved. It is not copied to the target.
const movedSetting = "moved"

// movedMark is the value of movedSetting.
type movedMark struct {
	At int64  `json:"at"` // Unix milliseconds
	To string `json:"to"`
}

// readMark reads the mark of a database; nil: it was not moved.
func readMark(ctx context.Context, q rowQuerier) (*movedMark, error) {
	var value []byte
	err := q.QueryRowContext(ctx, `SELECT value FROM settings WHERE name = 'moved'`).Scan(&value)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	m := &movedMark{}
	if err == nil {
		err = json.Unmarshal(value, m)
	}
	if err != nil {
		return nil, fmt.Errorf("look whether the database was moved: %w", err)
	}
	return m, nil
}

// refuseMoved refuses a database that was moved. Error: ErrMoved.
func refuseMoved(ctx context.Context, q rowQuerier, opts Options) error {
	if opts.moving {
		return nil
	}
	m, err := readMark(ctx, q)
	if err != nil || m == nil {
		return err
	}
	return m.refuse(opts.Path)
}

func (m *movedMark) refuse(name string) error {
	return refuse(ErrMoved, "%s was moved to %s on %s: its mail leaves from there, and would leave twice from here; name that one with --db. To go back, move that one to a new place; only where nothing ever ran on it, mailer move --undo has this one work again",
		Name(name), m.To, time.UnixMilli(m.At).UTC().Format("2006-01-02 at 15:04 UTC"))
}

// moveTarget is the database to which the rows are copied.
type moveTarget interface {
	// name returns the path or the URL without a password.
	name() string
	// begin creates the tables, without indexes and foreign keys. Errors: ErrConflict if the
	// target is not empty, and those of Open.
	begin(ctx context.Context) error
	// fill inserts rows into a table.
	fill(ctx context.Context, t *movedTable, rows *tableRows) error
	// finish creates the indexes and checks the foreign keys.
	finish(ctx context.Context) error
	// side returns the connection on which the target is read back.
	side() *moveSide
	// commit makes the target visible to others.
	commit(ctx context.Context) error
	// close removes a target that was not committed.
	close() error
}

// Move copies the content of a database to an empty database of the other engine, whose tables it
// creates, and marks the source so that it can no longer be opened. Errors: ErrInUse, ErrConflict
// if the target is not empty, ErrMoved, and those of Open. After an error the target is empty
// unless the error says that this is unknown; the source may be marked, which its next start
// reports.
func Move(ctx context.Context, in Moving) (done Moved, err error) {
	if IsRemote(in.From) == IsRemote(in.To) {
		return done, refuse(ErrNotDatabase, "a database moves between a file and PostgreSQL, and %s and %s are of one kind; a file moves by mailer backup and restore, a database of PostgreSQL by its own tools", Name(in.From), Name(in.To))
	}
	m := &mover{in: in}
	if m.tables, err = movedTables(ctx, in.Schema); err != nil {
		return done, err
	}
	source, err := openToMove(ctx, in.From, in.Schema)
	if err != nil {
		return done, err
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	m.from, err = m.snapshot(ctx, source)
	if err != nil {
		return done, err
	}
	defer func() { err = errors.Join(err, m.from.close()) }()
	if m.to, err = m.target(); err != nil {
		return done, err
	}
	defer func() { err = errors.Join(err, m.to.close()) }()
	return m.run(ctx, source.name)
}

// openToMove opens an existing database and holds its lock, as a server does.
func openToMove(ctx context.Context, name, schema string) (*DB, error) {
	if !IsRemote(name) {
		_, isNew, err := resolvePath(name, false)
		if err != nil {
			return nil, err
		}
		if isNew {
			return nil, refuse(ErrNotDatabase, "%s is empty", name)
		}
	}
	d, err := Open(ctx, Options{Path: name, Schema: schema, Lock: true, Lazy: true, moving: true})
	if err == nil && d.newer {
		return nil, errors.Join(refuseNewerMove(Name(name)), d.Close())
	}
	return d, err
}

// refuseNewerMove returns the error for a database with tables or columns that this program does
// not know.
func refuseNewerMove(name string) error {
	return refuse(ErrNew, "%s was migrated by a newer version of mailer, which may have added what this version would not move; move it with the newer version", name)
}

// mover is a move in progress.
type mover struct {
	in     Moving
	tables []*movedTable
	from   *moveSide
	to     moveTarget
	mark   movedMark
	read   atomic.Int64
	all    int64
}

// snapshot begins the transaction in which the source is read and marked. Nothing else writes to
// the source until it ends.
func (m *mover) snapshot(ctx context.Context, source *DB) (*moveSide, error) {
	if e, ok := source.engine.(*postgresEngine); ok {
		return postgresSource(ctx, m.in.From, e.node.id)
	}
	return fileSource(ctx, source.path)
}

func (m *mover) target() (moveTarget, error) {
	if IsRemote(m.in.To) {
		return &postgresTarget{url: m.in.To, schema: m.in.Schema, tables: m.tables}, nil
	}
	return newFileTarget(m.in.To, m.in.Schema)
}

func (m *mover) run(ctx context.Context, from string) (done Moved, err error) {
	m.mark = movedMark{At: clock.Now().UnixMilli(), To: m.to.name()}
	if err := m.begin(ctx); err != nil {
		return done, err
	}
	for _, t := range m.tables {
		if err := m.copy(ctx, t); err != nil {
			return done, fmt.Errorf("move %s: %w", t.name, err)
		}
	}
	if err := m.testStep("finish"); err != nil {
		return done, err
	}
	if err := m.to.finish(ctx); err != nil {
		return done, err
	}
	done = Moved{From: from, To: m.mark.To, At: time.UnixMilli(m.mark.At).UTC()}
	for _, t := range m.tables {
		same, err := m.compare(ctx, t)
		if err != nil {
			return done, err
		}
		done.Rows += same.Rows
		done.Tables = append(done.Tables, same)
	}
	return done, m.commit(context.WithoutCancel(ctx))
}

// begin refuses a source that cannot be moved, and counts the rows. A marked source may be moved
// again to the target of its mark while that is empty.
func (m *mover) begin(ctx context.Context) error {
	mark, err := readMark(ctx, m.from.conn)
	if err != nil {
		return err
	}
	if mark != nil && mark.To != m.mark.To {
		return mark.refuse(m.in.From)
	}
	if err := m.to.begin(ctx); err != nil {
		if mark != nil && errors.Is(err, ErrConflict) {
			return mark.refuse(m.in.From)
		}
		return err
	}
	for _, t := range m.tables {
		n, err := m.from.count(ctx, t)
		if err != nil {
			return err
		}
		m.all += 3 * n // one read to copy, and one on each side to compare
	}
	return nil
}

// testStep calls the hook of a test.
func (m *mover) testStep(step string) error {
	if m.in.before == nil {
		return nil
	}
	return m.in.before(step)
}

// countRow counts a row that was read and reports progress.
func (m *mover) countRow() {
	done := m.read.Add(1)
	if m.in.Progress != nil {
		m.in.Progress(done, m.all)
	}
}

func (m *mover) copy(ctx context.Context, t *movedTable) error {
	rows, err := m.from.rows(ctx, t, true)
	if err != nil {
		return err
	}
	rows.onRow = m.countRow
	return errors.Join(m.to.fill(ctx, t, rows), rows.Close())
}

// compare reads a table on both sides at the same time. It returns an error if they differ.
func (m *mover) compare(ctx context.Context, t *movedTable) (same MovedTable, err error) {
	type answer struct {
		MovedTable
		err error
	}
	results := make(chan answer, 1)
	go func() {
		sum, err := m.to.side().sum(ctx, t, m.countRow)
		results <- answer{sum, err}
	}()
	from, err := m.from.sum(ctx, t, m.countRow)
	to := <-results
	if err := errors.Join(err, to.err); err != nil {
		return from, fmt.Errorf("compare %s: %w", t.name, err)
	}
	if from != to.MovedTable {
		return from, fmt.Errorf("compare %s: %d rows of %s became %d of %s, or another content; nothing was moved", t.name, from.Rows, from.Sum, to.Rows, to.Sum)
	}
	return from, nil
}

// commit marks the source and then commits the target.
func (m *mover) commit(ctx context.Context) error {
	if err := m.testStep("mark"); err != nil {
		return err
	}
	if err := m.from.mark(ctx, m.mark); err != nil {
		return err
	}
	err := m.testStep("commit")
	if err == nil {
		err = m.to.commit(ctx)
	}
	if err != nil {
		return fmt.Errorf("the source is marked as moved, but whether %s is complete is not known: run the same command again, which goes on where it is empty and else says that it is there: %w", m.mark.To, err)
	}
	return nil
}

// Unmove removes the mark of a database that was moved and returns where it was moved to. Errors:
// ErrNotFound if it was not moved, and those of Open.
func Unmove(ctx context.Context, name, schema string) (to string, err error) {
	d, err := openToMove(ctx, name, schema)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	err = d.Write(ctx, func(tx *Tx) error {
		value, err := tx.Setting(movedSetting)
		if errors.Is(err, ErrNotFound) {
			return refuse(ErrNotFound, "%s was not moved; nothing is to be undone", Name(name))
		}
		if err != nil {
			return err
		}
		var m movedMark
		if err := json.Unmarshal(value, &m); err != nil {
			return fmt.Errorf("read where the database was moved to: %w", err)
		}
		to = m.To
		return tx.Write(`DELETE FROM settings WHERE name = ?`, movedSetting)
	})
	return to, err
}
