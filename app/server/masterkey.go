package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"

	"mailer/app/kit/seal"
	"mailer/app/operate/rekey"
	"mailer/db"
	"mailer/db/engine"
)

// KeyFile is the master key file of a database.
type KeyFile struct {
	Path     string
	Database string // as the user wrote it, for messages
	Flag     string // that names the file; empty: --master-key-file
	file     *rekey.File
}

// NewServer reads the key, or creates one for a new database, and makes a Server. The error for a
// missing or wrong key is written for the user.
func (k *KeyFile) NewServer(ctx context.Context, cfg Config) (*Server, error) {
	fresh, err := cfg.DB.IsNew(ctx)
	if err != nil {
		return nil, err
	}
	k.file, err = rekey.OpenFile(k.Path, fresh)
	if errors.Is(err, os.ErrNotExist) && !fresh {
		return nil, fmt.Errorf("the master key file %s is not there, and %s can't be read without it; put it back from where you keep it, or name it with %s", k.Path, k.Database, k.flag())
	}
	if err != nil {
		return nil, err
	}
	cfg.Sealer, cfg.KeyFile = k.file.Sealer, k.file
	s, err := New(ctx, cfg)
	switch {
	case errors.Is(err, seal.ErrRetired):
		return nil, fmt.Errorf("%s is sealed with a master key that was retired in %s after it was copied; put the master key file that you kept with that copy there, or take the word \"retired\" off its line, start, and retire it again once everything is sealed anew", k.Database, k.Path)
	case errors.Is(err, seal.ErrSeal):
		return nil, fmt.Errorf("the master key in %s is not the one that %s was made with; put the right file there, or name it with %s", k.Path, k.Database, k.flag())
	}
	return s, err
}

func (k *KeyFile) flag() string { return cmp.Or(k.Flag, "--master-key-file") }

// Check warns if others than the owner can read the file, and lets a server reload it.
func (k *KeyFile) Check(log *slog.Logger) {
	switch mode, err := engine.OpenToOthers(k.Path); {
	case err != nil:
		log.Warn("the master key file can't be checked; the server keeps using its current key", "file", k.Path, "err", err)
	case mode != 0:
		log.Warn("others can read the master key", "file", k.Path, "mode", fmt.Sprintf("%04o", mode), "help", "chmod 600 "+k.Path)
	}
	k.file.Look()
}

// VerifyDatabase returns an error if a database was made with another key.
func (k *KeyFile) VerifyDatabase(ctx context.Context, store *db.DB) error {
	_, err := k.NewServer(ctx, Config{DB: store})
	return err
}
