package mail

import (
	"cmp"
	"fmt"

	"mailer/app"
	"mailer/app/tenants/audience"
	"mailer/db"
)

// refuseBroadcastEmail refuses to change a single email of a broadcast. It returns db.ErrNotFound
// for an id that is none of the team.
func refuseBroadcastEmail(tx *db.Tx, teamID, emailID string) error {
	b, _, err := audience.RecipientOf(&tx.Reader, teamID, emailID)
	if err != nil {
		return err
	}
	return app.Errorf(app.CodeValidation, "This email belongs to the broadcast %s, so it can't be moved, canceled or deleted separately; cancel the broadcast instead", b.ID)
}

// headOf returns the email to a recipient of a broadcast without content.
func headOf(b *app.Broadcast, rec *app.BroadcastRecipient) *app.Email {
	head := &app.Email{
		ID: rec.ID, TeamID: b.TeamID, BroadcastID: b.ID, Relay: b.Relay, MessageID: app.EmailMessageID(rec.ID, cmp.Or(b.From.Domain, app.Erased)),
		CreatedAt: b.QueuedAt, LastEvent: b.SeenOf(rec).LastEvent(),
	}
	head.From = b.From
	return head
}

// broadcastTimeline returns the timeline of the email to a recipient of a broadcast.
func broadcastTimeline(r *db.Reader, teamID, emailID string) ([]app.Event, error) {
	b, rec, err := audience.RecipientOf(r, teamID, emailID)
	if err != nil {
		return nil, err
	}
	head := headOf(&b, &rec)
	events, err := TimelineOf(r, head)
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
