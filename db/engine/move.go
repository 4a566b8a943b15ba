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

// A database moves between a file and PostgreSQL as a whole: all tables of one snapshot, while
// nothing else works on it or writes to it. The target is there for others only once each of
// its tables was read again and is what the source holds. Before that the source is marked, so
// that no moment lets both be started: what waits in both would leave twice.

// Moving says what is moved where.
type Moving struct {
	From, To string // names as of Options.Path, one of them of a file
	Schema   string // the text of schema.sql
	// Progress hears how many rows were read, of how many; nil: nobody does.
	Progress func(done, all int64)

	before func(step string) error // a test's
}

// Moved is what was moved.
type Moved struct {
	From   string       `json:"from"`
	To     string       `json:"to"`
	At     time.Time    `json:"at"`
	Rows   int64        `json:"rows"`
	Tables []MovedTable `json:"tables"`
}

// MovedTable is a table that both databases hold alike.
type MovedTable struct {
	Table string `json:"table"`
	Rows  int64  `json:"rows"`
	// Sum is made of the SHA-256 of each row, in hexadecimal.
	Sum string `json:"sum"`
}

// movedSetting is the name under which a database says that it was moved. It stays behind.
const movedSetting = "moved"

// movedMark is what a database that was moved knows of that.
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

// refuseMoved refuses a database that was moved. Error: ErrMoved, in words.
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

// moveTarget is the database that is made.
type moveTarget interface {
	// name is where it stands, for people.
	name() string
	// begin makes the tables, without what is checked and found by. Errors, in words:
	// ErrConflict, where something is there, and those of Open.
	begin(ctx context.Context) error
	// fill puts rows into a table.
	fill(ctx context.Context, t *movedTable, rows *tableRows) error
	// finish makes the indexes and checks the foreign keys.
	finish(ctx context.Context) error
	// side is where it is read again.
	side() *moveSide
	// commit has others see it.
	commit(ctx context.Context) error
	// close removes what was not committed.
	close() error
}

// Move copies all that a database holds to an empty one of the other engine, which it makes,
// and has the first one refuse to be opened. Errors, in words: ErrInUse, ErrConflict where
// the target is not empty, ErrMoved, and those of Open. With an error nothing is in the
// target; whether the source is marked, its next start says.
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

// openToMove opens a database that is there, and holds it as a server does.
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
	return Open(ctx, Options{Path: name, Schema: schema, Lock: true, Lazy: true, moving: true})
}

// mover moves one database.
type mover struct {
	in     Moving
	tables []*movedTable
	from   *moveSide
	to     moveTarget
	mark   movedMark
	read   atomic.Int64
	all    int64
}

// snapshot begins the transaction in which the source is read and marked. Until it ends
// nobody else writes to the source.
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

// begin refuses what can't be moved, and counts the rest. A source that was marked may be
// moved to where its mark says as long as nothing came there.
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
		m.all += 3 * n // to copy, and to compare here and there
	}
	return nil
}

// reach tells a test how far this is.
func (m *mover) testStep(step string) error {
	if m.in.before == nil {
		return nil
	}
	return m.in.before(step)
}

// tell counts a row that was read.
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

// compare reads a table on both sides. Error: also where they differ.
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

// commit marks the source, and then has the target be there.
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

// Unmove has a database work again that was moved, and returns where it was moved to.
// Errors, in words: ErrNotFound where it was not moved, and those of Open.
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
