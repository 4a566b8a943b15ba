package delivery

import (
	"context"
	"errors"
	"fmt"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/sending/mail"
	"mailer/db"
)

// holdMessages are the texts for timelines by reason.
var holdMessages = map[app.HoldReason]string{
	app.HoldDamaged:  "The stored data of this email is damaged, so it is held and not sent; the server's log and `mailer check` show the damage",
	app.HoldRestored: "It waited in a backup that was restored, and may have left since that was made, so it is held until the operator releases it (`mailer queue release --restored`) or drops it",
}

// hold makes a unit wait until it is released, and says why in its timeline.
func (s *Service) hold(tx *db.Tx, u app.Unit, why app.HoldReason) error {
	if err := tx.HoldUnit(u, why); err != nil {
		return base.IgnoreNotFound(err)
	}
	return InsertHeldEvent(tx, u, why)
}

// InsertHeldEvent adds the event to a unit's timeline that it is held, with the reason.
func InsertHeldEvent(tx *db.Tx, u app.Unit, why app.HoldReason) error {
	return tx.InsertEvent(mail.NewEvent(tx, u, app.EventHeld, "", app.EventDetail{Message: holdMessages[why], Relay: u.Relay}))
}

// holdDamaged holds a unit whose stored data can't be read. The store has logged the damage.
func (l *relayQueue) holdDamaged(j *job) {
	l.strike(j, false)
	l.record(j, func(tx *db.Tx) error { return l.s.hold(tx, j.unit, app.HoldDamaged) })
}

// HoldDamaged holds a broadcast whose stored data can't be read, so that no more recipients begin.
// A broadcast that is held already does not change.
func (s *Service) HoldDamaged(ctx context.Context, teamID, broadcastID string) error {
	err := s.DB.WriteCritical(ctx, func(tx *db.Tx) error { return tx.HoldBroadcast(teamID, broadcastID, app.HoldDamaged) })
	if errors.Is(err, db.ErrNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("hold broadcast %s: %w", broadcastID, err)
	}
	s.Log.Error("a broadcast is held because its stored data is damaged", "broadcast", broadcastID, "team", teamID, "help", "mailer check names all that is damaged")
	return nil
}

// Blocked reports whether a recipient of a unit is suppressed or opted out.
func (s *Service) Blocked(r *db.Reader, u app.Unit, address string) (bool, error) {
	blocked, err := s.blockedAmong(r, u, []string{address})
	return len(blocked) > 0, err
}
