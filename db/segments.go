package db

import (
	"database/sql"
	"fmt"

	"mailer/app"
)

const segmentColumns = `s.id, s.team_id, s.name, s.filter, s.members, s.created_at`

func scanSegment(s scanner) (app.Segment, error) {
	var v app.Segment
	var filter sql.NullString
	var created int64
	if err := s.Scan(&v.ID, &v.TeamID, &v.Name, &filter, &v.Members, &created); err != nil {
		return v, err
	}
	v.CreatedAt = fromMilli(created)
	return v, fromJSON(filter, &v.Filter)
}

func filterColumn(f *app.Filter) (any, error) {
	if f == nil {
		return nil, nil
	}
	return jsonText(f)
}

// InsertSegment adds a segment without members.
func (tx *Tx) InsertSegment(s *app.Segment) error {
	filter, err := filterColumn(s.Filter)
	if err != nil {
		return err
	}
	_, err = tx.exec(`INSERT INTO segments (id, team_id, name, filter, members, created_at) VALUES (?, ?, ?, ?, 0, ?)`,
		s.ID, s.TeamID, s.Name, filter, milli(s.CreatedAt))
	return err
}

// UpdateSegment writes name and filter.
func (tx *Tx) UpdateSegment(s *app.Segment) error {
	filter, err := filterColumn(s.Filter)
	if err != nil {
		return err
	}
	n, err := tx.exec(`UPDATE segments SET name = ?, filter = ? WHERE team_id = ? AND id = ?`, s.Name, filter, s.TeamID, s.ID)
	return oneRow(n, err, ErrNotFound)
}

// DeleteSegment removes a segment; its memberships are left over for
// PurgeLeftovers.
func (tx *Tx) DeleteSegment(teamID, id string) error {
	n, err := tx.exec(`DELETE FROM segments WHERE team_id = ? AND id = ?`, teamID, id)
	if err := oneRow(n, err, ErrNotFound); err != nil {
		return err
	}
	return tx.leaveOver(id)
}

func (tx *Tx) leaveOver(id string) error {
	_, err := tx.exec(`INSERT INTO leftovers (id) VALUES (?)`, id)
	return err
}

// PurgeLeftovers deletes at most limit choices or memberships of one deleted
// topic or segment, and tells whether there may be more to do.
func (tx *Tx) PurgeLeftovers(limit int) (more bool, err error) {
	var id string
	err = tx.row(`SELECT id FROM leftovers ORDER BY id LIMIT 1`, nil, &id)
	if err != nil {
		return false, ignoreNotFound(err)
	}
	choices, err := tx.exec(`DELETE FROM choices WHERE topic_id = ?1 AND address IN
		(SELECT address FROM choices WHERE topic_id = ?1 LIMIT ?2)`, id, limit)
	if err != nil {
		return false, fmt.Errorf("purge choices: %w", err)
	}
	members, err := tx.exec(`DELETE FROM members WHERE segment_id = ?1 AND contact_id IN
		(SELECT contact_id FROM members WHERE segment_id = ?1 LIMIT ?2)`, id, limit)
	if err != nil {
		return false, fmt.Errorf("purge members: %w", err)
	}
	if choices+members > 0 {
		return true, nil
	}
	_, err = tx.exec(`DELETE FROM leftovers WHERE id = ?`, id)
	return true, err
}

// Segment gives one segment of a team.
func (r *Reader) Segment(teamID, id string) (app.Segment, error) {
	stmt, err := r.stmt(`SELECT ` + segmentColumns + ` FROM segments AS s WHERE s.team_id = ? AND s.id = ?`)
	if err != nil {
		return app.Segment{}, err
	}
	s, err := scanSegment(stmt.QueryRow(teamID, id))
	return s, notFound(err)
}

// ListSegments gives a page of a team's segments, newest first. Error:
// ErrNotFound for a cursor that is none of them.
func (r *Reader) ListSegments(teamID string, page app.Page) ([]app.Segment, bool, error) {
	return keyset(r, page, func(cursor string) error {
		_, err := r.Segment(teamID, cursor)
		return err
	}, func(limit int) ([]app.Segment, error) {
		switch {
		case page.After != "":
			return list(&r.session, scanSegment, `SELECT `+segmentColumns+` FROM segments AS s
				WHERE s.team_id = ? AND s.id < ? ORDER BY s.id DESC LIMIT ?`, teamID, page.After, limit)
		case page.Before != "":
			return list(&r.session, scanSegment, `SELECT `+segmentColumns+` FROM segments AS s
				WHERE s.team_id = ? AND s.id > ? ORDER BY s.id LIMIT ?`, teamID, page.Before, limit)
		}
		return list(&r.session, scanSegment, `SELECT `+segmentColumns+` FROM segments AS s
			WHERE s.team_id = ? ORDER BY s.id DESC LIMIT ?`, teamID, limit)
	})
}

// AddMember puts a contact into a segment by hand and tells whether it was not
// there. The caller counts it with CountMembers; both must be the team's.
func (tx *Tx) AddMember(segmentID, contactID string) (added bool, err error) {
	n, err := tx.exec(`INSERT INTO members (segment_id, contact_id) VALUES (?, ?) ON CONFLICT DO NOTHING`, segmentID, contactID)
	if err != nil {
		return false, fmt.Errorf("insert member: %w", err)
	}
	return n > 0, nil
}

// RemoveMember takes a contact out of a segment and tells whether it was there
// by hand. The caller counts it with CountMembers.
func (tx *Tx) RemoveMember(segmentID, contactID string) (removed bool, err error) {
	n, err := tx.exec(`DELETE FROM members WHERE segment_id = ? AND contact_id = ?`, segmentID, contactID)
	return n > 0, err
}

// CountMembers adds n, which may be negative, to a segment's counter.
func (tx *Tx) CountMembers(segmentID string, n int) error {
	if n == 0 {
		return nil
	}
	_, err := tx.exec(`UPDATE segments SET members = members + ? WHERE id = ?`, n, segmentID)
	return err
}

// SegmentsOf gives the ids of the segments that a contact was added to by hand,
// oldest first.
func (r *Reader) SegmentsOf(contactID string) ([]string, error) {
	return list(&r.session, scanText, `SELECT s.id FROM members AS m JOIN segments AS s ON s.id = m.segment_id
		WHERE m.contact_id = ? ORDER BY m.segment_id`, contactID)
}

func scanText(s scanner) (string, error) {
	var v string
	err := s.Scan(&v)
	return v, err
}
