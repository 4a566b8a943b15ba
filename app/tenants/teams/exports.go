package teams

import (
	"context"

	"mailer/app/base"
	"mailer/db"
)

// AuditExport appends to the audit log that the list at a path was exported. team is empty for a
// list of the server; query holds its filters.
func (s *Service) AuditExport(ctx context.Context, team, path string, query map[string]string) error {
	var after any
	if len(query) > 0 {
		after = query
	}
	return base.Unavailable(s.DB.Write(ctx, func(tx *db.Tx) error {
		return base.Audit(ctx, tx, team, "export", path, nil, after)
	}))
}
