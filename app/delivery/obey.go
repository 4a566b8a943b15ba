package delivery

import (
	"errors"

	"mailer/app"
	"mailer/app/service"
	"mailer/db"
)

// errObeyed is why hold refuses the dot of a unit some of whose recipients are
// suppressed or opted out. The unit stands as obey left it.
var errObeyed = errors.New("engine: recipients are suppressed")

// obey leaves out recipients of an open unit that were suppressed, or opted out
// of its topic, since it was accepted, and answers whether there were any. Then the unit is due at once for
// the others, its attempt not counted, or over. Error: db.ErrNotFound, and
// nothing written, for a unit that was withdrawn or moved. It runs inside the Write that
// lets a message leave: whoever was told before that an address is suppressed
// or opted out can rely on it.
func (s *Service) obey(tx *db.Tx, u app.Unit, recipients []string) (obeyed bool, err error) {
	blocked, err := s.blockedOf(&tx.Reader, u, recipients)
	if err != nil || len(blocked) == 0 {
		return false, err
	}
	if err := tx.RequeueUnit(u, u.Attempts-1, tx.Now); err != nil {
		return false, err
	}
	waiting, err := tx.OpenRecipients(u)
	if err != nil {
		return false, err
	}
	if len(blocked.Open(waiting)) == 0 {
		if err := endSuppressed(tx, u); err != nil {
			return false, err
		}
	}
	return true, s.mail.LeaveOut(tx, u, waiting, blocked)
}

func endSuppressed(tx *db.Tx, u app.Unit) error {
	if err := tx.DeleteUnit(u); err != nil {
		return err
	}
	return tx.SettleDoubts(u.EmailID, "not sent again: its recipients are suppressed or opted out")
}

// obeyed spares a unit its transaction where recipients were suppressed while it
// waited. What comes after content looked, hold sees.
func (l *lane) obeyed(j *job, recipients []string) bool {
	if len(j.blocked) == 0 {
		return false
	}
	l.record(j, func(tx *db.Tx) (err error) {
		j.obeyed, err = l.s.obey(tx, j.unit, recipients)
		return service.IgnoreGone(err)
	})
	return j.obeyed
}
