package audience

import (
	"context"
	"fmt"

	"mailer/app"
	"mailer/db"
)

// CountLeftOut counts whom a broadcast to an audience does not go to.
func (s *Previews) CountLeftOut(ctx context.Context, a *app.Audience) (out db.LeftOut, err error) {
	err = s.service.Scan(ctx, a.TeamID, func(r *db.Reader, effort db.Effort) (err error) {
		out, err = r.CountLeftOut(ctx, effort, a)
		return err
	})
	if err != nil {
		return out, fmt.Errorf("count who is left out: %w", err)
	}
	return out, nil
}

// SampleContact returns the newest contact of a segment (empty: of the team) that is quickly
// found; nil: none.
func (s *Previews) SampleContact(ctx context.Context, r *db.Reader, teamID string, segment *app.Segment) (*app.Contact, error) {
	search := &db.ContactSearch{TeamID: teamID, Segment: segment}
	rows, _, err := r.SearchContacts(ctx, db.Effort{MaxRows: QuickScanRows}, search, app.Page{Limit: 1})
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	return &rows[0], nil
}
