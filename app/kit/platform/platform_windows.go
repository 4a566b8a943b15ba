package platform

import (
	"errors"
	"io/fs"
	"math"
	"os"

	"golang.org/x/sys/windows"
)

// NoFollow is a flag of os.OpenFile. Windows has no such flag.
const NoFollow = 0

// Lock takes the exclusive lock of an open file without waiting. It ends when the file is closed
// or the process ends. Errors: ErrLocked. Locks of Windows are mandatory, so it locks a byte
// beyond the content of the file.
func Lock(f *os.File) error {
	at := windows.Overlapped{OffsetHigh: math.MaxInt32}
	err := windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &at)
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING) {
		return ErrLocked
	}
	return err
}

// FreeSpace returns the bytes that are free on the disk of a path for this user.
func FreeSpace(path string) (int64, error) {
	name, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return 0, err
	}
	var free uint64
	if err := windows.GetDiskFreeSpaceEx(name, &free, nil, nil); err != nil {
		return 0, err
	}
	return int64(min(free, math.MaxInt64)), nil
}

// DiskSize returns the size in bytes of the disk of a path.
func DiskSize(path string) (int64, error) {
	name, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return 0, err
	}
	var size uint64
	if err := windows.GetDiskFreeSpaceEx(name, nil, &size, nil); err != nil {
		return 0, err
	}
	return int64(min(size, math.MaxInt64)), nil
}

// MaxOpenFiles returns the number of files that the process may open, which Windows does not limit.
func MaxOpenFiles() (uint64, error) { return math.MaxInt64, nil }

// Owner returns ok false: files of Windows are protected by access lists.
func Owner(fs.FileInfo) (uid, gid int, ok bool) { return 0, 0, false }

// Links returns 1: FileInfo does not have the number of names of a file.
func Links(fs.FileInfo) uint64 { return 1 }

// CheckWritable returns an error if this process can't create files in a directory.
func CheckWritable(dir string) error {
	f, err := os.CreateTemp(dir, ".mailer-*")
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// SyncDir does nothing: Windows can't sync directories.
func SyncDir(string) error { return nil }

func isFull(err error) bool {
	return errors.Is(err, windows.ERROR_DISK_FULL) || errors.Is(err, windows.ERROR_HANDLE_DISK_FULL)
}
