package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"mailer/app"
	"mailer/db"
)

// ListBroadcastRecipients gives a page of a broadcast's recipients that a query
// picks, the last ones in the order of sending first, and whether there are more;
// none of one that has not been queued. Errors: CodeNotFound, CodeValidation.
func (e *Engine) ListBroadcastRecipients(ctx context.Context, key *app.Key, id string, q app.RecipientQuery, page app.Page) (rows []app.RecipientRow, more bool, err error) {
	if err := q.Validate(); err != nil {
		return nil, false, err
	}
	var unknown error // of the broadcast, which is not the cursor
	err = e.scan(ctx, func(r *db.Reader, effort db.Effort) error {
		rows = nil
		b, err := r.BroadcastHead(key.TeamID, id)
		if unknown = lookup("broadcast", err); unknown != nil {
			return nil
		}
		var list []app.BroadcastRecipient
		if list, more, err = r.ListRecipients(ctx, effort, &b, &q, page); err != nil {
			return err
		}
		for i := range list {
			row, err := recipientRow(r, &b, &list[i], q.Type)
			if err != nil {
				return err
			}
			rows = append(rows, row)
		}
		return nil
	})
	if unknown != nil {
		return nil, false, unknown
	}
	return rows, more, cursor(page, err)
}

// recipientRow adds to a recipient what lists of a type show.
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

// ListClickedLinks gives a page of the links of a broadcast that somebody
// followed, those followed most often first, and whether there are more. Errors:
// CodeNotFound, CodeValidation.
func (e *Engine) ListClickedLinks(ctx context.Context, key *app.Key, id string, page app.Page) ([]app.BroadcastLink, bool, error) {
	var rows []app.BroadcastLink
	err := e.db.Read(ctx, func(r *db.Reader) error {
		if _, err := r.BroadcastHead(key.TeamID, id); err != nil {
			return err
		}
		var err error
		rows, err = r.ClickedLinks(id)
		return err
	})
	if err != nil {
		return nil, false, lookup("broadcast", err)
	}
	return cut(rows, page, func(l *app.BroadcastLink) string { return l.ID })
}

// recipientOf gives the broadcast and the recipient that an email's id is of.
// Error: db.ErrNotFound.
func recipientOf(r *db.Reader, teamID, emailID string) (app.Broadcast, app.BroadcastRecipient, error) {
	b, err := r.BroadcastOfMail(teamID, emailID)
	if err != nil {
		return b, app.BroadcastRecipient{}, err
	}
	rec, err := r.BroadcastRecipient(emailID)
	return b, rec, err
}

// ofBroadcast is db.ErrNotFound for what is no email of a team's broadcast, else
// the refusal to change a single one of them.
func ofBroadcast(tx *db.Tx, teamID, emailID string) error {
	b, _, err := recipientOf(&tx.Reader, teamID, emailID)
	if err != nil {
		return err
	}
	return app.Errorf(app.CodeValidation, "This email belongs to the broadcast %s, so it can't be moved, canceled or deleted by itself; cancel the broadcast instead", b.ID)
}

// headOf is an email to a recipient of a broadcast without what it says.
func headOf(b *app.Broadcast, rec *app.BroadcastRecipient) *app.Email {
	return &app.Email{
		ID: rec.ID, TeamID: b.TeamID, BroadcastID: b.ID, Relay: b.Relay, MessageID: app.EmailMessageID(rec.ID, cmp.Or(b.From.Domain, app.Erased)),
		CreatedAt: b.QueuedAt, LastEvent: b.SeenOf(rec).LastEvent(),
	}
}

// broadcastTimeline is the timeline of an email to a recipient of a broadcast.
func broadcastTimeline(r *db.Reader, teamID, emailID string) ([]app.Event, error) {
	b, rec, err := recipientOf(r, teamID, emailID)
	if err != nil {
		return nil, err
	}
	head := headOf(&b, &rec)
	events, err := timelineOf(r, head)
	if err != nil {
		return nil, err
	}
	for i := range events {
		if events[i].Type != app.EventRelayTrouble {
			events[i].TeamID, events[i].BroadcastID, events[i].Recipient = teamID, b.ID, rec.Email
		}
	}
	if b.SeenOf(&rec) != rec.Seen {
		events = append(events, app.Event{ID: app.IDAfter(rec.ID, b.CanceledAt), TeamID: teamID, EmailID: rec.ID, BroadcastID: b.ID, Type: app.EventType(app.Canceled),
			CreatedAt: b.CanceledAt, Detail: app.EventDetail{Message: "Canceled with its broadcast, before its turn"}})
	}
	events = append(events, app.Event{ID: rec.ID, TeamID: teamID, EmailID: rec.ID, BroadcastID: b.ID, Type: app.EventType(app.Queued), CreatedAt: b.QueuedAt,
		Detail: app.EventDetail{Message: fmt.Sprintf("Accepted with the broadcast %s; it waits for its turn at the relay %s", b.ID, b.Relay), Relay: b.Relay}})
	sortTimeline(events)
	return events, nil
}
