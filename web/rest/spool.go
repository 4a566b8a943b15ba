package rest

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"mailer/app"
	"mailer/app/kit/fair"
	"mailer/app/kit/platform"
)

// spoolPattern is the name pattern of files before they are unlinked.
const spoolPattern = "mailer-upload-*.tmp"

// SweepSpool removes files of a server that was killed before it unlinked them.
func SweepSpool(dir string) {
	if dir == "" {
		dir = os.TempDir()
	}
	left, _ := filepath.Glob(filepath.Join(dir, spoolPattern))
	for _, name := range left {
		_ = os.Remove(name) // the file is empty
	}
}

// spoolBudget is how many bytes of bodies may be in files at the same time. One team may have half of
// what the others leave.
const spoolBudget = 256 << 20

// Spooled is a body in an unlinked file.
type Spooled struct {
	*os.File
	release func()
}

// Close frees the disk.
func (s *Spooled) Close() error {
	s.release()
	return s.File.Close()
}

// Spool receives the whole body in an unlinked file in dir, so that a body that waits for its turn
// takes no memory, and nothing is left however the server ends. The caller must close it. Errors:
// CodeRateLimitExceeded if many bodies of the team are in files, CodeServiceUnavailable for a full
// disk, and those of the body.
func (s *Stream) Spool(dir string) (*Spooled, error) {
	team := s.x.Key.TeamID
	if !s.h.spool.TryAcquire(team, s.maxSize) {
		return nil, &app.Error{Code: app.CodeRateLimitExceeded, RetryAfter: time.Second, Message: "Too many uploads of this team at the same time; try again when some of them were answered"}
	}
	file, err := s.receive(dir)
	if err != nil {
		s.h.spool.Release(team, s.maxSize)
		return nil, err
	}
	return &Spooled{File: file, release: sync.OnceFunc(func() { s.h.spool.Release(team, s.maxSize) })}, nil
}

// receive copies the body to a file.
func (s *Stream) receive(dir string) (*os.File, error) {
	file, err := os.CreateTemp(dir, spoolPattern)
	if err != nil {
		return nil, fmt.Errorf("make a file for an upload: %w", err)
	}
	if err = os.Remove(file.Name()); err == nil || errors.Is(err, fs.ErrNotExist) { // another server that starts may sweep it first
		_, err = io.Copy(file, s)
		switch {
		case s.Failure() != nil:
			err = s.Failure()
		case platform.IsFull(err):
			err = &app.Error{Code: app.CodeServiceUnavailable, Message: "The disk of the server is full; nothing new is accepted until there is room", Err: err}
		case err == nil:
			_, err = file.Seek(0, io.SeekStart)
		}
	}
	if err != nil {
		_ = file.Close() // nothing in it is needed
		return nil, err
	}
	return file, nil
}

// newSpool returns the semaphore of the bytes in files.
func newSpool() *fair.Semaphore[string] {
	return fair.New(fair.Config[string]{Capacity: spoolBudget, LeaveHalf: true})
}
