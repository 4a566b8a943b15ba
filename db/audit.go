package db

import (
	"database/sql"
	"time"

	"mailer/app"
)

// InsertAudit appends what was changed. before and after are JSON without secrets, or
// empty.
func (tx *Tx) InsertAudit(e *app.AuditEntry) error {
	_, err := tx.exec(`INSERT INTO audit_logs (id, team_id, actor_type, actor, address, action, target, before, after, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		e.ID, nullText(e.TeamID), string(e.Actor.Type), e.Actor.Name, nullText(e.Actor.Address), e.Action, nullText(e.Target), nullText(e.Before), nullText(e.After), milli(tx.Now))
	return err
}

const auditColumns = `id, team_id, actor_type, actor, address, action, target, before, after, created_at`

func scanAudit(s scanner) (app.AuditEntry, error) {
	var e app.AuditEntry
	var team, address, target, before, after sql.NullString
	var created int64
	err := s.Scan(&e.ID, &team, &e.Actor.Type, &e.Actor.Name, &address, &e.Action, &target, &before, &after, &created)
	e.TeamID, e.Actor.Address, e.Target, e.Before, e.After = team.String, address.String, target.String, before.String, after.String
	e.CreatedAt = fromMilli(created)
	return e, err
}

// AuditLog returns up to limit entries of the audit log since a time, newest first: those
// of a team, or of all where none is named.
func (r *Reader) AuditLog(teamID string, since time.Time, limit int) ([]app.AuditEntry, error) {
	if teamID == "" {
		return list(&r.session, scanAudit, `SELECT `+auditColumns+` FROM audit_logs WHERE created_at >= ? ORDER BY id DESC LIMIT ?`, milli(since), limit)
	}
	return list(&r.session, scanAudit, `SELECT `+auditColumns+` FROM audit_logs WHERE team_id = ? AND created_at >= ? ORDER BY id DESC LIMIT ?`, teamID, milli(since), limit)
}
