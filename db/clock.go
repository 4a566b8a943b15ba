package db

import "time"

// UnitsInFuture returns up to limit units, in email id order after the given one, whose
// next try is after now for no reason of their own: neither scheduled nor waiting for the
// next day of a quota. Such units exist after the system clock was set back.
func (r *Reader) UnitsInFuture(after string, now time.Time, limit int) ([]string, error) {
	return list(r, scanText, `SELECT u.email_id FROM units AS u WHERE u.email_id > ? AND u.next_at > ? AND u.late = 0
		AND u.next_at IS DISTINCT FROM (SELECT e.scheduled_at FROM emails AS e WHERE e.id = u.email_id) ORDER BY u.email_id LIMIT ?`,
		after, milli(now), limit)
}

// AdvanceUnit moves the next try of a unit that UnitsInFuture returned earlier by by, but
// not before now, and moves the start of its expiry clock too.
func (tx *Tx) AdvanceUnit(emailID string, by time.Duration) error {
	err := tx.Write(`UPDATE units SET next_at = CASE WHEN next_at - ?2 > ?3 THEN next_at - ?2 ELSE ?3 END,
		since = CASE WHEN since > ?3 THEN since - ?2 WHEN since IS NULL AND state = 'due' THEN next_at - ?2 ELSE since END
		WHERE email_id = ?1 AND next_at > ?3 AND late = 0
		AND next_at IS DISTINCT FROM (SELECT e.scheduled_at FROM emails AS e WHERE e.id = units.email_id)`,
		emailID, by.Milliseconds(), milli(tx.Now))
	return err
}

// AdvanceTroubles moves starts and ends of relay troubles in the future earlier by by.
func (tx *Tx) AdvanceTroubles(by time.Duration) error {
	err := tx.Write(`UPDATE relay_troubles SET started_at = CASE WHEN started_at > ?2 THEN started_at - ?1 ELSE started_at END,
		ended_at = CASE WHEN ended_at > ?2 THEN ended_at - ?1 ELSE ended_at END WHERE started_at > ?2 OR ended_at > ?2`, by.Milliseconds(), milli(tx.Now))
	return err
}

// AdvanceDeliveries moves the next attempts of a webhook's deliveries earlier by by, but
// not before now.
func (tx *Tx) AdvanceDeliveries(webhookID string, by time.Duration) error {
	err := tx.Write(`UPDATE deliveries SET next_at = CASE WHEN next_at - ?2 > ?3 THEN next_at - ?2 ELSE ?3 END
		WHERE webhook_id = ?1 AND next_at > ?3`, webhookID, by.Milliseconds(), milli(tx.Now))
	return err
}

// AdvanceDomainChecks moves the next checks of domains earlier by by, but not before now.
func (tx *Tx) AdvanceDomainChecks(by time.Duration) error {
	err := tx.Write(`UPDATE domains SET check_at = CASE WHEN check_at - ?1 > ?2 THEN check_at - ?1 ELSE ?2 END WHERE check_at > ?2`,
		by.Milliseconds(), milli(tx.Now))
	return err
}

// AdvanceUsage moves the usage of a relay in future minutes to earlier minutes, at latest
// the current one.
func (tx *Tx) AdvanceUsage(relay string, by time.Duration) error {
	now := tx.Now.Unix() / 60
	ahead, err := tx.Usage(relay, now+1)
	if err != nil {
		return err
	}
	if err := tx.Write(`DELETE FROM relay_usage WHERE relay = ? AND minute > ?`, relay, now); err != nil {
		return err
	}
	for _, u := range ahead {
		minute := min(u.Minute-int64(by/time.Minute), now)
		if err := tx.AddUsage(relay, time.Unix(minute*60, 0), u.Sent, u.Bulk); err != nil {
			return err
		}
	}
	return nil
}
