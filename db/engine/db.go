// Package db is the store: one SQLite file, one writer with group commit, a
// pool of read-only connections, and one file of SQL per resource.
//
// Failure policy: a Write that answers nil is on disk: its transaction stands in the
// Write-ahead log, and the log was synced after that. The
// first I/O error latches: every later Write is refused and Failed is closed,
// so that the server can stop. A full disk refuses new work, lets WriteCritical
// through on a reserve kept for it, and recovers by itself. Not found is an
// error (ErrNotFound).
package engine

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	_ "modernc.org/sqlite"

	"mailer/app/kit/clock"
	"mailer/app/kit/membudget"
	"mailer/app/kit/metrics"
)

// Errors of the store.
var (
	ErrNotFound = errors.New("db: not found")
	ErrConflict = errors.New("db: already there")
	// ErrFull: the disk is full; only vital writes go through.
	ErrFull = errors.New("db: disk full")
	// ErrFailed: storage failed and the store stopped for good.
	ErrFailed = errors.New("db: storage failed")
	// ErrClosed: the store is closed or closing.
	ErrClosed = errors.New("db: closed")
	// ErrUnreachable: a database elsewhere does not answer for now.
	ErrUnreachable = errors.New("db: can't be reached")
	// ErrInUse: another server holds the lock of this database.
	ErrInUse = errors.New("db: in use by another server")
	// ErrOld and ErrNew: the database is of another version of Mailer.
	ErrOld = errors.New("db: of an older version")
	ErrNew = errors.New("db: of a newer version of mailer")
	// ErrSchema: the database has the version of this program and another schema.
	ErrSchema = errors.New("db: another schema")
	// ErrNotDatabase: the file is something else.
	ErrNotDatabase = errors.New("db: not a database")
	// ErrMoved: what the database held works elsewhere by now.
	ErrMoved = errors.New("db: moved elsewhere")
)

// Options say how to open a database.
type Options struct {
	Path   string // of a file, or the URL of a database of PostgreSQL
	Schema string // the text of schema.sql
	Create bool   // make a missing one
	Lock   bool   // be the one server that works on it
	// Standby has Open wait as long as another server works on a database elsewhere, instead
	// of answering ErrInUse. Waiting is called once it waits.
	Standby bool
	Waiting func() error
	// Several has this server work beside others on a database elsewhere, instead of
	// ErrInUse; Leading tells when it leads.
	JoinCluster bool
	// Heartbeat is how often a server tells a database elsewhere that it works; 0: DefaultHeartbeat.
	Heartbeat time.Duration
	// Clock has this process keep to the clock of a database elsewhere (app/kit/clock).
	Clock bool
	// Lazy connects readers when they are first needed, not all at once.
	Lazy bool
	Log  *slog.Logger
	// Metrics hear of commits; nil: nobody watches.
	Metrics *metrics.Metrics
	// Gather is how long a group of patient writes waits for others to join it; 0:
	// DefaultGather, negative: not at all.
	Gather time.Duration

	// BeforeCommit is called before each commit with Tx.Extra of each closure that did not fail,
	// and may write. An error takes all of them back.
	BeforeCommit func(tx *Tx, extras []any) error

	moving bool          // also one that was moved
	locks  time.Duration // how long writes wait for a lock on a database elsewhere; 0: groupLockTimeout
}

// readers are so many that long scans and the expansions of broadcasts, two of
// Each at once, leave some to all others.
const readers = 6

