package db

import "mailer/app"

// InsertAudit appends what was changed. before and after are JSON without secrets, or
// empty.
func (tx *Tx) InsertAudit(e *app.AuditEntry) error {
	_, err := tx.exec(`INSERT INTO audit_logs (id, team_id, actor_type, actor, address, action, target, before, after, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		e.ID, nullText(e.TeamID), string(e.Actor.Type), e.Actor.Name, nullText(e.Actor.Address), e.Action, nullText(e.Target), nullText(e.Before), nullText(e.After), milli(tx.Now))
	return err
}
