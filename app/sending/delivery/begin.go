package delivery

import (
	"errors"
	"fmt"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/rules/plan"
	"mailer/app/sending/mail"
	"mailer/db"
)

// begin stores that a unit's attempt begins, unless it has expired while it waited.
func (l *lane) begin(tx *db.Tx, u app.Unit) (begun bool, err error) {
	waited, over, err := l.overdue(&tx.Reader, u, tx.Now)
	if err != nil || !over {
		begun, errBegin := l.s.beginUnit(tx, u)
		return begun && err == nil, errors.Join(err, errBegin)
	}
	if due, err := tx.IsDue(u); err != nil || !due {
		return false, err
	}
	return false, l.expire(tx, u, waited)
}

// beginUnit stores that a unit's attempt begins, and counts the recipients of one
// that waited for its time. It answers false for a unit that was withdrawn, or of
// which another attempt ended, since it was read, and for one that the day has no
// place for: that one waits for the next.
func (s *Service) beginUnit(tx *db.Tx, u app.Unit) (begun bool, err error) {
	if u.QuotaOwed > 0 && s.Settings.Cloud {
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
	if u.QuotaOwed == 0 {
		return true, nil
	}
	if err := s.teams.DropFromBacklog(tx, u.TeamID, u.EmailID); err != nil {
		return false, err
	}
	if err := tx.ClearOwed(u.EmailID); err != nil {
		return false, fmt.Errorf("settle what is owed: %w", err)
	}
	return true, s.teams.CountRecipients(tx, u.TeamID, u.QuotaOwed)
}

// pauseUnit holds a unit that could not go on, where that is because its broadcast is
// paused: else it would be claimed again and again.
func (s *Service) pauseUnit(tx *db.Tx, u app.Unit) error {
	if u.BroadcastID == "" {
		return nil
	}
	if _, err := tx.PauseUnit(u); err != nil {
		return fmt.Errorf("hold a unit of a paused broadcast: %w", err)
	}
	return nil
}

// deferToNextDay puts a unit off to the next day where this one has no place for it.
func (s *Service) deferToNextDay(tx *db.Tx, u app.Unit) (bool, error) {
	tx.Serialize() // what the day has used decides, and changes with it
	current, err := s.teams.PlanOf(&tx.Reader, u.TeamID)
	if err != nil || !current.Daily() {
		return false, err
	}
	used, _, err := tx.DayRecipients(u.TeamID, plan.UnixDay(tx.Now))
	if err != nil {
		return false, fmt.Errorf("read what the team used: %w", err)
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

// beginRecipient makes the unit of a recipient, unless that one is settled: withdrawn
// before its turn, suppressed or opted out, which only those are who stand out.
func (s *Service) beginRecipient(tx *db.Tx, u app.Unit, to *app.BroadcastRecipient, standsOut bool) (waits bool, err error) {
	if to.Seen&app.SeenEnded != 0 {
		return false, nil
	}
	if standsOut {
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

// needCheck reports of each of some recipients whether it has to be looked at by itself.
func (s *Service) needCheck(r *db.Reader, b *app.Broadcast, recipients []app.BroadcastRecipient) ([]bool, error) {
	hashes, out := make([]app.AddressHash, len(recipients)), make([]bool, len(recipients))
	for i := range recipients {
		hashes[i] = s.Sealer.AddressHash(b.TeamID, app.KeyOf(recipients[i].Email))
	}
	blocked, err := r.BlockedInBulk(b.TeamID, b.TopicID, hashes)
	if err != nil {
		return nil, fmt.Errorf("look up opt-outs: %w", err)
	}
	for i := range hashes {
		out[i] = blocked[hashes[i]]
	}
	return out, nil
}

// blockedAmong returns what keeps a unit from recipients that it still has.
func (s *Service) blockedAmong(r *db.Reader, u app.Unit, recipients []string) (app.Blocked, error) {
	if u.BroadcastID == "" {
		return s.mail.Accounts.BlockedRecipients(r, u.TeamID, u.TopicID, u.EmailID, recipients)
	}
	blocked := app.Blocked{}
	for _, email := range recipients { // there is one
		key := app.KeyOf(email)
		bulkStanding, err := r.BulkSubscription(u.TeamID, u.TopicID, s.Sealer.AddressHash(u.TeamID, key))
		if err != nil {
			return nil, fmt.Errorf("look up opt-outs: %w", err)
		}
		switch reason := bulkStanding.Subscription.Reason(); {
		case bulkStanding.Suppression != nil:
			bulkStanding.Suppression.Key = key
			blocked[key] = app.NewBlocked([]app.Suppression{*bulkStanding.Suppression}, true)[key]
		case reason != "":
			blocked[key] = reason
		}
	}
	return blocked, nil
}
