package db

import (
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"strings"

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
		return nil, fmt.Errorf("master key file %s: must hold %d bytes in base64", path, app.MasterKeySize)
	}
	return key, nil
}

func newMasterKey(path string) ([]byte, error) {
	key := app.NewMasterKey()
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, os.ErrExist) {
		return MasterKey(path, false) // another process was quicker
	}
	if err != nil {
		return nil, fmt.Errorf("make master key: %w", err)
	}
	_, err = f.WriteString(base64.StdEncoding.EncodeToString(key) + "\n")
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, fmt.Errorf("make master key: %w", err)
	}
	return key, nil
}