// DB is an open database. All methods are safe for concurrent use.
type DB struct {
	engine         engine
	log            *slog.Logger
	metrics        *metrics.Metrics
	path           string // of the file, without links; empty: the database is elsewhere
	name           string // for people
	created        bool   // by this Open
	lock           *os.File
	removeOnClose  string  // a file that goes with the last connection; empty: none
	pool           *sql.DB // writer's, one connection
	ro             *sql.DB
	readers        *readerPool
	opened         int // readers
	queue          chan *request
	tasksForWriter chan *writerTask
	closing        chan struct{}
	unsynced       chan unsyncedGroup // groups that are not on disk yet
	wal            *os.File           // the write-ahead log
	sync           func() error       // has it on disk
	done           chan struct{}      // the writer has ended
	commits        atomic.Uint64
	gatherFor      time.Duration // of a group for others: Options.Gather
	meanGroup      float64       // moving mean of group sizes; the writer's alone
	full           atomic.Bool
	outage         atomic.Pointer[outage]
	writerOutage   atomic.Pointer[outage] // what the writer waits for
	abandoned      chan struct{}          // closed once the database is given up
	abandonOnce    sync.Once
	released       chan struct{} // closed once everything is released
	failed         chan struct{} // closed by the latch
	failOnce       sync.Once
	failCause      error // what latched; set before failed is closed
	closeOnce      sync.Once
	tasks          sync.WaitGroup

	pages             sync.Mutex // held while they are cleaned or moved
	generations       generations
	beforeCommit      func(tx *Tx, extras []any) error
	onExternalWrite   []func(r *Reader) error
	onExternalErasure []func()
	onClusterChange   []func()
	externalWrites    chan struct{} // others wrote to a database elsewhere
	orphaned          chan struct{} // a server on it is gone, and its mail is to be freed
	lastExternalWrite time.Time     // when the writer had heard tell last
	lead              chan struct{} // closed once this process leads
	usesDatabaseClock bool          // Options.Clock
	dataVersion       int64         // the writer's: another one tells that others wrote
	damages           damages
}

// Open opens or makes the database and starts its writer. Errors, in words for who
// starts the program: ErrInUse, ErrOld, ErrNew, ErrSchema, ErrNotDatabase, ErrMoved,
// ErrNotFound (no folder, or no file and not Create), or a storage error.
func Open(ctx context.Context, opts Options) (*DB, error) {
	d := &DB{
		log:            opts.Log,
		metrics:        opts.Metrics,
		readers:        newReaderPool(readers),
		queue:          make(chan *request, 4*maxGroup),
		tasksForWriter: make(chan *writerTask),
		unsynced:       make(chan unsyncedGroup, maxUnsynced),
		closing:        make(chan struct{}),
		done:           make(chan struct{}),
		abandoned:      make(chan struct{}),
		released:       make(chan struct{}),
		failed:         make(chan struct{}),
		externalWrites: make(chan struct{}, 1),
		orphaned:       make(chan struct{}, 1),
		lead:           make(chan struct{}),
		gatherFor:      cmp.Or(opts.Gather, DefaultGather),
		beforeCommit:   opts.BeforeCommit,
		engine:         engineOf(opts.Path),
	}
	if d.log == nil {
		d.log = slog.New(slog.DiscardHandler)
	}
	if err := d.open(ctx, opts); err != nil {
		close(d.closing) // what it began ends by that
		d.release()
		return nil, err
	}
	return d, nil
}

func (d *DB) open(ctx context.Context, opts Options) error {
	writer, err := d.engine.open(ctx, d, opts)
	if err != nil {
		return err
	}
	go d.syncLoop()
	go d.writeLoop(writer)
	return nil
}

// Read runs fn on a read-only connection, in one snapshot. It waits for a free
// connection until ctx ends. What fn reads counts in the room of ctx, whose refusal
// comes back. Damaged content comes back as ErrDamaged; a fault of any other part of
// the file latches, and comes back as ErrFailed.
func (d *DB) Read(ctx context.Context, fn func(*Reader) error) error {
	if err := checkLease(d); err != nil {
		return err
	}
	select {
	case <-d.readers.free:
	case <-ctx.Done():
		return ctx.Err()
	case <-d.closing:
		return ErrClosed
	}
	r := d.readers.take()
	r.Budget = membudget.FromContext(ctx)
	defer func() {
		r.Budget = nil
		d.readers.put(r)
	}()
	if err := d.engine.beginRead(ctx, d, &r.Conn); err != nil {
		return d.handleReadFault(fmt.Errorf("begin read: %w", err))
	}
	err := fn(r)
	if err != nil && d.engine.lost(&r.Conn) {
		err = fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	if cerr := d.engine.endRead(&r.Conn); cerr != nil && err == nil { // a COMMIT refuses where something was damaged
		err = fmt.Errorf("end read: %w", cerr)
	}
	return d.handleReadFault(err)
}

// handleReadFault has a fault of the file that a read met end the store, but for one of what
// stands in it.
func (d *DB) handleReadFault(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ErrDamaged):
		d.logDamage(err)
	case isLocked(err):
		return d.lockedBy(d.path)
	case lockedOnPostgres(err):
		return lockedError(d.name, err)
	case d.outOfFiles(err):
		return fmt.Errorf("%w: %w", ErrFiles, err)
	case isDamage(err):
		d.fail(err)
		return d.Err()
	}
	return err
}

