package db

import (
	"database/sql"
	"time"

	"mailer/app"
	"mailer/db/engine"
)

// Suspension is a team's suspension by the operator: no mail of the team is sent.
type Suspension struct {
	Since  time.Time // zero: not suspended
	Reason string
}

// Suspension returns the suspension of a team. Error: ErrNotFound.
func (r *Reader) Suspension(teamID string) (s Suspension, err error) {
	var since sql.NullInt64
	var reason sql.NullString
	err = r.Row(`SELECT suspended_at, suspended FROM teams WHERE id = ?`, []any{teamID}, &since, &reason)
	s.Since, s.Reason = fromMilli(since.Int64), reason.String
	return s, err
}

// IsSuspended reports whether a team is suspended.
func (r *Reader) IsSuspended(teamID string) (bool, error) {
	var n int
	err := r.Row(`SELECT count(*) FROM teams WHERE id = ? AND suspended_at IS NOT NULL`, []any{teamID}, &n)
	return n > 0, err
}

// SuspendedTeams returns the ids of the suspended teams.
func (r *Reader) SuspendedTeams() ([]string, error) {
	return list(r, scanText, `SELECT id FROM teams WHERE suspended_at IS NOT NULL`)
}

// SuspendTeam suspends a team, or changes the reason of a suspended one. Timelines show
// trouble. Error: ErrNotFound.
func (tx *Tx) SuspendTeam(teamID, reason string, trouble app.RelayTrouble) error {
	tx.Changed(engine.Control)
	n, err := tx.Exec(`UPDATE teams SET suspended_at = coalesce(suspended_at, ?), suspended = ? WHERE id = ?`, milli(tx.Now), reason, teamID)
	if err := oneRow(n, err, ErrNotFound); err != nil {
		return err
	}
	if err := tx.endSuspension(teamID); err != nil { // the reason changed
		return err
	}
	return tx.OpenTrouble(trouble)
}

// ResumeTeam ends the suspension of a team.
func (tx *Tx) ResumeTeam(teamID string) error {
	tx.Changed(engine.Control)
	if err := tx.Write(`UPDATE teams SET suspended_at = NULL, suspended = NULL WHERE id = ?`, teamID); err != nil {
		return err
	}
	return tx.endSuspension(teamID)
}

func (tx *Tx) endSuspension(teamID string) error {
	err := tx.Write(`UPDATE relay_troubles SET ended_at = ? WHERE relay = '' AND team_id = ? AND ended_at IS NULL`, milli(tx.Now), teamID)
	return err
}
