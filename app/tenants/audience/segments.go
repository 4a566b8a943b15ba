package audience

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"mailer/app"
	"mailer/app/base"
	"mailer/db"
)

// CreateSegment adds a segment. Errors: CodeValidation, also for a team with base.CapSegments
// segments.
func (s *Service) CreateSegment(ctx context.Context, key *app.Key, in app.SegmentInput) (segment app.Segment, err error) {
	if err := in.Validate(); err != nil {
		return app.Segment{}, err
	}
	err = s.DB.Write(ctx, func(tx *db.Tx) error {
		if err := base.CapSegments.Check(&tx.Reader, key.TeamID); err != nil {
			return err
		}
		if err := checkFilter(&tx.Reader, key.TeamID, in.Filter); err != nil {
			return err
		}
		segment = app.Segment{ID: app.NewID(), TeamID: key.TeamID, Name: in.Name, Filter: in.Filter, CreatedAt: tx.Now}
		return tx.InsertSegment(&segment)
	})
	return segment, base.Unavailable(err)
}

// checkFilter checks a filter against the declared properties, and that its broadcasts and topics
// belong to the team. Errors: CodeValidation.
func checkFilter(r *db.Reader, teamID string, f *app.Filter) error {
	if f == nil {
		return nil
	}
	types, err := r.PropertyTypes(teamID)
	if err != nil {
		return fmt.Errorf("read properties: %w", err)
	}
	if err := f.Fits(types); err != nil {
		return err
	}
	for i := range f.Conditions {
		c := &f.Conditions[i]
		switch c.Names() {
		case "broadcast":
			_, err = r.BroadcastName(teamID, c.Value)
		case "topic":
			_, err = r.Topic(teamID, c.Value)
		}
		if errors.Is(err, db.ErrNotFound) {
			return app.Invalid(fmt.Sprintf("filter.conditions[%d].value", i), "is the id of no %s of the team", c.Names())
		}
		if err != nil {
			return fmt.Errorf("look up the object of a condition: %w", err)
		}
	}
	return nil
}

// ListSegments returns a page of the team's segments, newest first, and whether
// there are more. Errors: CodeValidation.
func (s *Service) ListSegments(ctx context.Context, key *app.Key, page app.Page) (rows []app.Segment, more bool, err error) {
	rows, more, err = db.GetPage(ctx, s.DB, func(r *db.Reader) ([]app.Segment, bool, error) { return r.ListSegments(key.TeamID, page) })
	return rows, more, base.Cursor(page, err)
}

// GetSegment returns one segment and the number of its contacts. Errors: CodeNotFound.
func (s *Service) GetSegment(ctx context.Context, key *app.Key, id string) (segment app.Segment, contacts int, err error) {
	generation := s.DB.Generation(key.TeamID, id) // read before the snapshots, so that a newer snapshot invalidates the cached count
	err = s.DB.Read(ctx, func(r *db.Reader) error {
		if segment, err = r.Segment(key.TeamID, id); err != nil {
			return err
		}
		quick := db.Effort{MaxRows: QuickScanRows}
		contacts, err = s.cachedCount(&segment, generation, func() (int, error) { return r.CountSegment(ctx, quick, &segment) })
		return err
	})
	if errors.Is(err, db.ErrLong) {
		contacts, err = s.cachedCount(&segment, generation, func() (int, error) {
			return s.countLong(ctx, key.TeamID, func(ctx context.Context, r *db.Reader, half db.Effort) (int, error) {
				return r.CountSegment(ctx, half, &segment)
			})
		})
	}
	return segment, contacts, base.Lookup("segment", err)
}

// UpdateSegment changes name and filter and returns the changed segment. Errors: CodeValidation,
// CodeNotFound.
func (s *Service) UpdateSegment(ctx context.Context, key *app.Key, id string, p app.SegmentPatch) (segment app.Segment, err error) {
	if err := p.Validate(); err != nil {
		return app.Segment{}, err
	}
	err = s.DB.Write(ctx, func(tx *db.Tx) error {
		old, err := tx.Segment(key.TeamID, id)
		if err != nil {
			return err
		}
		if err := checkFilter(&tx.Reader, key.TeamID, p.Filter.Value); err != nil {
			return err
		}
		segment = p.Apply(old)
		if err := tx.UpdateSegment(&segment); err != nil || s.OnFilterChange == nil || reflect.DeepEqual(segment.Filter, old.Filter) {
			return err
		}
		return s.OnFilterChange(tx, key.TeamID, id)
	})
	return segment, base.Lookup("segment", err)
}

// DeleteSegment deletes a segment; its contacts stay. Errors: CodeNotFound, CodeConflict while an
// unsent broadcast or a form uses it.
func (s *Service) DeleteSegment(ctx context.Context, key *app.Key, id string) error {
	err := s.DB.Write(ctx, func(tx *db.Tx) error {
		if _, err := tx.Segment(key.TeamID, id); err != nil {
			return err
		}
		if err := checkUnused(tx, "segment", id); err != nil {
			return err
		}
		if err := base.CheckNoForm(&tx.Reader, key.TeamID, "segment", id); err != nil {
			return err
		}
		return tx.DeleteSegment(key.TeamID, id)
	})
	return base.Lookup("segment", err)
}

