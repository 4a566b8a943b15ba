package db

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

// lockPatience is how long a starting server waits for the lock: a command that
// only looks (InUse) holds it for a moment.
const lockPatience = 500 * time.Millisecond

// lockFile takes the exclusive lock that one server holds for life. The file
// stays behind: removing it would let two servers lock two files of one name.
func lockFile(path string, patience time.Duration) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open lock file: %w", err)
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	for deadline := time.Now().Add(patience); err != nil && time.Now().Before(deadline); {
		time.Sleep(20 * time.Millisecond)
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	}
	if err != nil {
		f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, ErrInUse
		}
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return f, nil
}

// InUse reports whether a server holds the lock of the database at path.
func InUse(path string) bool {
	f, err := lockFile(path+".lock", 0)
	if err != nil {
		return errors.Is(err, ErrInUse)
	}
	f.Close()
	return false
}
