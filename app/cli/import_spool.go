package cli

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"mailer/app/rules/archive"
	"mailer/app/server"
)

// spoolKept is for how long what was read of another service stays beside the database
// after a cut: what it says of opt-outs gets old.
const spoolKept = 24 * time.Hour

// spool is the directory into which a source over the network is read. One import holds
// it at a time.
type spool struct {
	dir  string
	lock *os.File
}

// spools is where all of a database are.
func spools(database string) string { return server.FilePrefix(database) + ".import" }

// openSpool takes the spool of a source that identity tells from others.
func openSpool(database, name, identity string) (*spool, error) {
	if err := os.MkdirAll(spools(database), 0o700); err != nil {
		return nil, fmt.Errorf("make a directory for what is read: %w", err)
	}
	sum := sha256.Sum256([]byte(identity))
	s := &spool{dir: filepath.Join(spools(database), name+"-"+hex.EncodeToString(sum[:8]))}
	lock, err := os.OpenFile(s.dir+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock what is read: %w", err)
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		lock.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, errors.New("another command is importing the same source: wait until it has finished")
		}
		return nil, fmt.Errorf("lock what is read: %w", err)
	}
	s.lock = lock
	if info, err := os.Stat(s.dir); err == nil && time.Since(info.ModTime()) > spoolKept {
		if err := os.RemoveAll(s.dir); err != nil {
			s.close(false)
			return nil, fmt.Errorf("remove what was read before: %w", err)
		}
	}
	return s, nil
}

// whole returns what was read before, where that is whole; else nil.
func (s *spool) whole() *archive.Reader {
	r, err := archive.Open(s.dir)
	if err != nil {
		return nil
	}
	return r
}

// resume goes on reading; what is whole is read anew.
func (s *spool) resume() (*archive.Writer, string, error) {
	return archive.Resume(s.dir)
}

// close unlocks the spool. Once all was taken in, and after a plan, nothing of it stays.
func (s *spool) close(done bool) {
	if done {
		_ = os.RemoveAll(s.dir) // a later import of this source clears what stays
		_ = os.Remove(s.lock.Name())
		_ = os.Remove(filepath.Dir(s.dir)) // only where it is empty
	}
	_ = s.lock.Close()
}

// tempSpool makes a directory for the files of one import, and removes those that a crash
// left.
func tempSpool(database string) (string, error) {
	if err := os.MkdirAll(spools(database), 0o700); err != nil {
		return "", fmt.Errorf("make a directory for what is read: %w", err)
	}
	old, err := filepath.Glob(filepath.Join(spools(database), "files-*"))
	if err != nil {
		return "", err
	}
	for _, dir := range old {
		if info, err := os.Stat(dir); err == nil && time.Since(info.ModTime()) > spoolKept {
			_ = os.RemoveAll(dir) // it is in nobody's way
		}
	}
	dir, err := os.MkdirTemp(spools(database), "files-")
	if err != nil {
		return "", fmt.Errorf("make a directory for what is read: %w", err)
	}
	return dir, nil
}

// removeSpool removes what tempSpool made; the next import clears what stays.
func removeSpool(dir string) {
	_ = os.RemoveAll(dir)
	_ = os.Remove(filepath.Dir(dir)) // only where it is empty
}
