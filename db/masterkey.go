package db

import (
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"mailer/app"
)

// MasterKey reads the master key file; where there is none and create is set,
// it makes one (mode 0600) and syncs it, since data sealed with a lost key is
// lost too.
func MasterKey(path string, create bool) ([]byte, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) && create {
		return newMasterKey(path)
	}
	if err != nil {
		return nil, fmt.Errorf("read master key: %w", err)
	}
	key, err := base64.StdEncoding.DecodeString(strings.TrimSpace(string(text)))
	if err != nil || len(key) != app.MasterKeySize {
		return nil, fmt.Errorf("the master key file %s must hold %d bytes in base64; put the right file there, or name it with --master-key-file", path, app.MasterKeySize)
	}
	return key, nil
}

// OpenToOthers returns the mode of a file that others than its owner may read or
// write; 0: none may.
func OpenToOthers(path string) (os.FileMode, error) {
	info, err := os.Stat(path)
	if err != nil {
		return 0, fmt.Errorf("look at the mode of a file: %w", err)
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return mode, nil
	}
	return 0, nil
}

// newMasterKey writes the file under another name first: one that is seen before
// its key stands in it would stop other processes, and after a kill every start.
func newMasterKey(path string) ([]byte, error) {
	key := app.NewMasterKey()
	draft, err := writeDraft(path, base64.StdEncoding.EncodeToString(key)+"\n")
	if err != nil {
		return nil, fmt.Errorf("make master key: %w", err)
	}
	defer os.Remove(draft)
	err = os.Link(draft, path)
	if errors.Is(err, os.ErrExist) {
		return MasterKey(path, false) // another process was quicker
	}
	if errors.Is(err, syscall.EPERM) || errors.Is(err, errors.ErrUnsupported) { // no hard links here
		err = os.Rename(draft, path)
	}
	if err = errors.Join(err, syncDir(filepath.Dir(path))); err != nil {
		return nil, fmt.Errorf("make master key: %w", err)
	}
	return key, nil
}

// writeDraft makes a synced file beside path that only its owner can read.
func writeDraft(path, text string) (name string, err error) {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*") // mode 0600
	if err != nil {
		return "", err
	}
	_, err = f.WriteString(text)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return "", errors.Join(err, os.Remove(f.Name()))
	}
	return f.Name(), nil
}

// syncDir has the names of a directory outlive a power cut.
func syncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
