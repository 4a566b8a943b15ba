package mail

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/kit/clock"
	"mailer/app/rules/plan"
	"mailer/app/tenants/audience"
	"mailer/db"
)

// NewEvent makes an event of a unit at the time of tx. recipient is empty for an event of all
// recipients.
func NewEvent(tx *db.Tx, u app.Unit, kind app.EventType, recipient string, detail app.EventDetail) app.Event {
	detail.Relay = cmp.Or(app.QueueRelay(detail.Relay), detail.Relay)
	ev := app.Event{ID: app.NewID(), TeamID: u.TeamID, EmailID: u.EmailID, BroadcastID: u.BroadcastID, Domain: u.Domain, Relay: app.QueueRegion(u.Relay), Type: kind, Recipient: recipient, Detail: detail, CreatedAt: tx.Now, Hidden: u.Hidden}
	if ev.Hidden {
		ev.Domain = "" // not counted
	}
	return ev
}

// ListEvents returns a page of an email's timeline, newest first. It combines the email's events,
// its acceptance (the row of the email), the times when its relay could not be used while the
// email waited, and the received emails that answer it.
func (s *Service) ListEvents(ctx context.Context, key *app.Key, emailID string, page app.Page) ([]app.Event, bool, error) {
	events, err := db.Get(ctx, s.DB, func(r *db.Reader) ([]app.Event, error) { return timeline(r, key.TeamID, emailID) })
	if err != nil {
		return nil, false, base.Lookup("email", err)
	}
	return timelinePage(events, page)
}

func timeline(r *db.Reader, teamID, emailID string) ([]app.Event, error) {
	email, err := r.EmailRow(teamID, emailID)
	if errors.Is(err, db.ErrNotFound) {
		return broadcastTimeline(r, teamID, emailID)
	}
	if err != nil {
		return nil, err
	}
	events, err := TimelineOf(r, email)
	if err != nil {
		return nil, err
	}
	if !email.Unsent {
		events = append(events, acceptedEvent(email))
	}
	return withAnswers(r, teamID, emailID, events)
}

// withAnswers adds the answers to an email to its events and sorts them.
func withAnswers(r *db.Reader, teamID, emailID string, events []app.Event) ([]app.Event, error) {
	answers, err := audience.Answers(r, teamID, emailID)
	if err != nil {
		return nil, fmt.Errorf("read answers: %w", err)
	}
	for i := range answers {
		events = append(events, answers[i].Event(teamID, emailID))
	}
	sortTimeline(events)
	return events, nil
}

// TimelineOf returns the events of an email and the troubles of its relay while the email waited.
func TimelineOf(r *db.Reader, email *app.Email) ([]app.Event, error) {
	emailID := email.ID
	events, err := r.Events(emailID)
	if err != nil {
		return nil, err
	}
	if history, err := r.IsHistory(emailID); err != nil || history { // its events include relay troubles
		return events, err
	}
	if err := NameReserves(r, email.Relay, events); err != nil {
		return nil, err
	}
	until := clock.Now()
	open, err := r.HasUnit(emailID)
	if err != nil {
		return nil, err
	}
	if !open {
		until = lastOfDelivery(events, until)
	}
	troubles, err := r.Troubles(email.Relay, email.TeamID, email.From.Domain, email.CreatedAt, until)
	if err != nil {
		return nil, err
	}
	for _, t := range troubles {
		events = append(events, troubleEvent(email, t))
	}
	return events, nil
}

// NameReserves adds to the events of accepted mail that a reserve of the region sent it, and why. The
// reason is stored with the switch, once for all mail.
func NameReserves(r *db.Reader, region string, events []app.Event) error {
	for i := range events {
		ev := &events[i]
		if ev.Type != app.EventType(app.Sent) || ev.Detail.Relay == "" || ev.Detail.Relay == region || ev.Detail.Because != "" {
			continue
		}
		last, err := r.LastSwitch(region, ev.CreatedAt)
		if errors.Is(err, db.ErrNotFound) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read why a region switched: %w", err)
		}
		if d := &ev.Detail; last.Detail.Relay == d.Relay && last.Detail.Because != "" {
			d.Because = last.Detail.Because
			d.Message = fmt.Sprintf("Sent through %s, the reserve of %s, because %s. %s", app.ShortRelay(d.Relay), region, d.Because, d.Message)
		}
	}
	return nil
}

