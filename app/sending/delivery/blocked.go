package delivery

import (
	"mailer/app"
	"mailer/app/base"
	"mailer/db"
)

// dropBlocked leaves out recipients of an open unit that were suppressed, or opted out
// of its topic, since it was accepted, and reports whether there were any. Then the
// unit is due at once for the others, its attempt not counted, or over. It runs inside
// the Write that lets a message leave: whoever was told before that an address is
// suppressed or opted out can rely on it. Error: db.ErrNotFound, and nothing written,
// for a unit that was withdrawn or moved.
func (s *Service) dropBlocked(tx *db.Tx, u app.Unit, recipients []string) (spared bool, err error) {
	blocked, err := s.blockedAmong(&tx.Reader, u, recipients)
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
	if len(blocked.Allowed(waiting)) == 0 {
		if err := deleteSuppressed(tx, u); err != nil {
			return false, err
		}
	}
	return true, s.mail.LeaveOut(tx, u, waiting, blocked)
}

func deleteSuppressed(tx *db.Tx, u app.Unit) error {
	if err := tx.DeleteUnit(u); err != nil {
		return err
	}
	return tx.SettleDoubts(u.EmailID, "not sent again: its recipients are suppressed or opted out")
}

// dropBlockedRecipients spares a unit its transaction where recipients were suppressed while it
// waited. What comes after its message was read, hold sees.
func (l *relayQueue) dropBlockedRecipients(j *job) bool {
	if len(j.message.blocked) == 0 {
		return false
	}
	spared := false
	l.record(j, func(tx *db.Tx) (err error) {
		spared, err = l.s.dropBlocked(tx, j.unit, j.message.Recipients)
		return base.IgnoreNotFound(err)
	})
	if spared {
		j.state = stateBlocked
	}
	return spared
}