// Get is Read for a closure that returns what it read: Get(ctx, d, fn) returns
// fn's value and Read's error. Where fn was not run, the value is zero.
func Get[T any](ctx context.Context, d *DB, fn func(*Reader) (T, error)) (v T, err error) {
	err = d.Read(ctx, func(r *Reader) (err error) {
		v, err = fn(r)
		return err
	})
	return v, err
}

// GetPage is Get for a page of a list: its rows, and whether there are more.
func GetPage[T any](ctx context.Context, d *DB, fn func(*Reader) (rows []T, more bool, err error)) (rows []T, more bool, err error) {
	err = d.Read(ctx, func(r *Reader) (err error) {
		rows, more, err = fn(r)
		return err
	})
	return rows, more, err
}

// Made reports whether Open made the database, since there was none.
func (d *DB) Made() bool { return d.created }

// Failed is closed when storage has failed for good; Err then says why.
func (d *DB) Failed() <-chan struct{} { return d.failed }

// Err is nil while writes are taken, ErrFull while the disk is full, ErrLocked or
// ErrFiles (wrapped) while that hinders them, ErrFailed (wrapped, with its cause) after the latch, ErrClosed after Close.
func (d *DB) Err() error {
	select {
	case <-d.failed:
		if errors.Is(d.failCause, errFenced) {
			return replaced{d.failCause}
		}
		return fmt.Errorf("%w: %w", ErrFailed, d.failCause)
	case <-d.closing:
		return ErrClosed
	default:
	}
	return d.refusal()
}

// Close ends the readers, then the writer once it has done what was queued,
// then returns the lock back.
func (d *DB) Close() error {
	var err error
	d.closeOnce.Do(func() {
		close(d.closing)
		late := time.AfterFunc(closeTimeout, func() { d.Abandon() })
		defer late.Stop()
		<-d.done
		d.tasks.Wait()
		err = d.release()
		if d.usesDatabaseClock {
			clock.Unfollow()
		}
		close(d.released)
	})
	return err
}

// closeTimeout is how long Close waits for a database elsewhere.
const closeTimeout = 5 * time.Second

// Abandon has nobody wait any longer for a database elsewhere, whatever it does: what is under
// way there and what waits for it fails, with ErrClosed or ErrUnreachable. It is for the end of
// a process that must end; a database in a file is not concerned.
func (d *DB) Abandon() {
	d.abandonOnce.Do(func() {
		close(d.abandoned)
		go func() {
			tick := time.NewTicker(reconnectInterval)
			defer tick.Stop()
			for {
				d.engine.closeConns()
				select {
				case <-d.released:
					return
				case <-tick.C:
				}
			}
		}()
	})
}

func (d *DB) release() error {
	var errs []error
	errs = append(errs, d.engine.close(d))
	for range d.opened { // also those that a Read still has
		<-d.readers.free
		errs = append(errs, d.readers.take().close())
	}
	if d.ro != nil {
		errs = append(errs, d.ro.Close())
	}
	if d.pool != nil {
		errs = append(errs, d.pool.Close())
	}
	if d.wal != nil {
		errs = append(errs, d.wal.Close())
	}
	if d.removeOnClose != "" {
		errs = append(errs, os.Remove(d.removeOnClose))
	}
	if d.lock != nil {
		errs = append(errs, os.Remove(d.reservePath()), d.lock.Close())
	}
	err := errors.Join(errs...)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}
