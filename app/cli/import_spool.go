package cli

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"mailer/app/kit/platform"
	"mailer/app/rules/archive"
	"mailer/app/server"
)

// spoolKept is how long data of an interrupted import is kept: its opt-outs become outdated.
const spoolKept = 24 * time.Hour

// spool is the directory that a source is read into. One import at a time holds it.
type spool struct {
	dir  string
	lock *os.File
}

// spools returns the directory of all spools of a database.
func spools(database string) string { return server.FilePrefix(database) + ".import" }

// openSpool opens the spool of the source with an identity.
func openSpool(database, name, identity string) (*spool, error) {
	if err := os.MkdirAll(spools(database), 0o700); err != nil {
		return nil, fmt.Errorf("create the directory of the import: %w", err)
	}
	sum := sha256.Sum256([]byte(identity))
	s := &spool{dir: filepath.Join(spools(database), name+"-"+hex.EncodeToString(sum[:8]))}
	lock, err := os.OpenFile(s.dir+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock the directory of the import: %w", err)
	}
	if err := platform.Lock(lock); err != nil {
		lock.Close()
		if errors.Is(err, platform.ErrLocked) {
			return nil, errors.New("another command is importing the same source: wait until it has finished")
		}
		return nil, fmt.Errorf("lock the directory of the import: %w", err)
	}
	s.lock = lock
	if info, err := os.Stat(s.dir); err == nil && time.Since(info.ModTime()) > spoolKept {
		if err := os.RemoveAll(s.dir); err != nil {
			s.close(false)
			return nil, fmt.Errorf("remove the old files of the import: %w", err)
		}
	}
	return s, nil
}

// openComplete returns the archive of an earlier run if it is complete; otherwise nil.
func (s *spool) openComplete() *archive.Reader {
	r, err := archive.Open(s.dir)
	if err != nil {
		return nil
	}
	return r
}

// resume continues an incomplete archive; a complete one is read anew.
func (s *spool) resume() (*archive.Writer, string, error) {
	return archive.Resume(s.dir)
}

// close unlocks the spool. It removes the spool after a complete import or a plan.
func (s *spool) close(done bool) {
	if done {
		_ = os.RemoveAll(s.dir) // a later import of this source removes the rest
		_ = os.Remove(s.lock.Name())
		_ = os.Remove(filepath.Dir(s.dir)) // fails unless it is empty
	}
	_ = s.lock.Close()
}

// tempSpool makes a directory for one import, and removes directories that a crash left.
func tempSpool(database string) (string, error) {
	if err := os.MkdirAll(spools(database), 0o700); err != nil {
		return "", fmt.Errorf("create the directory of the import: %w", err)
	}
	old, err := filepath.Glob(filepath.Join(spools(database), "files-*"))
	if err != nil {
		return "", err
	}
	for _, dir := range old {
		if info, err := os.Stat(dir); err == nil && time.Since(info.ModTime()) > spoolKept {
			_ = os.RemoveAll(dir) // an error does no harm
		}
	}
	dir, err := os.MkdirTemp(spools(database), "files-")
	if err != nil {
		return "", fmt.Errorf("create the directory of the import: %w", err)
	}
	return dir, nil
}

// removeSpool removes a directory of tempSpool.
func removeSpool(dir string) {
	_ = os.RemoveAll(dir)
	_ = os.Remove(filepath.Dir(dir)) // fails unless it is empty
}
