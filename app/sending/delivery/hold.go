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

// holdMessages say why in timelines.
var holdMessages = map[app.HoldReason]string{
	app.HoldDamaged:  "The stored data of this email is damaged, so it is held and not sent; the server's log and `mailer check` show the damage",
	app.HoldRestored: "It waited in a backup that was restored, and may have left since that was made, so it is held until the operator releases it (`mailer queue release --restored`) or drops it",
}

// hold has a unit wait until it is released; its timeline says why.
func (s *Service) hold(tx *db.Tx, u app.Unit, why app.HoldReason) error {
	if err := tx.HoldUnit(u, why); err != nil {
		return base.IgnoreNotFound(err)
	}
	return InsertHeldEvent(tx, u, why)
}

// InsertHeldEvent has the timeline of a unit say that it is held, and why.
func InsertHeldEvent(tx *db.Tx, u app.Unit, why app.HoldReason) error {
	return tx.InsertEvent(mail.NewEvent(tx, u, app.EventHeld, "", app.EventDetail{Message: holdMessages[why], Relay: u.Relay}))
}

// holdDamaged holds a unit of which something can't be read: a fault of that mail, and
// of nobody else's. The store has logged what.
func (l *lane) holdDamaged(j *job) {
	l.strike(j, false)
	l.record(j, func(tx *db.Tx) error { return l.s.hold(tx, j.unit, app.HoldDamaged) })
}

// HoldDamaged holds a broadcast of which something can't be read: nothing more of it
// begins. One that is held already stays so.
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

// Blocked reports whether something keeps a unit from a recipient: a suppression, or an
// opt-out.
func (s *Service) Blocked(r *db.Reader, u app.Unit, address string) (bool, error) {
	blocked, err := s.blockedAmong(r, u, []string{address})
	return len(blocked) > 0, err
}
