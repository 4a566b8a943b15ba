package audience

import (
	"context"
	"fmt"

	"mailer/app"
	"mailer/db"
)

// CountLeftOut counts the contacts of an audience that a broadcast leaves out.
func (s *Previews) CountLeftOut(ctx context.Context, a *app.Audience) (out db.LeftOut, err error) {
	err = s.service.Scan(ctx, a.TeamID, func(r *db.Reader, effort db.Effort) (err error) {
		out, err = r.CountLeftOut(ctx, effort, a)
		return err
	})
	if err != nil {
		return out, fmt.Errorf("count left out contacts: %w", err)
	}
	return out, nil
}

// SampleContact returns the newest contact of a segment (nil: of the team), if it is found quickly;
// nil: none.
func (s *Previews) SampleContact(ctx context.Context, r *db.Reader, teamID string, segment *app.Segment) (*app.Contact, error) {
	search := &db.ContactSearch{TeamID: teamID, Segment: segment}
	rows, _, err := r.SearchContacts(ctx, db.Effort{Most: QuickScanRows}, search, app.Page{Limit: 1})
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	return &rows[0], nil
}
