package db

import (
	"encoding/hex"
	"time"

	"mailer/app"
)

// Start is the last start of an automation for a contact, as it is exported.
type Start struct {
	ContactID, Email string
	Key              string // hash of a value of the event; empty: all starts
	LastAt           time.Time
}

func scanStart(s scanner) (v Start, err error) {
	var last int64
	err = s.Scan(&v.ContactID, &v.Key, &last, &v.Email)
	v.LastAt = fromMilli(last)
	return v, err
}

// StartsAfter returns at most limit starts of an automation after a contact and key, in the order of both.
func (r *Reader) StartsAfter(teamID, automationID, contactID, key string, limit int) ([]Start, error) {
	rows, err := list(r, scanStart, `SELECT e.contact_id, e.entry_key, e.last_at, c.email FROM automation_entries AS e CROSS JOIN contacts AS c
		ON c.id = e.contact_id AND c.team_id = ? AND e.automation_id = ? AND e.contact_id = ? AND e.entry_key > ? ORDER BY e.entry_key LIMIT ?`, teamID, automationID, contactID, key, limit)
	if err != nil || len(rows) == limit {
		return rows, err
	}
	more, err := list(r, scanStart, `SELECT e.contact_id, e.entry_key, e.last_at, c.email FROM automation_entries AS e CROSS JOIN contacts AS c
		ON c.id = e.contact_id AND c.team_id = ? AND e.automation_id = ? AND e.contact_id > ? ORDER BY e.contact_id, e.entry_key LIMIT ?`, teamID, automationID, contactID, limit-len(rows))
	return append(rows, more...), err
}

// HasStart reports whether an automation started for a contact, by the hash of a key.
func (r *Reader) HasStart(automationID, contactID, key string) (bool, error) {
	err := r.Exists(`SELECT 1 FROM automation_entries WHERE automation_id = ? AND contact_id = ? AND entry_key = ?`, automationID, contactID, key)
	return err == nil, ignoreNotFound(err)
}

// IsStartKey reports whether a text can be the key of a Start.
func IsStartKey(key string) bool {
	b, err := hex.DecodeString(key)
	return key == "" || err == nil && len(b) == 32
}

// InsertStart stores an imported start. It changes nothing if there is one.
func (tx *Tx) InsertStart(teamID, automationID string, v *Start) error {
	return tx.Write(`INSERT INTO automation_entries (automation_id, contact_id, entry_key, team_id, last_at, recent) VALUES (?, ?, ?, ?, ?, '[]') ON CONFLICT (automation_id, contact_id, entry_key) DO NOTHING`,
		automationID, v.ContactID, v.Key, teamID, milli(v.LastAt))
}

// HasAutomationNamed returns the id of an automation of a team with a name that was created at a time. Error:
// ErrNotFound.
func (r *Reader) HasAutomationNamed(teamID, name string, createdAt time.Time) (id string, err error) {
	err = r.Row(`SELECT id FROM automations WHERE team_id = ? AND deleted_at IS NULL AND name = ? AND created_at = ? ORDER BY id LIMIT 1`, []any{teamID, name, milli(createdAt)}, &id)
	return id, err
}

// AutomationIDTaken reports whether an automation of any team has an id.
func (r *Reader) AutomationIDTaken(id string) (bool, error) {
	return r.taken(`SELECT EXISTS (SELECT 1 FROM automations WHERE id = ?)`, id)
}

// CustomEventIDTaken reports whether a custom event of any team has an id.
func (r *Reader) CustomEventIDTaken(id string) (bool, error) {
	return r.taken(`SELECT EXISTS (SELECT 1 FROM custom_events WHERE id = ?)`, id)
}

// ExportedAutomation returns an automation with the current version of its flow. Error: ErrNotFound.
func (r *Reader) ExportedAutomation(teamID, id string) (app.Automation, error) {
	a, err := r.Automation(teamID, id)
	if err == nil {
		a.Flow, err = r.AutomationFlow(a.ID, a.Version)
	}
	return a, err
}
