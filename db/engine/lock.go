package engine

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"mailer/app/kit/platform"
)

// lockFileTimeout is how long a starting server waits for the lock. A command that calls InUse
// holds it briefly.
const lockFileTimeout = 500 * time.Millisecond

// lockDatabase takes the lock of the database at path and writes the id of this process into the
// lock file, for the error message of other processes. name is the path as the user gave it.
// Error: ErrInUse.
func lockDatabase(name, path string) (*os.File, error) {
	f, err := lockFile(path+".lock", lockFileTimeout)
	if errors.Is(err, ErrInUse) {
		return nil, refuse(ErrInUse, "%s is in use by another mailer serve or migrate%s; stop that first, or name another file with --db", name, holder(path+".lock"))
	}
	if err != nil {
		return nil, err
	}
	if err := f.Truncate(0); err == nil {
		_, _ = fmt.Fprintln(f, os.Getpid()) // only informative: a server must start on a full disk too
	}
	return f, nil
}

// holder names the process that holds a lock; empty: unknown.
func holder(lock string) string {
	text, _ := os.ReadFile(lock)
	if pid, err := strconv.Atoi(strings.TrimSpace(string(text))); err == nil {
		return fmt.Sprintf(" (process %d)", pid)
	}
	return ""
}

// lockFile takes the exclusive lock that a server holds until it ends. The lock file is never
// removed, because removing it would let two servers lock two files of the same name.
func lockFile(path string, timeout time.Duration) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open lock file: %w", err)
	}
	if err = waitLock(f, timeout); err != nil {
		f.Close()
		if errors.Is(err, platform.ErrLocked) {
			return nil, ErrInUse
		}
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return f, nil
}

// waitLock takes the exclusive lock of an open file. Error:
// platform.ErrLocked if another process held the lock for the whole timeout.
func waitLock(f *os.File, timeout time.Duration) error {
	err := platform.Lock(f)
	for deadline := time.Now().Add(timeout); err != nil && time.Now().Before(deadline); {
		time.Sleep(20 * time.Millisecond)
		err = platform.Lock(f)
	}
	return err
}

// InUse reports whether a server holds the lock of the database at path.
func InUse(path string) bool {
	if IsRemote(path) {
		return remoteInUse(path)
	}
	path, _, err := resolvePath(path, false)
	if err != nil {
		return false
	}
	f, err := lockFile(path+".lock", 0)
	if err != nil {
		return errors.Is(err, ErrInUse)
	}
	f.Close()
	return false
}

// Holder returns the id of the process that holds the database at path, as stored in the lock
// file; 0: unknown.
func Holder(path string) int {
	real, _, err := resolvePath(path, false)
	if err != nil {
		return 0
	}
	text, _ := os.ReadFile(real + ".lock") // none: not known
	pid, _ := strconv.Atoi(strings.TrimSpace(string(text)))
	return pid
}
