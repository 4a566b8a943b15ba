package backup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"mailer/app/kit/platform"
)

// draft is a backup in progress under a temporary name. It is locked while its process lives; the
// draft of a killed process is reused.
type draft struct {
	final string // final path
	name  string
	file  *os.File // holds the lock
}

// newDraft creates an empty file that only its owner can read. Errors: for the operator, if the
// backup exists or can't be created.
func newDraft(final string) (*draft, error) {
	if _, err := os.Lstat(final); err == nil {
		return nil, fmt.Errorf("%s is there already, and was left as it is; name another file", final)
	}
	d := &draft{final: final, name: final + ".partial"}
	f, err := os.OpenFile(d.name, os.O_CREATE|os.O_RDWR|platform.NoFollow, 0o600)
	if err != nil {
		return nil, d.describe(err)
	}
	if err := platform.Lock(f); err != nil {
		f.Close()
		if errors.Is(err, platform.ErrLocked) {
			return nil, fmt.Errorf("another backup is being written to %s; wait until it is done, or name another file", final)
		}
		return nil, fmt.Errorf("lock %s: %w", d.name, err)
	}
	d.file = f
	if err := errors.Join(f.Chmod(0o600), f.Truncate(0)); err != nil {
		d.discard()
		return nil, d.describe(err)
	}
	return d, nil
}

// describe adds the fix to an error of the file system.
func (d *draft) describe(err error) error {
	dir := filepath.Dir(d.final)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("the folder of %s is not there; make it with mkdir -p %s, or name another file", d.final, dir)
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return fmt.Errorf("%s can't be written by this user: %w; name a file in a folder of yours, or run it as the owner of %s", d.final, err, dir)
	case platform.IsFull(err):
		return fmt.Errorf("the disk of %s is full; nothing of the backup was left on it: make room, or name a file on another disk", d.final)
	}
	return fmt.Errorf("back up to %s: %w", d.final, err)
}

// spareBytes is how much free space a backup leaves on a disk, which may have to store mail.
const spareBytes = 64 << 20

// hasSpace refuses a backup that would fill the disk.
func (d *draft) hasSpace(database string) error {
	bytes := int64(0)
	for _, name := range []string{database, database + "-wal"} {
		if info, err := os.Stat(name); err == nil {
			bytes += info.Size()
		}
	}
	free, err := platform.FreeSpace(filepath.Dir(d.final))
	if err != nil {
		return d.describe(err)
	}
	if free < bytes+spareBytes {
		return fmt.Errorf("the backup takes %d MB, and the disk of %s has %d MB left; make room, or name a file on another disk", bytes>>20, d.final, free>>20)
	}
	return nil
}

// publish moves the file to its final path. It does not overwrite a file.
func (d *draft) publish() error {
	err := os.Link(d.name, d.final)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s was created by another program in the meantime and was not changed; name another file", d.final)
	}
	if err != nil { // no hard links on this file system
		err = os.Rename(d.name, d.final)
	}
	if err = errors.Join(err, platform.SyncDir(filepath.Dir(d.final))); err != nil {
		return d.describe(err)
	}
	return nil
}

// discard removes the file.
func (d *draft) discard() {
	for _, side := range []string{"-journal", "-wal", "-shm", ""} {
		_ = os.Remove(d.name + side)
	}
	_ = d.file.Close()
}
