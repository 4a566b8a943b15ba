package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"

	"mailer/app"
	"mailer/db"
)

// KeyFile is the file of the master key of a database.
type KeyFile struct {
	Path     string
	Database string // as it was named, for words
	key      []byte
}

// NewServer reads the key, which it makes for a new database, and makes a Server with
// it. A key that is missing, or is another than the database was made with, is an error
// in words for who starts the program.
func (k *KeyFile) NewServer(ctx context.Context, cfg Config) (*Server, error) {
	fresh, err := cfg.DB.Fresh(ctx)
	if err != nil {
		return nil, err
	}
	k.key, err = db.MasterKey(k.Path, fresh)
	if errors.Is(err, os.ErrNotExist) && !fresh {
		return nil, fmt.Errorf("the master key file %s is not there, and %s can't be read without it; put it back from where you keep it, or name it with --master-key-file", k.Path, k.Database)
	}
	if err != nil {
		return nil, err
	}
	if cfg.Sealer, err = app.NewSealer(k.key); err != nil {
		return nil, err
	}
	s, err := New(ctx, cfg)
	if errors.Is(err, app.ErrSeal) {
		return nil, fmt.Errorf("the master key in %s is not the one that %s was made with; put the right file there, or name it with --master-key-file", k.Path, k.Database)
	}
	return s, err
}

// Check warns where others than the owner can read the file, or where it does not hold
// any more what was read at the start.
func (k *KeyFile) Check(log *slog.Logger) {
	switch mode, err := db.OpenToOthers(k.Path); {
	case err != nil:
		log.Warn("the master key file can't be looked at; the server goes on with the key that it has", "file", k.Path, "err", err)
		return
	case mode != 0:
		log.Warn("others can read the master key", "file", k.Path, "mode", fmt.Sprintf("%04o", mode), "help", "chmod 600 "+k.Path)
	}
	switch key, err := db.MasterKey(k.Path, false); {
	case err != nil:
		log.Warn("the master key file can't be read; the server goes on with the key that it has", "file", k.Path, "err", err)
	case !bytes.Equal(key, k.key):
		log.Warn("the master key file holds another key; the server goes on with the one that it has, and the next start fails unless that is put back", "file", k.Path)
	}
}
