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

// Outcomes of attempts beyond those that delivery names.
const (
	attemptSent    = "sent"
	attemptTrouble = "relay_trouble" // the relay could not be used at all
)

// Attempt is a transaction with a relay, or the try to begin one.
type Attempt = db.Attempt

// Attempts returns a page of the attempts to hand an email to its relay, newest first:
// those that did not end in success, of which the newest are kept, those that the relay
// took, as its events tell, and the times when the relay could not be used.
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
	seen := map[int64]bool{} // when an attempt ended of which there is a row
	for _, a := range attempts {
		seen[a.CreatedAt.UnixMilli()] = true
	}
	for _, ev := range slices.Backward(events) {
		at := ev.CreatedAt.UnixMilli()
		switch {
		case ev.Type == app.EventType(app.Sent) && ev.Detail.Attempt > 0 && !seen[at]:
			seen[at] = true // one for all recipients of the transaction
			attempts = append(attempts, Attempt{ID: ev.ID, CreatedAt: ev.CreatedAt, Outcome: attemptSent, Detail: ev.Detail})
		case ev.Type == app.EventRelayTrouble && ev.Detail.Stage != "":
			attempts = append(attempts, Attempt{ID: ev.ID, CreatedAt: ev.CreatedAt, Outcome: attemptTrouble, Detail: ev.Detail})
		}
	}
	slices.SortStableFunc(attempts, func(a, b Attempt) int { return strings.Compare(b.ID, a.ID) })
	return attempts, nil
}
