package server

import (
	"context"

	"mailer/db/engine"
)

// Move copies all that a database holds to an empty one of the other engine: db.Move.
// progress hears how many rows were read, of how many.
func Move(ctx context.Context, from, to, schema string, progress func(done, all int64)) (engine.Moved, error) {
	return engine.Move(ctx, engine.Moving{From: from, To: to, Schema: schema, Progress: progress})
}

// UndoMove has a database work again that was moved, and returns where it was moved to.
func UndoMove(ctx context.Context, name, schema string) (string, error) {
	return engine.Unmove(ctx, name, schema)
}

// MovedKey is the file of the master key that a moved database needs, and whether it is found
// there by itself.
func MovedKey(from, keyFile, to string) (file string, found bool) {
	if keyFile == "" && engine.OnlyFiles(from) == nil {
		keyFile = engine.KeyPath(from)
	}
	return keyFile, engine.OnlyFiles(to) == nil && keyFile == engine.KeyPath(to)
}
