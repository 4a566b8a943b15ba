package server

import (
	"context"

	"mailer/db"
)

// VerifyDatabase refuses, in words, a database that was not made with this key.
func (k *KeyFile) VerifyDatabase(ctx context.Context, store *db.DB) error {
	_, err := k.NewServer(ctx, Config{DB: store})
	return err
}
