package db

import (
	"cmp"
	"database/sql"
	"time"

	"mailer/app"
)

// InsertAudit appends an entry to the audit log. Before and After are JSON without
// secrets, or empty.
func (tx *Tx) InsertAudit(e *app.AuditEntry) error {
	err := tx.Write(`INSERT INTO audit_logs (id, team_id, actor_type, actor, address, action, target, before, after, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		e.ID, nullText(e.TeamID), string(e.Actor.Type), e.Actor.Name, nullText(e.Actor.Address), e.Action, nullText(e.Target), nullText(e.Before), nullText(e.After), milli(tx.Now))
	return err
}

// AuditFilter selects entries of the audit log. Empty fields match all entries.
type AuditFilter struct {
	Team                  string // empty: all teams and the server
	Action, Actor, Target string
	Since, Until          time.Time // at or after Since, before Until
}

// AuditPages returns a page of the audit log, newest first, and whether there are more
// rows. Error: ErrNotFound for a cursor that the filter does not match.
func (r *Reader) AuditPages(f *AuditFilter, page app.Page) ([]app.AuditEntry, bool, error) {
	since, until := firstID, lastID
	if !f.Since.IsZero() {
		since = app.FirstID(f.Since)
	}
	if !f.Until.IsZero() {
		until = app.FirstID(f.Until)
	}
	filters := []any{f.Team, f.Action, f.Actor, f.Target}
	exists := func(cursor string) error {
		return r.Exists(`SELECT 1 FROM audit_logs AS a WHERE a.id = ?5 AND (?1 = '' OR a.team_id = ?1)`+auditConditions, append(filters, cursor)...)
	}
	walks := f.walks()
	return keyset(r, page, exists, func(limit int) ([]app.AuditEntry, error) {
		if page.Before != "" {
			return list(r, scanAudit, walks.newer, append(filters, max(page.Before, since[:max(0, len(since)-1)]), until, limit)...)
		}
		return list(r, scanAudit, walks.older, append(filters, since, min(cmp.Or(page.After, lastID), until), limit)...)
	})
}

// walks returns the statements that use the most selective index. A search over all teams,
// which only an operator can make, uses the primary key.
func (f *AuditFilter) walks() *auditWalk {
	switch {
	case f.Team == "":
		return &auditWalks[0]
	case f.Target != "":
		return &auditWalks[1]
	case f.Actor != "":
		return &auditWalks[2]
	case f.Action != "":
		return &auditWalks[3]
	}
	return &auditWalks[4]
}

// auditWalk has the statements of the two directions. Their parameters: team, action,
// actor, target, lowest id, highest id, limit.
type auditWalk struct{ older, newer string }

const (
	auditColumns    = `a.id, a.team_id, a.actor_type, a.actor, a.address, a.action, a.target, a.before, a.after, a.created_at, coalesce(k.name, u.address)`
	auditTables     = `audit_logs AS a LEFT JOIN keys AS k ON a.actor_type = 'key' AND k.id = a.actor LEFT JOIN users AS u ON a.actor_type = 'person' AND u.id = a.actor`
	auditConditions = ` AND (?2 = '' OR a.action = ?2) AND (?3 = '' OR a.actor = ?3) AND (?4 = '' OR a.target = ?4)`
	auditOlder      = ` AND (?2 = '' OR a.action = ?2) AND (?3 = '' OR a.actor = ?3) AND (?4 = '' OR a.target = ?4) AND a.id >= ?5 AND a.id < ?6 ORDER BY a.id DESC LIMIT ?7`
	auditNewer      = ` AND (?2 = '' OR a.action = ?2) AND (?3 = '' OR a.actor = ?3) AND (?4 = '' OR a.target = ?4) AND a.id > ?5 AND a.id < ?6 ORDER BY a.id LIMIT ?7`
)

var auditWalks = [5]auditWalk{
	{`SELECT ` + auditColumns + ` FROM ` + auditTables + ` WHERE ?1 = ''` + auditOlder,
		`SELECT ` + auditColumns + ` FROM ` + auditTables + ` WHERE ?1 = ''` + auditNewer},
	{`SELECT ` + auditColumns + ` FROM ` + auditTables + ` WHERE a.team_id = ?1 AND a.target = ?4` + auditOlder,
		`SELECT ` + auditColumns + ` FROM ` + auditTables + ` WHERE a.team_id = ?1 AND a.target = ?4` + auditNewer},
	{`SELECT ` + auditColumns + ` FROM ` + auditTables + ` WHERE a.team_id = ?1 AND a.actor = ?3` + auditOlder,
		`SELECT ` + auditColumns + ` FROM ` + auditTables + ` WHERE a.team_id = ?1 AND a.actor = ?3` + auditNewer},
	{`SELECT ` + auditColumns + ` FROM ` + auditTables + ` WHERE a.team_id = ?1 AND a.action = ?2` + auditOlder,
		`SELECT ` + auditColumns + ` FROM ` + auditTables + ` WHERE a.team_id = ?1 AND a.action = ?2` + auditNewer},
	{`SELECT ` + auditColumns + ` FROM ` + auditTables + ` WHERE a.team_id = ?1` + auditOlder,
		`SELECT ` + auditColumns + ` FROM ` + auditTables + ` WHERE a.team_id = ?1` + auditNewer},
}

func scanAudit(s scanner) (app.AuditEntry, error) {
	var e app.AuditEntry
	var team, address, target, before, after, name sql.NullString
	var created int64
	err := s.Scan(&e.ID, &team, &e.Actor.Type, &e.Actor.Name, &address, &e.Action, &target, &before, &after, &created, &name)
	e.TeamID, e.Actor.Address, e.Target, e.Before, e.After, e.ActorName = team.String, address.String, target.String, before.String, after.String, name.String
	e.CreatedAt = fromMilli(created)
	return e, err
}

// AuditLog returns up to limit entries of the audit log since a time, newest first. An
// empty teamID selects all teams.
func (r *Reader) AuditLog(teamID string, since time.Time, limit int) ([]app.AuditEntry, error) {
	f := AuditFilter{Team: teamID, Since: since}
	rows, _, err := r.AuditPages(&f, app.Page{Limit: limit})
	return rows, err
}

// PurgeAudit deletes at most limit entries of the audit log older than before, and reports
// whether there may be more.
func (tx *Tx) PurgeAudit(before time.Time, limit int) (more bool, err error) {
	n, err := tx.Exec(`DELETE FROM audit_logs WHERE id IN (SELECT id FROM audit_logs WHERE id < ? ORDER BY id LIMIT ?)`, app.FirstID(before), limit)
	return n == int64(limit), err
}
