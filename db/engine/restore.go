package engine

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"mailer/app/kit/clock"
	"mailer/app/kit/platform"
)

// restoringSuffix ends the name of a copy while it is prepared to replace the database.
const restoringSuffix = ".restoring"

// Restore replaces a database, whose lock it holds, by a copy. The copy is prepared under another
// name. Until Commit the database is unchanged, and a crash leaves either the database or the
// copy under its name.
type Restore struct {
	name string // of the database, as the user gave it
	path string // symbolic links resolved
	file string // the copy that is restored
	lock *os.File
}

// BeginRestore checks that file is an undamaged database of this version, and copies it beside
// the database at path, which need not exist. Errors: ErrInUse, ErrOld, ErrNew, ErrSchema,
// ErrNotDatabase, ErrNotFound, ErrDamaged, ErrFull.
func BeginRestore(ctx context.Context, path, file, schema string) (*Restore, error) {
	real, isNew, err := resolveFile(path, true)
	if err != nil {
		return nil, err
	}
	r := &Restore{name: path, path: real, file: file}
	if err := r.checkFile(isNew); err != nil {
		return nil, err
	}
	if r.lock, err = lockDatabase(path, real); err != nil {
		return nil, err
	}
	if err := r.stage(ctx, schema); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// Staged returns the path of the prepared copy.
func (r *Restore) Staged() string { return r.path + restoringSuffix }

// Path returns the path of the database with symbolic links resolved.
func (r *Restore) Path() string { return r.path }

// Close removes a copy that was not committed, and releases the lock.
func (r *Restore) Close() error {
	return errors.Join(r.clear(), r.lock.Close())
}

func (r *Restore) clear() error {
	var errs []error
	for _, side := range []string{"-wal", "-shm", "-journal", ""} {
		if err := os.Remove(r.Staged() + side); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, fmt.Errorf("remove what an earlier restore left: %w", err))
		}
	}
	return errors.Join(errs...)
}

// checkFile refuses a file that cannot be restored from.
func (r *Restore) checkFile(isNew bool) error {
	info, err := os.Stat(r.file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return refuse(ErrNotFound, "there is no file %s", r.file)
	case err != nil:
		return fmt.Errorf("restore %s: %w", r.file, err)
	case !info.Mode().IsRegular():
		return refuse(ErrNotDatabase, "%s is not a file that can be restored; name a backup", r.file)
	}
	if there, err := os.Stat(r.path); err == nil && os.SameFile(info, there) {
		return refuse(ErrConflict, "%s is the database itself; name a backup of it", r.file)
	}
	ok, err := hasSQLiteHeader(r.file)
	if err != nil {
		return fmt.Errorf("restore %s: %w", r.file, err)
	}
	if !ok {
		return refuse(ErrNotDatabase, "%s is not a database, so nothing was restored; one that was encrypted or packed must be opened first", r.file)
	}
	return nil
}

func (r *Restore) stage(ctx context.Context, schema string) error {
	if err := r.clear(); err != nil {
		return err
	}
	for _, side := range []string{"", "-wal"} { // the file may be a plain copy with its log
		err := r.stageFile(side)
		if errors.Is(err, fs.ErrNotExist) && side != "" {
			continue
		}
		if platform.IsFull(err) {
			return refuse(ErrFull, "the disk of %s has no room for %s beside what is there, and nothing was changed; make room, or name a database on another disk", r.name, r.file)
		}
		if err != nil {
			return fmt.Errorf("copy %s to %s: %w", r.file, r.Staged(), err)
		}
	}
	return r.checkStaged(ctx, schema)
}

func (r *Restore) stageFile(side string) error {
	from, err := os.Open(r.file + side)
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := os.OpenFile(r.Staged()+side, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, from)
	return errors.Join(err, to.Close())
}

// checkStaged refuses a copy that is damaged or that this program cannot open.
func (r *Restore) checkStaged(ctx context.Context, schema string) error {
	pool, err := sql.Open("sqlite", dsn(r.Staged(), "mode=rw&_busy_timeout=5000&_synchronous=FULL&_dqs=0&_pragma=trusted_schema(0)&_pragma=cache_size(-8000)"))
	if err != nil {
		return fmt.Errorf("open %s: %w", r.file, err)
	}
	defer pool.Close()
	pool.SetMaxOpenConns(1)
	conn, err := pool.Conn(ctx)
	if err != nil {
		return r.damageError(err)
	}
	s := newSession(conn, sqliteEngine{})
	defer s.close()
	have, err := readFileVersion(ctx, conn)
	if err == nil && have.version < baseVersion {
		return refuse(ErrNotDatabase, "%s is another program's database, so nothing was restored", r.file)
	}
	if err == nil {
		_, err = checkFileVersion(ctx, conn, Options{Path: r.file, Schema: schema}, have)
	}
	if err == nil {
		err = checkIntegrity(ctx, &s)
	}
	return r.damageError(err)
}

