package rest

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"mailer/app"
	"mailer/app/kit/platform"
)

// spoolPattern is the name pattern of files before they are unlinked.
const spoolPattern = "mailer-upload-*.tmp"

// SweepSpool removes files of a server that was killed before it unlinked them.
func SweepSpool(dir string) {
	left, _ := filepath.Glob(filepath.Join(dir, spoolPattern))
	for _, name := range left {
		_ = os.Remove(name) // the file is empty
	}
}

// Spool receives the whole body in an unlinked file in dir, so that a body that waits for its turn
// takes no memory, and nothing is left however the server ends. The caller must close the file.
// Errors: CodeServiceUnavailable for a full disk, and those of the body.
func (s *Stream) Spool(dir string) (*os.File, error) {
	file, err := os.CreateTemp(dir, spoolPattern)
	if err != nil {
		return nil, fmt.Errorf("make a file for an upload: %w", err)
	}
	if err = os.Remove(file.Name()); err == nil {
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
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}
