package audience

import (
	"context"

	"mailer/app/base"
	"mailer/db"
)

// Clean removes what belonged to deleted topics, segments and webhooks.
func (s *Service) Clean(ctx context.Context) error {
	return s.InPieces(ctx, "leftovers", func(tx *db.Tx) (bool, error) { return tx.PurgeLeftovers(base.PurgeChunk) })
}
