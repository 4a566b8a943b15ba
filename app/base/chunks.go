package base

import (
	"context"
	"fmt"

	"mailer/db"
)

// PurgeChunk is how many rows one cleaning transaction removes at most.
const PurgeChunk = 1000

// IdleSweepMinutes is how many minutes workers wait between two sweeps while no other process
// changes the database.
const IdleSweepMinutes = 5

// InChunks repeats a small Write until remove reports that no rows are left, so that other writes
// wait only briefly. kind names the rows in errors.
func (s *Base) InChunks(ctx context.Context, kind string, remove func(*db.Tx) (more bool, err error)) error {
	for more := true; more; {
		err := s.DB.Write(ctx, func(tx *db.Tx) (err error) {
			more, err = remove(tx)
			return err
		})
		if err != nil {
			return fmt.Errorf("remove %s: %w", kind, err)
		}
	}
	return nil
}
