package delivery

import (
	"mailer/app"
	"mailer/app/base"
	"mailer/db"
)

// dropBlocked removes recipients of an open unit that were suppressed or opted out since it was
// accepted, and reports whether there were any. The unit is then due immediately for the others,
// without counting the attempt, or deleted if none is left. It also runs inside the Write that
// authorizes the final dot, so a confirmed suppression or opt-out is never violated. Error:
// db.ErrNotFound, with nothing written, for a unit that was withdrawn or rescheduled.
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

// dropBlockedRecipients calls dropBlocked before the transaction if the message was read with
// blocked recipients. Later suppressions are found by authorize.
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
