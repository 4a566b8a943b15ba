package db

import (
	"errors"
	"time"
)

// LatestTimes are the latest times that rows can have by the current clock.
type LatestTimes struct {
	Retry        time.Time // next attempt of deferred mail
	Delivery     time.Time // next attempt to deliver a webhook event
	DomainCheck  time.Time
	ChoiceEvents time.Time // end of an interval between two events about choices
}

// ClampTimes corrects the rows of a clock that was ahead: a time later than possible becomes the
// latest possible one, and the future starts and ends of holds and relay troubles, and the future
// usage of relays, become now. Scheduled mail, mail that waits for a quota and expiry clocks keep
// their times. It returns the number of corrected retries of mail, and scans all open units.
func (tx *Tx) ClampTimes(latest LatestTimes) (retries int64, err error) {
	now := milli(tx.Now)
	retries, err = tx.Exec(`UPDATE units SET next_at = ?1 WHERE next_at > ?1 AND state IN ('later', 'held') AND since IS NOT NULL AND late = 0`, milli(latest.Retry))
	return retries, errors.Join(err,
		tx.Write(`UPDATE units SET held_at = ?1 WHERE held_at > ?1`, now),
		tx.Write(`UPDATE deliveries SET next_at = ?1 WHERE next_at > ?1 AND webhook_id IN (SELECT id FROM webhooks)`, milli(latest.Delivery)),
		tx.Write(`UPDATE domains SET check_at = ?1 WHERE check_at > ?1`, milli(latest.DomainCheck)),
		tx.Write(`UPDATE choice_news SET next_at = ?1 WHERE next_at > ?1`, milli(latest.ChoiceEvents)),
		tx.Write(`UPDATE relay_troubles SET started_at = CASE WHEN started_at > ?1 THEN ?1 ELSE started_at END,
			ended_at = CASE WHEN ended_at > ?1 THEN ?1 ELSE ended_at END WHERE started_at > ?1 OR ended_at > ?1`, now),
		tx.Write(`INSERT INTO relay_usage (relay, minute, sent, bulk)
			SELECT relay, CAST(?1 AS bigint), CAST(sum(sent) AS bigint), CAST(sum(bulk) AS bigint) FROM relay_usage WHERE minute > ?1 GROUP BY relay
			ON CONFLICT (relay, minute) DO UPDATE SET sent = relay_usage.sent + excluded.sent, bulk = relay_usage.bulk + excluded.bulk`, tx.Now.Unix()/60),
		tx.Write(`DELETE FROM relay_usage WHERE minute > ?`, tx.Now.Unix()/60))
}
