package audience

import (
	"context"

	"mailer/app/base"
	"mailer/db"
)

// PurgeLeftovers removes rows of deleted topics, segments, properties and webhooks.
func (s *Service) PurgeLeftovers(ctx context.Context) error {
	return s.InChunks(ctx, "leftovers", func(tx *db.Tx) (bool, error) { return tx.PurgeLeftovers(base.PurgeChunk) })
}
