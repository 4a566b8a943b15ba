package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"modernc.org/sqlite"
)

// What keeps the store from writing for a while, and passes: others answer ErrFull.
var (
	// ErrLocked: another program holds a lock on the database.
	ErrLocked = errors.New("db: locked by another program")
	// ErrFiles: the process may open no more files.
	ErrFiles = errors.New("db: too many open files")
)

// lockTimeout is how long a statement waits for a lock of another program.
const lockTimeout = 5 * time.Second

// retries counts how often something is done again that SQLite could not do at that
// moment: another process truncates the log, or rebuilds its index, while this one
// opens it. The zero value is ready.
type retries int

// maxRetries is a second and a quarter of pauses in all.
const maxRetries = 8

// again reports whether to try once more, after a short pause.
func (p *retries) retry(err error) bool {
	if err == nil || *p == maxRetries || !isTransient(err) {
		return false
	}
	time.Sleep(5 * time.Millisecond << *p)
	*p++
	return true
}

// passes reports whether SQLite may do in a moment what it could not do now. It reads
// past an end of the database file as zeros, so that a short read is one of the log.
func isTransient(err error) bool {
	var se *sqlite.Error
	if !errors.As(err, &se) {
		return false
	}
	switch se.Code() {
	case sqliteShortRead, sqliteProtocol, sqliteBusyRecovery, sqliteBusySnapshot:
		return true
	}
	return false
}

// isLocked reports whether err says that somebody else holds a lock.
func isLocked(err error) bool { return primaryCode(err) == sqliteBusy }

// outOfFiles reports whether err comes of a process that may open no more files, which
// SQLite does not tell.
func (d *DB) outOfFiles(err error) bool {
	if tooManyFiles(err) {
		return true
	}
	var se *sqlite.Error
	if !errors.As(err, &se) || se.Code()&0xff != sqliteCantOpen && se.Code() != sqliteShmOpen {
		return false
	}
	return tooManyFiles(d.openDir())
}

func (d *DB) openDir() error {
	f, err := os.Open(filepath.Dir(d.path))
	if err != nil {
		return err
	}
	return f.Close()
}

func tooManyFiles(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
}

// explainFull is an error of opening in words for who starts the program, where it is one
// that passes.
func (d *DB) explainOpen(name string, err error) error {
	switch {
	case d.outOfFiles(err):
		return refuse(ErrFiles, "too many open files, so %s can't be opened: raise LimitNOFILE of the service, or ulimit -n", name)
	case isLocked(err):
		return d.lockedBy(name)
	}
	return err
}

func (d *DB) lockedBy(name string) error {
	return refuse(ErrLocked, "%s is locked by another program for more than %v, like an sqlite3 shell in a transaction or a backup tool; end it, or wait until it is done", name, lockTimeout)
}

// outage is what keeps the store from writing for now.
type outage struct{ err error }

// setOutage has new work be refused with err until mended returns nil, which it asks
// again and again. Vital writes are tried all the same.
func (d *DB) setOutage(err error, since time.Time, msg string, cause error, recovered func() error) {
	h := &outage{err}
	if !d.outage.CompareAndSwap(nil, h) {
		return
	}
	d.log.Error(msg+"; new work is refused until that is over", "db", d.name, "err", cause)
	d.tasks.Go(func() {
		tick := time.NewTicker(outageTick)
		defer tick.Stop()
		for {
			select {
			case <-d.closing:
				return
			case <-d.failed:
				return
			case <-tick.C:
			}
			if recovered() == nil {
				d.outage.Store(nil)
				d.log.Info("new work is taken again", "after", time.Since(since).Round(time.Millisecond), "it was", msg)
				return
			}
		}
	})
}

// outageTick is how often the store looks whether a hindrance is over.
const outageTick = 200 * time.Millisecond

// setLocked refuses new work while another program holds the lock.
func (d *DB) setLocked(cause error) {
	d.setOutage(d.lockedBy(d.path), time.Now().Add(-lockTimeout), "another program holds a lock on the database", cause, func() error {
		return d.run(context.Background(), func(s *Conn) error {
			if _, err := s.Exec("BEGIN IMMEDIATE"); err != nil {
				return err
			}
			_, err := s.Exec("ROLLBACK")
			return err
		})
	})
}

// setOutOfFiles refuses new work while this process may open no more files.
func (d *DB) setOutOfFiles(cause error, mended func() error) {
	d.setOutage(fmt.Errorf("%w: raise LimitNOFILE", ErrFiles), time.Now(), "too many open files: raise LimitNOFILE of the service", cause, mended)
}

// refusal is why new work is not taken now; nil: it is.
func (d *DB) refusal() error {
	if h := d.outage.Load(); h != nil {
		return h.err
	}
	if d.full.Load() {
		return ErrFull
	}
	return checkLease(d)
}

// unsure is why a server that another one may have replaced does nothing; nil: none can have.
func checkLease(d *DB) error {
	select {
	case <-d.failed: // that is told instead: this passes
		return nil
	default:
	}
	if !d.Cluster().Leads() || d.engine.leaseValid() { // who does not lead loses nothing by being told later
		return nil
	}
	return fmt.Errorf("%w: it does not answer, and another server may have taken over", ErrUnreachable)
}
