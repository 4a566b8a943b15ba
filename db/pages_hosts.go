package db

import (
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// PagesHost is the own host of a team for the pages that it publishes.
type PagesHost struct {
	Name       string // lower-case A-labels
	TeamID     string
	PointsHere bool      // the last check found its DNS record
	Detail     string    // what the last check found instead, and what to change
	CheckedAt  time.Time // zero: never
	CreatedAt  time.Time
}

const pagesHostColumns = `name, team_id, points_here, detail, checked_at, created_at`

func scanPagesHost(s scanner) (h PagesHost, err error) {
	var detail sql.NullString
	var checked sql.NullInt64
	var created int64
	err = s.Scan(&h.Name, &h.TeamID, &h.PointsHere, &detail, &checked, &created)
	h.Detail, h.CheckedAt, h.CreatedAt = detail.String, fromMilli(checked.Int64), fromMilli(created)
	return h, err
}

// PagesHost returns the own host of a team. Error: ErrNotFound.
func (r *Reader) PagesHost(teamID string) (PagesHost, error) {
	return one(r, scanPagesHost, `SELECT `+pagesHostColumns+` FROM pages_hosts WHERE team_id = ?`, teamID)
}

// PagesHosts returns the own hosts of all teams.
func (r *Reader) PagesHosts() ([]PagesHost, error) {
	hosts, err := list(r, scanPagesHost, `SELECT `+pagesHostColumns+` FROM pages_hosts ORDER BY name`)
	if err != nil {
		return nil, fmt.Errorf("read the own hosts of teams: %w", err)
	}
	return hosts, nil
}

// SetPagesHost makes a name the own host of a team, in the place of another. A host of another team
// that has no verified domain above it any more is taken over. Error: ErrConflict if another team has
// the host.
func (tx *Tx) SetPagesHost(teamID, name string) error {
	other, err := one(&tx.Reader, scanPagesHost, `SELECT `+pagesHostColumns+` FROM pages_hosts WHERE name = ?`, name)
	switch {
	case err == nil && other.TeamID == teamID:
		return nil
	case err == nil:
		verified, err := tx.VerifiedAbove(other.TeamID, name)
		if err == nil && verified {
			err = ErrConflict
		}
		if err != nil {
			return err
		}
		if err := tx.DeletePagesHost(other.TeamID); err != nil {
			return err
		}
	case !errors.Is(err, ErrNotFound):
		return err
	}
	if err := tx.DeletePagesHost(teamID); err != nil {
		return err
	}
	return tx.Write(`INSERT INTO pages_hosts (name, team_id, points_here, created_at) VALUES (?, ?, 0, ?)`, name, teamID, milli(tx.Now))
}

// DeletePagesHost deletes the own host of a team, if there is one.
func (tx *Tx) DeletePagesHost(teamID string) error {
	return tx.Write(`DELETE FROM pages_hosts WHERE team_id = ?`, teamID)
}

// SetPagesHostCheck stores PointsHere and Detail of the own host of a team. Error: ErrNotFound if the
// team has another one now.
func (tx *Tx) SetPagesHostCheck(h *PagesHost) error {
	return tx.WriteOne(`UPDATE pages_hosts SET points_here = ?, detail = ?, checked_at = ? WHERE team_id = ? AND name = ?`,
		h.PointsHere, nullText(h.Detail), milli(tx.Now), h.TeamID, h.Name)
}
