package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"mailer/app/kit/clock"
	"mailer/app/kit/platform"
)

const (
	// partialSuffix ends the name of a copy that is not complete.
	partialSuffix = ".partial"
	// spareDiskSpace is the disk space, in bytes, that a copy leaves free for the log of the
	// steps.
	spareDiskSpace = 64 << 20
)

// copyAside copies the database to a file beside it and returns the path of the copy. The copy
// gets its final name when it is complete, and an error leaves no file. Incomplete copies of a
// killed process are removed; no other process can be writing one, because the lock of the
// database is held.
func (r *migration) copyAside(ctx context.Context, version int) (file string, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("copy the database aside: %w; it was left as it is", err)
		}
	}()
	if err := r.removePartials(); err != nil {
		return "", err
	}
	if _, err := RemoveOldCopies(r.opts.Path, time.Time{}); err != nil { // of killed migrations
		return "", err
	}
	size, err := r.size(ctx)
	if err != nil {
		return "", err
	}
	if err := r.checkDiskSpace(size, DiskFree); err != nil {
		return "", err
	}
	for at := clock.Now().UTC(); ; at = at.Add(time.Second) { // a killed migration may be repeated within a second
		file = fmt.Sprintf("%s.v%d-%s", r.opts.Path, version, at.Format(copyTime))
		if !exists(file) {
			break
		}
	}
	partial := file + partialSuffix
	if err := r.copyTo(ctx, partial); err != nil {
		return "", errors.Join(err, r.removePartials())
	}
	return file, errors.Join(os.Rename(partial, file), platform.SyncDir(filepath.Dir(file)))
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

// removePartials removes incomplete copies and the files that SQLite keeps beside them.
func (r *migration) removePartials() error {
	names, err := filepath.Glob(globQuoted(r.opts.Path) + ".v*-*Z" + partialSuffix + "*")
	for _, name := range names {
		err = errors.Join(err, os.Remove(name))
	}
	return err
}

// globQuoted escapes the special characters of filepath.Glob.
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

// size returns the size of the database in bytes.
func (r *migration) size(ctx context.Context) (int64, error) {
	var pages, size int64
	for pragma, value := range map[string]*int64{"PRAGMA page_count": &pages, "PRAGMA page_size": &size} {
		if err := r.conn.QueryRowContext(ctx, pragma).Scan(value); err != nil {
			return 0, fmt.Errorf("ask how large the database is: %w", err)
		}
	}
	return pages * size, nil
}

// checkDiskSpace returns ErrFull if a copy of size bytes would fill the disk. free returns the free
// bytes of the disk of a directory.
func (r *migration) checkDiskSpace(size int64, free func(dir string) (int64, error)) error {
	left, err := free(filepath.Dir(r.opts.Path))
	if err != nil {
		return err
	}
	if need := size + spareDiskSpace; left < need {
		return refuse(ErrFull, "%s is copied aside before it is migrated, which takes %d MB, and its disk has %d MB left; make room, then run mailer migrate again", r.opts.Path, need>>20, left>>20)
	}
	return nil
}

// copyTime is the format of the time in the name of a copy.
const copyTime = "20060102T150405Z"

// CopiesKept is how long a server keeps the copies of migrations.
const CopiesKept = 14 * 24 * time.Hour

var copySuffix = regexp.MustCompile(`^\.v([0-9]+)-([0-9]{8}T[0-9]{6}Z)$`)

// migrationCopy is a complete copy that a migration made.
type migrationCopy struct {
	path, version string
	at            time.Time
}

// migrationCopies returns the copies beside the database at path, the newest first.
func migrationCopies(path string) (copies []migrationCopy, err error) {
	entries, err := os.ReadDir(filepath.Dir(path))
	for _, e := range entries {
		suffix, ok := strings.CutPrefix(e.Name(), filepath.Base(path))
		m := copySuffix.FindStringSubmatch(suffix)
		if !ok || m == nil || !e.Type().IsRegular() {
			continue
		}
		if at, err := time.Parse(copyTime, m[2]); err == nil {
			copies = append(copies, migrationCopy{filepath.Join(filepath.Dir(path), e.Name()), m[1], at})
		}
	}
	slices.SortFunc(copies, func(a, b migrationCopy) int { return cmp.Or(b.at.Compare(a.at), cmp.Compare(a.path, b.path)) })
	return copies, err
}

// RemoveOldCopies removes the copies that migrations of the database at path made, except two, and
// those from before a time. It returns their paths. It keeps the newest copy and the newest one of
// another version, if there is one: a migration that was killed again and again leaves several copies
// of the version at which it stopped, and must not remove the one from before it.
func RemoveOldCopies(path string, before time.Time) (removed []string, err error) {
	if IsRemote(path) {
		return nil, nil
	}
	copies, err := migrationCopies(path)
	if len(copies) > 2 {
		second := max(1, slices.IndexFunc(copies, func(c migrationCopy) bool { return c.version != copies[0].version }))
		copies[1], copies[second] = copies[second], copies[1]
	}
	for i, c := range copies {
		if i < 2 && !c.at.Before(before) {
			continue
		}
		rerr := os.Remove(c.path)
		if rerr == nil {
			removed = append(removed, c.path)
		}
		err = errors.Join(err, rerr)
	}
	return removed, err
}
