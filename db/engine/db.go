// Package engine is the database layer: it opens a SQLite file or a PostgreSQL database, commits
// writes in groups, runs reads in snapshots, and migrates, copies, restores and moves databases.
// The SQL of the resources is in package db.
//
// A Write that returns nil is durable: its transaction is in the write-ahead log, and the log was
// synced after that. Failure policy: the first I/O error stops the store for good, so every later
// Write fails with ErrFailed and Failed is closed. On a full disk new work is refused, WriteCritical
// uses a reserve, and the store recovers automatically. While PostgreSQL is unreachable, critical
// writes wait for it and all others are refused. A missing row is an error, ErrNotFound.
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
	"mailer/app/kit/metrics"
)

// Errors of the store.
var (
	ErrNotFound = errors.New("db: not found")
	ErrConflict = errors.New("db: already there")
	// ErrFull means that the disk is full; only critical writes succeed.
	ErrFull = errors.New("db: disk full")
	// ErrFailed means that storage failed and the store stopped for good.
	ErrFailed = errors.New("db: storage failed")
	// ErrClosed means that the store is closed or closing.
	ErrClosed = errors.New("db: closed")
	// ErrUnreachable means that the PostgreSQL database does not answer at the moment.
	ErrUnreachable = errors.New("db: can't be reached")
	// ErrInUse means that another server holds the lock of the database.
	ErrInUse = errors.New("db: in use by another server")
	// ErrOld and ErrNew mean that the database was made by another version of Mailer.
	ErrOld = errors.New("db: of an older version")
	ErrNew = errors.New("db: of a newer version of mailer")
	// ErrSchema means that the database has the version of this program but another schema.
	ErrSchema = errors.New("db: another schema")
	// ErrNotDatabase means that the file is not a database of Mailer.
	ErrNotDatabase = errors.New("db: not a database")
	// ErrMoved means that the content of the database was moved to another one.
	ErrMoved = errors.New("db: moved elsewhere")
)

// Options configure Open.
type Options struct {
	Path   string // path of a file, or URL of a PostgreSQL database
	Schema string // the text of schema.sql
	Create bool   // create a missing database
	Lock   bool   // take the lock of the server that works on the database
	// Standby makes Open wait while another server works on a PostgreSQL database, instead of
	// returning ErrInUse. Waiting is called when the wait begins.
	Standby bool
	Waiting func() error
	// JoinCluster lets this server work beside others on a PostgreSQL database, instead of
	// returning ErrInUse. Cluster.Leading is closed when it becomes the leader.
	JoinCluster bool
	// Heartbeat is the interval of heartbeats on PostgreSQL; 0: DefaultHeartbeat.
	Heartbeat time.Duration
	// DeadAfter is the silence after which another server counts as dead; 0: five heartbeats.
	DeadAfter time.Duration
	// Clock makes this process follow the clock of a PostgreSQL database (app/kit/clock).
	Clock bool
	// Lazy connects readers when they are first needed, instead of in Open.
	Lazy bool
	// Readers is the number of read connections to a SQLite file, at most 6; 0: 6. Each one costs
	// the time to parse the schema and to prepare statements.
	Readers int
	Log     *slog.Logger
	// Metrics receives the duration of each commit; nil: none.
	Metrics *metrics.Metrics
	// Gather is how long a group of batched writes waits for others to join; 0: DefaultGather,
	// negative: no wait.
	Gather time.Duration
	// Reserve is how many bytes of the disk of a SQLite file are reserved for critical writes; 0:
	// DefaultReserve.
	Reserve int64

	// BeforeCommit is called before each commit with the Tx.Extra of each closure that did not
	// fail, and may write. If it fails, the whole group is rolled back.
	BeforeCommit func(tx *Tx, extras []any) error

	moving bool          // also open a database that was moved
	locks  time.Duration // lock timeout of writes on PostgreSQL; 0: groupLockTimeout
}

// readers is the number of read connections, on a SQLite file unless Options.Readers asks for fewer: enough that two long scans and two expansions of
// broadcasts leave some free for other reads.
const readers = 6

