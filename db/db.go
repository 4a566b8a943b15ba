// Package db stores the resources of Mailer in SQLite or PostgreSQL, on the engine of
// package mailer/db/engine. One file holds the SQL of one resource.
//
// Reader has the queries, Tx the queries and the writes. Every method with a team id has
// it in its WHERE clause. A missing row is ErrNotFound. All other errors come from the
// engine and are not expected.
package db

import (
	"context"
	"time"

	"mailer/app/kit/cache"
	"mailer/app/kit/pubsub"
	"mailer/db/engine"
)

// Options configure a database.
type Options = engine.Options

// Errors of the store and of the engine.
var (
	ErrNotFound    = engine.ErrNotFound
	ErrConflict    = engine.ErrConflict
	ErrClosed      = engine.ErrClosed
	ErrDamaged     = engine.ErrDamaged
	ErrFailed      = engine.ErrFailed
	ErrFiles       = engine.ErrFiles
	ErrFull        = engine.ErrFull
	ErrInUse       = engine.ErrInUse
	ErrLocked      = engine.ErrLocked
	ErrNew         = engine.ErrNew
	ErrOld         = engine.ErrOld
	ErrNotDatabase = engine.ErrNotDatabase
	ErrSchema      = engine.ErrSchema
	ErrUnreachable = engine.ErrUnreachable
	ErrMoved       = engine.ErrMoved
)

// DB is an open database. All methods are safe for concurrent use.
type DB struct {
	*engine.DB
	live      *pubsub.Bus
	languages *cache.Cache[string, bool] // of hasLanguages
}

// Open opens or creates the database and starts its writer. Errors: those of engine.Open.
func Open(ctx context.Context, opts Options) (*DB, error) {
	opts.BeforeCommit = storeAll
	d, err := engine.Open(ctx, opts)
	if err != nil {
		return nil, err
	}
	return newDB(d), nil
}

func newDB(d *engine.DB) *DB {
	return &DB{DB: d, live: pubsub.New(), languages: cache.New[string, bool](maxLanguages, languagesTTL)}
}

// Limits of the cache of hasLanguages.
const (
	maxLanguages = 1000 // broadcasts
	languagesTTL = time.Hour
)

// OpenReadOnly is engine.OpenReadOnly.
func OpenReadOnly(ctx context.Context, path, schema string) (*DB, error) {
	d, err := engine.OpenReadOnly(ctx, path, schema)
	if err != nil {
		return nil, err
	}
	return newDB(d), nil
}

// storeAll writes the increments of all transactions of a commit.
func storeAll(tx *engine.Tx, extras []any) error {
	group := make([]*increments, len(extras))
	for i, extra := range extras {
		group[i] = extra.(*increments)
	}
	return newTx(tx, nil).storeIncrements(group)
}

// Reader is a snapshot of the database; its methods are the queries of every resource.
type Reader struct{ *engine.Reader }

// Tx is a write transaction. It is valid only inside its closure.
type Tx struct {
	Reader
	Now        time.Time // of the transaction; SQL never asks for the time
	tx         *engine.Tx
	db         *DB // nil: nobody listens to changes
	increments *increments
}

// newTx wraps a transaction of the engine.
func newTx(tx *engine.Tx, d *DB) *Tx {
	added, ok := tx.Extra.(*increments)
	if !ok {
		added = &increments{}
		tx.Extra = added
	}
	return &Tx{Reader: Reader{&tx.Reader}, Now: tx.Now, tx: tx, db: d, increments: added}
}

// reading adapts fn to the engine.
func reading(fn func(*Reader) error) func(*engine.Reader) error {
	return func(r *engine.Reader) error { return fn(&Reader{r}) }
}

// writing adapts fn to the engine.
func (d *DB) writing(fn func(*Tx) error) func(*engine.Tx) error {
	return func(tx *engine.Tx) error { return fn(newTx(tx, d)) }
}

// Read is engine.DB.Read.
func (d *DB) Read(ctx context.Context, fn func(*Reader) error) error {
	return d.DB.Read(ctx, reading(fn))
}

