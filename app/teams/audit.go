package teams

import (
	"context"
	"time"

	"mailer/app"
	"mailer/app/service"
	"mailer/db"
)

// AuditLog returns up to limit entries of the audit log since a time, newest first: of a
// team, or of all teams and the server where teamID is empty.
func (s *Service) AuditLog(ctx context.Context, teamID string, since time.Time, limit int) (entries []app.AuditEntry, err error) {
	entries, err = db.Get(ctx, s.DB, func(r *db.Reader) ([]app.AuditEntry, error) { return r.AuditLog(teamID, since, limit) })
	return entries, service.Unavailable(err)
}