// damageError adds to an error of damage that nothing was changed.
func (r *Restore) damageError(err error) error {
	if err != nil && (isDamage(err) || errors.Is(err, ErrDamaged)) {
		return fmt.Errorf("%w: %s is damaged, so nothing was restored; take another backup, or see what mailer check --db %s names: %w", ErrDamaged, r.file, r.file, err)
	}
	return err
}

// Commit replaces the database by the copy and returns the path to which the database was moved;
// empty: there was none.
func (r *Restore) Commit(ctx context.Context) (setAside string, err error) {
	if size := logLength(r.Staged()); size > 0 {
		return "", fmt.Errorf("restore %s: %d bytes are left in the log of the copy", r.file, size)
	}
	if err := r.copyOwner(); err != nil {
		return "", fmt.Errorf("have %s belong to who owns the database: %w", r.Staged(), err)
	}
	if _, err := syncFile(r.Staged()); err != nil {
		return "", err
	}
	r.emptyLog(ctx)
	aside := r.path + ".before-restore-" + clock.Now().UTC().Format("20060102T150405Z")
	there, err := r.setAside(aside)
	if err == nil {
		err = os.Rename(r.Staged(), r.path)
	}
	if err == nil {
		err = removeIfThere(r.path + "-shm")
	}
	if err = errors.Join(err, platform.SyncDir(filepath.Dir(r.path))); err != nil {
		return "", fmt.Errorf("put the copy in the place of %s: %w", r.name, err)
	}
	if !there {
		return "", nil
	}
	return aside, nil
}

// copyOwner sets the owner and mode of the copy to those of the database or, if there is none, the
// owner to that of its directory, because a restore is often run as root and the server is not.
func (r *Restore) copyOwner() error {
	mode := fs.FileMode(0o600)
	info, err := os.Stat(r.path)
	if err == nil {
		mode = info.Mode().Perm()
	} else if info, err = os.Stat(filepath.Dir(r.path)); err != nil {
		return err
	}
	return errors.Join(chownLike(r.Staged(), info), os.Chmod(r.Staged(), mode))
}

// chownLike sets the owner of a file to that of another one, if this process is root.
func chownLike(path string, other fs.FileInfo) error {
	uid, gid, ok := platform.Owner(other)
	if !ok || os.Geteuid() != 0 {
		return nil
	}
	return os.Chown(path, uid, gid)
}

// emptyLog moves the log of the database into its file, so that a single file is set aside. A
// damaged database keeps its log.
func (r *Restore) emptyLog(ctx context.Context) {
	if logLength(r.path) == 0 {
		return
	}
	pool, err := sql.Open("sqlite", dsn(r.path, "mode=rw&_busy_timeout=1000&_synchronous=FULL"))
	if err != nil {
		return
	}
	defer pool.Close()
	pool.SetMaxOpenConns(1)
	_, _ = pool.ExecContext(ctx, `PRAGMA wal_checkpoint(TRUNCATE)`)
}

// setAside renames the existing database and reports whether there was one. Without a log the
// database keeps both names, by a hard link, until the copy replaces the first one. With a log it
// must be renamed first, because the log would be taken for that of the copy. Between the two
// renames there is no database, and resolvePath refuses to create one.
func (r *Restore) setAside(aside string) (there bool, err error) {
	if _, err := os.Stat(r.path); errors.Is(err, fs.ErrNotExist) {
		return false, renameIfThere(r.path+"-wal", aside+"-wal")
	} else if err != nil {
		return false, err
	}
	if logLength(r.path) == 0 {
		err := os.Link(r.path, aside)
		if err == nil {
			return true, errors.Join(removeIfThere(r.path+"-wal"), platform.SyncDir(filepath.Dir(r.path)))
		}
		if !errors.Is(err, syscall.EPERM) && !errors.Is(err, errors.ErrUnsupported) {
			return true, err
		}
	}
	if err := os.Rename(r.path, aside); err != nil {
		return true, err
	}
	return true, errors.Join(renameIfThere(r.path+"-wal", aside+"-wal"), platform.SyncDir(filepath.Dir(r.path)))
}

func renameIfThere(from, to string) error {
	if err := os.Rename(from, to); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func removeIfThere(path string) error {
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