// Write is engine.DB.Write.
func (d *DB) Write(ctx context.Context, fn func(*Tx) error) error {
	return d.DB.Write(ctx, d.writing(fn))
}

// WriteBatched is engine.DB.WriteBatched.
func (d *DB) WriteBatched(ctx context.Context, fn func(*Tx) error) error {
	return d.DB.WriteBatched(ctx, d.writing(fn))
}

// WriteCritical is engine.DB.WriteCritical.
func (d *DB) WriteCritical(ctx context.Context, fn func(*Tx) error) error {
	return d.DB.WriteCritical(ctx, d.writing(fn))
}

// WriteCriticalAsync is engine.DB.WriteCriticalAsync.
func (d *DB) WriteCriticalAsync(ctx context.Context, fn func(*Tx) error) (wait func() error) {
	return d.DB.WriteCriticalAsync(ctx, d.writing(fn))
}

// OnExternalWrite is engine.DB.OnExternalWrite.
func (d *DB) OnExternalWrite(fn func(r *Reader) error) { d.DB.OnExternalWrite(reading(fn)) }

// Get runs fn in Read and returns its result. The result is zero if fn did not run.
func Get[T any](ctx context.Context, d *DB, fn func(*Reader) (T, error)) (v T, err error) {
	return engine.Get(ctx, d.DB, func(r *engine.Reader) (T, error) { return fn(&Reader{r}) })
}

// GetPage is Get for a page of a list: rows, and whether there are more.
func GetPage[T any](ctx context.Context, d *DB, fn func(*Reader) (rows []T, more bool, err error)) (rows []T, more bool, err error) {
	return engine.GetPage(ctx, d.DB, func(r *engine.Reader) ([]T, bool, error) { return fn(&Reader{r}) })
}

// Prefetch is engine.Prefetch.
func Prefetch(ctx context.Context, fns ...func(r *Reader)) context.Context {
	wrapped := make([]func(*engine.Reader), len(fns))
	for i, fn := range fns {
		wrapped[i] = func(r *engine.Reader) { fn(&Reader{r}) }
	}
	return engine.Prefetch(ctx, wrapped...)
}

// Prefetch is engine.Reader.Prefetch.
func (r *Reader) Prefetch(fn func(r *Reader)) error {
	return r.Reader.Prefetch(func(r *engine.Reader) { fn(&Reader{r}) })
}

// AfterCommit is engine.Tx.AfterCommit.
func (tx *Tx) AfterCommit(fn func()) { tx.tx.AfterCommit(fn) }

// Changed is engine.Tx.Changed.
func (tx *Tx) Changed(what ...engine.Cached) { tx.tx.Changed(what...) }

// ChangedCounts is engine.Tx.ChangedCounts.
func (tx *Tx) ChangedCounts(id string) { tx.tx.ChangedCounts(id) }

// Owner is engine.Tx.Owner.
func (tx *Tx) Owner() any { return tx.tx.Owner() }

// DeadNodes is engine.Tx.DeadNodes.
func (tx *Tx) DeadNodes() (engine.DeadNodes, error) { return tx.tx.DeadNodes() }

// MarkFreed is engine.Tx.MarkFreed.
func (tx *Tx) MarkFreed(g engine.DeadNodes) error { return tx.tx.MarkFreed(g) }

// SuppressionVersion is engine.Tx.SuppressionVersion.
func (tx *Tx) SuppressionVersion() uint64 { return tx.tx.SuppressionVersion() }

// SetSetting is engine.Tx.SetSetting.
func (tx *Tx) SetSetting(name string, value []byte) error { return tx.tx.SetSetting(name, value) }

// NoteOrigin is engine.Tx.NoteOrigin.
func (tx *Tx) NoteOrigin() error { return tx.tx.RecordOrigin() }

// ForgetCopied is engine.Tx.ForgetCopied.
func (tx *Tx) ForgetCopied() error { return tx.tx.ForgetCopied() }
