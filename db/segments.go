package db

import (
	"context"
	"database/sql"
	"fmt"
	"slices"

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

// InsertSegment adds a segment without members.
func (tx *Tx) InsertSegment(s *app.Segment) error {
	filter, err := pointerColumn(s.Filter)
	if err != nil {
		return err
	}
	err = tx.Write(`INSERT INTO segments (id, team_id, name, filter, members, created_at) VALUES (?, ?, ?, ?, 0, ?)`,
		s.ID, s.TeamID, s.Name, filter, milli(s.CreatedAt))
	return err
}

// UpdateSegment stores name and filter.
func (tx *Tx) UpdateSegment(s *app.Segment) error {
	filter, err := pointerColumn(s.Filter)
	if err != nil {
		return err
	}
	tx.ChangedCounts(s.ID)
	return tx.WriteOne(`UPDATE segments SET name = ?, filter = ? WHERE team_id = ? AND id = ?`, s.Name, filter, s.TeamID, s.ID)
}

// DeleteSegment deletes a segment. PurgeLeftovers deletes its memberships.
func (tx *Tx) DeleteSegment(teamID, id string) error {
	n, err := tx.Exec(`DELETE FROM segments WHERE team_id = ? AND id = ?`, teamID, id)
	if err := oneRow(n, err, ErrNotFound); err != nil {
		return err
	}
	return tx.addLeftover(teamID, id, "")
}

// Segment returns one segment of a team.
func (r *Reader) Segment(teamID, id string) (app.Segment, error) {
	return one(r, scanSegment, `SELECT `+segmentColumns+` FROM segments AS s WHERE s.team_id = ? AND s.id = ?`, teamID, id)
}

// ListSegments returns a page of a team's segments, newest first. Error: ErrNotFound for
// an unknown cursor.
func (r *Reader) ListSegments(teamID string, page app.Page) ([]app.Segment, bool, error) {
	return keyset(r, page, func(cursor string) error { return errorOf(r.Segment(teamID, cursor)) },
		func(limit int) ([]app.Segment, error) { return r.segmentRows(teamID, page, limit) })
}

// segmentRows returns at most limit segments after page's cursor, in page order.
func (r *Reader) segmentRows(teamID string, page app.Page, limit int) ([]app.Segment, error) {
	return walk(r, scanSegment, page, lastID, limit,
		`SELECT `+segmentColumns+` FROM segments AS s WHERE s.team_id = ? AND s.id < ? ORDER BY s.id DESC LIMIT ?`,
		`SELECT `+segmentColumns+` FROM segments AS s WHERE s.team_id = ? AND s.id > ? ORDER BY s.id LIMIT ?`, teamID)
}

// AddMember adds a contact to a segment and reports whether it was not a member. The
// caller calls CountMembers and checks the team of both.
func (tx *Tx) AddMember(segmentID, contactID string) (added bool, err error) {
	tx.ChangedCounts(segmentID)
	n, err := tx.Exec(`INSERT INTO members (segment_id, contact_id) VALUES (?, ?) ON CONFLICT DO NOTHING`, segmentID, contactID)
	if err != nil {
		return false, fmt.Errorf("insert member: %w", err)
	}
	return n > 0, nil
}

// RemoveMember removes a contact from a segment and reports whether it was a member. The
// caller calls CountMembers.
func (tx *Tx) RemoveMember(segmentID, contactID string) (removed bool, err error) {
	tx.ChangedCounts(segmentID)
	n, err := tx.Exec(`DELETE FROM members WHERE segment_id = ? AND contact_id = ?`, segmentID, contactID)
	return n > 0, err
}

// CountMembers adds n, which may be negative, to a segment's member counter.
func (tx *Tx) CountMembers(segmentID string, n int) error {
	if n == 0 {
		return nil
	}
	err := tx.Write(`UPDATE segments SET members = members + ? WHERE id = ?`, n, segmentID)
	return err
}

// SegmentsOf returns the ids of a team's segments that a contact was added to explicitly,
// oldest first.
func (r *Reader) SegmentsOf(teamID, contactID string) ([]string, error) {
	return list(r, scanText, `SELECT s.id FROM members AS m CROSS JOIN segments AS s
		ON s.id = m.segment_id AND s.team_id = ? AND m.contact_id = ? ORDER BY m.segment_id`, teamID, contactID)
}

const (
	// segmentChunk is the number of segments evaluated for a contact at a time.
	segmentChunk = 50
	// segmentEffort is the cost of reading a segment's filter, in rows of an Effort.
	segmentEffort = 200
)

// ListSegmentsOf returns a page of the segments that contain a contact, by filter or
// explicitly, newest first. It evaluates all segments of the team at most. Errors:
// ErrNotFound for an unknown cursor, ErrLong, ctx.Err().
func (r *Reader) ListSegmentsOf(ctx context.Context, e Effort, c *app.Contact, page app.Page) ([]app.Segment, bool, error) {
	byHand, err := r.SegmentsOf(c.TeamID, c.ID)
	if err != nil {
		return nil, false, fmt.Errorf("read memberships: %w", err)
	}
	has := func(s app.Segment) (bool, error) {
		if slices.Contains(byHand, s.ID) {
			return true, nil
		}
		return r.Picks(s.Filter, c)
	}
	return keyset(r, page, func(cursor string) error {
		s, err := r.Segment(c.TeamID, cursor)
		if err != nil {
			return err
		}
		if in, err := has(s); err != nil || in {
			return err
		}
		return ErrNotFound
	}, func(limit int) (out []app.Segment, err error) {
		looked := 0
		for at := page; len(out) < limit; {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			if looked += segmentChunk * segmentEffort; e.MaxRows > 0 && looked > e.MaxRows {
				return nil, ErrLong
			}
			chunk, err := r.segmentRows(c.TeamID, at, segmentChunk)
			if err != nil {
				return nil, err
			}
			for _, s := range chunk {
				in, err := has(s)
				if err != nil {
					return nil, err
				}
				if in {
					out = append(out, s)
				}
			}
			if len(chunk) < segmentChunk {
				break
			}
			at = nextPage(page, chunk[len(chunk)-1].ID)
		}
		return out[:min(limit, len(out))], nil
	})
}

// CountSegment counts the contacts of a segment between the bounds of e: those that match
// its filter and its explicit members. It reads no contacts if counters have the result.
// Errors: ErrLong, ctx.Err().
func (r *Reader) CountSegment(ctx context.Context, e Effort, s *app.Segment) (int, error) {
	switch {
	case s.Filter == nil:
		return s.Members, nil
	case len(s.Filter.Conditions) == 0:
		return r.ContactCount(s.TeamID)
	}
	filter, err := where(s.Filter, r.filterDialect())
	if err != nil {
		return 0, err
	}
	picked, err := r.countPicked(ctx, e, s.TeamID, filter)
	if err != nil || s.Members == 0 {
		return picked, err
	}
	unpicked, err := r.countUnpicked(ctx, e, s, filter)
	return picked + unpicked, err
}

// ListSegmentContacts returns a page of a segment's contacts, newest first, and whether
// there are more. Errors: ErrNotFound for a cursor that is not in the segment, ErrLong,
// ctx.Err().
func (r *Reader) ListSegmentContacts(ctx context.Context, e Effort, s *app.Segment, page app.Page) ([]app.Contact, bool, error) {
	if s.Filter != nil && len(s.Filter.Conditions) == 0 {
		return r.ListContacts(ctx, s.TeamID, page)
	}
	return keyset(r, page, func(cursor string) error { return r.inSegment(s, cursor) }, func(limit int) ([]app.Contact, error) {
		byHand, err := r.memberContacts(ctx, s, page, limit)
		if err != nil || s.Filter == nil {
			return byHand, err
		}
		filter, err := where(s.Filter, r.filterDialect())
		if err != nil {
			return nil, err
		}
		picked, err := r.pickedContacts(ctx, e, s.TeamID, filter, page, limit)
		if err != nil {
			return nil, err
		}
		return mergeContacts(picked, byHand, page.Before == "", limit), nil
	})
}

// inSegment returns nil if a contact is in a segment, else ErrNotFound.
func (r *Reader) inSegment(s *app.Segment, contactID string) error {
	c, err := r.Contact(s.TeamID, contactID)
	if err != nil {
		return err
	}
	if in, err := r.Picks(s.Filter, &c); err != nil || in {
		return err
	}
	return r.Exists(`SELECT 1 FROM members WHERE segment_id = ? AND contact_id = ?`, s.ID, contactID)
}

// memberContacts returns the first limit explicit members of a segment after page's
// cursor, in page order.
func (r *Reader) memberContacts(ctx context.Context, s *app.Segment, page app.Page, limit int) ([]app.Contact, error) {
	return walk(r, contactScanner(ctx), page, lastID, limit,
		`SELECT `+contactColumns+` FROM members AS m CROSS JOIN contacts AS c
			ON c.team_id = ? AND c.id = m.contact_id AND m.segment_id = ? AND m.contact_id < ? ORDER BY m.contact_id DESC LIMIT ?`,
		`SELECT `+contactColumns+` FROM members AS m CROSS JOIN contacts AS c
			ON c.team_id = ? AND c.id = m.contact_id AND m.segment_id = ? AND m.contact_id > ? ORDER BY m.contact_id LIMIT ?`, s.TeamID, s.ID)
}

// mergeContacts merges two lists with the same order. It returns the first limit contacts
// of both, without duplicates.
func mergeContacts(a, b []app.Contact, newestFirst bool, limit int) []app.Contact {
	var out []app.Contact
	for len(out) < limit && len(a)+len(b) > 0 {
		switch {
		case len(b) == 0 || len(a) > 0 && a[0].ID != b[0].ID && (a[0].ID > b[0].ID) == newestFirst:
			out, a = append(out, a[0]), a[1:]
		case len(a) == 0 || a[0].ID != b[0].ID:
			out, b = append(out, b[0]), b[1:]
		default:
			out, a, b = append(out, a[0]), a[1:], b[1:]
		}
	}
	return out
}
