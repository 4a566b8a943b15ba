package delivery

import (
	"errors"
	"fmt"
	"time"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/rules/plan"
	"mailer/app/sending/mail"
	"mailer/db"
)

// begin stores that attempts of units begin, and ends units that have expired. The others, stale,
// were withdrawn or changed since they were read, or were deferred.
func (l *relayQueue) begin(tx *db.Tx, units []app.Unit) (begun, stale []app.Unit, err error) {
	var now []app.Unit
	for _, u := range units {
		waited, over, err := l.overdue(&tx.Reader, u, tx.Now)
		switch {
		case err != nil:
			return nil, nil, err
		case over:
			stale = append(stale, u)
			if err := l.endExpired(tx, u, waited); err != nil {
				return nil, nil, err
			}
		case u.QuotaOwed > 0: // one after the other: each changes the quota that the next one reads
			ok, err := l.s.beginOwed(tx, u)
			if err != nil {
				return nil, nil, err
			}
			if ok {
				begun = append(begun, u)
			} else {
				stale = append(stale, u)
			}
		default:
			now = append(now, u)
		}
	}
	began, err := tx.BeginAttempts(now)
	if err != nil {
		return nil, nil, fmt.Errorf("begin attempts: %w", err)
	}
	for i, u := range now {
		if began[i] {
			begun = append(begun, u)
			continue
		}
		stale = append(stale, u)
		if err := l.s.pauseUnit(tx, u); err != nil {
			return nil, nil, err
		}
	}
	return begun, stale, nil
}

// endExpired ends a unit that has expired, unless it changed since it was read.
func (l *relayQueue) endExpired(tx *db.Tx, u app.Unit, waited time.Duration) error {
	if due, err := tx.IsDue(u); err != nil || !due {
		return err
	}
	return l.expire(tx, u, waited)
}

// beginOwed stores that the attempt of a unit of scheduled mail begins, and counts its recipients
// towards the quota. It returns false for a unit that was withdrawn or changed since it was read,
// and for one that exceeds the daily quota, which is deferred to the next day.
func (s *Service) beginOwed(tx *db.Tx, u app.Unit) (begun bool, err error) {
	if s.Settings.Cloud {
		if late, err := s.deferToNextDay(tx, u); err != nil || late {
			return false, err
		}
	}
	err = tx.BeginAttempt(u)
	if errors.Is(err, db.ErrNotFound) {
		return false, s.pauseUnit(tx, u)
	}
	if err != nil {
		return false, fmt.Errorf("begin attempt: %w", err)
	}
	if err := s.teams.DropFromBacklog(tx, u.TeamID, u.EmailID); err != nil {
		return false, err
	}
	if err := tx.ClearOwed(u.EmailID); err != nil {
		return false, fmt.Errorf("clear owed recipients: %w", err)
	}
	return true, s.teams.CountRecipients(tx, u.TeamID, u.QuotaOwed)
}

// pauseUnit holds a unit if its broadcast is paused: otherwise it would be claimed repeatedly.
func (s *Service) pauseUnit(tx *db.Tx, u app.Unit) error {
	if u.BroadcastID == "" {
		return nil
	}
	if _, err := tx.PauseUnit(u); err != nil {
		return fmt.Errorf("hold a unit of a paused broadcast: %w", err)
	}
	return nil
}

// deferToNextDay defers a unit to the next day if the daily quota has no room for it.
func (s *Service) deferToNextDay(tx *db.Tx, u app.Unit) (bool, error) {
	current, err := s.teams.PlanOf(&tx.Reader, u.TeamID)
	if err != nil || !current.Daily() {
		return false, err
	}
	used, _, err := tx.DayRecipients(u.TeamID, plan.UnixDay(tx.Now))
	if err != nil {
		return false, fmt.Errorf("read the usage of the team: %w", err)
	}
	terms := current.Terms()
	if terms.DayFits(used, u.QuotaOwed) {
		return false, nil
	}
	if err := tx.DeferUnit(u, plan.DayEnd(tx.Now)); err != nil {
		return true, base.IgnoreNotFound(err)
	}
	if err := tx.InsertEvent(mail.QuotaWait(tx, u)); err != nil || u.QuotaDelayed {
		return true, err
	}
	if err := tx.AddBacklog(u.TeamID, plan.Backlog{Delayed: u.QuotaOwed, Scheduled: -u.QuotaOwed}); err != nil {
		return true, fmt.Errorf("add to the backlog: %w", err)
	}
	return true, s.teams.AnnounceDayUsed(tx, u.TeamID, &current)
}

// beginRecipient inserts the unit of a recipient unless the recipient is settled: canceled before
// it began, or, if check is set, suppressed or opted out. open reports whether a unit was made.
func (s *Service) beginRecipient(tx *db.Tx, u app.Unit, to *app.BroadcastRecipient, check bool) (waits bool, err error) {
	if to.Seen&app.SeenEnded != 0 {
		return false, nil
	}
	if check {
		blocked, err := s.blockedAmong(&tx.Reader, u, []string{to.Email})
		if err != nil {
			return false, err
		}
		if len(blocked) > 0 {
			return false, s.mail.LeaveOut(tx, u, []string{to.Email}, blocked)
		}
	}
	return true, tx.InsertUnit(u)
}

// needCheck reports for each recipient whether its suppression and opt-outs must be read.
func (s *Service) needCheck(r *db.Reader, b *app.Broadcast, recipients []app.BroadcastRecipient) ([]bool, error) {
	hashes, check := make([]app.AddressHash, len(recipients)), make([]bool, len(recipients))
	for i := range recipients {
		hashes[i] = s.Sealer.AddressHash(b.TeamID, app.KeyOf(recipients[i].Email))
	}
	blocked, err := r.BlockedInBulk(b.TeamID, b.TopicID, hashes)
	if err != nil {
		return nil, fmt.Errorf("look up opt-outs: %w", err)
	}
	for i := range hashes {
		check[i] = blocked[hashes[i]]
	}
	return check, nil
}

// blockedAmong returns which open recipients of a unit are blocked, and why.
func (s *Service) blockedAmong(r *db.Reader, u app.Unit, recipients []string) (app.Blocked, error) {
	if u.BroadcastID != "" || u.Automated == app.AutomatedMarketing {
		return s.audience.BlockedForMarketing(r, u.TeamID, u.TopicID, recipients)
	}
	return s.mail.Accounts.BlockedRecipients(r, u.TeamID, u.TopicID, u.EmailID, recipients)
}
