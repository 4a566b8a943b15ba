// Package dbtest provides SQLite database files for tests: in memory if the machine has a file system
// for that, and copied from a template that the process creates once.
//
// Only tests import the package. If a helper fails, it ends the test that called it.
package dbtest

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"mailer/app/kit/platform"
)

// memory is a file system in memory on Linux; minFree is how many bytes must be free on it.
const (
	memory  = "/dev/shm"
	minFree = 2 << 30
)

// Root returns the parent directory of test databases: TMPDIR if that is set, else /dev/shm if 2
// GiB are free there, else os.TempDir.
var Root = sync.OnceValue(func() string {
	free, _ := platform.FreeSpace(memory) // 0 where there is no such directory
	if os.Getenv("TMPDIR") == "" && free >= minFree && removeAbandoned(memory) == nil {
		return memory
	}
	return os.TempDir()
})

// Dir returns a new directory below Root, which is removed when the test ends. Tests of disk
// faults use t.TempDir instead.
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

// makeDir creates a directory and locks it, so that removeAbandoned of another process skips it.
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

// lock locks a directory until unlock is called or the process ends. Error: platform.ErrLocked
// if another process has locked the directory.
func lock(dir string) (unlock func() error, err error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	if err := platform.Lock(f); err != nil {
		f.Close()
		return nil, err
	}
	return f.Close, nil
}

// unlockedFor is the maximum age of a directory that makeDir has not locked yet.
const unlockedFor = time.Minute

// removeAbandoned removes the directories of killed processes, so that they do not fill the
// memory. Error: root is not writable.
func removeAbandoned(root string) error {
	// Use the clock of the file system, because the test may run in a synctest bubble.
	probe, unlock, err := makeDir(root)
	if err != nil {
		return err
	}
	defer func() {
		_ = os.Remove(probe) // otherwise the next process removes it
		_ = unlock()
	}()
	now, err := os.Stat(probe)
	if err != nil {
		return err
	}
	found, _ := filepath.Glob(filepath.Join(root, prefix+"*")) // the pattern is valid
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
