package teams

import (
	"context"
	"time"

	"mailer/app"
	"mailer/app/base"
	"mailer/db"
)

// AuditLog returns up to limit entries of the audit log since a time, newest first. An empty teamID
// selects all teams and the server.
func (s *Service) AuditLog(ctx context.Context, teamID string, since time.Time, limit int) (entries []app.AuditEntry, err error) {
	entries, err = db.Get(ctx, s.DB, func(r *db.Reader) ([]app.AuditEntry, error) { return r.AuditLog(teamID, since, limit) })
	return entries, base.Unavailable(err)
}

// AuditPage returns a page of the audit log, newest first, and whether there are more entries.
// Errors: CodeValidation for an unknown cursor.
func (s *Service) AuditPage(ctx context.Context, f *AuditFilter, page app.Page) (rows []app.AuditEntry, more bool, err error) {
	rows, more, err = db.GetPage(ctx, s.DB, func(r *db.Reader) ([]app.AuditEntry, bool, error) { return r.AuditPages(f, page) })
	return rows, more, base.Cursor(page, err)
}

// AuditFilter selects entries of the audit log.
type AuditFilter = db.AuditFilter

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
