// Package dbtest gives a test a directory or a file for its SQLite database: in memory where the
// machine has a file system for that, and copied from a template that the process makes once.
//
// Only tests import it. A helper that meets an error ends the test that called it.
package dbtest

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"
)

// memory is a file system in memory on Linux; minFree is how many bytes must be free there.
const (
	memory  = "/dev/shm"
	minFree = 2 << 30
)

// Root returns the directory below which tests keep databases: the one that the environment
// variable TMPDIR names, else /dev/shm where 2 GiB are free there, else os.TempDir.
var Root = sync.OnceValue(func() string {
	if os.Getenv("TMPDIR") == "" && freeBytes(memory) >= minFree && removeAbandoned(memory) == nil {
		return memory
	}
	return os.TempDir()
})

// free returns how many bytes a file system has left; 0: there is none, or it does not say.
func freeBytes(path string) uint64 {
	var stat syscall.Statfs_t
	if err := syscall.Statfs(path, &stat); err != nil {
		return 0
	}
	return uint64(stat.Bavail) * uint64(stat.Bsize)
}

// Dir returns a new directory below Root, which is removed when the test ends. A test of what a
// disk does to a database uses t.TempDir instead.
func Dir(t testing.TB) string {
	t.Helper()
	dir, unlock, err := makeDir(Root())
	if err != nil {
		t.Fatalf("make a directory for a database: %v", err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Errorf("remove the directory of a database: %v", err)
		}
		unlock()
	})
	return dir
}

const prefix = "mailer-test-"

// makeDir makes a directory and locks it, so that removeAbandoned of another process spares it.
func makeDir(root string) (dir string, unlock func() error, err error) {
	dir, err = os.MkdirTemp(root, prefix)
	if err != nil {
		return "", nil, err
	}
	unlock, err = lock(dir)
	if err != nil {
		return "", nil, fmt.Errorf("lock %s: %w", dir, err)
	}
	return dir, unlock, nil
}

// lock locks a directory until unlock is called or the process ends. Error: also
// syscall.EWOULDBLOCK, another process has locked the directory.
func lock(dir string) (unlock func() error, err error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		return nil, err
	}
	return f.Close, nil
}

// unlockedFor is the age up to which makeDir may not have locked a directory yet.
const unlockedFor = time.Minute

// removeAbandoned removes the directories of processes that were killed, so that they do not
// fill the memory. Error: nothing can be made in root.
func removeAbandoned(root string) error {
	// The clock is that of the file system: a test may be in a synctest bubble.
	probe, unlock, err := makeDir(root)
	if err != nil {
		return err
	}
	defer func() {
		_ = os.Remove(probe) // else the next process removes it
		_ = unlock()
	}()
	now, err := os.Stat(probe)
	if err != nil {
		return err
	}
	found, _ := filepath.Glob(filepath.Join(root, prefix+"*")) // the pattern is sound
	for _, dir := range found {
		info, err := os.Stat(dir)
		if err != nil || now.ModTime().Sub(info.ModTime()) < unlockedFor {
			continue
		}
		if unlock, err := lock(dir); err == nil {
			_ = os.RemoveAll(dir) // another process may be doing the same
			_ = unlock()
		}
	}
	return nil
}
