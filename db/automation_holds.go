package db

import (
	"fmt"

	"mailer/app"
)

// HeldAutomations counts what a restore held of automations.
type HeldAutomations struct {
	Runs        int64 // open runs
	Signals     int64 // events that were not taken
	Automations int64 // whose starts by date or schedule are held
}

// HoldAutomations holds the open runs, the events that were not taken, and the starts by date and schedule of
// all teams. Runs and starts that were held before stay so.
func (tx *Tx) HoldAutomations() (n HeldAutomations, err error) {
	if n.Runs, err = tx.Exec(`UPDATE automation_runs SET held = 'restored' WHERE status = 'running' AND held IS NULL`); err != nil {
		return n, fmt.Errorf("hold runs: %w", err)
	}
	if n.Signals, err = tx.Exec(`UPDATE automation_signals SET done = 2 WHERE done = 0`); err != nil {
		return n, fmt.Errorf("hold events: %w", err)
	}
	if n.Automations, err = tx.Exec(`UPDATE automations SET held = 'restored' WHERE next_at IS NOT NULL AND status = 'enabled' AND held IS NULL AND deleted_at IS NULL`); err != nil {
		return n, fmt.Errorf("hold automations: %w", err)
	}
	return n, nil
}

// HeldContact is a contact of a team with held runs or events.
type HeldContact struct{ TeamID, ContactID string }

// NextHeldContact returns the first contact after another one that has held runs or events, of a team or of
// all teams for "". Error: ErrNotFound.
func (r *Reader) NextHeldContact(teamID string, after HeldContact) (HeldContact, error) {
	first := HeldContact{}
	for _, look := range []struct{ same, next string }{
		{`SELECT team_id, contact_id FROM automation_runs WHERE held IS NOT NULL AND team_id = ? AND contact_id > ? ORDER BY contact_id LIMIT 1`,
			`SELECT team_id, contact_id FROM automation_runs WHERE held IS NOT NULL AND team_id > ? ORDER BY team_id, contact_id LIMIT 1`},
		{`SELECT team_id, contact_id FROM automation_signals WHERE done = 2 AND team_id = ? AND contact_id > ? ORDER BY contact_id LIMIT 1`,
			`SELECT team_id, contact_id FROM automation_signals WHERE done = 2 AND team_id > ? ORDER BY team_id, contact_id LIMIT 1`},
	} {
		found, team := HeldContact{}, after.TeamID
		if teamID != "" {
			team = teamID
		}
		err := r.Row(look.same, []any{team, after.ContactID}, &found.TeamID, &found.ContactID)
		if teamID == "" && found.TeamID == "" && ignoreNotFound(err) == nil {
			err = r.Row(look.next, []any{after.TeamID}, &found.TeamID, &found.ContactID)
		}
		if ignoreNotFound(err) != nil {
			return first, err
		}
		if err == nil && (first.TeamID == "" || found.TeamID < first.TeamID || found.TeamID == first.TeamID && found.ContactID < first.ContactID) {
			first = found
		}
	}
	if first.TeamID == "" {
		return first, ErrNotFound
	}
	return first, nil
}

// ReleaseContact releases the held runs and events of a contact. Runs that are overdue are due now, after its
// events were taken.
func (tx *Tx) ReleaseContact(c HeldContact) (n HeldAutomations, err error) {
	if n.Runs, err = tx.Exec(`UPDATE automation_runs SET held = NULL WHERE team_id = ? AND contact_id = ? AND held IS NOT NULL`, c.TeamID, c.ContactID); err != nil {
		return n, fmt.Errorf("release runs: %w", err)
	}
	if n.Signals, err = tx.Exec(`UPDATE automation_signals SET done = 0 WHERE team_id = ? AND contact_id = ? AND done = 2`, c.TeamID, c.ContactID); err != nil {
		return n, fmt.Errorf("release events: %w", err)
	}
	return n, nil
}

// DropHeldContact cancels the held runs of a contact, at most limit, and deletes its held events. It can be
// called again for the rest.
func (tx *Tx) DropHeldContact(c HeldContact, limit int) (n HeldAutomations, err error) {
	runs, err := list(&tx.Reader, scanRun, `SELECT `+runColumns+` FROM automation_runs AS r WHERE r.team_id = ? AND r.contact_id = ? AND r.held IS NOT NULL ORDER BY r.id LIMIT ?`, c.TeamID, c.ContactID, limit)
	if err != nil {
		return n, err
	}
	for i := range runs {
		if err := tx.CancelRun(&runs[i], app.ReasonDropped); err != nil {
			return n, err
		}
		n.Runs++
	}
	if n.Signals, err = tx.Exec(`DELETE FROM automation_signals WHERE team_id = ? AND contact_id = ? AND done = 2`, c.TeamID, c.ContactID); err != nil {
		return n, fmt.Errorf("drop events: %w", err)
	}
	return n, nil
}

// RestoredAutomations returns at most limit automations of a team, or of all teams for "", whose starts a
// restore held, after an id in id order, without their flows.
func (r *Reader) RestoredAutomations(teamID, after string, limit int) ([]app.Automation, error) {
	if teamID == "" {
		return list(r, scanAutomation, `SELECT `+automationColumns+` FROM automations AS a WHERE a.held = 'restored' AND a.deleted_at IS NULL AND a.id > ? ORDER BY a.id LIMIT ?`, after, limit)
	}
	return list(r, scanAutomation, `SELECT `+automationColumns+` FROM automations AS a WHERE a.team_id = ? AND a.held = 'restored' AND a.deleted_at IS NULL AND a.id > ? ORDER BY a.id LIMIT ?`, teamID, after, limit)
}
