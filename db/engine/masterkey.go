package engine

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"mailer/app/kit/platform"
	"mailer/app/kit/seal"
)

// retiredMark precedes a retired key in the file.
const retiredMark = "retired "

// MasterKeys reads the master key file: one key on each line. The first key that is not retired
// encrypts; retired keys, marked with retiredMark, only decrypt. If the file does not exist and
// create is set, it is created (mode 0600) and synced, because data encrypted with a lost key is
// lost too.
func MasterKeys(path string, create bool) ([]seal.MasterKey, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) && create {
		return newMasterKey(path)
	}
	if err != nil {
		return nil, fmt.Errorf("read master key: %w", err)
	}
	keys, flaw := parseMasterKeys(string(text))
	if flaw != "" {
		return nil, fmt.Errorf("the master key file %s must hold a key of %d bytes in base64 on each line; %s; put the right file there, or name it with --master-key-file", path, seal.MasterKeySize, flaw)
	}
	return keys, nil
}

// parseMasterKeys parses the text of a master key file. flaw describes an error without repeating
// any of the text.
func parseMasterKeys(text string) (keys []seal.MasterKey, flaw string) {
	seals := false
	for n, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		line, retired := strings.CutPrefix(line, retiredMark)
		key, err := base64.StdEncoding.Strict().DecodeString(strings.TrimSpace(line))
		if err != nil || len(key) != seal.MasterKeySize {
			return nil, fmt.Sprintf("line %d is none", n+1)
		}
		if slices.ContainsFunc(keys, func(k seal.MasterKey) bool { return bytes.Equal(k.Key, key) }) {
			return nil, fmt.Sprintf("the key of line %d is there twice", n+1)
		}
		keys, seals = append(keys, seal.MasterKey{Key: key, Retired: retired}), seals || !retired
	}
	switch {
	case len(keys) == 0:
		return nil, "it holds none"
	case !seals:
		return nil, "all of its keys are retired"
	}
	return keys, ""
}

// masterKeysText returns the text that parseMasterKeys parses.
func masterKeysText(keys []seal.MasterKey) string {
	var text strings.Builder
	for _, k := range keys {
		if k.Retired {
			text.WriteString(retiredMark)
		}
		text.WriteString(base64.StdEncoding.EncodeToString(k.Key) + "\n")
	}
	return text.String()
}

// keyFileTimeout is how long a change of the master key file waits for another one.
const keyFileTimeout = 5 * time.Second

// ChangeMasterKeys replaces the keys in the master key file by the result of change and returns
// them. The replacement is atomic: a reader, and the next start after a crash, sees either the
// old or the new file. Owner and mode are kept. Concurrent changes wait for each other.
func ChangeMasterKeys(path string, change func([]seal.MasterKey) ([]seal.MasterKey, error)) ([]seal.MasterKey, error) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil, fmt.Errorf("find the master key file: %w", err)
	}
	locked, err := lockKeyFile(real)
	if err != nil {
		return nil, err
	}
	defer locked.Close()
	keys, err := MasterKeys(real, false)
	if err != nil {
		return nil, err
	}
	if keys, err = change(keys); err != nil {
		return nil, err
	}
	if err := replaceFile(real, locked, masterKeysText(keys)); err != nil {
		return nil, fmt.Errorf("replace the master key file %s: %w", path, err)
	}
	return keys, nil
}

// lockKeyFile locks the file that has this path now. Because a change replaces the file, it
// checks after the lock that the path still names the locked file.
func lockKeyFile(path string) (*os.File, error) {
	for deadline := time.Now().Add(keyFileTimeout); ; {
		f, err := os.Open(path)
		if err != nil {
			return nil, fmt.Errorf("lock the master key file: %w", err)
		}
		err = waitLock(f, time.Until(deadline))
		if errors.Is(err, platform.ErrLocked) {
			f.Close()
			return nil, fmt.Errorf("another command is changing the master key file %s; try again when it has ended", path)
		}
		opened, statErr := f.Stat()
		now, nowErr := os.Stat(path)
		if err = errors.Join(err, statErr, nowErr); err != nil {
			f.Close()
			return nil, fmt.Errorf("lock the master key file %s: %w", path, err)
		}
		if os.SameFile(opened, now) {
			return f, nil
		}
		f.Close()
	}
}

// replaceFile atomically replaces a file by one with another text, which is synced first. The
// temporary file always has the same name, so that a crash leaves at most one, which the next
// change replaces.
func replaceFile(path string, old *os.File, text string) error {
	info, err := old.Stat()
	if err != nil {
		return err
	}
	draft := path + ".new"
	if err := os.Remove(draft); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	f, err := os.OpenFile(draft, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	if err == nil {
		err = copyMode(f, info)
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, os.Remove(draft))
	}
	if err := os.Rename(draft, path); err != nil {
		return errors.Join(err, os.Remove(draft))
	}
	return platform.SyncDir(filepath.Dir(path))
}

// copyMode sets the owner and the mode of a file to those of another.
func copyMode(f *os.File, info os.FileInfo) error {
	is, err := f.Stat()
	if err != nil {
		return err
	}
	uid, gid, ok := platform.Owner(info)
	if u, g, _ := platform.Owner(is); ok && (u != uid || g != gid) {
		if err := f.Chown(uid, gid); err != nil {
			return fmt.Errorf("keep its owner: %w", err)
		}
	}
	return f.Chmod(info.Mode().Perm())
}

// SyncMasterKeys syncs the master key file and its directory. Nothing may be encrypted with a key
// before.
func SyncMasterKeys(path string) error {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return fmt.Errorf("sync the master key file: %w", err)
	}
	f, err := os.Open(real)
	if err != nil {
		return fmt.Errorf("sync the master key file: %w", err)
	}
	if err := errors.Join(f.Sync(), f.Close(), platform.SyncDir(filepath.Dir(real))); err != nil {
		return fmt.Errorf("sync the master key file: %w", err)
	}
	return nil
}

// OpenToOthers returns the mode of a file that users other than its owner may read or write; 0:
// none may.
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

// newMasterKey writes the file under a temporary name first. A file that is visible before it
// contains the key would make other processes fail and, after a crash, every start.
func newMasterKey(path string) ([]seal.MasterKey, error) {
	keys := []seal.MasterKey{{Key: seal.NewMasterKey()}}
	draft, err := writeDraft(path, masterKeysText(keys))
	if err != nil {
		return nil, fmt.Errorf("make master key: %w", err)
	}
	defer os.Remove(draft)
	err = os.Link(draft, path)
	if errors.Is(err, os.ErrExist) {
		return MasterKeys(path, false) // another process created it first
	}
	if errors.Is(err, syscall.EPERM) || errors.Is(err, errors.ErrUnsupported) { // the file system has no hard links
		err = os.Rename(draft, path)
	}
	if err = errors.Join(err, platform.SyncDir(filepath.Dir(path))); err != nil {
		return nil, fmt.Errorf("make master key: %w", err)
	}
	return keys, nil
}

// writeDraft creates a synced temporary file beside path that only its owner can read.
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
