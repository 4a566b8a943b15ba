package broadcasts

import (
	"context"
	"errors"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/tenants/audience"
	"mailer/db"
)

// ListBroadcastRecipients returns a page of a broadcast's recipients that match a query, the last
// in the order of sending first, and whether there are more. A broadcast that was not queued has
// none. Errors: CodeNotFound, CodeValidation.
func (s *Service) ListBroadcastRecipients(ctx context.Context, key *app.Key, id string, q app.RecipientQuery, page app.Page) (rows []app.RecipientRow, more bool, err error) {
	if err := q.Validate(); err != nil {
		return nil, false, err
	}
	var unknown error // an unknown broadcast, as opposed to an unknown cursor
	err = s.audience.Scan(ctx, key.TeamID, func(r *db.Reader, effort db.Effort) error {
		rows = nil
		b, err := r.BroadcastHead(key.TeamID, id)
		if unknown = base.Lookup("broadcast", err); unknown != nil {
			return nil
		}
		var list []app.BroadcastRecipient
		if list, more, err = r.ListRecipients(ctx, effort, &b, &q, page); err != nil {
			return err
		}
		situations, err := audience.Situations(r, &b, list...)
		if err != nil {
			return err
		}
		for i := range list {
			row, err := recipientRow(r, &b, &list[i], q.Type)
			if err != nil {
				return err
			}
			row.State = app.StateOf(row.LastEvent, situations[i])
			rows = append(rows, row)
		}
		return nil
	})
	if unknown != nil {
		return nil, false, unknown
	}
	return rows, more, base.Cursor(page, err)
}

// recipientRow adds to a recipient the data that lists of a type show.
func recipientRow(r *db.Reader, b *app.Broadcast, rec *app.BroadcastRecipient, kind string) (app.RecipientRow, error) {
	seen := b.SeenOf(rec)
	row := app.RecipientRow{ID: rec.ID, ContactID: rec.ContactID, Email: rec.Email, LastEvent: seen.LastEvent()}
	exists, err := r.ContactExists(b.TeamID, rec.ContactID)
	if err != nil {
		return row, err
	}
	if !exists {
		row.ContactID = ""
	}
	switch app.LastEvent(kind) {
	case app.Opened:
		row.Count, err = r.CountOpens(rec.ID)
		row.Count = max(row.Count, 1)
	case app.Clicked:
		if row.Links, err = r.ClicksOf(b.ID, rec.ID); err != nil {
			return row, err
		}
		for _, l := range row.Links {
			row.Count += int(l.Clicks)
		}
		row.Count = max(row.Count, 1)
	case app.Bounced, "":
		if seen&app.SeenBounced != 0 {
			row.Bounce, err = r.BounceOf(rec.ID)
		}
	}
	if errors.Is(err, db.ErrNotFound) {
		row.Bounce, err = app.BounceUndetermined, nil
	}
	return row, err
}

// ListClickedLinks returns a page of the clicked links of a broadcast, the most clicked first, and
// whether there are more. Errors: CodeNotFound, CodeValidation.
func (s *Service) ListClickedLinks(ctx context.Context, key *app.Key, id string, page app.Page) ([]app.BroadcastLink, bool, error) {
	var rows []app.BroadcastLink
	err := s.DB.Read(ctx, func(r *db.Reader) error {
		if _, err := r.BroadcastHead(key.TeamID, id); err != nil {
			return err
		}
		var err error
		rows, err = r.ClickedLinks(id)
		return err
	})
	if err != nil {
		return nil, false, base.Lookup("broadcast", err)
	}
	return base.Paginate(rows, page, func(l *app.BroadcastLink) string { return l.ID })
}