// DB is an open database. All methods are safe for concurrent use.
type DB struct {
	engine  engine
	log     *slog.Logger
	metrics *metrics.Metrics
	path    string // of the file, symbolic links resolved; empty: PostgreSQL
	name    string // for messages
	prepared
	lock           *os.File
	reserve        int64   // Options.Reserve
	removeOnClose  string  // a file to remove with the last connection; empty: none
	pool           *sql.DB // the writer's, one connection
	ro             *sql.DB // the readers'
	readers        *readerPool
	opened         int // number of readers
	queue          chan *request
	batched        []*request // taken from queue, not in a group yet; only the writer uses it
	tasksForWriter chan *writerTask
	closing        chan struct{}
	unsynced       chan unsyncedGroup // groups that are committed but not synced
	wal            *os.File           // the write-ahead log
	sync           func() error       // syncs the log
	done           chan struct{}      // closed when the writer has ended
	commits        atomic.Uint64
	gatherFor      time.Duration // Options.Gather
	meanGroup      float64       // moving mean of group sizes; only the writer uses it
	full           atomic.Bool
	outage         atomic.Pointer[outage]
	writerOutage   atomic.Pointer[outage] // what the writer waits for
	abandoned      chan struct{}          // closed by Abandon
	abandonOnce    sync.Once
	released       chan struct{} // closed when everything is released
	failed         chan struct{} // closed by fail
	failOnce       sync.Once
	failCause      error // set before failed is closed
	closeOnce      sync.Once
	tasks          sync.WaitGroup

	generations       generations
	beforeCommit      func(tx *Tx, extras []any) error
	onExternalWrite   []func(r *Reader) error
	onExternalErasure []func()
	onClusterChange   []func()
	externalWrites    chan struct{} // Cluster.Changed
	orphaned          chan struct{} // Cluster.Orphaned
	lastExternalWrite time.Time     // when externalWrites was last sent a value by the writer
	lead              chan struct{} // closed when this process leads
	usesDatabaseClock bool          // Options.Clock
	dataVersion       int64         // PRAGMA data_version at the writer's last commit
	damages           damages
}

// Open opens or creates the database and starts its writer. The errors are written for the person
// who starts the program: ErrInUse, ErrOld, ErrNew, ErrSchema, ErrNotDatabase, ErrMoved,
// ErrNotFound (no directory, or no file and Create is not set), or a storage error.
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
		reserve:        cmp.Or(opts.Reserve, DefaultReserve),
		beforeCommit:   opts.BeforeCommit,
		engine:         engineOf(opts.Path),
	}
	if d.log == nil {
		d.log = slog.New(slog.DiscardHandler)
	}
	if err := d.open(ctx, opts); err != nil {
		close(d.closing) // ends the goroutines that open started
		d.release()
		return nil, err
	}
	return d, nil
}

// logNewer logs that the database is of a newer program.
func (d *DB) logNewer() {
	if d.newer {
		d.log.Info("a newer version of mailer migrated the database; this version can work on it", "db", d.name)
	}
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

// Read runs fn on a read-only connection, in one snapshot. It waits for a free connection until
// ctx ends. Damaged content is returned as ErrDamaged; a fault of any other part of the file stops
// the store and is returned as ErrFailed.
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
	if err := d.engine.beginRead(ctx, d, &r.Conn); err != nil {
		d.readers.put(r)
		return d.handleReadFault(fmt.Errorf("begin read: %w", err))
	}
	var endErr error
	err := func() (err error) {
		defer func() { endErr = d.endRead(r) }()
		if err = fn(r); err != nil && d.engine.lost(&r.Conn) {
			err = fmt.Errorf("%w: %w", ErrUnreachable, err)
		}
		return err
	}()
	if err == nil && endErr != nil { // may fail after damage was read
		err = fmt.Errorf("end read: %w", endErr)
	}
	return d.handleReadFault(err)
}

// endRead ends the transaction of a reader and returns the reader to the pool. On PostgreSQL it
// does not wait for that.
func (d *DB) endRead(r *Reader) error {
	end := func() error {
		defer d.readers.put(r)
		return d.engine.endRead(&r.Conn)
	}
	if r.pg == nil || r.pg.begin != "" {
		return end()
	}
	go func() { _ = end() }() // a lost connection is replaced when the reader is used again
	return nil
}

// handleReadFault stops the store if a read met a fault of the file, unless only content is
// damaged. It returns the error in the store's terms.
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

// Get is Read for a closure that returns a value. It returns the value of fn and the error of
// Read. If fn was not run, the value is zero.
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

// Made reports whether Open created the database.
func (d *DB) Made() bool { return d.made }

// Failed is closed when storage has failed for good. Err then returns the cause.
func (d *DB) Failed() <-chan struct{} { return d.failed }

// Err returns nil while writes are accepted, ErrFull while the disk is full, ErrLocked, ErrFiles
// or ErrUnreachable (wrapped) during such an outage, ErrFailed (wrapped, with its cause) after a
// storage failure, and ErrClosed after Close.
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

// Close ends the writer once it has run the queued writes, then closes the readers and releases
// the lock.
func (d *DB) Close() error {
	var err error
	d.closeOnce.Do(func() {
		close(d.closing)
		timer := time.AfterFunc(closeTimeout, func() { d.Abandon() })
		defer timer.Stop()
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

// closeTimeout is how long Close waits for a PostgreSQL database before it calls Abandon.
const closeTimeout = 5 * time.Second

// Abandon breaks all connections to a PostgreSQL database, whatever their state, so that nothing
// waits for the database any longer. Running and waiting operations fail with ErrClosed or
// ErrUnreachable. It is for a process that must end. On a file it has no effect on running
// operations.
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
	for range d.opened { // waits for running reads
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
