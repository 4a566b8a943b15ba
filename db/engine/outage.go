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

// Temporary reasons why the store does not write, beside ErrFull and ErrUnreachable.
var (
	// ErrLocked means that another program holds a lock on the database.
	ErrLocked = errors.New("db: locked by another program")
	// ErrFiles means that the process cannot open more files.
	ErrFiles = errors.New("db: too many open files")
)

// lockTimeout is how long a statement waits for the lock of another program.
const lockTimeout = 5 * time.Second

// retries counts attempts after transient errors of SQLite: another process truncates the log, or
// rebuilds its index, while this one opens it. The zero value is ready to use.
type retries int

// maxRetries bounds the pauses to 1.3 seconds in total.
const maxRetries = 8

// retry reports whether to try again, after a short pause.
func (p *retries) retry(err error) bool {
	if err == nil || *p == maxRetries || !isTransient(err) {
		return false
	}
	time.Sleep(5 * time.Millisecond << *p)
	*p++
	return true
}

// isTransient reports whether the same operation may succeed in a moment. A short read is
// transient because it is one of the log: SQLite reads zeros beyond the end of the database file.
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

// isLocked reports whether err means that another connection holds a lock.
func isLocked(err error) bool { return primaryCode(err) == sqliteBusy }

// outOfFiles reports whether err is caused by the limit of open files. SQLite does not say so, so
// the function tries to open a file.
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

// explainOpen replaces a temporary error of opening by one that tells the person who starts the
// program what to do.
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

// outage is a temporary reason why the store does not write.
type outage struct{ err error }

// setOutage refuses new work with err until recovered, which is called every outageTick, returns
// nil. Critical writes are still tried. msg and cause are logged.
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

// outageTick is how often the store checks whether an outage is over.
const outageTick = 200 * time.Millisecond

// setLocked refuses new work while another program holds the lock of the file.
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

// setOutOfFiles refuses new work while this process cannot open more files.
func (d *DB) setOutOfFiles(cause error, mended func() error) {
	d.setOutage(fmt.Errorf("%w: raise LimitNOFILE", ErrFiles), time.Now(), "too many open files: raise LimitNOFILE of the service", cause, mended)
}

// refusal returns why new work is refused; nil: it is accepted.
func (d *DB) refusal() error {
	if h := d.outage.Load(); h != nil {
		return h.err
	}
	if d.full.Load() {
		return ErrFull
	}
	return checkLease(d)
}

// checkLease returns an error while another server may have taken over from this one.
func checkLease(d *DB) error {
	select {
	case <-d.failed: // Err reports the failure
		return nil
	default:
	}
	if !d.Cluster().Leads() || d.engine.leaseValid() { // a member that does not lead learns of it with its next write
		return nil
	}
	return fmt.Errorf("%w: it does not answer, and another server may have taken over", ErrUnreachable)
}
