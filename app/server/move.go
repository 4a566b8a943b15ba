package server

import (
	"context"

	"mailer/db/engine"
)

// Move copies a database to an empty one of the other engine. progress gets the number of rows
// read, and of all rows.
func Move(ctx context.Context, from, to, schema string, progress func(done, all int64)) (engine.Moved, error) {
	return engine.Move(ctx, engine.Moving{From: from, To: to, Schema: schema, Progress: progress})
}

// UndoMove makes a moved database usable again, and returns where it was moved to.
func UndoMove(ctx context.Context, name, schema string) (string, error) {
	return engine.Unmove(ctx, name, schema)
}

// MovedKey returns the master key file of a moved database, and whether that is the default file.
func MovedKey(from, keyFile, to string) (file string, found bool) {
	if keyFile == "" && engine.OnlyFiles(from) == nil {
		keyFile = engine.KeyPath(from)
	}
	return keyFile, engine.OnlyFiles(to) == nil && keyFile == engine.KeyPath(to)
}