// sortTimeline sorts events newest first.
func sortTimeline(events []app.Event) {
	slices.SortStableFunc(events, func(a, b app.Event) int { return strings.Compare(b.ID, a.ID) })
}

// lastOfDelivery returns the time of the newest event that no reader caused; until if there is
// none. events are sorted newest first.
func lastOfDelivery(events []app.Event, until time.Time) time.Time {
	for _, ev := range events {
		switch ev.Type {
		case app.EventPrefetched, app.EventUnsubscribed, app.EventType(app.Opened), app.EventType(app.Clicked):
		default:
			return ev.CreatedAt
		}
	}
	return until
}

// acceptedEvent returns the first event of a timeline; its id is that of the email.
func acceptedEvent(email *app.Email) app.Event {
	ev := app.Event{ID: email.ID, TeamID: email.TeamID, EmailID: email.ID, Type: app.EventType(app.Queued), CreatedAt: email.CreatedAt,
		Detail: app.EventDetail{Message: "Accepted and stored; it waits for its turn at the relay " + email.Relay, Relay: email.Relay}}
	if email.ScheduledAt.After(email.CreatedAt) {
		ev.Type = app.EventType(app.Scheduled)
		ev.Detail.Message = "Accepted and stored; it leaves through the relay " + email.Relay + " at " + app.FormatTime(email.ScheduledAt)
		ev.Detail.NextAttemptAt = app.FormatTime(email.ScheduledAt)
	}
	if email.Routed != "" {
		ev.Detail.Message += ", by the rule: " + email.Routed
	}
	return ev
}

func troubleEvent(email *app.Email, t app.RelayTrouble) app.Event {
	detail := t.Detail
	switch {
	case !t.EndedAt.IsZero() && t.EndedAt.Equal(t.StartedAt): // a switch of the region
	case t.Failures == 0: // without a relay nothing was tried
		detail.Message += " (" + troubleTime(t) + ")"
	case t.EndedAt.IsZero():
		detail.Message += fmt.Sprintf(" (%d failed tries since %s)", t.Failures, app.FormatTime(t.StartedAt))
	default:
		detail.Message += fmt.Sprintf(" (%d failed tries, over at %s)", t.Failures, app.FormatTime(t.EndedAt))
		detail.NextAttemptAt = ""
	}
	return app.Event{ID: t.ID, TeamID: email.TeamID, EmailID: email.ID, Type: app.EventRelayTrouble, CreatedAt: t.StartedAt, Detail: detail}
}

// troubleTime returns when a trouble began or, if it is over, ended.
func troubleTime(t app.RelayTrouble) string {
	if t.EndedAt.IsZero() {
		return "since " + app.FormatTime(t.StartedAt)
	}
	return "over at " + app.FormatTime(t.EndedAt)
}

// timelinePage returns a page of a timeline that is sorted newest first.
func timelinePage(events []app.Event, page app.Page) ([]app.Event, bool, error) {
	return base.Paginate(events, page, func(ev *app.Event) string { return ev.ID })
}

// QuotaWait returns the event of an email that waits for the next day's quota.
func QuotaWait(tx *db.Tx, u app.Unit) app.Event {
	return NewEvent(tx, u, app.EventQuotaWait, "", app.EventDetail{Message: "The quota of this day is used; the email waits for the next UTC day",
		Relay: app.QueueName(u.Relay), NextAttemptAt: app.FormatTime(plan.DayEnd(tx.Now))})
}

// SetLastEvent sets the last_event of a unit's email. That of a broadcast recipient is derived from
// its outcome.
func SetLastEvent(tx *db.Tx, u app.Unit, event app.LastEvent) error {
	if u.BroadcastID != "" {
		return nil
	}
	return tx.SetLastEvent(u.EmailID, event)
}

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
	return withAnswers(r, teamID, emailID, events)
}
