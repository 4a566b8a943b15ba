//go:build unix

package platform

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// NoFollow is a flag of os.OpenFile: a symbolic link is not opened.
const NoFollow = syscall.O_NOFOLLOW

// Lock takes the exclusive lock of an open file without waiting. It ends when the file is closed
// or the process ends. Errors: ErrLocked.
func Lock(f *os.File) error {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return ErrLocked
	}
	return err
}

// FreeSpace returns the bytes that are free on the disk of a path for users other than root.
func FreeSpace(path string) (int64, error) {
	var disk syscall.Statfs_t
	if err := syscall.Statfs(path, &disk); err != nil {
		return 0, err
	}
	return int64(disk.Bavail) * int64(disk.Bsize), nil
}

// DiskSize returns the size in bytes of the disk of a path.
func DiskSize(path string) (int64, error) {
	var disk syscall.Statfs_t
	if err := syscall.Statfs(path, &disk); err != nil {
		return 0, err
	}
	return int64(disk.Blocks) * int64(disk.Bsize), nil
}

// MaxOpenFiles returns the number of files that the process may open. Go raises the soft limit to
// the hard one.
func MaxOpenFiles() (uint64, error) {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 0, err
	}
	return uint64(limit.Max), nil
}

// Owner returns the user and the group that own a file. ok is false if the system has neither.
func Owner(info fs.FileInfo) (uid, gid int, ok bool) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, 0, false
	}
	return int(stat.Uid), int(stat.Gid), true
}

// Links returns the number of names (hard links) of a file.
func Links(info fs.FileInfo) uint64 {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(stat.Nlink)
	}
	return 1
}

// CheckWritable returns an error if this process can't create files in a directory.
func CheckWritable(dir string) error {
	return syscall.Access(dir, 0x2|0x1) // W_OK and X_OK
}

// SyncDir syncs a directory, so that the names of its files survive a power failure.
func SyncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

func isFull(error) bool { return false }