// ListSegmentContacts returns a page of a segment's contacts, those that match its filter and those
// added manually, newest first, and whether there are more. Errors: CodeNotFound for an unknown
// segment, CodeValidation for an unknown cursor.
func (s *Service) ListSegmentContacts(ctx context.Context, key *app.Key, segmentID string, page app.Page) (rows []app.Contact, more bool, err error) {
	var unknown error // an unknown segment, as opposed to an unknown cursor
	err = s.Scan(ctx, key.TeamID, func(r *db.Reader, effort db.Effort) error {
		segment, err := r.Segment(key.TeamID, segmentID)
		if unknown = base.Lookup("segment", err); unknown != nil {
			return nil
		}
		rows, more, err = r.ListSegmentContacts(ctx, effort, &segment, page)
		return err
	})
	if unknown != nil {
		return nil, false, unknown
	}
	return rows, more, base.Cursor(page, err)
}

// ListContactSegments returns a page of the segments of a contact, named by id or address, newest
// first, and whether there are more. It includes segments by filter and by manual membership.
// Errors: CodeNotFound, CodeValidation.
func (s *Service) ListContactSegments(ctx context.Context, key *app.Key, contact string, page app.Page) (rows []app.Segment, more bool, err error) {
	var unknown error // an unknown contact, as opposed to an unknown cursor
	err = s.Scan(ctx, key.TeamID, func(r *db.Reader, effort db.Effort) error {
		c, err := s.findContact(r, key.TeamID, contact)
		if unknown = base.Lookup("contact", err); unknown != nil {
			return nil
		}
		rows, more, err = r.ListSegmentsOf(ctx, effort, &c, page)
		return err
	})
	if unknown != nil {
		return nil, false, unknown
	}
	return rows, more, base.Cursor(page, err)
}

// AddToSegment adds a contact, named by id or address, to a segment manually and returns the
// contact's id. A member stays a member. Errors: CodeNotFound.
func (s *Service) AddToSegment(ctx context.Context, key *app.Key, contact, segmentID string) (contactID string, err error) {
	err = s.DB.Write(ctx, func(tx *db.Tx) error {
		c, err := s.findMembership(tx, key.TeamID, contact, segmentID)
		if err != nil {
			return err
		}
		contactID = c.ID
		_, err = s.addToSegment(s.signals(tx, key.TeamID, nil), &c, segmentID)
		return err
	})
	return contactID, base.Unavailable(err)
}

// RemoveFromSegment removes a manually added contact, named by id or address, from a segment and
// returns the contact's id. A contact that matches the filter can't be removed. Errors:
// CodeNotFound, also for a contact that was not added manually.
func (s *Service) RemoveFromSegment(ctx context.Context, key *app.Key, contact, segmentID string) (contactID string, err error) {
	err = s.DB.Write(ctx, func(tx *db.Tx) error {
		c, err := s.findMembership(tx, key.TeamID, contact, segmentID)
		if err != nil {
			return err
		}
		contactID = c.ID
		removed, err := s.removeFromSegment(s.signals(tx, key.TeamID, nil), &c, segmentID)
		if err == nil && !removed {
			err = app.NotFound("membership")
		}
		return err
	})
	return contactID, base.Unavailable(err)
}

// addToSegment adds a contact to a segment manually, and reports whether it was not a member.
func (s *Service) addToSegment(g *signals, c *app.Contact, segmentID string) (added bool, err error) {
	if err := g.before(c); err != nil {
		return false, err
	}
	if added, err = g.tx.AddMember(segmentID, c.ID); err != nil || !added {
		return false, err
	}
	if err := s.recordMembership(g.tx, c, segmentID, 1); err != nil {
		return false, err
	}
	if err := g.joined(c.ID, []string{segmentID}); err != nil {
		return false, err
	}
	return true, g.judge(c)
}

// removeFromSegment removes a manually added contact from a segment, and reports whether it was a member.
func (s *Service) removeFromSegment(g *signals, c *app.Contact, segmentID string) (removed bool, err error) {
	if removed, err = g.tx.RemoveMember(segmentID, c.ID); err != nil || !removed {
		return false, err
	}
	if err := s.recordMembership(g.tx, c, segmentID, -1); err != nil {
		return false, err
	}
	return true, g.judge(c)
}

// findMembership reads a contact that is to be added or removed, and checks that the segment
// belongs to the team.
func (s *Service) findMembership(tx *db.Tx, teamID, contact, segmentID string) (app.Contact, error) {
	c, err := s.findContact(&tx.Reader, teamID, contact)
	if err != nil {
		return c, base.Lookup("contact", err)
	}
	_, err = tx.Segment(teamID, segmentID)
	return c, base.Lookup("segment", err)
}

// recordMembership counts a contact that was added (1) or removed (-1), and announces the change.
func (s *Service) recordMembership(tx *db.Tx, c *app.Contact, segmentID string, n int) error {
	if err := tx.CountMembers(segmentID, n); err != nil {
		return fmt.Errorf("count members: %w", err)
	}
	return s.announceChange(tx, c)
}
