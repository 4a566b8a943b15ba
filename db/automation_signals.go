package db

import (
	"database/sql"
	"errors"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mailer/app"
)

const signalColumns = `s.id, s.team_id, s.contact_id, s.name, s.payload, s.chain, s.created_at, s.done = 1`

func scanSignal(s scanner) (app.Signal, error) {
	var g app.Signal
	var payload, chain sql.NullString
	var created int64
	err := s.Scan(&g.ID, &g.TeamID, &g.ContactID, &g.Name, &payload, &chain, &created, &g.Taken)
	if err == nil {
		err = fromJSON(chain, &g.Chain)
	}
	if payload.Valid {
		g.Payload = jsontext.Value(payload.String)
	}
	g.CreatedAt = fromMilli(created)
	return g, err
}

// nullJSON returns the column of a JSON value; NULL for none.
func nullJSON(v jsontext.Value) any { return nullText(string(v)) }

// nullChain returns the column of a chain; NULL for an empty one.
func nullChain(chain []string) (any, error) {
	if len(chain) == 0 {
		return nil, nil
	}
	return jsonText(chain)
}

// InsertSignal adds an event of a contact. Its id gives the order.
func (tx *Tx) InsertSignal(s *app.Signal) error {
	chain, err := nullChain(s.Chain)
	if err != nil {
		return err
	}
	return tx.Write(`INSERT INTO automation_signals (id, team_id, contact_id, name, payload, chain, created_at, done) VALUES (?, ?, ?, ?, ?, ?, ?, 0)`,
		s.ID, s.TeamID, s.ContactID, s.Name, nullJSON(s.Payload), chain, milli(s.CreatedAt))
}

// NextSignalTeam returns the first team after another that has events that were not taken. Error: ErrNotFound.
func (r *Reader) NextSignalTeam(after string) (teamID string, err error) {
	err = r.Row(`SELECT team_id FROM automation_signals WHERE done = 0 AND team_id > ? ORDER BY team_id LIMIT 1`, []any{after}, &teamID)
	return teamID, err
}

// OpenSignals returns the oldest events of a team that were not taken, at most limit.
func (r *Reader) OpenSignals(teamID string, limit int) ([]app.Signal, error) {
	return list(r, scanSignal, `SELECT `+signalColumns+` FROM automation_signals AS s WHERE s.done = 0 AND s.team_id = ? ORDER BY s.id LIMIT ?`, teamID, limit)
}

// TakeSignal marks an event as taken. Error: ErrNotFound if it was taken before.
func (tx *Tx) TakeSignal(id string) error {
	return tx.WriteOne(`UPDATE automation_signals SET done = 1 WHERE id = ? AND done = 0`, id)
}

// SignalsSince returns the events of a contact with a name that happened at a time or later, the oldest first,
// at most limit.
func (r *Reader) SignalsSince(teamID, contactID, name string, since time.Time, limit int) ([]app.Signal, error) {
	return list(r, scanSignal, `SELECT `+signalColumns+` FROM automation_signals AS s WHERE s.team_id = ? AND s.contact_id = ? AND s.name = ? AND s.created_at >= ? ORDER BY s.id LIMIT ?`,
		teamID, contactID, name, milli(since), limit)
}

// DeleteOldSignals deletes at most limit taken events that happened before a time. It returns how many.
func (tx *Tx) DeleteOldSignals(before time.Time, limit int) (int64, error) {
	return tx.Exec(`DELETE FROM automation_signals WHERE id IN (SELECT id FROM automation_signals WHERE done = 1 AND created_at < ? ORDER BY created_at LIMIT ?)`, milli(before), limit)
}

// HasSignals reports whether a team has events that were not taken.
func (r *Reader) HasSignals(teamID string) (bool, error) {
	var n int
	err := r.Row(`SELECT 1 FROM automation_signals WHERE done = 0 AND team_id = ? LIMIT 1`, []any{teamID}, &n)
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// InSegment reports whether a contact is in a segment of its team, by the filter or because it was added. The
// filter is applied to the values in c.
func (r *Reader) InSegment(s *app.Segment, c *app.Contact) (bool, error) {
	if in, err := r.Picks(s.Filter, c); err != nil || in {
		return in, err
	}
	err := r.Exists(`SELECT 1 FROM members WHERE segment_id = ? AND contact_id = ?`, s.ID, c.ID)
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// SetAutomationMember remembers whether a contact is in the segment of an automation's trigger, and reports whether
// that changed.
func (tx *Tx) SetAutomationMember(automationID, contactID string, in bool) (changed bool, err error) {
	var n int64
	if in {
		n, err = tx.Exec(`INSERT INTO automation_members (automation_id, contact_id) VALUES (?, ?) ON CONFLICT DO NOTHING`, automationID, contactID)
	} else {
		n, err = tx.Exec(`DELETE FROM automation_members WHERE automation_id = ? AND contact_id = ?`, automationID, contactID)
	}
	return n > 0, err
}

// HasOpenRun reports whether a contact has an open run in an automation.
func (r *Reader) HasOpenRun(teamID, contactID, automationID string) (bool, error) {
	err := r.Exists(`SELECT 1 FROM automation_runs WHERE team_id = ? AND contact_id = ? AND automation_id = ? AND status = 'running' LIMIT 1`, teamID, contactID, automationID)
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}
