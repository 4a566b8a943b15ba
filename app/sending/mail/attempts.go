package mail

import (
	"context"
	"errors"
	"slices"
	"strings"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/tenants/audience"
	"mailer/db"
)

// Outcomes of attempts besides those of package delivery.
const (
	attemptSent    = "sent"
	attemptTrouble = "relay_trouble" // the relay could not be used
)

// Attempt is a transaction with a relay, or a failed connection.
type Attempt = db.Attempt

// Attempts returns a page of the attempts to send an email, newest first: the newest failed ones,
// successful ones from the timeline, and the times when the relay could not be used. Errors:
// CodeNotFound, CodeValidation.
func (s *Search) Attempts(ctx context.Context, key *app.Key, emailID string, page app.Page) ([]Attempt, bool, error) {
	attempts, err := db.Get(ctx, s.service.DB, func(r *db.Reader) ([]Attempt, error) {
		email, err := r.EmailRow(key.TeamID, emailID)
		if errors.Is(err, db.ErrNotFound) {
			var b app.Broadcast
			var rec app.BroadcastRecipient
			if b, rec, err = audience.RecipientOf(r, key.TeamID, emailID); err == nil {
				email = headOf(&b, &rec)
			}
		}
		if err != nil {
			return nil, err
		}
		return attemptsOf(r, email)
	})
	if err != nil {
		return nil, false, base.Lookup("email", err)
	}
	return base.Paginate(attempts, page, func(a *Attempt) string { return a.ID })
}

func attemptsOf(r *db.Reader, email *app.Email) ([]Attempt, error) {
	attempts, err := r.Attempts(email.ID)
	if err != nil {
		return nil, err
	}
	events, err := TimelineOf(r, email)
	if err != nil {
		return nil, err
	}
	seen := map[int64]bool{} // end times of stored attempts
	for _, a := range attempts {
		seen[a.CreatedAt.UnixMilli()] = true
	}
	for _, ev := range slices.Backward(events) {
		at := ev.CreatedAt.UnixMilli()
		switch {
		case ev.Type == app.EventType(app.Sent) && ev.Detail.Attempt > 0 && !seen[at]:
			seen[at] = true // one attempt for all recipients of the transaction
			attempts = append(attempts, Attempt{ID: ev.ID, CreatedAt: ev.CreatedAt, Outcome: attemptSent, Detail: ev.Detail})
		case ev.Type == app.EventRelayTrouble && ev.Detail.Stage != "":
			attempts = append(attempts, Attempt{ID: ev.ID, CreatedAt: ev.CreatedAt, Outcome: attemptTrouble, Detail: ev.Detail})
		}
	}
	slices.SortStableFunc(attempts, func(a, b Attempt) int { return strings.Compare(b.ID, a.ID) })
	return attempts, nil
}
