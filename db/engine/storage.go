package engine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"modernc.org/sqlite"
)

// Primary result codes of SQLite.
const (
	sqliteError    = 1
	sqliteBusy     = 5
	sqliteNoMem    = 7
	sqliteReadOnly = 8
	sqliteIOErr    = 10
	sqliteCorrupt  = 11
	sqliteFull     = 13
	sqliteCantOpen = 14
	sqliteProtocol = 15
	sqliteNotADB   = 26

	// Extended codes.
	sqliteBusyRecovery = sqliteBusy | 1<<8
	sqliteBusySnapshot = sqliteBusy | 2<<8
	sqliteReadErr      = sqliteIOErr | 1<<8
	sqliteShortRead    = sqliteIOErr | 2<<8
	sqliteShmSize      = sqliteIOErr | 19<<8
	sqliteShmOpen      = sqliteIOErr | 18<<8
	sqliteBadData      = sqliteIOErr | 32<<8
	sqliteCorruptFS    = sqliteIOErr | 33<<8
)

// sqliteForeignKey is an extended result code.
const sqliteForeignKey = 787

// SQLSTATEs.
const (
	postgresForeignKey = "23503"
	postgresDivision   = "22012"
)

func primaryCode(err error) int {
	var se *sqlite.Error
	if !errors.As(err, &se) {
		return 0
	}
	return se.Code() & 0xff
}

// isFull reports whether err means a full disk, including the one case that SQLite reports as an
// I/O error: the -shm file could not grow.
func isFull(err error) bool {
	var se *sqlite.Error
	return errors.As(err, &se) && (se.Code()&0xff == sqliteFull || se.Code() == sqliteShmSize)
}

// isStorage reports whether err is a fault of the disk or the file, not of a statement.
func isStorage(err error) bool {
	switch primaryCode(err) {
	case sqliteNoMem, sqliteReadOnly, sqliteIOErr, sqliteCorrupt, sqliteFull, sqliteCantOpen, sqliteNotADB:
		return true
	}
	return false
}

// isDamage reports whether err is a fault of the disk or the file that a read can meet.
func isDamage(err error) bool {
	switch primaryCode(err) {
	case sqliteIOErr, sqliteCorrupt, sqliteNotADB:
		return !isFull(err)
	}
	return false
}

// IsUnreadable reports whether err means that content of the file is corrupt or cannot be read
// from disk.
func IsUnreadable(err error) bool {
	var se *sqlite.Error
	if !errors.As(err, &se) {
		return false
	}
	switch se.Code() {
	case sqliteReadErr, sqliteShortRead, sqliteBadData, sqliteCorruptFS:
		return true
	}
	return se.Code()&0xff == sqliteCorrupt
}

// mapForeignKey returns ErrNotFound for a row whose parent is missing.
func mapForeignKey(err error) error {
	var se *sqlite.Error
	var pg *pgconn.PgError
	if errors.As(err, &se) && se.Code() == sqliteForeignKey || errors.As(err, &pg) && pg.Code == postgresForeignKey {
		return fmt.Errorf("%w: %w", ErrNotFound, err)
	}
	return err
}

// fail stops the store for good: nothing is written any more, and Failed is closed.
func (d *DB) fail(err error) {
	d.failOnce.Do(func() {
		d.failCause = err
		close(d.failed)
		if errors.Is(err, errFenced) {
			d.log.Error("stopped", "db", d.name, "err", err)
			return
		}
		d.log.Error("storage failed; nothing more is accepted or sent", "db", d.name, "err", err, "help", "look at the disk (dmesg); with the server stopped, mailer check names what is damaged")
	})
}

// Reason returns why a process that uses d ends after err: the failure of the store, if storage
// failed or another server marked this one dead, otherwise err. nil stays nil.
func (d *DB) Reason(err error) error {
	if err == nil {
		return nil
	}
	select {
	case <-d.failed:
		return d.Err()
	default:
		return err
	}
}

// DefaultReserve is the disk space for critical writes: the bytes of a file that is removed when
// the disk is full and created again when there is space.
const DefaultReserve = 4 << 20

const recoverEvery = time.Second

// zeros is what makeReserve writes, again and again.
var zeros [64 << 10]byte

func (d *DB) reservePath() string { return d.path + ".reserve" }

// makeReserve writes real bytes, because a sparse file would reserve nothing.
func (d *DB) makeReserve() error {
	f, err := os.OpenFile(d.reservePath(), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("make reserve: %w", err)
	}
	for left := d.reserve; left > 0 && err == nil; left -= int64(len(zeros)) {
		_, err = f.Write(zeros[:min(left, int64(len(zeros)))])
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(fmt.Errorf("make reserve: %w", err), os.Remove(d.reservePath()))
	}
	return nil
}

// recoverReserve is makeReserve on a disk that was full. It requires twice the space, so that the
// next write does not fill the disk again.
func (d *DB) recoverReserve() error {
	free, err := DiskFree(filepath.Dir(d.path))
	if err != nil {
		return err
	}
	if free < 2*d.reserve {
		return fmt.Errorf("only %d bytes are free", free)
	}
	return d.makeReserve()
}

// setFull removes the reserve, for critical writes, and checks every second whether the disk has
// space again.
func (d *DB) setFull(err error) {
	if d.full.Swap(true) {
		return
	}
	if rerr := os.Remove(d.reservePath()); rerr != nil && !errors.Is(rerr, os.ErrNotExist) {
		d.log.Error("reserve not freed", "err", rerr)
	}
	d.log.Error("disk full; new work is refused until there is room", "db", d.path, "err", err, "help", "free space on its disk (df); the server then continues automatically")
	d.tasks.Go(func() {
		tick := time.NewTicker(recoverEvery)
		defer tick.Stop()
		for {
			select {
			case <-d.closing:
				return
			case <-d.failed:
				return
			case <-tick.C:
			}
			if d.recoverReserve() == nil {
				d.full.Store(false)
				d.log.Info("disk has room again; new work is taken")
				return
			}
		}
	})
}
