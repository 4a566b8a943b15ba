package server

import (
	"context"

	"mailer/db"
)

// VerifyDatabase returns an error if a database was made with another key.
func (k *KeyFile) VerifyDatabase(ctx context.Context, store *db.DB) error {
	_, err := k.NewServer(ctx, Config{DB: store})
	return err
}
