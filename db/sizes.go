package db

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// Sizes are the bytes of the database's file and of its log, and those that are free
// beside it for this user.
func (d *DB) Sizes() (file, log, free int64, err error) {
	whole, err := os.Stat(d.path)
	if err != nil {
		return 0, 0, 0, fmt.Errorf("ask for the database's size: %w", err)
	}
	tail, err := os.Stat(d.path + "-wal")
	switch {
	case err == nil:
		log = tail.Size()
	case !errors.Is(err, os.ErrNotExist):
		return 0, 0, 0, fmt.Errorf("ask for the size of the database's log: %w", err)
	}
	free, err = d.freeSpace()
	return whole.Size(), log, free, err
}

// freeSpace is what is free where the database stands.
func (d *DB) freeSpace() (int64, error) {
	var fs syscall.Statfs_t
	if err := syscall.Statfs(filepath.Dir(d.path), &fs); err != nil {
		return 0, fmt.Errorf("ask for free space: %w", err)
	}
	return int64(fs.Bavail) * int64(fs.Bsize), nil
}
