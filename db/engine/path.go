package engine

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"mailer/app/kit/platform"
)

// refusal is an error that tells the person who starts the program why a database is not opened
// and what to do. kind is the error for errors.Is.
type refusal struct {
	kind error
	text string
}

func (r *refusal) Error() string { return r.text }

func (r *refusal) Unwrap() error { return r.kind }

func refuse(kind error, format string, args ...any) error {
	return &refusal{kind, fmt.Sprintf(format, args...)}
}

// fileMagic is the beginning of every SQLite file.
var fileMagic = []byte("SQLite format 3\x00")

// resolvePath returns the path of a database file with symbolic links resolved, so that two names
// of one file share one lock and one log. isNew: there is no file, or an empty one. Nothing is
// created or changed. Errors: ErrNotFound, ErrNotDatabase.
func resolvePath(path string, create bool) (real string, isNew bool, err error) {
	real, isNew, err = resolveFile(path, create)
	if err != nil || !isNew {
		return real, isNew, err
	}
	if _, err := os.Lstat(real + restoringSuffix); err == nil {
		return "", false, refuse(ErrNotFound, "a restore of %s was cut short, and no database is in its place; run mailer restore again, or remove %s to begin with an empty one", path, real+restoringSuffix)
	}
	return real, true, nil
}

// resolveFile is resolvePath without the check for an interrupted restore.
func resolveFile(path string, create bool) (real string, isNew bool, err error) {
	if err := cmp.Or(OnlyFiles(path), refuseURL(path)); err != nil {
		return "", false, err
	}
	real, err = filepath.EvalSymlinks(path)
	if errors.Is(err, os.ErrNotExist) {
		real, err = creatablePath(path, create)
		return real, true, err
	}
	if err != nil {
		return "", false, fmt.Errorf("open database: %w", err)
	}
	info, err := os.Stat(real)
	switch {
	case err != nil:
		return "", false, fmt.Errorf("open database: %w", err)
	case info.IsDir():
		return "", false, refuse(ErrNotDatabase, "%s is a folder; name a file in it: --db %s", path, filepath.Join(path, "mailer.db"))
	case info.Size() == 0:
		return real, true, nil
	}
	ok, err := hasSQLiteHeader(real)
	if err != nil {
		return "", false, fmt.Errorf("open database: %w", err)
	}
	if !ok {
		return "", false, refuse(ErrNotDatabase, "%s is not a database, and was left as it is; name another file with --db", path)
	}
	return real, false, nil
}

// refuseLinked refuses a file with several hard links. The lock and the log are named after the
// file, so two programs that open it by different names would overwrite each other's data. Error:
// ErrNotDatabase.
func refuseLinked(name, path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return ignoreMissing(err)
	}
	if links := platform.Links(info); links > 1 {
		return refuse(ErrNotDatabase, "%s has %d names (hard links), and the log of a database goes by its name: another program would not see what is written under this one; find them with find FOLDER -samefile %s, and remove all but one", name, links, path)
	}
	return nil
}

func ignoreMissing(err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return fmt.Errorf("open database: %w", err)
}

// creatablePath returns the path at which a missing database is created.
func creatablePath(path string, create bool) (string, error) {
	if target, err := os.Readlink(path); err == nil {
		return "", refuse(ErrNotFound, "%s is a link to %s, which is not there; is a disk not mounted?", path, target)
	}
	dir := filepath.Dir(path)
	real, err := filepath.EvalSymlinks(dir)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return "", refuse(ErrNotFound, "the folder of %s is not there; make it with mkdir -p %s, or name another file with --db", path, dir)
	case err != nil:
		return "", fmt.Errorf("open database: %w", err)
	case !create:
		return "", refuse(ErrNotFound, "there is no database %s; name it with --db, or make one with mailer migrate --db %s", path, path)
	}
	return filepath.Join(real, filepath.Base(path)), nil
}

func hasSQLiteHeader(path string) (bool, error) {
	f, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	head := make([]byte, len(fileMagic))
	if _, err := io.ReadFull(f, head); err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return false, err
	}
	return bytes.Equal(head, fileMagic), nil
}

// KeyPath returns the default path of the master key of a database: beside the given path or, if
// there is no key but the path is a symbolic link, beside its target.
func KeyPath(path string) string {
	path = FilePrefix(path)
	keyFile := path + ".key"
	if _, err := os.Lstat(keyFile); err == nil {
		return keyFile
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real + ".key"
	}
	return keyFile
}
