package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"mailer/app/kit/clock"
)

const (
	// partialSuffix is what the name of a copy ends with until it is whole.
	partialSuffix = ".partial"
	// spareDiskSpace is what a copy leaves of a disk, for the log of the steps, in bytes.
	spareDiskSpace = 64 << 20
)

// copyAside copies the database beside itself, and returns the name of the copy. A file of that
// name is whole: until then it has another one, under which nothing is left after an error. What
// a killed process left is removed; the database's lock is held, so that no other one copies.
func (r *migration) copyAside(ctx context.Context, version int) (file string, err error) {
	file = fmt.Sprintf("%s.v%d-%s", r.opts.Path, version, clock.Now().UTC().Format("20060102T150405Z"))
	defer func() {
		if err != nil {
			err = fmt.Errorf("copy the database aside: %w; it was left as it is", err)
		}
	}()
	if err := r.removePartials(); err != nil {
		return "", err
	}
	if err := r.checkDiskSpace(ctx, DiskFree); err != nil {
		return "", err
	}
	if _, err := os.Lstat(file); err == nil {
		return "", fmt.Errorf("%s is there already", file)
	}
	partial := file + partialSuffix
	if err := r.copyTo(ctx, partial); err != nil {
		return "", errors.Join(err, r.removePartials())
	}
	return file, errors.Join(os.Rename(partial, file), syncDir(filepath.Dir(file)))
}

func (r *migration) copyTo(ctx context.Context, file string) error {
	if err := createPrivate(file); err != nil { // SQLite fills an empty file, and keeps its mode
		return err
	}
	if _, err := r.conn.ExecContext(ctx, "VACUUM INTO ?", file); err != nil {
		return err
	}
	_, err := syncFile(file)
	return err
}

// removePartials removes copies that were not finished, with SQLite's files beside them.
func (r *migration) removePartials() error {
	names, err := filepath.Glob(globQuoted(r.opts.Path) + ".v*-*Z" + partialSuffix + "*")
	for _, name := range names {
		err = errors.Join(err, os.Remove(name))
	}
	return err
}

// globQuoted has each sign of a path mean itself.
func globQuoted(path string) string {
	var quoted []byte
	for i := range len(path) {
		switch path[i] {
		case '*', '?', '[', '\\':
			quoted = append(quoted, '\\')
		}
		quoted = append(quoted, path[i])
	}
	return string(quoted)
}

// checkDiskSpace refuses a copy that would fill the disk, as free tells it of a folder.
func (r *migration) checkDiskSpace(ctx context.Context, free func(dir string) (int64, error)) error {
	var pages, size int64
	for pragma, value := range map[string]*int64{"PRAGMA page_count": &pages, "PRAGMA page_size": &size} {
		if err := r.conn.QueryRowContext(ctx, pragma).Scan(value); err != nil {
			return fmt.Errorf("ask how large the database is: %w", err)
		}
	}
	left, err := free(filepath.Dir(r.opts.Path))
	if err != nil {
		return err
	}
	if need := pages*size + spareDiskSpace; left < need {
		return refuse(ErrFull, "%s is copied aside before it is migrated, which takes %d MB, and its disk has %d MB left; make room, then run mailer migrate again", r.opts.Path, need>>20, left>>20)
	}
	return nil
}
