package teams

import (
	"context"

	"mailer/app/service"
	"mailer/db"
)

// NoteExport appends to the audit log of a team (empty: of the server) that the list at a
// path is exported; query is what narrows it.
func (s *Service) NoteExport(ctx context.Context, team, path string, query map[string]string) error {
	var after any
	if len(query) > 0 {
		after = query
	}
	return service.Unavailable(s.DB.Write(ctx, func(tx *db.Tx) error {
		return service.Audit(ctx, tx, team, "export", path, nil, after)
	}))
}
